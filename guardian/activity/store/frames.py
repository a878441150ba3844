"""Frames between a member and the worker: a header in JSON and a body in bytes, each after its length."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_LENGTHS = struct.Struct("!IQ")
_MAX_HEADER_BYTES = 1 << 20
_MAX_BODY_BYTES = 1 << 30

SOCKET = "socket"
LOCK = "LOCK"  # held by the worker of the folder
HELLO = "hello"  # the first frame of a connection names the client; it may have several connections
INSERT = "insert"
QUERY = "query"
LEAVE = "leave"  # answered by the end of the worker when no other client is left


def send(connection: socket.socket, header: Mapping[str, Any], body: bytes = b"") -> None:
    text = json.dumps(header).encode()
    connection.sendall(_LENGTHS.pack(len(text), len(body)) + text)
    connection.sendall(body)


def receive(connection: socket.socket) -> tuple[dict[str, Any], bytes]:
    """Raises EOFError when the other end is gone, and OSError for what is no frame."""
    header_bytes, body_bytes = _LENGTHS.unpack(_exactly(connection, _LENGTHS.size))
    if header_bytes > _MAX_HEADER_BYTES or body_bytes > _MAX_BODY_BYTES:
        raise OSError(f"a frame of {header_bytes} and {body_bytes} bytes is no frame of ours")
    header = json.loads(_exactly(connection, header_bytes))
    return header, _exactly(connection, body_bytes)


@contextmanager
def address_in(folder: Path) -> Iterator[str]:
    """The socket's address: through /proc, for a path of any length fits no socket's address."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


def _exactly(connection: socket.socket, count: int) -> bytes:
    chunks = bytearray()
    while len(chunks) < count:
        chunk = connection.recv(min(1 << 20, count - len(chunks)))
        if not chunk:
            raise EOFError
        chunks += chunk
    return bytes(chunks)
