"""The time that a member has to end: what holds it beyond that is named, and left as a crash would leave it.

A stop waits for what is under way: calls, ticks of the leader's loops, pools. Each may wait for somebody else (a lake,
a broker, a hook), and the interpreter waits for threads of pools at its very end. All that is stored outlives a crash,
so nothing is worth a stop of minutes.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from types import FrameType

import structlog

_log = structlog.get_logger(__name__)

STOP_S = 10.0
_WITHOUT_INTERPRETER_S = 3.0
_FAULT = 2  # as the command ends where it is raised


def _end_later(after_s: float) -> None:
    faulthandler.dump_traceback_later(after_s, exit=True)


class StopDeadline:
    """Ends the process `stop_s` seconds after `begin`."""

    def __init__(
        self,
        stop_s: float = STOP_S,
        end: Callable[[int], object] = os._exit,
        end_without_interpreter: Callable[[float], object] = _end_later,
    ) -> None:
        """The thread is there from the start: a signal's handler can't wait for one to begin."""
        self._stop_s = stop_s
        self._end = end
        self._end_without_interpreter = end_without_interpreter
        self._begun: SimpleQueue[str] = SimpleQueue()
        threading.Thread(target=self._run, name="stop-deadline", daemon=True).start()

    def begin(self, fault: str = "") -> None:
        """Let the time run; the first call counts. A signal's handler may call it.

        `fault` is why the member has to end, empty where somebody asked for it: then the exit code is 0.
        """
        self._begun.put(fault)

    def _run(self) -> None:
        fault = self._begun.get()
        # Where a thread keeps the interpreter to itself, this still ends the process.
        self._end_without_interpreter(self._stop_s + _WITHOUT_INTERPRETER_S)
        time.sleep(self._stop_s)
        try:
            _log.warning(
                "stopping takes too long: the process ends at once",
                after_s=self._stop_s,
                fault=fault,
                busy=busy_threads(),
            )
            sys.stdout.flush()
        finally:
            self._end(_FAULT if fault else 0)


def busy_threads() -> list[str]:
    """Return where the main thread is, and each one that keeps the interpreter from its end."""
    frames = sys._current_frames()
    found = []
    for thread in threading.enumerate():
        is_waited_for = thread is threading.main_thread() or not thread.daemon
        if is_waited_for and thread.ident in frames:
            where = _ours(frames[thread.ident])
            found.append(f"{thread.name}: {where.f_code.co_name} ({where.f_code.co_filename}:{where.f_lineno})")
    return found


def _ours(frame: FrameType) -> FrameType:
    """Return the innermost frame of Guardian's own code, or of any. It reads no source: a disk may be slow."""
    own: FrameType | None = frame
    while own is not None and f"{os.sep}guardian{os.sep}" not in own.f_code.co_filename:
        own = own.f_back
    return own or frame
