"""Tokens for programs, and for people where there is no provider of identities. The file keeps no token, but hashes:

[[tokens]]
id      = "3f9a01c2"                   # of which the token itself reads gdn_3f9a01c2_...
name    = "ci"                         # who comes with it, for the roles file and the audit
hash    = "sha256:..."
created = 2026-11-23T08:00:00Z
expires = 2027-02-21T08:00:00Z         # left out: it does not expire

A token is 256 random bits, so that its plain hash can't be searched for, and needs no salt.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from guardian.errors import InvalidInput, NotSignedIn
from guardian.model import settings
from guardian.model.actor import require_name

PREFIX = "gdn_"
SECRET_BYTES = 32
ID_BYTES = 4
_TOKEN = re.compile(r"gdn_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")
_ID = re.compile(r"[0-9a-f]{8}")
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_MAX_TOKENS = 10_000


@dataclass(frozen=True, slots=True)
class Token:
    """`expires_at_ms` 0: it does not expire."""

    id: str
    name: str
    hash: str
    created_at_ms: int
    expires_at_ms: int = 0


def make_token(name: str, id_bytes: bytes, secret: bytes, now_ms: int, lifetime_ms: int = 0) -> tuple[str, Token]:
    """The text that its owner keeps, and what the file keeps of it."""
    identifier = id_bytes.hex()
    text = f"{PREFIX}{identifier}_{base64.urlsafe_b64encode(secret).rstrip(b'=').decode()}"
    expires = now_ms + lifetime_ms if lifetime_ms else 0
    return text, Token(identifier, require_name("name", name), _hash(text), now_ms, expires)


def find_token(tokens: Iterable[Token], presented: str, now_ms: int) -> Token:
    """The token that this text is. Raises NotSignedIn when it is none, revoked, or expired."""
    match = _TOKEN.fullmatch(presented)
    token = next((token for token in tokens if match and token.id == match[1]), None)
    if token is None or not hmac.compare_digest(token.hash, _hash(presented)):
        raise NotSignedIn("the token is not known, or was revoked: ask an admin for a new one (guardian token create)")
    require_fresh(token, now_ms)
    return token


def require_fresh(token: Token, now_ms: int) -> None:
    """Raises NotSignedIn when it has expired."""
    if token.expires_at_ms and now_ms >= token.expires_at_ms:
        at = datetime.fromtimestamp(token.expires_at_ms / 1000, UTC)
        raise NotSignedIn(f"token {token.id} of {token.name} expired at {at:%Y-%m-%d %H:%M} UTC: ask for a new one")


def parse_tokens(text: str) -> tuple[Token, ...]:
    """Raises InvalidInput that names the field, the value and the fix."""
    table = settings.parse(text)
    settings.refuse_unknown("", table, ("tokens",))
    sections = table.get("tokens", [])
    if not isinstance(sections, list) or len(sections) > _MAX_TOKENS:
        raise InvalidInput(f"tokens is {settings.shown(sections)}: use up to {_MAX_TOKENS} sections [[tokens]]")
    tokens = tuple(_token(f"tokens[{position}]", section) for position, section in enumerate(sections))
    ids = [token.id for token in tokens]
    if len(set(ids)) != len(ids):
        twice = next(each for each in ids if ids.count(each) > 1)
        raise InvalidInput(f"tokens has the id {twice!r} twice: remove one of them")
    return tokens


def write_tokens(tokens: Iterable[Token]) -> str:
    """The file, as `parse_tokens` reads it."""
    return "\n".join(map(_section, tokens))


def _section(token: Token) -> str:
    name = token.name.replace("\\", "\\\\").replace('"', '\\"')
    lines = ["[[tokens]]", f'id = "{token.id}"', f'name = "{name}"', f'hash = "{token.hash}"']
    lines.append(f"created = {_written(token.created_at_ms)}")
    if token.expires_at_ms:
        lines.append(f"expires = {_written(token.expires_at_ms)}")
    return "\n".join(lines) + "\n"


def _written(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _token(title: str, section: object) -> Token:
    section = settings.section(title, section)
    settings.refuse_unknown(f"{title}.", section, ("id", "name", "hash", "created", "expires"))
    identifier, digest = section.get("id"), section.get("hash")
    if not isinstance(identifier, str) or not _ID.fullmatch(identifier):
        raise InvalidInput(f"{title}.id is {identifier!r}: use the 8 hexadecimal digits after {PREFIX} in the token")
    if not isinstance(digest, str) or not _HASH.fullmatch(digest):
        raise InvalidInput(f"{title}.hash is not sha256: and 64 hexadecimal digits: make it by guardian token create")
    name = require_name(f"{title}.name", section.get("name"))
    created = _at_ms(f"{title}.created", section.get("created"))
    expires = _at_ms(f"{title}.expires", section["expires"]) if "expires" in section else 0
    return Token(identifier, name, digest, created, expires)


def _at_ms(title: str, value: object) -> int:
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidInput(f"{title} is {value!s}: use a time with its zone, such as 2026-11-23T08:00:00Z")
    return int(value.timestamp() * 1000)


def _hash(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
