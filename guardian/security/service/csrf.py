"""A page of another site must not make a signed-in browser change anything here.

Two walls. The guard (web_guard) refuses what a browser itself says to come from another site. And each form of our own
carries a sealed text that belongs to the person's session, which no other site can read. `token_of` makes it, and
`required` is the dependency of routes that change something. Programs that send a token of their own in a header
(Authorization: Bearer) are none of a browser's doing, and need neither.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

from fastapi import Request

from guardian.errors import NotAllowed, NotSignedIn
from guardian.security.rules.sealing import seal, unseal
from guardian.security.service.proving import SESSION_COOKIE

FIELD = "csrf"
HEADER = "x-csrf-token"
_PURPOSE = "form"
_LIFETIME_MS = 24 * 3_600_000
_SAFE = ("GET", "HEAD", "OPTIONS")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class FormTokens:
    """`key` is the members' own, or, where security is off, one that this process made for itself."""

    def __init__(self, key: bytes, now_ms: Callable[[], int]) -> None:
        self._key = key
        self._now_ms = now_ms

    def token_of(self, request: Request) -> str:
        """Return the token that the request's page is to carry in its forms."""
        return seal(self._key, _PURPOSE, {"session": _session(request)}, self._now_ms() + _LIFETIME_MS)

    async def required(self, request: Request) -> None:
        """Raises NotAllowed for a change by a browser whose form is none of ours, or of another session."""
        if request.method in _SAFE or request.headers.get("authorization", "").lower().startswith("bearer "):
            return
        sent = request.headers.get(HEADER, "")
        if not sent and request.headers.get("content-type", "").partition(";")[0].strip().lower() in _FORMS:
            field = (await request.form()).get(FIELD)
            sent = field if isinstance(field, str) else ""
        try:
            session = unseal(self._key, _PURPOSE, sent, self._now_ms())["session"]
        except NotSignedIn:
            session = None
        if not isinstance(session, str) or not hmac.compare_digest(session, _session(request)):
            raise NotAllowed("the form is too old, or of another session or site: open its page again and send it anew")


def _session(request: Request) -> str:
    return hashlib.sha256(request.cookies.get(SESSION_COOKIE, "").encode()).hexdigest()
