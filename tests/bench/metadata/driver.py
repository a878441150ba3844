"""The Go driver: how it is built, and its measurements as values.

Built into build/bench: the Go code of our protos (the plugins of protoc are pinned here), then the binary. Go's own
cache makes a second build quick.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from tests.bench.report import BUILD, BenchFailed

REPOSITORY = Path(__file__).parents[3]
_SOURCES = Path(__file__).parent / "driver"
_PLUGINS = (
    "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
)
_PROTOS = tuple(f"protos/guardian/v1/{name}.proto" for name in ("access", "sessions", "tiering"))
_MODULE = "guardian.invalid/protos"


@dataclass(frozen=True, slots=True)
class Load:
    """How writes are made: `in_flight` batches of `batch` entries at once, over `streams` connections to `to`."""

    batch: int
    in_flight: int
    streams: int
    to: str = "leader"  # or: members, all three in turn
    is_unary: bool = False

    def __str__(self) -> str:
        over = "unary calls" if self.is_unary else f"{self.streams} streams"
        return f"{self.in_flight} x {self.batch} in flight, {over} to the {self.to}"


@dataclass(frozen=True, slots=True)
class Writes:
    """Of one run: entries acknowledged per second, milliseconds of a batch, and the driver's CPU time for an entry.

    `written` counts the entries of the warm-up too.
    """

    rate: float
    p50_ms: float
    p99_ms: float
    written: int
    driver_us: float


@dataclass(frozen=True, slots=True)
class Pulls:
    p50_ms: float
    p99_ms: float

    def __str__(self) -> str:
        return f"{self.p50_ms:.2f} ms (p99 {self.p99_ms:.2f})"


def build() -> Path:
    """The driver's binary. Raises BenchFailed when Go is missing or refuses."""
    if shutil.which("go") is None:
        raise BenchFailed("Go is missing, in which the benchmark's driver is written: install Go 1.26 or newer")
    binaries = BUILD / "bin"
    binaries.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "GOBIN": str(binaries)}
    for plugin in _PLUGINS:
        _run(["go", "install", plugin], environment)
    _generate(binaries)
    binary = binaries / "metadata-driver"
    _run(["go", "build", "-o", str(binary), "."], environment, cwd=_SOURCES)
    return binary


def _generate(binaries: Path) -> None:
    out = BUILD / "protos"
    out.mkdir(exist_ok=True)
    (out / "go.mod").write_text(f"module {_MODULE}\n\ngo 1.25\n")
    options = ",".join([f"module={_MODULE}", *(f"M{proto}={_MODULE}/guardianv1" for proto in _PROTOS)])
    plugins = [f"--plugin={name}={binaries / name}" for name in ("protoc-gen-go", "protoc-gen-go-grpc")]
    outputs = [f"--go_out={out}", f"--go-grpc_out={out}", f"--go_opt={options}", f"--go-grpc_opt={options}"]
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{REPOSITORY}", *plugins, *outputs, *_PROTOS]
    _run(command, os.environ, cwd=REPOSITORY)


def _run(command: Sequence[str], environment: Any, cwd: Path | None = None) -> None:
    done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchFailed(f"{' '.join(command[:3])} failed:\n{done.stdout}{done.stderr}")


@dataclass(frozen=True, slots=True)
class Driver:
    """Measurements of one store ("etcd" or "guardian"), each by a process of its own."""

    binary: Path
    store: str

    def write(self, endpoints: Sequence[str], load: Load, seconds: float) -> Writes:
        options = {"in-flight": load.in_flight, "streams": load.streams, "batch": load.batch, "seconds": seconds}
        result = self._measure("write", endpoints, {**options, "unary": load.is_unary})
        return Writes(result["rate"], result["p50_ms"], result["p99_ms"], result["written"], result["cpu_us"])

    def load(
        self,
        endpoints: Sequence[str],
        events: int,
        pulled: int = 0,
        *,
        singly: bool = False,
        lives: bool = False,
        partitions: int = 64,
    ) -> float:
        """Writes so many entries, the first `pulled` for `pull` to read; returns the seconds that it took.

        Those are appended to their partition ten at a time, or `singly`. With `lives` the others are whole lives of
        segments, of which a tenth as many as events stay live.
        """
        options = {"events": events, "pulled": pulled, "singly": singly, "lifecycle": lives, "partitions": partitions}
        return float(self._measure("load", endpoints, options)["seconds"])

    def pull(self, endpoints: Sequence[str], count: int, times: int, pulled: int, *, singly: bool = False) -> Pulls:
        """Linearizable reads of `count` of the `pulled` entries, one at a time, from the endpoints in turn."""
        options = {"count": count, "times": times, "pulled": pulled, "singly": singly}
        result = self._measure("pull", endpoints, options)
        return Pulls(result["p50_ms"], result["p99_ms"])

    def failovers(self, endpoints: Sequence[str]) -> Failovers:
        command = [str(self.binary), "failover", "-store", self.store, "-endpoints", ",".join(endpoints)]
        return Failovers(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))

    def _measure(self, measurement: str, endpoints: Sequence[str], options: Mapping[str, float]) -> dict[str, Any]:
        command = [str(self.binary), measurement, "-store", self.store, "-endpoints", ",".join(endpoints)]
        command += [f"-{name}={str(value).lower()}" for name, value in options.items()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BenchFailed(f"{' '.join(command[1:])} failed: {done.stderr.strip()}")
        result: dict[str, Any] = json.loads(done.stdout)
        return result


class Failovers:
    """Writers that go on all the time, while members are killed. A context manager."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __enter__(self) -> Failovers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def kill(self, pid: int) -> float:
        """Kills a process; the seconds until a write that was sent after its death is acknowledged."""
        return float(self._ask(f"kill {pid}")["failover_ms"]) / 1000

    def end(self) -> tuple[int, int, int]:
        """Reads all back from every member: acknowledged, lost, stored more than once."""
        result = self._ask("end")
        return result["acknowledged"], result["lost"], result["repeated"]

    def _ask(self, command: str) -> dict[str, Any]:
        said, answers = _pipes(self._process)
        try:
            said.write(command + "\n")
            said.flush()
        except BrokenPipeError:
            raise BenchFailed("the driver of the failovers has ended") from None
        answer = answers.readline()
        if not answer:
            raise BenchFailed(f"the driver of the failovers had no answer to {command!r}")
        result: dict[str, Any] = json.loads(answer)
        return result


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    if process.stdin is None or process.stdout is None:
        raise BenchFailed("the driver was started without pipes")
    return process.stdin, process.stdout
