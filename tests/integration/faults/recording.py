"""Recorders as processes: started together, waited for with a deadline, their histories joined into one file."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.integration.faults.judge import HISTORIES, ROOT
from tests.integration.faults.recorder import Settings

_RECORDER = Path(__file__).parent / "recorder.py"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is recorded: `operations` in all, by `processes` of `clients` each; with `until_told` more of them,
    until `Recording.may_end`."""

    operations: int
    processes: int = 2
    clients: int = 16
    registers: int = 64
    holders: int = 8
    deadline_s: float = 600.0
    until_told: bool = False


class Recording:
    """A context manager: recorders that run until they have made their operations, or are ended with it."""

    def __init__(self, name: str, endpoints: Sequence[str], home: Path, plan: Plan) -> None:
        self._name = name
        self._goes_on = home / f"{name}.goes-on" if plan.until_told else None
        self._settings = [
            Settings(
                endpoints=list(endpoints),
                output=str(home / f"{name}-{number}.jsonl"),
                name=f"p{number}c",
                clients=plan.clients,
                operations=plan.operations // plan.processes,
                registers=plan.registers,
                holders=plan.holders,
                deadline_s=plan.deadline_s,
                goes_on=str(self._goes_on or ""),
            )
            for number in range(plan.processes)
        ]
        self._deadline_s = plan.deadline_s
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Recording:
        if self._goes_on is not None:
            self._goes_on.touch()
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        for settings in self._settings:
            command = [sys.executable, str(_RECORDER), json.dumps(dataclasses.asdict(settings))]
            with _said(settings).open("wb") as said:
                self._processes.append(subprocess.Popen(command, env=environment, stderr=said))
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.kill()
                process.wait()

    def is_running(self) -> bool:
        return any(process.poll() is None for process in self._processes)

    def may_end(self) -> None:
        if self._goes_on is not None:
            self._goes_on.unlink(missing_ok=True)

    def finish(self) -> Path:
        """Waits for the recorders and returns the joined history. Raises AssertionError when one has failed."""
        for settings, process in zip(self._settings, self._processes, strict=True):
            code = process.wait(self._deadline_s + 60)
            assert code == 0, f"a recorder failed:\n{_said(settings).read_text()[-3000:]}"
        HISTORIES.mkdir(parents=True, exist_ok=True)
        history = HISTORIES / f"{self._name}.jsonl"
        with history.open("wb") as joined:
            for settings in self._settings:
                joined.write(Path(settings.output).read_bytes())
        return history

    def while_running(self, step: Callable[[threading.Event], None]) -> None:
        """Calls `step` again and again until the recorders are done; the event is set then, for steps that wait."""
        done = threading.Event()

        def watch() -> None:
            for process in self._processes:
                process.wait()
            done.set()

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        while not done.is_set():
            step(done)
        watcher.join()


def _said(settings: Settings) -> Path:
    return Path(f"{settings.output}.stderr")
