"""One POST to a sink, that ends in its time whatever the other side does.

A socket's own timeout is about one read: who sends a byte now and then would never end it. So each read gets what is
left of the whole. The name's look-up is not in it (the resolver's own timeouts hold), and where a name has several
addresses that do not answer, each may take `timeout_s`.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from contextlib import suppress
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from guardian.errors import InvalidInput
from guardian.events.model import Sink, require_url
from guardian.events.rules.notifying import Post

_ANSWER_BYTES = 65536
_TO_MEND = (401, 403, 404, 407, 410)  # they end when the sink's token or address is put right
_LATER = (408, 425, 429)


class Refused(Exception):
    """The sink will never take this."""


class NotTaken(Exception):
    """The sink did not take it now."""


class ToBeMended(NotTaken):
    """The sink takes nothing before a person puts its address or token right, here or there."""


def post(sink: Sink, wanted: Post) -> None:
    """One POST. Raises Refused or NotTaken, with a sentence that tells no secret."""
    headers = {"Content-Type": wanted.content_type, "User-Agent": "guardian"}
    url = sink.url or _read("url_file", sink.url_file)
    try:
        require_url(f"url_file of sink {sink.name}", url)
    except InvalidInput as error:
        raise ToBeMended(str(error)) from None
    if sink.token_file is not None:
        token = _read("token_file", sink.token_file)
        if not token or not token.isascii() or not token.isprintable():
            raise ToBeMended(f"token_file {sink.token_file} holds no token: give one line")
        headers["Authorization"] = f"Bearer {token}"
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    ends_at_s = time.monotonic() + sink.timeout_s
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(
            host, port, timeout=sink.timeout_s, context=ssl.create_default_context()
        )
    else:
        connection = http.client.HTTPConnection(host, port, timeout=sink.timeout_s)
    target = (parts.path.rstrip("/") if wanted.path else parts.path or "/") + wanted.path
    try:
        connection.connect()
        within = _Within(connection.sock, ends_at_s)
        within.allow()
        connection.request("POST", f"{target}?{parts.query}" if parts.query else target, wanted.body, headers)
        # An HTTPResponse asks its socket for nothing but a file to read from.
        answer = http.client.HTTPResponse(cast("socket.socket", within), method="POST")
        answer.begin()
        if 200 <= answer.status < 300:
            return
        text = ""
        with suppress(OSError, ValueError, http.client.HTTPException):  # the status says enough
            text = answer.read(_ANSWER_BYTES).decode(errors="replace")
    except (OSError, ValueError, http.client.HTTPException) as error:  # ValueError: a content type that is no header's
        raise NotTaken(f"{host} does not take it ({error or type(error).__name__})") from None
    finally:
        connection.close()
    first = next(iter(text.splitlines()), "")[:200]
    sentence = f"{host} answers {answer.status} {answer.reason}" + (f": {first}" if first else "")
    if answer.status in _TO_MEND:
        raise ToBeMended(sentence)
    if 400 <= answer.status < 500 and answer.status not in _LATER:
        raise Refused(sentence)
    raise NotTaken(sentence)


class _Within(io.RawIOBase):
    """Reads of a socket that all together end in time."""

    def __init__(self, source: socket.socket, ends_at_s: float) -> None:
        super().__init__()
        self._source = source
        self._ends_at_s = ends_at_s

    def allow(self) -> None:
        """Gives the socket what is left. Raises TimeoutError where that is nothing."""
        left_s = self._ends_at_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        self._source.settimeout(left_s)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed has more buffers than are given
        self.allow()
        return self._source.recv_into(buffer)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)


def _read(setting: str, path: Path | None) -> str:
    if path is None:
        raise ToBeMended(f"{setting} is not given")
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "no text"
        raise ToBeMended(f"{setting} {path} can't be read: {why}") from None
