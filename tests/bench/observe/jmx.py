"""A broker that speaks JMX too, and the reader of it: driver/JmxReader.java in a JVM of its own."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from deploy.local.ports import HOST
from tests.bench.report import BenchFailed

_READER = Path(__file__).parent / "driver" / "JmxReader.java"
# The kernel ends the JVM when the benchmark is gone.
_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")
# A laptop's brokers start fast and are never optimised: one that is measured runs as Kafka's own script starts it.
_LAPTOP_ONLY = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")


def jmx_options(port: int) -> list[str]:
    """Of a JVM that serves JMX on loopback."""
    properties = {
        "port": port,
        "rmi.port": port,
        "host": HOST,
        "authenticate": "false",
        "ssl": "false",
        "local.only": "true",
    }
    remote = [f"-Dcom.sun.management.jmxremote.{key}={value}" for key, value in properties.items()]
    return [*remote, f"-Djava.rmi.server.hostname={HOST}"]


def starter(home: Path, options: Sequence[str]) -> list[str]:
    """For KafkaCluster.starters: starts the JVM with these options besides, and as in production."""
    home.mkdir(parents=True, exist_ok=True)
    script = home / "start.sh"
    dropped = "|".join(_LAPTOP_ONLY)
    script.write_text(
        "java=$1\nshift\n"
        f"for option; do\n  shift\n  case $option in\n    {dropped}) ;;\n"
        '    *) set -- "$@" "$option" ;;\n  esac\ndone\n'
        f'exec "$java" -XX:+UseG1GC {shlex.join(options)} "$@"\n'
    )
    return ["sh", str(script)]


class JmxReader:
    """A context manager. Every method raises BenchFailed when the JVM ends, with what it logged last."""

    def __init__(self, port: int, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self._log = home / "jmx-reader.log"
        self._dump = home / "jmx.tsv"
        command = [*_WITH_US, "java", "-Xmx512m", str(_READER), f"{HOST}:{port}"]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=home
            )

    def __enter__(self) -> JmxReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def read(self, times: int) -> dict[str, float]:
        """Reads everything so many times: "mbeans", "values" and "seconds"."""
        return self._ask(f"read {times}")

    def values(self) -> Mapping[str, float]:
        """Every number by its name, as the reporter names it."""
        self._ask(f"dump {self._dump}")
        lines = (line.rpartition("\t") for line in self._dump.read_text().splitlines())
        return {name: float(value) for name, _, value in lines}

    def _ask(self, command: str) -> dict[str, float]:
        said, answers = self._pipes()
        try:
            said.write(command + "\n")
            said.flush()
            line = answers.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            last = "\n".join(self._log.read_text(errors="replace").splitlines()[-15:])
            raise BenchFailed(f"the JMX reader ended over {command!r}; it says last:\n{last}")
        figures: dict[str, float] = json.loads(line)
        return figures

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        if self._process.stdin is None or self._process.stdout is None:
            raise BenchFailed("the JMX reader was started without pipes")
        return self._process.stdin, self._process.stdout
