"""What the driver is given: the ports that it works with, its clocks and its settings."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from guardian.errors import ClusterUnavailable
from guardian.execution.loop import proving
from guardian.execution.loop.around import Surroundings
from guardian.execution.loop.operating import Operations
from guardian.execution.loop.request_facts import TopicUses
from guardian.execution.rules.slots import ExecutionLimits
from guardian.kafka.admin import KafkaAdmin
from guardian.model.directory import Directory
from guardian.model.effects import ConfigChange, ConfigKey
from guardian.model.execution import Execution
from guardian.model.plan import Plan
from guardian.model.ticket import MAX_EXECUTION_BYTES, Ticket, TicketState, TicketTransition

_DEFAULT_LIMITS = ExecutionLimits()


class ExecutionStore(Protocol):
    """What the executor keeps, replicated. Called from several threads, of different clusters, at once."""

    def driven_tickets(self) -> Sequence[Ticket]:
        """Tickets that the executor has work on, oldest first; a linearizable read. Raises Unavailable."""

    def execution(self, ticket_id: str) -> Execution | None:
        """The ticket's execution; None before it began."""

    def plan(self, plan_hash: str) -> Plan:
        """Raises NotFound."""

    def advance(
        self,
        ticket_id: str,
        expected_state: TicketState,
        transition: TicketTransition | None,
        execution: Execution | None,
        expected_revision: int,
    ) -> None:
        """Stores a new state, a new execution, or both, at once; the store counts the revision up.

        Raises Conflict unless the ticket's state and, with an execution, its revision (0: none yet) are as expected.
        Raises Unavailable when it can't be known whether it was stored, or when this member leads no longer. What was
        stored then is the new leader's to act on.
        """

    def protected_keys(self, cluster: str) -> frozenset[ConfigKey]:
        """The configuration keys that the protection of disks holds there."""

    def confirm(self, ticket_id: str, expected_state: TicketState, expected_revision: int) -> None:
        """Returns once a majority confirms that this member leads and that the ticket is as expected.

        Raises Unavailable when it leads no longer, and Conflict when somebody else has driven the ticket on meanwhile.
        """


class Replanner(Protocol):
    """Makes the plan of a stale ticket anew. Called from several threads, of different clusters, at once."""

    def replan(self, ticket: Ticket, plan: Plan) -> Plan | ClusterUnavailable | str | None:
        """Return a plan for the same task from the cluster as it is now, or a sentence why there is none.

        None while it is made; ClusterUnavailable where the planner could not see the cluster, which decides nothing.
        Never waits: it is asked again at the next tick. An answer is given once, and kept by who asked; the call after
        it begins anew.
        """


class Labels(Protocol):
    """What the federation's directory says, labels and policies among it. Called from several threads, of different
    clusters, at once.

    Each raises Unavailable. `say` raises Conflict when somebody else changed the same at this moment, InvalidInput when
    a topic's tenant may not use the label, and NotFound where there is no such policy.
    """

    def directory(self, cluster: str) -> Directory:
        """Return the directory of this cluster."""

    def say(self, cluster: str, changes: Mapping[ConfigKey, ConfigChange]) -> None:
        """Change fields of entries (subject, name, field) by compare and set; empty text: none. Said again, nothing
        changes. Brokers and machines that the directory does not have are left out, topics get an entry."""


@dataclass(frozen=True, slots=True)
class DriverPorts:
    """Name what the driver works with.

    `admin_for` gives the admin of a cluster by name, which one thread at a time uses. It may raise NotFound or
    ClusterUnavailable: then the cluster's tickets wait. `surroundings` adapt rates; without, they are fixed.
    `replanner` makes plans anew that do not fit the cluster any more. `operations` are for tickets that ask for brokers
    to be removed, restarted, ...: without, those wait. `labels` are where brokers and topics that a ticket isolates get
    theirs, and what bars brokers from new replicas. `uses` tells who uses topics; None: nobody knows.
    """

    store: ExecutionStore
    admin_for: Callable[[str], KafkaAdmin]
    surroundings: Surroundings | None = None
    replanner: Replanner | None = None
    operations: Operations | None = None
    labels: Labels | None = None
    uses: TopicUses | None = None


@dataclass(frozen=True, slots=True)
class DriverClocks:
    """Tell the group's time (`now_ms`), the length of a tick (`elapsed_s`), and the age of a proof (`since_boot_s`, see
    proving.py)."""

    now_ms: Callable[[], int]
    elapsed_s: Callable[[], float] = time.monotonic
    since_boot_s: Callable[[], float] = proving.since_boot_s


@dataclass(frozen=True, slots=True)
class DriverSettings:
    """Say how tickets are carried out.

    A new replica of a tiered topic gets the lead when its local log holds what is written in `tiered_warm_up_s`; at
    once when that is 0. A plan whose input is older than `max_plan_age_s` is made anew; 0: it is never too old. Brokers
    with `shared_labels` also hold topics without a label. What a part of a sequence begins with when it is planned anew
    has at most `max_ticket_bytes`.
    """

    limits: ExecutionLimits = _DEFAULT_LIMITS
    tiered_warm_up_s: float = 600.0
    max_plan_age_s: float = 0.0
    shared_labels: Collection[str] = ()
    max_ticket_bytes: int = MAX_EXECUTION_BYTES
