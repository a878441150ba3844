"""Runs hooks, a process each, beside the ticks: they take minutes.

    start(ticket, key, ...) ──▶ process ──▶ ended, or its time is up ──▶ answers(ticket)[key]

What is known here dies with the member: whoever leads next finds the intent in the store and starts the hook again. A
hook that runs is not ended with the member, since half a restart is worse than one that nobody waits for. So its output
goes to a file and not through a pipe that could break.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Collection, Mapping
from typing import BinaryIO

from guardian.errors import InvalidInput
from guardian.execution.model import Hook, HookTarget
from guardian.model.operation import HookAnswer, HookKey

OUTPUT_CHARS = 2000
_END_S = 5.0


class HookRunner:
    """Thread-safe. `hooks` are those of the configuration, by name."""

    def __init__(self, hooks: Mapping[str, Hook]) -> None:
        self._hooks = hooks
        self._lock = threading.Lock()
        self._started: dict[str, set[HookKey]] = {}
        self._answers: dict[str, dict[HookKey, HookAnswer]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._hooks))

    def require(self, name: str) -> Hook:
        """Raises InvalidInput when no such hook is configured on this member."""
        hook = self._hooks.get(name)
        if hook is None:
            known = ", ".join(self.names) or "none yet"
            raise InvalidInput(f"hook is {name!r}: name one of the members' configuration ({known}), [hooks.{name}]")
        return hook

    def must_be_seen(self, name: str) -> bool:
        """Return whether the hook's yes may come though nothing was restarted; of a hook that is not known here, it may
        not come.
        """
        hook = self._hooks.get(name)
        return hook is not None and hook.must_be_seen

    def start(self, ticket_id: str, key: HookKey, name: str, target: HookTarget) -> None:
        """Starts the hook, unless this process started the run with this key already. Never raises: what is wrong is
        the run's answer."""
        with self._lock:
            started = self._started.setdefault(ticket_id, set())
            if key in started:
                return
            started.add(key)
        try:
            hook = self.require(name)
            command = hook.command_for(key.action, target)
        except InvalidInput as error:
            self._answer(ticket_id, key, HookAnswer(False, str(error)))
            return
        run = threading.Thread(
            target=self._run, args=(ticket_id, key, hook, command), name=f"hook-{name}-{key.node}", daemon=True
        )
        run.start()

    def answers(self, ticket_id: str) -> dict[HookKey, HookAnswer]:
        """Return the answers of this ticket's runs that have ended since this process started."""
        with self._lock:
            return dict(self._answers.get(ticket_id, {}))

    def keep_only(self, ticket_ids: Collection[str]) -> None:
        """Forgets all other tickets: they are over."""
        with self._lock:
            for ticket_id in self._started.keys() - set(ticket_ids):
                del self._started[ticket_id]
                self._answers.pop(ticket_id, None)

    def _run(self, ticket_id: str, key: HookKey, hook: Hook, command: tuple[str, ...]) -> None:
        try:
            found = _answer_of(hook, command)
        except Exception as error:  # noqa: BLE001  a run without an answer would be waited for without end
            found = HookAnswer(False, f"hook {hook.name} failed in a way nobody foresaw: {error!r}")
        self._answer(ticket_id, key, found)

    def _answer(self, ticket_id: str, key: HookKey, answer: HookAnswer) -> None:
        with self._lock:
            if key in self._started.get(ticket_id, ()):
                self._answers.setdefault(ticket_id, {})[key] = answer


def _answer_of(hook: Hook, command: tuple[str, ...]) -> HookAnswer:
    """Run the command and return how it ended; waits as long as the hook may take."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=hook.environment_of(os.environ),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: an argument has a NUL, or can't be encoded
            problem = error.strerror if isinstance(error, OSError) else error
            return HookAnswer(False, f"hook {hook.name} can't be started: {command[0]}: {problem}")
        try:
            code = process.wait(hook.timeout_s)
            told = f"ended with {code} after {time.monotonic() - began:.1f} s"
            ok = code == 0
        except subprocess.TimeoutExpired:
            told, ok = f"did not end within {hook.timeout_s:g} s and was stopped", False
            _end(process)
        return HookAnswer(ok, _words(f"hook {hook.name} {told}", _tail(said)))


def _end(process: subprocess.Popen[bytes]) -> None:
    """The hook alone: what it started (a broker, perhaps) may have to live on."""
    process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _tail(said: BinaryIO) -> str:
    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - 4 * OUTPUT_CHARS))
    text = said.read().decode(errors="replace").strip()
    printable = "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)
    return printable if len(printable) <= OUTPUT_CHARS else f"...{printable[-OUTPUT_CHARS:]}"


def _words(told: str, output: str) -> str:
    return f"{told}: {output}" if output else told
