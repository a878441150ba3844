"""What a request says besides its message: who asks, and how old an answer may be."""

from __future__ import annotations

import math
from typing import Any

from google.protobuf.message import Message

from guardian.errors import NotFound
from guardian.model.actor import UNKNOWN, Actor, Proof, require_claimed_name, require_name
from guardian.model.wire import metadata
from guardian.replication.store.state import SessionUse, Views, content_of
from guardian.replication.store.store import ReplicatedStore
from guardian.security.model.identity import LOCAL
from guardian.serving.who_asks import who_asks


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


def person_of(context: Any) -> str:
    """Return who asks, among whom a member shares out its work.

    Where security is off nobody is known, and the host that asks stands for the person.
    """
    identity = who_asks()
    return identity.name if identity is not None else host_of(context.peer())


def is_awaited(context: Any) -> bool:
    """Return whether the call's deadline is still to come; gRPC tells a method in a thread of nothing else."""
    remaining_s = context.time_remaining()
    return remaining_s is None or remaining_s > 0


def host_of(peer: str) -> str:
    """Return the host of gRPC's name of a peer, such as ipv4:127.0.0.1:5000."""
    return peer.partition(":")[2].rpartition(":")[0] or peer


def session_of(context: Any, request: Message) -> SessionUse | None:
    """Return the place in a session that the headers name for this request, or None. Raises InvalidInput."""
    ref = metadata.session_in(context.invocation_metadata())
    if ref is None:
        return None
    content = content_of(request.SerializeToString(deterministic=True))
    return SessionUse(ref.id, ref.sequence, ref.answered_below, user_of(context), content)


def require_cluster(views: Views, name: str) -> None:
    """Raise NotFound for a cluster that is not registered and has no ticket left: an empty list would pass for an
    answer. The empty name stands for all."""
    if name and views.cluster(name) is None and not views.ticket_counts(name).get(name):
        raise NotFound(f"cluster {name!r} is not registered: see `guardian cluster list`")


def views_for(store: ReplicatedStore, context: Any) -> Views:
    """Read what is stored, as fresh as the request asks; the trailer says how old it may be. Raises InvalidInput."""
    look = store.look(max_staleness_s=metadata.max_staleness_s_in(context.invocation_metadata()))
    context.set_trailing_metadata(((metadata.STALENESS_MS, str(math.ceil(look.staleness_s * 1000))),))
    return look.views
