"""[security] of a member's configuration: who may do what (docs/security.md). The same for all members."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from guardian.errors import InvalidInput
from guardian.model.settings import Section, check_ranges, read, section, setting, shown

_BOOTSTRAP = re.compile(r"[A-Za-z0-9.*?_\[\]:-]+:(\d{1,5}|\*)", re.ASCII)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def _bootstraps(path: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) and _BOOTSTRAP.fullmatch(each) for each in value):
        raise InvalidInput(
            f"{path} is {shown(value)}: give a list of host:port, with patterns for the host, such as "
            '["*.kafka.example.net:9093"]'
        )
    return tuple(value)


@dataclass(frozen=True, slots=True)
class OidcConfig(Section):
    """Let people sign in at a provider of identities."""

    issuer: str = setting(..., "The provider's URL.", example="https://login.example")
    client_id: str = setting(..., "The name of Guardian as a client there.", example="guardian")
    client_secret_file: Path | None = setting(
        None, "The client's secret, mode 600; default: a public client, with PKCE alone.", example="/etc/guardian/oidc"
    )
    cli_client_id: str = setting("", "The client of `guardian login`; default: `client_id`.", example="guardian-cli")
    name_claim: str = setting("email", "The claim with a person's name.")
    groups_claim: str = setting("groups", "The claim whose values are `group:...` in the roles file.")
    scopes: tuple[str, ...] = setting(
        ("openid", "email", "profile", "groups"), "The scopes to ask for.", example=["openid", "email"]
    )
    ca: Path | None = setting(
        None, "Authorities of the provider; default: the system's.", example="/etc/guardian/login-ca.pem"
    )

    def __post_init__(self) -> None:
        require_private_url("issuer", self.issuer)
        if "openid" not in self.scopes:
            raise InvalidInput(f'scopes is {list(self.scopes)}: "openid" must be among them')


def _oidc(path: str, value: object) -> OidcConfig:
    if "client_secret" in section(path, value):
        raise InvalidInput(f"{path}.client_secret is not taken: secrets come by file, give client_secret_file")
    return read(OidcConfig, value, path)


class OpenMetrics(StrEnum):
    """Say what a scraper is told that does not say who it is; `member` is what names no cluster."""

    NO = "no"
    MEMBER = "member"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class SecurityConfig(Section):
    """Say who may do what (docs/security.md); without this section whoever reaches the member may do everything."""

    roles: Path = setting(
        ...,
        "The file of who has which role; what is stored wins, but over its admins and denials (docs/security.md).",
        example="/etc/guardian/roles.toml",
    )
    key_file: Path = setting(
        ...,
        "A file of at least 32 bytes, mode 600, that seals sessions and calls between members.",
        example="/etc/guardian/members.key",
    )
    tokens: Path | None = setting(
        None,
        "The file of tokens, made by `guardian token create`; default: no token is good.",
        example="/etc/guardian/tokens.toml",
    )
    url: str = setting(
        "", "Where people open the console; default: `http` of the member.", example="https://guardian.example:9751"
    )
    session_hours: float = setting(8.0, "People stay signed in for so long.", least=0.01, most=24 * 30)
    calls_per_s: float = setting(
        50.0, "Calls of one identity on one member; brokers are not limited.", least=0.1, most=1e6
    )
    burst: int = setting(500, "Calls of one identity that may come at once.", least=1, most=1_000_000)
    open_metrics: OpenMetrics = setting(
        OpenMetrics.NO,
        "What /metrics, /metrics/tenants and /sd/prometheus tell who shows no credential: nothing, what names no "
        "cluster, or all. Who shows one is told of the clusters that he sees.",
    )
    audit_file: Path | None = setting(
        None, "The file to which changes are appended, too.", example="/var/log/guardian/audit.jsonl"
    )
    allowed_bootstraps: tuple[str, ...] = setting(
        (),
        "Where admins of some clusters may register them; default: only admins of all clusters may.",
        example=["*.kafka.example.net:9093"],
        read=_bootstraps,
    )
    oidc: OidcConfig | None = setting(None, read=_oidc)

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.url:
            require_private_url("url", self.url)


def require_private_url(name: str, url: str) -> None:
    """Require that the URL is of HTTPS, or of this host. Raises InvalidInput."""
    try:
        parts = urlsplit(url)
        is_private = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
        is_good = bool(parts.hostname) and not parts.query and not parts.fragment and parts.username is None
    except ValueError:
        is_private = is_good = False
    if not (is_private and is_good):
        raise InvalidInput(f"{name} is {url!r}: use https://host, without a user, query or fragment")
