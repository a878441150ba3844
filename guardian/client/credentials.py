"""What a client shows, and whom it trusts: PEM files, read for each connection that it opens anew.

A client that runs for months (the console, `guardian analyze --every`) takes up renewed files by itself. `stamp` tells
that they have changed, and calls made from then on go over a new channel.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import grpc

from guardian.errors import InvalidInput

Stamp = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class ClientTls:
    """`ca` is the authority of the members; `certificate` and `key` are this client's own, both or neither."""

    ca: Path
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            given, missing = ("key", "certificate") if self.certificate is None else ("certificate", "key")
            raise InvalidInput(f"{missing} is not given, but {given} is: give both, or neither")

    def credentials(self) -> grpc.ChannelCredentials:
        """Raises InvalidInput when a file can't be read."""
        return grpc.ssl_channel_credentials(
            _read("ca", self.ca),
            _read("key", self.key) if self.key is not None else None,
            _read("certificate", self.certificate) if self.certificate is not None else None,
        )

    def stamp(self) -> Stamp:
        """Another one when a file has changed; empty while one is missing."""
        try:
            stats = [path.stat() for path in (self.ca, self.certificate, self.key) if path is not None]
        except OSError:
            return ()
        return tuple((stat.st_mtime_ns, stat.st_size, stat.st_ino) for stat in stats)


def _read(field: str, path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{field} is {str(path)!r}, which can't be read: {error.strerror}") from None
    if b"-----BEGIN " not in content:
        raise InvalidInput(f"{field} is {str(path)!r}, which is no PEM file: give one that begins with -----BEGIN")
    return content
