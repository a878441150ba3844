"""What a request says besides its message: who asks, and how old an answer may be."""

from __future__ import annotations

import math

import grpc

from guardian.server.store import ReplicatedStore
from guardian.server.who_asks import who_asks
from guardian.wire import metadata
from metastore.views import Views

UNKNOWN_ACTOR = "unknown"


def actor_of(context: grpc.ServicerContext) -> str:
    """Who asks, for the audit: as it was proven; where security is off the name on the client's certificate, else what
    the client says of itself.

    Raises InvalidInput for a name that could not be shown to people.
    """
    identity = who_asks()
    if identity is not None:
        return identity.name
    names = context.auth_context().get("x509_common_name")
    if names:
        return bytes(next(iter(names))).decode(errors="replace")
    return metadata.actor_in(context.invocation_metadata()) or UNKNOWN_ACTOR


def views_for(store: ReplicatedStore, context: grpc.ServicerContext) -> Views:
    """What is stored, as fresh as the request asks; the trailer says how old it may be. Raises InvalidInput."""
    look = store.look(max_staleness_s=metadata.max_staleness_s_in(context.invocation_metadata()))
    context.set_trailing_metadata(((metadata.STALENESS_MS, str(math.ceil(look.staleness_s * 1000))),))
    return look.views
