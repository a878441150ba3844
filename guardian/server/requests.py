"""What a request says besides its message: who asks, and how old an answer may be."""

from __future__ import annotations

import math
from typing import Any

from google.protobuf.message import Message

from guardian.model.actor import UNKNOWN, Actor, Proof, require_claimed_name, require_name
from guardian.model.identity import LOCAL
from guardian.server.store import ReplicatedStore
from guardian.server.who_asks import who_asks
from guardian.wire import metadata
from metastore.commands import SessionUse, content_of
from metastore.views import Views


def actor_of(context: Any) -> Actor:
    """Return who asks, for the audit: as it was proven.

    Where security is off it is the name on the client's certificate, else what the client says of itself, unproven.
    Raises InvalidInput for a name that nobody may have.
    """
    identity = who_asks()
    if identity is not None:
        return Actor(identity.name, identity.proof)
    names = context.auth_context().get("x509_common_name")
    if names:
        shown = bytes(next(iter(names))).decode(errors="replace")
        return Actor(require_name("the certificate's name", shown), Proof.CERTIFICATE)
    said = metadata.actor_in(context.invocation_metadata())
    return Actor(require_claimed_name(metadata.ACTOR, said)) if said else UNKNOWN


def user_of(context: Any) -> bytes:
    """Return whose a session is: the identity that was proven, and how.

    Where security is off it is the certificate's name, else that of all who reach the member. What a client says of
    itself does not count.
    """
    identity = who_asks()
    if identity is None:
        names = context.auth_context().get("x509_common_name")
        if not names:
            return LOCAL.name.encode()
        return f"{Proof.CERTIFICATE.value}:".encode() + bytes(next(iter(names)))
    return f"{identity.proof.value}:{identity.name}".encode()


def session_of(context: Any, request: Message) -> SessionUse | None:
    """Return the place in a session that the headers name for this request, or None. Raises InvalidInput."""
    ref = metadata.session_in(context.invocation_metadata())
    if ref is None:
        return None
    content = content_of(request.SerializeToString(deterministic=True))
    return SessionUse(ref.id, ref.sequence, ref.answered_below, user_of(context), content)


def views_for(store: ReplicatedStore, context: Any) -> Views:
    """What is stored, as fresh as the request asks; the trailer says how old it may be. Raises InvalidInput."""
    look = store.look(max_staleness_s=metadata.max_staleness_s_in(context.invocation_metadata()))
    context.set_trailing_metadata(((metadata.STALENESS_MS, str(math.ceil(look.staleness_s * 1000))),))
    return look.views
