"""From the configuration to a store that works."""

from __future__ import annotations

from pathlib import Path

from guardian.activity.rules.address import parse_url
from guardian.activity.rules.database import Database
from guardian.activity.store.embedded import EmbeddedDatabase
from guardian.activity.store.server import ServerDatabase
from guardian.activity.store.store import ActivityStore


def open_store(url: str, retention_days: int, memory_mb: int, password_file: Path | None = None) -> ActivityStore:
    """Not started. Raises InvalidInput when the URL is none, or its folder can't be used."""
    return ActivityStore(open_database(url, memory_mb, password_file), retention_days)


def open_database(url: str, memory_mb: int, password_file: Path | None = None) -> Database:
    address = parse_url(url)
    if isinstance(address, Path):
        return EmbeddedDatabase(address, memory_mb)
    return ServerDatabase(address, password_file)
