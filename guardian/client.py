"""The typed client of Guardian's gRPC API, used by the CLI, the demo and the tests alike.

It is given the endpoints of one or more members, tries them in turn until one answers, and raises the errors of
`guardian.errors`. Every change that it sends is idempotent, so that retrying at another member is safe.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TypeVar

import grpc

from guardian.errors import ClusterUnavailable, Conflict, GuardianError, InvalidInput, NotFound, Unavailable
from guardian.model.execution import Execution
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket
from guardian.model.topology import Cluster, require_endpoint
from guardian.wire.federation import cluster_from_proto, cluster_to_proto
from guardian.wire.plans import plan_from_proto, plan_to_proto
from guardian.wire.tickets import execution_from_proto, ticket_from_proto
from protos.guardian.v1 import federation_pb2, federation_pb2_grpc, tickets_pb2, tickets_pb2_grpc

MAX_MESSAGE_BYTES = 64 << 20

# A member that hangs may use up this much of a call's time before another one is asked.
_ATTEMPT_SHARE = 2 / 3

_Reply = TypeVar("_Reply")

_ERRORS: dict[grpc.StatusCode, type[GuardianError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidInput,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.ABORTED: Conflict,
    grpc.StatusCode.FAILED_PRECONDITION: ClusterUnavailable,
}
# The member is gone, has no leader, or did not answer in time: another one may.
_TRY_ELSEWHERE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
_CHANNEL_OPTIONS = [
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2000),
    # Members are on loopback or near: a proxy for the web, as http_proxy names, knows nothing of them.
    ("grpc.enable_http_proxy", 0),
]


class GuardianClient:
    """A context manager. `endpoints` are host:port of members; `timeout_s` bounds each call, retries included."""

    def __init__(self, endpoints: Sequence[str], timeout_s: float = 30.0) -> None:
        if not endpoints:
            raise InvalidInput("endpoints is empty: give host:port of one or more Guardian members")
        for endpoint in endpoints:
            require_endpoint("endpoints", endpoint)
        self._timeout_s = timeout_s
        self._channels = {endpoint: grpc.insecure_channel(endpoint, options=_CHANNEL_OPTIONS) for endpoint in endpoints}
        self._preferred = endpoints[0]

    def __enter__(self) -> GuardianClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()

    @property
    def endpoints(self) -> tuple[str, ...]:
        return tuple(self._channels)

    def register_cluster(self, cluster: Cluster, idc_of_rack: Mapping[str, str] | None = None) -> Cluster:
        """Registers a cluster, or replaces its entry, and returns it completed by what Kafka says.

        `idc_of_rack` gives the data centre of brokers whose own is not given.
        Raises InvalidInput or ClusterUnavailable.
        """
        request = federation_pb2.RegisterClusterRequest(cluster=cluster_to_proto(cluster), idc_of_rack=idc_of_rack)
        reply = self._call(lambda channel, t: _federation(channel).RegisterCluster(request, timeout=t))
        return cluster_from_proto(reply.cluster)

    def remove_cluster(self, name: str) -> None:
        """Forgets a cluster; raises NotFound, or Conflict while one of its tickets is open."""
        request = federation_pb2.RemoveClusterRequest(name=name)
        attempts = 0

        def remove(channel: grpc.Channel, timeout_s: float) -> federation_pb2.RemoveClusterReply:
            nonlocal attempts
            attempts += 1
            return _federation(channel).RemoveCluster(request, timeout=timeout_s)

        try:
            self._call(remove)
        except NotFound:
            # An earlier attempt may have removed it, though its member did not live to say so.
            if attempts == 1:
                raise

    def list_clusters(self) -> tuple[Cluster, ...]:
        request = federation_pb2.ListClustersRequest()
        reply = self._call(lambda channel, t: _federation(channel).ListClusters(request, timeout=t))
        return tuple(cluster_from_proto(cluster) for cluster in reply.clusters)

    def member(self) -> federation_pb2.Member:
        """The view of whichever member answers."""
        request = federation_pb2.GetMemberRequest()
        return self._call(lambda channel, t: _federation(channel).GetMember(request, timeout=t))

    def member_at(self, endpoint: str, timeout_s: float = 3.0) -> federation_pb2.Member:
        """The view of one member; raises Unavailable when that one does not answer."""
        request = federation_pb2.GetMemberRequest()
        try:
            return _federation(self._channels[endpoint]).GetMember(request, timeout=timeout_s)
        except grpc.RpcError as error:
            raise _typed(error) from None

    def plan(self, plan_hash: str) -> Plan:
        request = tickets_pb2.GetPlanRequest(plan_hash=plan_hash)
        return plan_from_proto(self._call(lambda channel, t: _tickets(channel).GetPlan(request, timeout=t)).plan)

    def create_ticket(
        self,
        plan: Plan,
        *,
        author: str,
        throttle: int = 0,
        submit: bool = False,
        reason: str = "",
        idempotency_key: str = "",
        dry_run: bool = False,
    ) -> tuple[Ticket, Plan]:
        """Makes a ticket of a plan: a draft, or pending with `submit`. `throttle` is bytes/s; 0: the default.

        Returns the plan with its originals filled in. Raises InvalidInput, Conflict or ClusterUnavailable when the plan
        can't run on the live cluster. With `dry_run` nothing is stored and the ticket has no id.
        """
        request = tickets_pb2.CreateTicketRequest(
            plan=plan_to_proto(plan),
            throttle=throttle,
            author=author,
            idempotency_key=idempotency_key or uuid.uuid4().hex,
            submit=submit,
            reason=reason,
            dry_run=dry_run,
        )
        reply = self._call(lambda channel, t: _tickets(channel).CreateTicket(request, timeout=t))
        return ticket_from_proto(reply.ticket), plan_from_proto(reply.plan)

    def submit(self, ticket_id: str, actor: str, reason: str = "") -> Ticket:
        """DRAFT -> PENDING. This and the three below raise NotFound, or Conflict when the state does not allow it."""
        return self._act(lambda tickets: tickets.SubmitTicket, ticket_id, actor, reason)

    def approve(self, ticket_id: str, actor: str, reason: str = "") -> Ticket:
        """PENDING -> APPROVED: the executor takes it up."""
        return self._act(lambda tickets: tickets.ApproveTicket, ticket_id, actor, reason)

    def reject(self, ticket_id: str, actor: str, reason: str = "") -> Ticket:
        """PENDING -> REJECTED."""
        return self._act(lambda tickets: tickets.RejectTicket, ticket_id, actor, reason)

    def cancel(self, ticket_id: str, actor: str, reason: str = "") -> Ticket:
        """RUNNING -> CANCELLING: what moves now is taken back; before it ran: REJECTED."""
        return self._act(lambda tickets: tickets.CancelTicket, ticket_id, actor, reason)

    def ticket(self, ticket_id: str) -> tuple[Ticket, Execution | None]:
        request = tickets_pb2.GetTicketRequest(ticket_id=ticket_id)
        return _detail(self._call(lambda channel, t: _tickets(channel).GetTicket(request, timeout=t)))

    def tickets(self, cluster: str = "") -> tuple[Ticket, ...]:
        """Newest first."""
        request = tickets_pb2.ListTicketsRequest(cluster=cluster)
        reply = self._call(lambda channel, t: _tickets(channel).ListTickets(request, timeout=t))
        return tuple(ticket_from_proto(ticket) for ticket in reply.tickets)

    def watch(self, ticket_id: str) -> Iterator[tuple[Ticket, Execution | None]]:
        """The ticket now and after every change, until it is over; goes on at another member when one dies or hangs.

        Raises NotFound, and Unavailable when no member answers any more.
        """
        seen: tuple[Ticket, Execution | None] | None = None
        for detail in self._looks(ticket_id):
            if detail != seen:
                seen = detail
                yield detail
            if detail[0].state.is_over:
                return

    def _looks(self, ticket_id: str) -> Iterator[tuple[Ticket, Execution | None]]:
        """For ever, and the same more than once. A member that hangs ends no stream, so each has a deadline."""
        request = tickets_pb2.GetTicketRequest(ticket_id=ticket_id)
        while True:
            yield self.ticket(ticket_id)
            try:
                stream = _tickets(self._channels[self._preferred]).WatchTicket(request, timeout=self._timeout_s)
                yield from map(_detail, stream)
            except grpc.RpcError as error:
                if error.code() not in _TRY_ELSEWHERE:
                    raise _typed(error) from None

    def _act(
        self,
        rpc: Callable[
            [tickets_pb2_grpc.TicketsStub],
            grpc.UnaryUnaryMultiCallable[tickets_pb2.TicketActionRequest, tickets_pb2.Ticket],
        ],
        ticket_id: str,
        actor: str,
        reason: str,
    ) -> Ticket:
        request = tickets_pb2.TicketActionRequest(ticket_id=ticket_id, actor=actor, reason=reason)
        return ticket_from_proto(self._call(lambda channel, t: rpc(_tickets(channel))(request, timeout=t)))

    def _call(self, call: Callable[[grpc.Channel, float], _Reply]) -> _Reply:
        deadline = time.monotonic() + self._timeout_s
        while True:
            failure: GuardianError | None = None
            for endpoint in self._in_order():
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                try:
                    reply = call(self._channels[endpoint], min(left, self._timeout_s * _ATTEMPT_SHARE))
                except grpc.RpcError as error:
                    failure = _typed(error)
                    if error.code() not in _TRY_ELSEWHERE:
                        raise failure from None
                else:
                    self._preferred = endpoint
                    return reply
            if time.monotonic() + 0.2 >= deadline:
                raise Unavailable(
                    f"no Guardian member answered at {', '.join(self._channels)} within {self._timeout_s:g} s "
                    f"({failure}): check the endpoints, and that `guardian server` runs there"
                )
            time.sleep(0.2)

    def _in_order(self) -> list[str]:
        return [self._preferred, *(endpoint for endpoint in self._channels if endpoint != self._preferred)]


def _federation(channel: grpc.Channel) -> federation_pb2_grpc.FederationStub:
    return federation_pb2_grpc.FederationStub(channel)


def _tickets(channel: grpc.Channel) -> tickets_pb2_grpc.TicketsStub:
    return tickets_pb2_grpc.TicketsStub(channel)


def _detail(message: tickets_pb2.TicketDetail) -> tuple[Ticket, Execution | None]:
    execution = execution_from_proto(message.execution) if message.HasField("execution") else None
    return ticket_from_proto(message.ticket), execution


def _typed(error: grpc.RpcError) -> GuardianError:
    return _ERRORS.get(error.code(), Unavailable)(error.details() or error.code().name)
