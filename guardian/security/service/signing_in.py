"""Who sends an HTTP request. The dependency of every page and route:

    def page(request: Request, user: Annotated[Identity, Depends(user_of)]) -> Response: ...

Without [security] it is LOCAL, who may do everything. With it the guard in front of all routes
(guardian.security.service.web_guard) has found out who it is, or refused the request, before any route is reached.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from fastapi import Request

from guardian.errors import NotSignedIn
from guardian.security.model.identity import LOCAL, Identity

_IDENTITY = "guardian.identity"
_SECURED = "guardian.secured"


def user_of(request: Request) -> Identity:
    """Return who asks. Raises NotSignedIn where that is not known, though it must be."""
    identity = request.scope.get(_IDENTITY)
    if isinstance(identity, Identity):
        return identity
    if request.scope.get(_SECURED):
        raise NotSignedIn("nobody is signed in: open /auth/login, or send a token (Authorization: Bearer)")
    return LOCAL


def known_name(scope: MutableMapping[str, Any]) -> str:
    """Return the name of who the guard found out to be asking; empty: nobody knows."""
    identity = identity_of(scope)
    return identity.name if identity is not None else ""


def identity_of(scope: MutableMapping[str, Any]) -> Identity | None:
    """Return who the guard found out to be asking; None: nobody knows."""
    identity = scope.get(_IDENTITY)
    return identity if isinstance(identity, Identity) else None


def note_identity(scope: MutableMapping[str, Any], identity: Identity | None) -> None:
    """The guard found out who asks; None: nobody knows, and this path is open to all."""
    scope[_SECURED] = True
    scope[_IDENTITY] = identity
