"""Values that Guardian hands out and wants back unchanged: console sessions, sign-ins under way, and what one member
tells another of who asks. JSON, readable by whoever holds it, with an HMAC that only the members can make.

Each use has a purpose, and with it a key of its own: what was sealed for one is nothing for another.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping

from guardian.errors import NotSignedIn

MIN_KEY_BYTES = 32
_MAX_CHARS = 8192


def seal(key: bytes, purpose: str, value: Mapping[str, object], expires_at_ms: int) -> str:
    """A text of letters, digits, '-', '_' and one '.', good until then."""
    body = json.dumps({"until": expires_at_ms, "value": value}, separators=(",", ":"), sort_keys=True).encode()
    return f"{_encode(body)}.{_encode(_mac(key, purpose, body))}"


def unseal(key: bytes, purpose: str, text: str, now_ms: int) -> dict[str, object]:
    """Raises NotSignedIn when it was not sealed by this key for this purpose, or its time is over."""
    body_text, _, mac_text = text.partition(".")
    try:
        if len(text) > _MAX_CHARS:
            raise ValueError
        body, mac = _decode(body_text), _decode(mac_text)
        if f"{_encode(body)}.{_encode(mac)}" != text:  # another spelling would be another text: not one that was ended
            raise ValueError
    except ValueError:
        raise NotSignedIn(f"the {purpose} is damaged: sign in again") from None
    if not hmac.compare_digest(mac, _mac(key, purpose, body)):
        raise NotSignedIn(f"the {purpose} was not made by these members, or their key was changed: sign in again")
    sealed = json.loads(body)
    value: dict[str, object] = sealed["value"]
    if now_ms >= sealed["until"]:
        raise NotSignedIn(f"the {purpose} is over: sign in again", credential=str(value.get("name", "")))
    return value


def until_of(text: str) -> int:
    """Return the time at which a good sealed text is over."""
    until_ms: int = json.loads(_decode(text.partition(".")[0]))["until"]
    return until_ms


def _mac(key: bytes, purpose: str, body: bytes) -> bytes:
    own = hmac.new(key, b"guardian " + purpose.encode(), hashlib.sha256).digest()
    return hmac.new(own, body, hashlib.sha256).digest()


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    """Raises ValueError."""
    try:
        return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise ValueError from error
