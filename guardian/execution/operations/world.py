"""All that a decision about an operation needs to know, read at one moment by whoever drives it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from guardian.execution.operations.effects import AnyEffect
from guardian.execution.rules.executing import Step
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import Execution
from guardian.model.federation import Exclusion
from guardian.model.operation import HookAnswer, HookKey, MetadataVersion, PlanAnswer, PlanRequest, Quorum
from guardian.model.plan import PartitionMove
from guardian.model.text import Text
from guardian.model.ticket import TicketState
from guardian.model.topology import BrokerState

Mover = Callable[[TicketState, Execution], Step]
"""`executing.step` with all else bound: observation, limits, rates, time, refusals."""


@dataclass(frozen=True, slots=True)
class OperationLimits:
    """`settle_ms`: how long a broker must be down to be believed so; `calm_ms`: how long the cluster must be well
    before the next batch, and ill before the ticket pauses. `back_within_ms`: how long a broker may be
    away. `unseen_ms`: a restart of which no absence was seen by then was a quick one. `max_share`: of the cluster's
    brokers, that many may be in one batch."""

    settle_ms: int = 10_000
    calm_ms: int = 5_000
    back_within_ms: int = 600_000
    retry_ms: int = 10_000
    unseen_ms: int = 30_000
    max_share: float = 1 / 3


@dataclass(frozen=True, slots=True)
class OperationWorld:
    """`observation` holds the partitions of ALL topics, and log dirs and configurations of what the active tasks touch.

    `registered` are the brokers that the controllers know, fenced ones too (the observation's brokers are those that
    are not). `min_isr` is min.insync.replicas in force, by topic. `exclusions` are those of the cluster, by broker.
    `offline_tickets` are, where brokers are brought online, the ids of those that took excluded ones offline; `states`
    what the federation says of its brokers. `hooks` are the answers to this ticket's runs so far as this process knows
    them, `plan` that to its newest request. `leaving` names, by broker, another removal that runs. `in_hand` names, by
    node, another ticket that may take it down at any moment (a restart's batch, what goes offline). `moving` names, by
    broker, another one that moves replicas to or from it. `must_be_seen`: that the hook said yes is no sign of a
    restart, however long ago, until the node was seen down. `remembered` are, for brokers that are brought online, the
    moves (goal "leaders away") of the tickets that took brokers offline, newest first. `quorum` is None where it can't
    be told. `metadata_version` is None where it was not asked for (`finalizing.is_told`). `tiered_warm_up_s` as in
    `beginning.begin`.
    """

    observation: ClusterObservation
    registered: frozenset[int]
    min_isr: Mapping[str, int]
    exclusions: Mapping[int, Exclusion] = field(default_factory=dict)
    offline_tickets: Collection[str] = ()
    states: Mapping[int, BrokerState] = field(default_factory=dict)
    hooks: Mapping[HookKey, HookAnswer] = field(default_factory=dict)
    must_be_seen: bool = False
    plan: PlanAnswer | None = None
    leaving: Mapping[int, str] = field(default_factory=dict)
    in_hand: Mapping[int, str] = field(default_factory=dict)
    moving: Mapping[int, str] = field(default_factory=dict)
    remembered: Collection[PartitionMove] = ()
    quorum: Quorum | None = None
    metadata_version: MetadataVersion | None = None
    tiered_warm_up_s: float = 0.0
    limits: OperationLimits = OperationLimits()

    def is_alive(self, broker: int) -> bool:
        return broker in self.observation.brokers

    @property
    def away(self) -> frozenset[int]:
        """The nodes that are offline, or may be at any moment, as the federation or another ticket says."""
        marked = {broker for broker, state in self.states.items() if state is BrokerState.MAINTENANCE}
        return frozenset(marked | self.in_hand.keys())


@dataclass(frozen=True, slots=True)
class OperationStep:
    """As `executing.Step`, with the effects of operations and the plan that is wanted (asked for again each step until
    its answer was used)."""

    execution: Execution
    transition: tuple[TicketState, Text] | None
    effects: tuple[AnyEffect, ...]
    plan_wanted: PlanRequest | None
    sentence: Text
