"""Tokens for programs, and for people where there is no provider of identities. The file keeps no token, but hashes.

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
from guardian.model.actor import require_name
from guardian.model.settings import at_ms, parse, read_all, refuse_unknown, setting, shown

PREFIX = "gdn_"
SECRET_BYTES = 32
ID_BYTES = 4
_TOKEN = re.compile(r"gdn_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")
_ID = re.compile(r"[0-9a-f]{8}")
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_MAX_TOKENS = 10_000


def _id(path: str, value: object) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise InvalidInput(f"{path} is {shown(value)}: use the 8 hexadecimal digits after {PREFIX} in the token")
    return value


def _digest(path: str, value: object) -> str:
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        raise InvalidInput(f"{path} is not sha256: and 64 hexadecimal digits: make it by guardian token create")
    return value


@dataclass(frozen=True, slots=True)
class Token:
    """Keep what the file has of a token, one section [[tokens]] each. `expires_at_ms` 0: it does not expire."""

    id: str = setting(..., "The digits after gdn_ in the token.", read=_id)
    name: str = setting(..., "The name of who comes with it, for the roles file and the audit.", read=require_name)
    hash: str = setting(..., "The SHA-256 of the token.", read=_digest)
    created_at_ms: int = setting(..., "The time when it was made.", key="created", read=at_ms)
    expires_at_ms: int = setting(0, "The time when it expires; default: never.", key="expires", read=at_ms)


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
        raise NotSignedIn(
            "the token is not known, or was revoked: ask an admin for a new one (guardian token create)",
            credential=_credential(token) if token is not None else "",
        )
    require_fresh(token, now_ms)
    return token


def require_fresh(token: Token, now_ms: int) -> None:
    """Raises NotSignedIn when it has expired."""
    if token.expires_at_ms and now_ms >= token.expires_at_ms:
        at = datetime.fromtimestamp(token.expires_at_ms / 1000, UTC)
        raise NotSignedIn(
            f"token {token.id} of {token.name} expired at {at:%Y-%m-%d %H:%M} UTC: ask for a new one",
            credential=_credential(token),
        )


def parse_tokens(text: str) -> tuple[Token, ...]:
    """Raises InvalidInput that names the field, the value and the fix."""
    table = parse(text)
    refuse_unknown("", table, ("tokens",))
    tokens = read_all(Token, table.get("tokens", []), "tokens")
    if len(tokens) > _MAX_TOKENS:
        raise InvalidInput(f"tokens has {len(tokens)} entries: use up to {_MAX_TOKENS}")
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


def _credential(token: Token) -> str:
    return f"token {token.id}"


def _hash(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
