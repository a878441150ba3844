"""Where client activity is kept: a folder of this host, or a ClickHouse server by URL. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from guardian.errors import InvalidInput

_SCHEMES = {"clickhouse": (False, 8123), "clickhouses": (True, 8443)}


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """clickhouse://user@host:port/database, or clickhouses:// with TLS; the port is the HTTP one."""

    host: str
    port: int
    database: str
    user: str
    tls: bool


def parse_url(url: str) -> ServerAddress | Path:
    """Raises InvalidInput that names the field, the value and the fix."""
    if "://" not in url:
        return Path(url)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InvalidInput("audit.url has no usable host or port: use clickhouse://user@host:8123/database") from None
    if parts.password:
        raise InvalidInput("audit.url holds a password: put it into a file, and name that in audit.password_file")
    database = unquote(parts.path.strip("/"))
    is_name = database.isascii() and database.isidentifier()
    if parts.scheme not in _SCHEMES or not parts.hostname or parts.query or not is_name:
        raise InvalidInput(f"audit.url is {url!r}: use a path, or clickhouse://user@host:8123/database")
    tls, default_port = _SCHEMES[parts.scheme]
    return ServerAddress(parts.hostname, port or default_port, database, unquote(parts.username or "default"), tls)
