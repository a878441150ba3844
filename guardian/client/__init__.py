"""The typed client of Guardian's gRPC API, used by the CLI, Spark jobs, brokers' tools and tests alike.

It is given the endpoints of one or more members and learns the others from them. Changes go to the leader, reads to all
members in turn; both go on elsewhere when a member dies, hangs or has no leader. It raises the errors of
`guardian.errors`: Unavailable says that nothing was changed, OutcomeUnknown that something may have been.

    calls.py          one call through all of this; members.py, sessions.py, errors.py: its decisions; stubs.py: gRPC
    federation.py, tickets.py, tiering.py, raft.py, insight.py, activity.py, placement.py,   what can be called,
    planning.py, identities.py    and who asks
    messages.py       any of these by its name
    append_stream.py  a pipeline of segment events
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType

import grpc

from guardian.client.activity import ActivityCalls
from guardian.client.append_stream import SegmentEventStream
from guardian.client.bearing import Bearing
from guardian.client.calls import Calls, Staleness
from guardian.client.credentials import ClientTls
from guardian.client.errors import from_rpc
from guardian.client.events import EventCalls
from guardian.client.federation import FederationCalls
from guardian.client.identities import IdentityCalls
from guardian.client.insight import InsightCalls
from guardian.client.messages import MessageCalls
from guardian.client.placement import PlacementCalls
from guardian.client.planning import PlanningCalls
from guardian.client.protection import ProtectionCalls
from guardian.client.raft import RaftCalls, SavedSnapshot
from guardian.client.stubs import MAX_MESSAGE_BYTES
from guardian.client.tickets import TicketCalls, TicketPage
from guardian.client.tiering import TieringCalls
from guardian.errors import InvalidInput
from guardian.model.topology import require_endpoint
from protos.guardian.v1 import federation_pb2

__all__ = [
    "MAX_MESSAGE_BYTES",
    "ClientTls",
    "GuardianClient",
    "SavedSnapshot",
    "SegmentEventStream",
    "Staleness",
    "TicketPage",
]


class GuardianClient(
    FederationCalls,
    TicketCalls,
    TieringCalls,
    RaftCalls,
    InsightCalls,
    ActivityCalls,
    PlacementCalls,
    PlanningCalls,
    ProtectionCalls,
    EventCalls,
    IdentityCalls,
    MessageCalls,
):
    """A context manager; thread-safe. `endpoints` are host:port of members; `timeout_s` bounds each call, retries
    included. `actor` is named in the audit where a call does not name somebody itself. `tls` is how members are spoken
    to, None: in plain text; `bearing` is what it shows with each call, such as a token.
    """

    def __init__(
        self,
        endpoints: Sequence[str],
        timeout_s: float = 30.0,
        actor: str = "",
        tls: ClientTls | None = None,
        bearing: Bearing | None = None,
    ) -> None:
        if not endpoints:
            raise InvalidInput("endpoints is empty: give host:port of one or more Guardian members")
        for endpoint in endpoints:
            require_endpoint("endpoints", endpoint)
        self._given = tuple(endpoints)
        owner = f"{socket.gethostname()}/{os.getpid()}"
        self._calls = Calls(endpoints, timeout_s, actor, owner=owner, tls=tls, bearing=bearing)

    def __enter__(self) -> GuardianClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._calls.close()

    @property
    def endpoints(self) -> tuple[str, ...]:
        """Those that were given."""
        return self._given

    def known_endpoints(self) -> tuple[str, ...]:
        """Those that were given, and those of the members that they told of."""
        return self._calls.known_endpoints()

    def allow_stale(self, seconds: float) -> AbstractContextManager[Staleness]:
        """Allow stale reads: within `with client.allow_stale(2.0) as staleness:` reads of this thread may be up to so
        old, in s. `staleness.worst_s` is how old the oldest one was. Any member answers at once, whether or not there
        is a leader.
        """
        return self._calls.stale(seconds)

    def member(self) -> federation_pb2.Member:
        """The view of whichever member answers."""
        request = federation_pb2.GetMemberRequest()
        return self._calls.read(lambda stubs: stubs.federation.GetMember, request)

    def member_at(self, endpoint: str, timeout_s: float = 3.0) -> federation_pb2.Member:
        """The view of one member; raises Unavailable when that one does not answer."""
        request = federation_pb2.GetMemberRequest()
        try:
            return self._calls.at(endpoint).federation.GetMember(request, timeout=timeout_s)
        except grpc.RpcError as error:
            raise from_rpc(error) from None
