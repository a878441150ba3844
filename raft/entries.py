"""What an entry of the log holds: the library's type byte, then, in a regular entry, ours.

00 00 ...  an application's command
00 01 ...  a Configuration
01         the library's own, at the start of a term, or the place holder at the start of a cut log
"""

from __future__ import annotations

from raft.configuration import Configuration

NO_OP = b"\x01"
_COMMAND = b"\x00\x00"
_CONFIGURATION = b"\x00\x01"
PREFIX_BYTES = 2


def command_entry(command: bytes) -> bytes:
    return _COMMAND + command


def configuration_entry(configuration: Configuration) -> bytes:
    return _CONFIGURATION + configuration.to_bytes()


def configuration_in(entry: bytes) -> Configuration | None:
    """The configuration that an entry brings, or None. Raises ValueError when it is damaged."""
    return Configuration.from_bytes(entry[PREFIX_BYTES:]) if entry.startswith(_CONFIGURATION) else None


def command_in(entry: bytes) -> bytes | None:
    """The application's command, or None when it is another kind of entry."""
    return entry[PREFIX_BYTES:] if entry.startswith(_COMMAND) else None


def is_entry(entry: bytes) -> bool:
    return entry.startswith((_COMMAND, _CONFIGURATION, NO_OP))
