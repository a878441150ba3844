"""The configuration of one member: a TOML file, read once at start, frozen.

name  = "g1"                       # unique in the group
data  = "/var/lib/guardian"        # the store and the Raft journal
grpc  = "127.0.0.1:9750"           # brokers, admins, the CLI
http  = "127.0.0.1:9751"           # /healthz, /readyz, /metrics
raft  = "127.0.0.1:9752"           # the other members
lake  = "/var/lib/guardian/lake"   # a path, or a URL that all members reach

[peers]                            # the other members' `raft`; none: a group of one
g2 = "10.0.0.2:9752"

[collect]
interval_s = 60.0                  # between two collections of a broker
flush_s    = 60.0                  # the age at which rows are written to the lake

[execute]
tick_s = 1.0                       # between two looks at what runs
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from guardian.errors import InvalidInput
from guardian.model.topology import require_endpoint

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
DEFAULT_ENDPOINT = "127.0.0.1:9750"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")  # it becomes part of file names in the lake


@dataclass(frozen=True, slots=True)
class CollectConfig:
    """Seconds between two collections of a broker, until a call is given up, and until rows are written."""

    interval_s: float = 60.0
    timeout_s: float = 10.0
    flush_s: float = 60.0


@dataclass(frozen=True, slots=True)
class ExecuteConfig:
    """Seconds between two ticks of the executor."""

    tick_s: float = 1.0


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One member. `peers` maps the other members' names to their Raft endpoints."""

    name: str
    data: Path
    grpc: str
    http: str
    raft: str
    lake: str
    peers: Mapping[str, str] = field(default_factory=dict)
    collect: CollectConfig = field(default_factory=CollectConfig)
    execute: ExecuteConfig = field(default_factory=ExecuteConfig)

    def __post_init__(self) -> None:
        for field_name, name in (("name", self.name), *(("peers", peer) for peer in self.peers)):
            if not _NAME.fullmatch(name):
                raise InvalidInput(
                    f"{field_name} has {name!r}: use up to 63 letters, digits, '.', '_' and '-', "
                    "starting with a letter or digit"
                )
        if self.name in self.peers:
            raise InvalidInput(f"peers names this member itself, {self.name!r}: list only the others")
        for field_name, endpoint in (("grpc", self.grpc), ("http", self.http), ("raft", self.raft)):
            require_endpoint(field_name, endpoint)
            if not is_loopback(endpoint):
                raise InvalidInput(
                    f"{field_name} is {endpoint!r}: this version has no TLS and listens on loopback only, "
                    "use 127.0.0.1:port"
                )
        for peer, endpoint in self.peers.items():
            require_endpoint(f"peers.{peer}", endpoint)
            if not is_loopback(endpoint) and not urlsplit(self.lake).scheme:
                raise InvalidInput(
                    f"lake is the local path {self.lake!r}, which the member {peer} on another host can't reach: "
                    "use a URL that all members share"
                )
        for section, value in (
            ("collect.interval_s", self.collect.interval_s),
            ("collect.timeout_s", self.collect.timeout_s),
            ("collect.flush_s", self.collect.flush_s),
            ("execute.tick_s", self.execute.tick_s),
        ):
            if not 0 < value <= 86400:
                raise InvalidInput(f"{section} is {value}: use seconds, more than 0 and at most 86400")


def is_loopback(endpoint: str) -> bool:
    return endpoint.rsplit(":", 1)[0] in LOOPBACK_HOSTS


def embedded(data: Path) -> ServerConfig:
    """The one-member group that `guardian server` runs without a configuration file."""
    data = data.absolute()  # the lake's path is told to clients in other folders
    return ServerConfig(
        name="guardian",
        data=data,
        grpc=DEFAULT_ENDPOINT,
        http="127.0.0.1:9751",
        raft="127.0.0.1:9752",
        lake=str(data / "lake"),
        collect=CollectConfig(interval_s=10.0, flush_s=30.0),
    )


def load(path: Path) -> ServerConfig:
    """Reads a member's TOML file; raises InvalidInput that names the field, the value and the fix."""
    try:
        table = tomllib.loads(path.read_text())
    except OSError as error:
        raise InvalidInput(f"configuration {path} can't be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"configuration {path} is not valid TOML: {error}") from None
    try:
        return _from_table(table)
    except InvalidInput as error:
        raise InvalidInput(f"configuration {path}: {error}") from None


def _from_table(table: dict[str, object]) -> ServerConfig:
    _refuse_unknown("", table, {"name", "data", "grpc", "http", "raft", "lake", "peers", "collect", "execute"})
    peers = _section(table, "peers")
    return ServerConfig(
        name=_text(table, "name"),
        data=Path(_text(table, "data")),
        grpc=_text(table, "grpc"),
        http=_text(table, "http"),
        raft=_text(table, "raft"),
        lake=_text(table, "lake"),
        peers={name: _text(peers, name, "peers.") for name in peers},
        collect=CollectConfig(**_seconds(table, "collect", {"interval_s", "timeout_s", "flush_s"})),
        execute=ExecuteConfig(**_seconds(table, "execute", {"tick_s"})),
    )


def _text(table: Mapping[str, object], key: str, prefix: str = "") -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{prefix}{key} is {value!r}: give a non-empty string")
    return value


def _section(table: Mapping[str, object], key: str) -> dict[str, object]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise InvalidInput(f"{key} is {value!r}: write it as a section, [{key}]")
    return value


def _seconds(table: Mapping[str, object], key: str, known: set[str]) -> dict[str, float]:
    section = _section(table, key)
    _refuse_unknown(f"{key}.", section, known)
    seconds: dict[str, float] = {}
    for name, value in section.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidInput(f"{key}.{name} is {value!r}: give a number of seconds")
        seconds[name] = float(value)
    return seconds


def _refuse_unknown(prefix: str, table: Mapping[str, object], known: set[str]) -> None:
    for key in table:
        if key not in known:
            raise InvalidInput(f"{prefix}{key} is not a setting: use one of {', '.join(sorted(known))}")
