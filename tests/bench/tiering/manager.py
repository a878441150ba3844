"""One RemoteLogMetadataManager in a JVM of its own, loaded by driver/TieringBench.java."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO

from tests.bench.report import BenchFailed

_DRIVER = Path(__file__).parent / "driver" / "TieringBench.java"
# As a broker's heap is: there from the start (Kafka's scripts set both to 1 GB), and touched long ago.
_HEAP = ("-Xms1g", "-Xmx1g", "-XX:+AlwaysPreTouch")
# The kernel ends the JVM when the benchmark is gone.
_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")


class Manager:
    """A context manager. Every method raises BenchFailed when the JVM ends, with what it logged last."""

    def __init__(self, name: str, class_name: str, class_path: str, settings: Mapping[str, str], home: Path) -> None:
        self.name = name
        home.mkdir(parents=True, exist_ok=True)
        file = home / f"{name}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        self._log = home / f"{name}.log"
        command = [*_WITH_US, "java", *_HEAP, "-cp", class_path, str(_DRIVER), class_name, str(file)]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=home
            )

    def __enter__(self) -> Manager:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def ask(self, *command: object) -> dict[str, float]:
        """The figures that a command of the driver answers with."""
        said, answers = self._pipes()
        try:
            said.write(" ".join(map(str, command)) + "\n")
            said.flush()
            line = answers.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            last = "\n".join(self._log.read_text(errors="replace").splitlines()[-15:])
            raise BenchFailed(f"{self.name} ended over {command[0]}; its log says last:\n{last}")
        figures: dict[str, float] = json.loads(line)
        return figures

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        if self._process.stdin is None or self._process.stdout is None:
            raise BenchFailed(f"{self.name} was started without pipes")
        return self._process.stdin, self._process.stdout
