"""The edge of operations (guardian.execution.operations): what they need to know is read, what they ask for is done.

    store ── exclusions, broker states, other tickets ─┐                      ┌▶ store: exclusions, broker states
    Kafka ── registrations, quorum, min ISR ───────────┼▶ world ─▶ operate ─▶ ┼▶ hooks, a process each
    LivePlanner, HookRunner ── answers so far ─────────┘                      └▶ Kafka: a broker unregistered

Nothing here waits: plans and hooks take minutes and answer at a later tick. What is kept between two ticks could be
lost: the plan that was asked for is asked for again, and a hook's intent is in the store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from guardian.errors import GuardianError, InvalidInput
from guardian.execution.loop.hooks import HookRunner
from guardian.execution.loop.observing import Scope, scope_of
from guardian.execution.loop.rehearsing import resolved_now
from guardian.execution.model import HookTarget
from guardian.execution.operations import finalizing
from guardian.execution.operations.effects import (
    ForgetBroker,
    LiftExclusions,
    OperationEffect,
    PutExclusions,
    RaiseMetadataVersion,
    RunHook,
    SetBrokerStates,
    UnregisterBroker,
)
from guardian.execution.operations.step import holds, holds_from_healing, in_hand, leaving
from guardian.execution.operations.world import OperationLimits, OperationWorld
from guardian.execution.rules.brokers import brokers_of
from guardian.kafka.admin import BROKER, TOPIC, KafkaAdmin
from guardian.model.cluster_state import ClusterObservation
from guardian.model.cordon import Cordon
from guardian.model.effects import CORDONED, was_never_set
from guardian.model.execution import Execution
from guardian.model.federation import Exclusion
from guardian.model.operation import Ask, MetadataVersion, Operation, OperationPhase, PlanAnswer, PlanRequest
from guardian.model.plan import PartitionMove, Plan
from guardian.model.tasks import Leaders, Remove, Task
from guardian.model.ticket import Ticket
from guardian.model.topology import BrokerState

_MIN_ISR = "min.insync.replicas"
_MIN_ISR_TOPICS = 200
_DEFAULT_LIMITS = OperationLimits()


class OperationStore(Protocol):
    """What operations read and change besides tickets, replicated. Called from several threads at once."""

    def exclusions(self, cluster: str) -> Mapping[int, Exclusion]:
        """Return by broker the exclusions that are not over."""

    def broker_states(self, cluster: str) -> Mapping[int, BrokerState]:
        """Return the states of the brokers that the federation knows."""

    def host_of(self, cluster: str, broker: int) -> str:
        """The name of its machine; empty where it is not known."""

    def cordon(self, cluster: str, broker: int) -> Cordon | None:
        """Return what was set on the broker so that it gets no new replicas; None: nothing."""

    def leader_moves(self, cluster: str, brokers: Collection[int]) -> Sequence[PartitionMove]:
        """The moves of the tickets that took any of these brokers offline, newest ticket first."""

    def offline_tickets(self, cluster: str) -> Collection[str]:
        """Return the ids of the tickets that take brokers offline, ended ones too."""

    def put_exclusions(self, exclusions: Sequence[Exclusion]) -> None:
        """All or none; what is there already changes nothing."""

    def lift_exclusions(self, exclusions: Sequence[Exclusion]) -> None:
        """Drops each where it still is exactly this."""

    def set_broker_states(self, cluster: str, states: Mapping[int, BrokerState]) -> None:
        """A broker that the federation does not know is left out."""

    def forget_broker(self, cluster: str, broker: int) -> None:
        """It has left its cluster: the federation knows it no longer, and its machine is free. Raises Conflict when
        somebody changed that machine's entry meanwhile."""


class Planner(Protocol):
    """As guardian.planning.service.planning.LivePlanner."""

    def ask(self, key: str, cluster: str, task: Task, *, complete_metrics: bool = False) -> Plan | GuardianError | None:
        """None while the plan is being made."""

    def forget(self, key: str) -> None:
        """The next `ask` with this key begins anew."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A request, and whether its plan is worth nothing without metrics of all brokers: whether they can go depends on
    these, and only then there is still time to refuse."""

    request: PlanRequest
    complete_metrics: bool


class Operations:
    """All that a driver needs for tickets with an ask. One thread at a time asks for one cluster."""

    def __init__(
        self,
        store: OperationStore,
        planner: Planner,
        hooks: HookRunner,
        limits: OperationLimits = _DEFAULT_LIMITS,
        tiered_warm_up_s: float = 0.0,
    ) -> None:
        self._store = store
        self._planner = planner
        self._hooks = hooks
        self._limits = limits
        self._tiered_warm_up_s = tiered_warm_up_s
        self._wanted: dict[str, _Wanted] = {}
        self._delays: dict[str, str] = {}
        self._minima: dict[str, dict[str, int]] = {}
        self._unregistered: dict[str, set[int]] = {}

    def plan_answer(self, ticket: Ticket, connect: Callable[[], KafkaAdmin]) -> PlanAnswer | None:
        """The answer to the ticket's newest request for a plan, where there is one by now.

        What only a moment stands against (a broker that does not answer, a cluster that changed while the plan was
        made) is no answer: another plan is made.
        """
        wanted = self._wanted.get(ticket.id)
        made = self._ask(ticket, wanted) if wanted is not None else None
        if wanted is None or made is None:
            return None
        if isinstance(made, InvalidInput):
            return PlanAnswer(wanted.request.key, None, str(made))
        try:
            if isinstance(made, GuardianError):
                raise made
            answer = PlanAnswer(wanted.request.key, completed(connect(), made))
        except GuardianError as error:
            self._delays[ticket.id] = f"its plan is made anew: {error}"
            self._planner.forget(_key(ticket.id, wanted.request))
            return None
        self._delays.pop(ticket.id, None)
        return answer

    def delay(self, ticket: Ticket) -> str:
        """Say why there is no plan yet, where something stands against it for a moment; else empty."""
        return self._delays.get(ticket.id, "")

    def want(self, ticket: Ticket, request: PlanRequest | None, phase: OperationPhase | None = None) -> None:
        """Note what the last step asked for; the plan is begun at once."""
        known = self._wanted.get(ticket.id)
        if known is not None and known.request != request:
            self._planner.forget(_key(ticket.id, known.request))
            del self._wanted[ticket.id]
            self._delays.pop(ticket.id, None)
        if request is not None and ticket.id not in self._wanted:
            self._wanted[ticket.id] = _Wanted(request, complete_metrics=phase is OperationPhase.VALIDATE)
            self._ask(ticket, self._wanted[ticket.id])

    def _ask(self, ticket: Ticket, wanted: _Wanted) -> Plan | GuardianError | None:
        key = _key(ticket.id, wanted.request)
        return self._planner.ask(key, ticket.cluster, task_of(wanted.request), complete_metrics=wanted.complete_metrics)

    def keep_only(self, ticket_ids: Collection[str]) -> None:
        """Forgets all other tickets: they are over, perhaps since another member led."""
        for ticket_id in [each for each in list(self._wanted) if each not in ticket_ids]:
            self._planner.forget(_key(ticket_id, self._wanted.pop(ticket_id).request))
            self._delays.pop(ticket_id, None)
        self._hooks.keep_only(ticket_ids)

    def world(
        self,
        ticket: Ticket,
        ask: Ask,
        observation: ClusterObservation,
        admin: KafkaAdmin,
        plan: PlanAnswer | None,
        others: Sequence[tuple[Ticket, Execution]],
        moving: Mapping[int, str],
        operation: Operation | None = None,
    ) -> OperationWorld:
        """`observation` holds all partitions; `others` are the cluster's other tickets with an ask, `moving` names by
        broker a ticket that moves replicas there. `operation` is the ticket's own. Raises ClusterUnavailable."""
        cluster = ticket.cluster
        brings_back = ask.kind.traits.brings_back
        return OperationWorld(
            observation=observation,
            registered=self._registered(cluster, ask, observation, admin),
            min_isr=self._min_isr(cluster, observation, admin),
            exclusions=self._store.exclusions(cluster),
            offline_tickets=self._store.offline_tickets(cluster) if brings_back else (),
            states=self._store.broker_states(cluster),
            hooks=self._hooks.answers(ticket.id),
            must_be_seen=self._hooks.must_be_seen(ask.hook),
            plan=plan,
            leaving=_leaving(ask, others),
            in_hand={
                node: other.id for other, execution in others if other.ask for node in in_hand(other.ask, execution)
            },
            moving=moving,
            remembered=self._store.leader_moves(cluster, ask.brokers) if brings_back else (),
            quorum=admin.describe_quorum(),
            metadata_version=_metadata_version(ask, operation, admin),
            tiered_warm_up_s=self._tiered_warm_up_s,
            limits=self._limits,
        )

    def carry_out(
        self, ticket: Ticket, effect: OperationEffect, observation: ClusterObservation, admin: KafkaAdmin
    ) -> str:
        """Carry out the effect and return what there is to say of it; mostly nothing. Raises GuardianError."""
        match effect:
            case PutExclusions(exclusions):
                self._store.put_exclusions(exclusions)
            case LiftExclusions(exclusions):
                self._store.lift_exclusions(exclusions)
            case SetBrokerStates(states):
                self._store.set_broker_states(ticket.cluster, states)
            case RunHook(key, hook):
                node = observation.brokers.get(key.node)
                host = self._store.host_of(ticket.cluster, key.node) or (node.host if node else "")
                self._hooks.start(ticket.id, key, hook, HookTarget(ticket.cluster, key.node, host))
            case UnregisterBroker(broker):
                refused = self._uncordon(ticket.cluster, broker, admin) or admin.unregister_broker(broker)
                if refused:
                    return f"Kafka did not unregister broker {broker}: {refused}"
                self._unregistered.setdefault(ticket.cluster, set()).add(broker)
            case ForgetBroker(broker):
                self._store.forget_broker(ticket.cluster, broker)
            case RaiseMetadataVersion(level):
                refused = admin.raise_metadata_version(level)
                return f"Kafka did not raise metadata.version to {level}: {refused}" if refused else ""
        return ""

    def _uncordon(self, cluster: str, broker: int, admin: KafkaAdmin) -> str:
        """Restore what was set on the broker, or say why that can't be done. Controllers take configurations of
        registered brokers only, and keep them for the next one of that id. So this is the last moment at which what was
        set on this one can be restored.
        """
        cordon = self._store.cordon(cluster, broker)
        if cordon is None or not cordon.value or broker in admin.describe_cluster().brokers:
            return ""
        resource = (BROKER, str(broker))
        why = admin.alter_configs_through_controller({resource: {CORDONED: cordon.replaced}}).get(resource, "")
        return (
            f"{CORDONED} can't be restored: {why}" if why and not was_never_set(CORDONED, cordon.replaced, why) else ""
        )

    def _registered(self, cluster: str, ask: Ask, observation: ClusterObservation, admin: KafkaAdmin) -> frozenset[int]:
        """Brokers before Kafka 4.0 don't tell of fenced ones: those asked for count as registered until we took them
        out, which does no harm when it is done twice."""
        known = admin.registered_brokers()
        if known is not None:
            return frozenset(known)
        taken_out = self._unregistered.get(cluster, set()) - observation.brokers.keys()
        hosting = {broker for state in observation.partitions.values() for broker in state.replicas}
        return frozenset((observation.brokers.keys() | hosting | set(ask.brokers)) - taken_out)

    def _min_isr(self, cluster: str, observation: ClusterObservation, admin: KafkaAdmin) -> Mapping[str, int]:
        """It seldom changes and is asked topic by topic: of new ones at once, of the others in turn, some each tick."""
        topics = {partition.topic for partition in observation.partitions}
        known = self._minima.get(cluster, {})
        read_before = [topic for topic in known if topic in topics]  # the one that was read longest ago comes first
        asked = [*read_before[:_MIN_ISR_TOPICS], *sorted(topics - known.keys())]
        found = admin.effective_configs([(TOPIC, topic) for topic in asked], [_MIN_ISR]) if asked else {}
        read = {name: int(values[_MIN_ISR]) for (_, name), values in found.items() if _MIN_ISR in values}
        later = {topic: known[topic] for topic in read_before if topic not in read}
        self._minima[cluster] = {**later, **read}
        return self._minima[cluster]


def scope_of_ask(execution: Execution, answer: PlanAnswer | None) -> Scope:
    """All partitions; log dirs and configurations of the moves under way and of those to come."""
    scope = scope_of(execution)
    if answer is not None and answer.plan is not None:
        scope |= scope_of(answer.plan)
    return replace(scope, all_partitions=True)


def held_by(
    ask: Ask, execution: Execution, answer: PlanAnswer | None, *, from_healing: bool = False, is_paused: bool = False
) -> frozenset[int]:
    """The nodes that an operation keeps from others, or even from healing: its own, and those that its moves touch or
    are about to."""
    planned = brokers_of(answer.plan) if answer is not None and answer.plan is not None else frozenset()
    if not from_healing:
        return holds(ask, execution) | planned
    # What a paused one was to begin with is looked at again when it goes on.
    return holds_from_healing(ask, execution, is_paused=is_paused) | (frozenset() if is_paused else planned)


def is_moving(execution: Execution) -> frozenset[int]:
    """Return the brokers between which the execution moves replicas now, and those that have a rate of it still.
    Another ticket would take that for the one of before, and put it back.
    """
    moves = [task.move for task in execution.tasks if not task.state.is_over]
    throttled = [int(intent.resource_name) for intent in execution.throttles if intent.resource_type == BROKER]
    brokers = (broker for move in moves for broker in (*move.original_brokers, *move.target_brokers))
    return frozenset((*brokers, *throttled))


def completed(admin: KafkaAdmin, plan: Plan) -> Plan:
    """The plan with its originals from the live cluster. A partition that was deleted since it was made, or that is
    being moved, is left to the next round's plan."""
    present = admin.describe_partitions({move.partition.topic for move in plan.moves}) if plan.moves else {}
    busy = admin.list_reassignments()
    moves = tuple(move for move in plan.moves if move.partition in present and move.partition not in busy)
    return resolved_now(admin, replace(plan, moves=moves)) if moves else replace(plan, moves=())


def _metadata_version(ask: Ask, operation: Operation | None, admin: KafkaAdmin) -> MetadataVersion | None:
    if operation is None or not finalizing.is_told(ask, operation):
        return None
    version = admin.metadata_version()
    refused: dict[int, str] = {}
    for level in finalizing.candidates(ask, operation, version):
        refused[level] = admin.raise_metadata_version(level, True)
        if not refused[level]:
            break
    return replace(version, refused=refused)


def _leaving(ask: Ask, others: Sequence[tuple[Ticket, Execution]]) -> dict[int, str]:
    """Return by broker the other removal that empties it. What another removal does is not done twice, where that one
    goes as far. Who wants a broker stopped goes on with it when one that does not has emptied it.
    """
    removals = {
        other.id: execution
        for other, execution in others
        if other.ask is not None and other.ask.kind.traits.empties and (other.ask.shutdown or not ask.shutdown)
    }
    return {broker: each for each in sorted(removals, reverse=True) for broker in leaving(removals[each])}


def _key(ticket_id: str, request: PlanRequest) -> str:
    return f"{ticket_id}/{request.key}"


def task_of(request: PlanRequest) -> Task:
    """Return the task that the planner is asked for."""
    if request.kind.traits.empties:
        return Remove(request.brokers)
    return Leaders(away_from=request.brokers)
