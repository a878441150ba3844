"""The replicated store as the rest of the server sees it: changes go through the Raft log, reads follow a ReadIndex.

propose(command) ─▶ raft.Replica ─▶ metastore.MetastoreStateMachine (on every member)
read()           ─▶ a round of the leader with a majority, then this member's own RocksDB: linearizable on every member
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from guardian.errors import (
    Conflict,
    GuardianError,
    InvalidInput,
    NotFound,
    OutcomeUnknown,
    Overloaded,
    SessionExpired,
    Unavailable,
)
from guardian.model.actor import Actor, Agent
from guardian.model.execution import Execution
from guardian.model.operation import Ask
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.wire.actors import sign
from guardian.model.wire.operations import ask_to_proto
from guardian.model.wire.plans import plan_hash, plan_to_bytes
from guardian.model.wire.tickets import execution_to_proto, ticket_from_proto, ticket_to_proto, transition_to_proto
from guardian.serving.who_asks import who_asks
from metastore import levels
from metastore.commands import SessionUse
from metastore.state_machine import MetastoreStateMachine
from metastore.tables import plans
from metastore.tables.packed_executions import put_execution
from metastore.views import Look, Views
from protos.guardian.v1 import federation_pb2, records_pb2
from raft import errors as raft_errors
from raft.protocol import Replica, ReplicaStatus

DEFAULT_TIMEOUT_S = 10.0
OVERLOADED_RETRY_MS = 100
LOW_DISK_RETRY_MS = 5000
BUSY_RETRY_MS = 1000

_REFUSALS: dict[int, type[GuardianError]] = {
    records_pb2.INVALID: InvalidInput,
    records_pb2.NOT_FOUND: NotFound,
    records_pb2.CONFLICT: Conflict,
    records_pb2.SESSION_EXPIRED: SessionExpired,
}


class ReplicatedStore:
    """Thread-safe. `now_ms` is the group's clock (guardian.replication.store.group_clock): by it things expire and are
    deleted.

    Every method that asks the group raises Unavailable when it has no leader within the timeout. A change raises
    OutcomeUnknown when it may have been made all the same, and Overloaded when it was refused for now.
    """

    def __init__(self, replica: Replica, state_machine: MetastoreStateMachine, now_ms: Callable[[], int]) -> None:
        self._replica = replica
        self._state_machine = state_machine
        self.now_ms = now_ms
        self._level = 0

    def status(self) -> ReplicaStatus:
        return self._replica.status()

    def is_leader(self) -> bool:
        return self._replica.is_leader()

    def require_leader(self) -> None:
        """Raises Unavailable where this member leads no longer, as far as it knows."""
        if not self.is_leader():
            raise Unavailable("this member leads no longer: the new leader goes on")

    def read_as_leader(self, timeout_s: float = DEFAULT_TIMEOUT_S) -> Views:
        """Read what is stored, confirmed by a majority while this member leads. Raises Unavailable."""
        views = self.read(timeout_s)
        self.require_leader()  # a follower's ReadIndex is answered too: it says that somebody leads, not who
        return views

    def propose(
        self,
        command: records_pb2.Command,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        *,
        session: SessionUse | None = None,
        actor: Actor | Agent | None = None,
    ) -> records_pb2.CommandReply:
        """Commits a command and returns its reply; raises the reply's error as one of guardian.errors.

        Sets the command's `proposed_at_ms`. With a session it is carried out once, however often it is proposed. Raises
        InvalidInput also for a command that is too large for the log, and SessionExpired. Raises Conflict for one that
        members of an older version would carry out in another way (metastore/levels.py).
        """
        if (level := self.level()) < levels.LEVEL:
            levels.require_level(command, level)
        command.proposed_at_ms = self.now_ms()
        if actor is not None:
            sign(command, actor)
        if session is not None:
            command.session.CopyFrom(session.to_message())
        try:
            result = self._replica.propose(command.SerializeToString(), timeout_s)
        except raft_errors.RaftError as error:
            raise from_raft(error, timeout_s) from None
        except ValueError as error:
            raise InvalidInput(f"the request is too large to be stored: {error}") from None
        return reply_of(result)

    def level(self) -> int:
        """The feature level in force, as this member knows it; it only rises."""
        if self._level < levels.LEVEL:
            self._level = self._state_machine.read().level
        return self._level

    def raise_level(self, level: int, *, actor: Actor | Agent | None = None) -> None:
        """Raises InvalidInput for a level below the one in force."""
        self.propose(records_pb2.Command(raise_level=records_pb2.RaiseLevel(level=level)), actor=actor)

    def read_index(self, timeout_s: float = DEFAULT_TIMEOUT_S) -> int:
        """Returns once this member has applied all that was acknowledged anywhere before the call, and its index."""
        try:
            return self._replica.read_index(timeout_s)
        except raft_errors.RaftError as error:
            raise from_raft(error, timeout_s) from None

    def read(self, timeout_s: float = DEFAULT_TIMEOUT_S, max_staleness_s: float | None = None) -> Views:
        """Read what is stored: all that was acknowledged before the call, or, where a staleness is allowed, before
        that.
        """
        return self.look(timeout_s, max_staleness_s).views

    def look(self, timeout_s: float = DEFAULT_TIMEOUT_S, max_staleness_s: float | None = None) -> Look:
        """Read as `read` does, and say how old it may be."""
        if max_staleness_s is not None:
            staleness_s = self._replica.staleness_s()
            if staleness_s is not None and staleness_s <= max_staleness_s:
                return Look(self._state_machine.read(), staleness_s)
        self.read_index(timeout_s)
        return Look(self._state_machine.read(), 0.0)

    def read_local(self) -> Views:
        """This member as it is, possibly behind: for its own metrics, its collector and watch streams."""
        return self._state_machine.read()

    def wait_for_change(self, after_index: int, timeout_s: float) -> None:
        """Returns once a command after `after_index` is applied here, or the time is up."""
        self._state_machine.wait_for_change(after_index, timeout_s)

    def put_cluster(
        self,
        cluster: federation_pb2.Cluster,
        *,
        expected: federation_pb2.Cluster | None = None,
        session: SessionUse | None = None,
        actor: Actor | Agent | None = None,
    ) -> None:
        """Raises Conflict when the entry is no longer the `expected` one, where one is given."""
        put = records_pb2.PutCluster(cluster=cluster, expected=expected)
        self.propose(records_pb2.Command(put_cluster=put), session=session, actor=actor)

    def drop_cluster(self, name: str, *, session: SessionUse | None = None, actor: Actor | Agent | None = None) -> None:
        command = records_pb2.Command(drop_cluster=records_pb2.DropCluster(name=name))
        self.propose(command, session=session, actor=actor)

    def put_plan(self, plan: Plan) -> str:
        """Store a plan in chunks and return its hash. Raises InvalidInput when it is too large.

        Of one that this member knows only the first chunk is sent: it keeps a plan without a ticket from being trimmed.
        """
        serialized = plan_to_bytes(plan)
        content_hash = plan_hash(serialized)
        chunks = plans.split(content_hash, serialized)
        for chunk in chunks[:1] if self.read_local().has_plan(content_hash) else chunks:
            self.propose(records_pb2.Command(put_plan_chunk=chunk))
        return content_hash

    def add_ticket(self, ticket: Ticket, following: Sequence[Ticket] = ()) -> Ticket:
        """Adds a ticket, with those that follow it in its sequence; the same idempotency key again answers with the
        ticket that is there."""
        add = records_pb2.AddTicket(ticket=ticket_to_proto(ticket), following=map(ticket_to_proto, following))
        command = records_pb2.Command(add_ticket=add)
        return ticket_from_proto(self.propose(command, actor=_signer(ticket.author)).ticket)

    def amend(self, ticket_id: str, expected_state: TicketState, ask: Ask, actor: str, reason: str) -> Ticket:
        """Replaces what a ticket asks for; `ask.revision` is that of the ask which it replaces.

        Raises Conflict when that was amended meanwhile, or the ticket is in another state or over.
        """
        amend = records_pb2.AmendTicket(expected_ask_revision=ask.revision, ask=ask_to_proto(ask))
        return self._amend(amend, ticket_id, expected_state, actor, reason)

    def set_throttle(
        self,
        ticket_id: str,
        expected_state: TicketState,
        throttle: int,
        max_throttle: int,
        approved: int,
        actor: str,
        reason: str,
    ) -> Ticket:
        """Changes the throttle of a ticket that is not over; `approved` is the highest rate that was approved, 0: as it
        is. Raises Conflict when the ticket is in another state, or over."""
        amend = records_pb2.AmendTicket(
            approved_throttle=approved or None, throttle=throttle, max_throttle=max_throttle
        )
        return self._amend(amend, ticket_id, expected_state, actor, reason)

    def _amend(
        self, amend: records_pb2.AmendTicket, ticket_id: str, expected_state: TicketState, actor: str, reason: str
    ) -> Ticket:
        amend.MergeFrom(
            records_pb2.AmendTicket(
                ticket_id=ticket_id, expected_state=expected_state.name, actor=actor, reason=reason, at_ms=self.now_ms()
            )
        )
        return ticket_from_proto(self.propose(records_pb2.Command(amend_ticket=amend), actor=_signer(actor)).ticket)

    def advance(
        self,
        ticket_id: str,
        expected_state: TicketState,
        transition: TicketTransition | None,
        execution: Execution | None,
        expected_revision: int,
        expected_ask_revision: int | None = None,
        expected_policy_revision: int | None = None,
    ) -> Ticket:
        """Moves a ticket on, or saves its execution, or both at once.

        Raises Conflict unless the ticket's state and, where an execution comes along, its revision are as expected.
        Where the decision is about what the ticket asks for, `expected_ask_revision` is that of the ask. Where it was
        made by the approval policy, `expected_policy_revision` is that of the stored one (0: none is).
        """
        advance = records_pb2.AdvanceTicket(
            ticket_id=ticket_id,
            expected_state=expected_state.name,
            expected_execution_revision=expected_revision,
            expected_ask_revision=expected_ask_revision,
            expected_policy_revision=expected_policy_revision,
        )
        if transition is not None:
            advance.transition.CopyFrom(transition_to_proto(transition))
        if execution is not None:
            put_execution(advance, execution_to_proto(execution))
        actor = _signer(transition.actor) if transition is not None else None
        return ticket_from_proto(self.propose(records_pb2.Command(advance_ticket=advance), actor=actor).ticket)


def _signer(name: str) -> Actor | Agent:
    """Return whose change a ticket's record names: Guardian's own, or a person's, as his call proved it."""
    if isinstance(name, Agent):
        return name
    identity = who_asks()
    return Actor(identity.name, identity.proof) if identity is not None else Actor(name)


def now_ms() -> int:
    """The wall clock, in ms since the epoch."""
    return time.time_ns() // 1_000_000


def reply_of(result: bytes) -> records_pb2.CommandReply:
    """A command's reply; raises its refusal as one of guardian.errors."""
    reply = records_pb2.CommandReply.FromString(result)
    if reply.error_kind == records_pb2.BUSY:
        raise Overloaded(reply.error, BUSY_RETRY_MS)
    if reply.error:
        raise _REFUSALS.get(reply.error_kind, InvalidInput)(reply.error)
    return reply


def from_raft(error: raft_errors.RaftError, timeout_s: float) -> GuardianError:
    """Return what the caller is told: whether to retry, and when."""
    match error:
        case raft_errors.NoLeader():
            return Unavailable(f"Guardian's Raft group has no leader within {timeout_s:g} s: retry")
        case raft_errors.OutcomeUnknown():
            return OutcomeUnknown("the Raft leader changed before it confirmed: look again, then retry")
        case raft_errors.Overloaded():
            return Overloaded(f"Guardian is overloaded ({error}): retry later", OVERLOADED_RETRY_MS)
        case raft_errors.LowDisk():
            return Overloaded(f"Guardian's disks are nearly full ({error}): free some space", LOW_DISK_RETRY_MS)
        case raft_errors.ChangeRefused():
            return Conflict(str(error))
        case _:
            return Unavailable(str(error))
