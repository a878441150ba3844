"""The replicated store as the rest of the server sees it: commands go through Raft, reads follow a barrier.

propose(command) ─▶ raft.Replica ─▶ metastore.MetastoreStateMachine (on every member)
read()           ─▶ a committed Barrier, then this member's own RocksDB: linearizable on every member
"""

from __future__ import annotations

import time
from collections.abc import Callable

from guardian.errors import Conflict, GuardianError, InvalidInput, NotFound, Unavailable
from guardian.model.execution import Execution
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.wire.plans import plan_hash, plan_to_bytes
from guardian.wire.tickets import execution_to_proto, ticket_from_proto, ticket_to_proto, transition_to_proto
from metastore.state_machine import MetastoreStateMachine
from metastore.tables import plans
from metastore.views import Views
from protos.guardian.v1 import federation_pb2, records_pb2
from raft.errors import NoLeader, OutcomeUnknown
from raft.protocol import Replica, ReplicaStatus

DEFAULT_TIMEOUT_S = 10.0
# One command carries an execution whole, and a command must stay below what Raft sends in one piece.
MAX_EXECUTION_BYTES = 900 << 10

_ERRORS: dict[int, type[GuardianError]] = {
    records_pb2.INVALID: InvalidInput,
    records_pb2.NOT_FOUND: NotFound,
    records_pb2.CONFLICT: Conflict,
}


class ReplicatedStore:
    """Thread-safe. Every method raises Unavailable when the group has no leader within the timeout."""

    def __init__(self, replica: Replica, state_machine: MetastoreStateMachine, now_ms: Callable[[], int]) -> None:
        self._replica = replica
        self._state_machine = state_machine
        self._now_ms = now_ms

    def status(self) -> ReplicaStatus:
        return self._replica.status()

    def is_leader(self) -> bool:
        return self._replica.is_leader()

    def propose(self, command: records_pb2.Command, timeout_s: float = DEFAULT_TIMEOUT_S) -> records_pb2.CommandReply:
        """Commits a command and returns its reply; raises the reply's error as one of guardian.errors.

        Sets the command's `proposed_at_ms`. Raises InvalidInput also for a command that is too large for the log.
        """
        command.proposed_at_ms = self._now_ms()
        try:
            result = self._replica.propose(command.SerializeToString(), timeout_s)
        except NoLeader:
            raise Unavailable(f"Guardian's Raft group has no leader within {timeout_s:g} s: retry") from None
        except OutcomeUnknown:
            raise Unavailable("the Raft leader changed before it confirmed: look again, then retry") from None
        except ValueError as error:
            raise InvalidInput(f"the request is too large to be stored: {error}") from None
        reply = records_pb2.CommandReply.FromString(result)
        if reply.error:
            raise _ERRORS.get(reply.error_kind, InvalidInput)(reply.error)
        return reply

    def barrier(self, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        """Returns once this member has applied all that was acknowledged anywhere before the call."""
        self.propose(records_pb2.Command(barrier=records_pb2.Barrier()), timeout_s)

    def read(self, timeout_s: float = DEFAULT_TIMEOUT_S) -> Views:
        """A linearizable view: it holds all that was acknowledged before the call."""
        self.barrier(timeout_s)
        return self._state_machine.read()

    def read_local(self) -> Views:
        """This member as it is, possibly behind: for its own metrics, its collector and watch streams."""
        return self._state_machine.read()

    def wait_for_change(self, after_index: int, timeout_s: float) -> None:
        """Returns once a command after `after_index` is applied here, or the time is up."""
        self._state_machine.wait_for_change(after_index, timeout_s)

    def put_cluster(self, cluster: federation_pb2.Cluster) -> None:
        self.propose(records_pb2.Command(put_cluster=records_pb2.PutCluster(cluster=cluster)))

    def drop_cluster(self, name: str) -> None:
        self.propose(records_pb2.Command(drop_cluster=records_pb2.DropCluster(name=name)))

    def put_plan(self, plan: Plan) -> str:
        """Stores a plan in chunks and returns its hash; a plan that is there already costs a read only.

        Raises InvalidInput when the plan is too large.
        """
        serialized = plan_to_bytes(plan)
        content_hash = plan_hash(serialized)
        if self.read().has_plan(content_hash):
            return content_hash
        for chunk in plans.split(content_hash, serialized):
            self.propose(records_pb2.Command(put_plan_chunk=chunk))
        return content_hash

    def add_ticket(self, ticket: Ticket) -> Ticket:
        """Adds a ticket; the same idempotency key again answers with the ticket that is there."""
        command = records_pb2.Command(add_ticket=records_pb2.AddTicket(ticket=ticket_to_proto(ticket)))
        return ticket_from_proto(self.propose(command).ticket)

    def advance(
        self,
        ticket_id: str,
        expected_state: TicketState,
        transition: TicketTransition | None,
        execution: Execution | None,
        expected_revision: int,
    ) -> Ticket:
        """Moves a ticket on, or saves its execution, or both at once.

        Raises Conflict unless the ticket's state and, where an execution comes along, its revision are as expected.
        """
        advance = records_pb2.AdvanceTicket(
            ticket_id=ticket_id, expected_state=expected_state.name, expected_execution_revision=expected_revision
        )
        if transition is not None:
            advance.transition.CopyFrom(transition_to_proto(transition))
        if execution is not None:
            advance.execution.CopyFrom(execution_to_proto(execution))
        return ticket_from_proto(self.propose(records_pb2.Command(advance_ticket=advance)).ticket)


def now_ms() -> int:
    """The wall clock, in ms since the epoch."""
    return time.time_ns() // 1_000_000
