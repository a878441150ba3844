"""[security] of a member's configuration: who may do what (docs/security.md). The same for all members.

[security]                         # without it whoever reaches the member may do everything
roles    = "/etc/guardian/roles.toml"      # who has which role: guardian/model/roles.py
key_file = "/etc/guardian/members.key"     # at least 32 bytes, mode 600: seals sessions and members' words
tokens   = "/etc/guardian/tokens.toml"     # made by `guardian token create`; left out: no token is good
url      = "https://guardian.example:9751" # where people open the console; default: `http` of the member
session_hours = 8.0                # for so long people stay signed in
calls_per_s   = 50.0               # of one identity, on one member; brokers are not held back
burst         = 500                # ... of which so many may come at once
open_metrics  = false              # true: /metrics, /metrics/tenants and /sd/prometheus need nobody's name
audit_file    = "/var/log/guardian/audit.jsonl"   # what changed is appended here too; left out: nowhere
allowed_bootstraps = ["*.kafka.example.net:9093"] # where admins of some clusters may register them; else admins of all

[security.oidc]                    # people sign in at a provider of identities
issuer     = "https://login.example"
client_id  = "guardian"
client_secret_file = "/etc/guardian/oidc.secret"  # mode 600; left out: a public client, with PKCE alone
cli_client_id = "guardian-cli"     # of `guardian login`; default: client_id
name_claim    = "email"            # what people are called; default: "email"
groups_claim  = "groups"           # whose values are `group:...` in the roles file
scopes     = ["openid", "email", "profile", "groups"]
ca         = "/etc/guardian/login-ca.pem"         # whom to trust as the provider; default: the system's
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from guardian.errors import InvalidInput

_BOOTSTRAP = re.compile(r"[A-Za-z0-9.*?_\[\]:-]+:(\d{1,5}|\*)", re.ASCII)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class OidcConfig:
    """A provider of identities."""

    issuer: str
    client_id: str
    client_secret_file: Path | None = None
    cli_client_id: str = ""
    name_claim: str = "email"
    groups_claim: str = "groups"
    scopes: tuple[str, ...] = ("openid", "email", "profile", "groups")
    ca: Path | None = None

    def __post_init__(self) -> None:
        require_private_url("security.oidc.issuer", self.issuer)
        if "openid" not in self.scopes:
            raise InvalidInput(f'security.oidc.scopes is {list(self.scopes)}: "openid" must be among them')


@dataclass(frozen=True, slots=True)
class SecurityConfig:
    """See the module's example."""

    roles: Path
    key_file: Path
    tokens: Path | None = None
    url: str = ""
    session_hours: float = 8.0
    calls_per_s: float = 50.0
    burst: int = 500
    open_metrics: bool = False
    audit_file: Path | None = None
    allowed_bootstraps: tuple[str, ...] = ()
    oidc: OidcConfig | None = field(default=None)

    def __post_init__(self) -> None:
        for name, value, lowest, highest in (
            ("session_hours", self.session_hours, 0.01, 24 * 30),
            ("calls_per_s", self.calls_per_s, 0.1, 1e6),
            ("burst", self.burst, 1, 1_000_000),
        ):
            if not lowest <= value <= highest:
                raise InvalidInput(f"security.{name} is {value}: use {lowest} to {highest}")
        if self.url:
            require_private_url("security.url", self.url)

    @classmethod
    def of_section(cls, section: Mapping[str, object]) -> SecurityConfig:
        """Raises InvalidInput that names the field, the value and the fix."""
        _refuse_unknown("security.", section, {setting.name for setting in fields(cls)})
        given: dict[str, Any] = {name: Path(_text(section, name)) for name in ("roles", "key_file")}
        given |= {name: Path(_text(section, name)) for name in ("tokens", "audit_file") if name in section}
        if "url" in section:
            given["url"] = _text(section, "url").rstrip("/")
        given |= {name: _number(section, name) for name in ("session_hours", "calls_per_s") if name in section}
        if "burst" in section:
            given["burst"] = int(_number(section, "burst", is_whole=True))
        if "open_metrics" in section:
            if not isinstance(section["open_metrics"], bool):
                raise InvalidInput(f"security.open_metrics is {section['open_metrics']!r}: use true or false")
            given["open_metrics"] = section["open_metrics"]
        if "allowed_bootstraps" in section:
            given["allowed_bootstraps"] = _bootstraps(section["allowed_bootstraps"])
        if "oidc" in section:
            given["oidc"] = _oidc(section["oidc"])
        return cls(**given)


def require_private_url(name: str, url: str) -> None:
    """Of HTTPS, or of this host. Raises InvalidInput."""
    try:
        parts = urlsplit(url)
        is_private = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
        is_good = bool(parts.hostname) and not parts.query and not parts.fragment and parts.username is None
    except ValueError:
        is_private = is_good = False
    if not (is_private and is_good):
        raise InvalidInput(f"{name} is {url!r}: use https://host, without a user, query or fragment")


def _oidc(section: object) -> OidcConfig:
    if not isinstance(section, dict):
        raise InvalidInput(f"security.oidc is {section!r}: write it as a section, [security.oidc]")
    if "client_secret" in section:
        raise InvalidInput("security.oidc.client_secret is not taken: secrets come by file, give client_secret_file")
    _refuse_unknown("security.oidc.", section, {setting.name for setting in fields(OidcConfig)})
    prefix = "oidc."
    given: dict[str, Any] = {name: _text(section, name, prefix) for name in ("issuer", "client_id")}
    for name in ("cli_client_id", "name_claim", "groups_claim"):
        if name in section:
            given[name] = _text(section, name, prefix)
    for name in ("client_secret_file", "ca"):
        if name in section:
            given[name] = Path(_text(section, name, prefix))
    if "scopes" in section:
        scopes = section["scopes"]
        if not isinstance(scopes, list) or not all(isinstance(each, str) and each for each in scopes):
            raise InvalidInput(f'security.oidc.scopes is {scopes!r}: give a list, such as ["openid", "email"]')
        given["scopes"] = tuple(scopes)
    return OidcConfig(**given)


def _bootstraps(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) and _BOOTSTRAP.fullmatch(each) for each in value):
        raise InvalidInput(
            f"security.allowed_bootstraps is {value!r}: give a list of host:port, with patterns for the host, such as "
            '["*.kafka.example.net:9093"]'
        )
    return tuple(value)


def _text(section: Mapping[str, object], name: str, prefix: str = "") -> str:
    value = section.get(name)
    if not isinstance(value, str) or not value or "\x00" in value:
        raise InvalidInput(f"security.{prefix}{name} is {value!r}: give a non-empty string")
    return value


def _number(section: Mapping[str, object], name: str, *, is_whole: bool = False) -> float:
    value = section[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or (is_whole and not isinstance(value, int)):
        raise InvalidInput(f"security.{name} is {value!r}: give a {'whole ' if is_whole else ''}number")
    return float(value)


def _refuse_unknown(prefix: str, table: Mapping[str, object], known: set[str]) -> None:
    for key in table:
        if key not in known:
            raise InvalidInput(f"{prefix}{key} is not a setting: use one of {', '.join(sorted(known))}")
