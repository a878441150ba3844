"""A file of who may what, read again when it changes. One that can't be used lets nobody in: what was taken away from
somebody in it must not come back because of a typing mistake elsewhere in it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import structlog

from guardian.errors import InvalidInput, NotSignedIn

_log = structlog.get_logger(__name__)
_Content = TypeVar("_Content")
_MAX_BYTES = 16 << 20


class WatchedFile(Generic[_Content]):
    """`parse` raises InvalidInput. Any thread may ask. `name` is what people call the file."""

    def __init__(self, name: str, path: Path, parse: Callable[[str], _Content]) -> None:
        """Raises InvalidInput when the file can't be used now."""
        self._name = name
        self._path = path
        self._parse = parse
        self._lock = threading.Lock()
        self._stamp = self._stamp_now()
        self._content: _Content | None = self._read()

    def current(self) -> _Content:
        """Return the content as the file is now. Raises NotSignedIn when it can't be used."""
        with self._lock:
            stamp = self._stamp_now()
            if stamp != self._stamp:
                self._stamp = stamp
                try:
                    self._content = self._read()
                    _log.info("read again", what=self._name, file=str(self._path))
                except InvalidInput as error:
                    self._content = None
                    _log.error("nobody is let in by a file that can't be used", what=self._name, error=str(error))
            if self._content is None:
                raise NotSignedIn(f"the member's {self._name} can't be used, so that nobody is let in: see its log")
            return self._content

    def _stamp_now(self) -> tuple[int, int, int] | None:
        try:
            stat = self._path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _read(self) -> _Content:
        try:
            if self._path.stat().st_size > _MAX_BYTES:
                raise InvalidInput(f"{self._name} {self._path} is larger than {_MAX_BYTES >> 20} MiB")
            return self._parse(self._path.read_text())
        except OSError as error:
            raise InvalidInput(f"{self._name} {self._path} can't be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise InvalidInput(f"{self._name} {self._path} is no text in UTF-8") from None
        except InvalidInput as error:
            raise InvalidInput(f"{self._name} {self._path}: {error}") from None


def read_secret(setting: str, path: Path, least_bytes: int = 1) -> bytes:
    """A secret is given by file only, without spaces around it. Raises InvalidInput, which never holds the secret."""
    try:
        secret = path.read_bytes().strip()
        mode = path.stat().st_mode
    except OSError as error:
        raise InvalidInput(f"{setting} {path} can't be read: {error.strerror}") from None
    if mode & 0o077:
        raise InvalidInput(f"{setting} {path} may be read by others: chmod 600 {path}")
    if len(secret) < least_bytes:
        raise InvalidInput(
            f"{setting} {path} holds {len(secret)} bytes: use {least_bytes} or more, as openssl rand -hex 32 makes"
        )
    return secret
