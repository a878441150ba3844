"""Wait for what a write lacks and may get again: space on the disk, or a file descriptor of the process.

A disk that is full or a process that has all its files open has lost nothing: what was not written is written later. No
error of an fsync is among these, whatever its number: nobody knows then what is on the disk.

Some descriptors are kept open for nothing but to be given back where the process has no other left.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_NO_FILES = (errno.EMFILE, errno.ENFILE)
_SPARE = 4  # a file and its directory, twice
_Result = TypeVar("_Result")


def is_passing(error: BaseException) -> bool:
    """Return whether the error says that space or descriptors are lacking, which may come back."""
    return isinstance(error, OSError) and error.errno in (*_NO_SPACE, *_NO_FILES)


class Room:
    """Of one journal, for one thread. `wait` is called with what is lacking and returns when it is worth another
    attempt, or raises; None: nobody waits, and the error is raised."""

    def __init__(self) -> None:
        self.wait: Callable[[OSError], None] | None = None
        self._spare: list[int] = []
        self._fill()

    def ensure(self, write: Callable[[], _Result]) -> _Result:
        """Return what `write` returns, which is called again as long as there is no room; so it has to begin anew
        each time. Raises OSError."""
        while True:
            try:
                result = write()
            except OSError as error:
                if not is_passing(error):
                    raise
                if error.errno in _NO_FILES and self._spare:
                    self.close()
                elif self.wait is not None:
                    self.wait(error)
                else:
                    raise
            else:
                self._fill()
                return result

    def close(self) -> None:
        """Give the spare descriptors back. A second call does nothing."""
        while self._spare:
            os.close(self._spare.pop())

    def _fill(self) -> None:
        with suppress(OSError):
            while len(self._spare) < _SPARE:
                self._spare.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
