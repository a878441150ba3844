"""Tickets that ask for brokers, before they run: what is wrong at first sight, what a dry run would do, amendments.

A dry run takes the steps of the operation (guardian.execution.operations) on the cluster as it is, up to the first
thing that would be changed. Of a rolling restart it goes on as if each batch had come back well, so that all batches
show. Of brokers taken offline it goes on as if they were marked and had given their leaders away.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol

from guardian.errors import InvalidInput, NotFound, Unavailable
from guardian.execution.loop import operating
from guardian.execution.loop.hooks import HookRunner
from guardian.execution.loop.observing import observe_known
from guardian.execution.loop.operating import Operations, completed, scope_of_ask, task_of
from guardian.execution.model import HookTarget
from guardian.execution.operations import finalizing
from guardian.execution.operations.effects import PutExclusions, SetBrokerStates
from guardian.execution.operations.registry import OPERATIONS
from guardian.execution.operations.step import amended, begin, operate
from guardian.execution.operations.turn import named
from guardian.execution.operations.world import OperationStep, OperationWorld
from guardian.execution.rules import executing
from guardian.execution.rules.slots import ExecutionLimits
from guardian.execution.store.operation_store import ReplicatedOperationStore
from guardian.kafka.admin import KafkaAdmin
from guardian.model.cluster_state import BrokerNode, ClusterObservation
from guardian.model.execution import Execution
from guardian.model.operation import Ask, OperationPhase, PlanAnswer, PlanRequest, Standing
from guardian.model.plan import Plan
from guardian.model.tasks import Task
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import why_no_broker
from guardian.replication.store.store import ReplicatedStore

_MAX_BATCHES = 1000


class Planner(operating.Planner, Protocol):
    """As guardian.planning.service.planning.LivePlanner."""

    def plan_for(
        self,
        person: str,
        is_awaited: Callable[[], bool],
        cluster: str,
        task: Task,
        *,
        complete_metrics: bool = False,
    ) -> Plan:
        """Waits for the person's turn and the plan, while it is awaited. Raises GuardianError."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Hold who asks, as plans are shared out among persons; `is_awaited`: the answer is still waited for."""

    person: str
    is_awaited: Callable[[], bool]


class Asks:
    """`admin_for` opens a new admin connection by the cluster's name, which is closed after the call."""

    def __init__(
        self,
        store: ReplicatedStore,
        admin_for: Callable[[str], KafkaAdmin],
        planner: Planner,
        hooks: HookRunner,
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._admin_for = admin_for
        self._planner = planner
        self._hooks = hooks
        self._now_ms = now_ms
        self._operation_store = ReplicatedOperationStore(store, now_ms)
        self._operations = Operations(self._operation_store, planner, hooks)

    def check(self, cluster: str, ask: Ask) -> None:
        """Check what is wrong with a new ask whatever the cluster does meanwhile. Raises InvalidInput, NotFound or
        ClusterUnavailable.
        """
        ask.require_no_idle_field()
        self._check(cluster, ask)

    def _check(self, cluster: str, ask: Ask, removed: Collection[int] = ()) -> None:
        """Raises as `check`. Of a removal `removed` may be gone: the ticket itself may have removed them."""
        known = self._store.read_local().cluster(cluster)
        if known is None:
            raise NotFound(f"cluster {cluster!r} is not registered: see `guardian cluster list`")
        if ask.hook:
            self._hooks.require(ask.hook)
        with closing(self._admin_for(cluster)) as admin:
            registered = admin.registered_brokers()
            live = admin.describe_cluster().brokers
            quorum = admin.describe_quorum() if ask.controllers else None
            there = {broker.id for broker in known.brokers} | live.keys() | (registered or {}).keys()
            missing = sorted(set(ask.brokers) - there)
            if missing and ask.kind.traits.empties:
                _require_known(cluster, set(missing) - set(removed), there, admin)
        if missing and not ask.kind.traits.empties:
            names = ", ".join(map(str, sorted(there)))
            raise InvalidInput(f"brokers has {missing[0]}, which is not in cluster {cluster}: its brokers are {names}")
        strangers = sorted(set(ask.controllers) - quorum.voters) if quorum is not None else []
        if strangers:
            names = ", ".join(map(str, sorted(quorum.voters))) if quorum is not None else ""
            raise InvalidInput(f"controllers has {strangers[0]}, which is no voter of {cluster}'s quorum: {names} are")
        self._require_able_hook(cluster, ask, live)

    def _require_able_hook(self, cluster: str, ask: Ask, live: Mapping[int, BrokerNode]) -> None:
        """Else it would be found out when brokers are drained, hours later. What is up has a host by then as now, and
        what is down is not stopped or restarted before it is up."""
        if not ask.hook or ask.hook_action is None:
            return
        hook = self._hooks.require(ask.hook)
        hook.require_action(ask.hook_action)
        down = [node for node in ask.brokers if node not in live] if ask.kind.traits.brings_back else []
        for node in (*down, *ask.controllers):
            target = HookTarget(cluster, node, self._operation_store.host_of(cluster, node))
            hook.command_for(ask.hook_action, target)

    def rehearse(self, ticket: Ticket, asker: Asker) -> Plan:
        """Return what the ticket would do: moves where it makes some at once, and sentences (`notes`).

        Raises InvalidInput with the reason where it would be refused, ClusterUnavailable, and Overloaded where too many
        plans wait already.
        """
        if ticket.ask is None:
            raise InvalidInput(f"ticket {ticket.id} asks for no brokers: it carries a plan")
        running = replace(ticket, id="dry-run", state=TicketState.RUNNING)
        execution = begin(running, self._now_ms())
        with closing(self._admin_for(ticket.cluster)) as admin:
            scene = self._scene(running, ticket.ask, execution, admin, None)
            step = scene.step(execution)
            answer = None
            if step.plan_wanted is not None:
                answer = self._answer(ticket.cluster, step.plan_wanted, admin, asker)
                scene = self._scene(running, ticket.ask, execution, admin, answer)
                step = scene.step(execution)
        _require_allowed(step)
        if answer is not None and answer.plan is not None:
            plan = replace(answer.plan, kind=ticket.ask.kind.value)
            return replace(plan, notes=(*_words(ticket.ask, step), *plan.notes))
        notes = _told(ticket.ask, scene, step)
        if ticket.ask.finalize and scene.world.metadata_version is not None:
            notes.append(finalizing.foretold(ticket.ask, scene.world.metadata_version))
        return Plan(ticket.cluster, ticket.ask.kind.value, (), notes=tuple(notes))

    def amend(
        self,
        ticket: Ticket,
        execution: Execution | None,
        brokers: Collection[int],
        controllers: Collection[int],
        actor: str,
        reason: str,
    ) -> Ticket:
        """The ticket with other brokers. Raises Conflict, InvalidInput, ClusterUnavailable."""
        ask = amended(ticket, execution, brokers, controllers)
        self._check(ticket.cluster, ask, ticket.ask.brokers if ticket.ask is not None else ())
        return self._store.amend(ticket.id, ticket.state, ask, actor, reason)

    def _answer(self, cluster: str, request: PlanRequest, admin: KafkaAdmin, asker: Asker) -> PlanAnswer:
        try:
            plan = self._planner.plan_for(
                asker.person, asker.is_awaited, cluster, task_of(request), complete_metrics=True
            )
        except InvalidInput as error:
            return PlanAnswer(request.key, None, str(error))
        return PlanAnswer(request.key, completed(admin, plan))

    def _scene(
        self, ticket: Ticket, ask: Ask, execution: Execution, admin: KafkaAdmin, answer: PlanAnswer | None
    ) -> _Scene:
        observation = observe_known(admin, scope_of_ask(execution, answer), self._now_ms())
        others = [
            (each, found)
            for each in self._store.read_local().driven_tickets(ticket.cluster)
            if each.ask is not None
            if (found := self._store.read_local().execution(each.id)) is not None
        ]
        world = self._operations.world(ticket, ask, observation, admin, answer, others, {}, execution.operation)
        return _Scene(ticket, world, observation, self._now_ms())


@dataclass(frozen=True, slots=True)
class _Scene:
    """One moment of the cluster, on which steps are tried and nothing is sent."""

    ticket: Ticket
    world: OperationWorld
    observation: ClusterObservation
    now_ms: int

    def step(self, execution: Execution) -> OperationStep:
        def move(state: TicketState, moved: Execution) -> executing.Step:
            return executing.step(state, moved, self.observation, ExecutionLimits(), self.ticket.throttle, self.now_ms)

        return operate(self.ticket, execution, self.world, move, self.now_ms)

    def after(self, step: OperationStep) -> _Scene:
        """Return the scene as if what the step says of brokers were said, and the leaders that it moves had moved."""
        exclusions, states = dict(self.world.exclusions), dict(self.world.states)
        for effect in step.effects:
            if isinstance(effect, PutExclusions):
                exclusions |= {each.broker_id: each for each in effect.exclusions}
            if isinstance(effect, SetBrokerStates):
                states |= effect.states
        partitions = dict(self.observation.partitions)
        for task in step.execution.tasks:
            order = task.move.target_brokers
            partitions[task.move.partition] = replace(partitions[task.move.partition], leader=order[0], replicas=order)
        observation = replace(self.observation, partitions=partitions)
        world = replace(self.world, exclusions=exclusions, states=states, observation=observation)
        return replace(self, world=world, observation=observation)


def require_asks(asks: Asks | None) -> Asks:
    """Return them; raises Unavailable on a member without a planner."""
    if asks is None:
        raise Unavailable("this member plans nothing by itself: ask another one")
    return asks


def _require_known(cluster: str, asked: Collection[int], there: Collection[int], admin: KafkaAdmin) -> None:
    """Raises InvalidInput about the first that holds nothing and is not there: replicas are moved off one that is
    registered nowhere any more."""
    if not asked:
        return
    known = set(there).union(*(state.replicas for state in admin.describe_partitions().values()))
    absent = sorted(set(asked) - known)
    if absent:
        raise InvalidInput(why_no_broker(cluster, absent[0], known))


def _require_allowed(step: OperationStep) -> None:
    if step.transition is not None and step.transition[0] in (TicketState.FAILED, TicketState.PAUSED):
        raise InvalidInput(step.transition[1])


def _told(ask: Ask, scene: _Scene, step: OperationStep) -> list[str]:
    traits = ask.kind.traits
    if traits.has_batches:
        return _batches(scene, step)
    return _phases_offline(ask, scene, step) if traits.may_leave_unavailable else _words(ask, step)


def _words(ask: Ask, step: OperationStep) -> list[str]:
    if step.transition is not None:
        return [step.transition[1]]
    return [step.sentence, *filter(None, [OPERATIONS[ask.kind].outcome(ask)])]


def _phases_offline(ask: Ask, scene: _Scene, step: OperationStep) -> list[str]:
    """Each phase as if that before it were over."""
    words: list[str] = []
    leaders = 0
    nodes = named(ask.brokers)
    while step.transition is None and (step.execution.tasks or _says(step)):
        if not step.execution.tasks:
            words.append(step.sentence)
        leaders += len(step.execution.tasks)
        scene = scene.after(step)
        step = scene.step(replace(step.execution, tasks=()))
    moved = f"leaders away: {leaders} leader{' moves' if leaders == 1 else 's move'} away from {nodes}"
    idle = f"leaders away: {nodes} lead{'s' if len(ask.brokers) == 1 else ''} nothing"
    return [*words, moved if leaders else idle, *_words(ask, step)]


def _says(step: OperationStep) -> bool:
    return any(isinstance(effect, PutExclusions | SetBrokerStates) for effect in step.effects)


def _batches(scene: _Scene, step: OperationStep) -> list[str]:
    """Each batch as if those before it had come back well."""
    words: list[str] = []
    for number in range(1, _MAX_BATCHES):
        operation = step.execution.operation
        if operation is None or step.transition is not None or not operation.batch:
            return [*words, *_words_of_end(step, words)]
        names = ", ".join(map(str, operation.batch))
        leaders = sum(task.move.goal != "" for task in step.execution.tasks)
        who = "1 leader moves away before and comes" if leaders == 1 else f"{leaders} leaders move away before and come"
        words.append(f"batch {number}: {names}; {who} back after")
        works = tuple(
            replace(work, standing=Standing.DONE) if work.node in operation.batch else work
            for work in operation.brokers
        )
        since = scene.now_ms - 24 * 3600 * 1000
        operation = replace(
            operation, phase=OperationPhase.GATE, brokers=works, batch=(), since_ms=since, well_since_ms=since
        )
        step = scene.step(replace(step.execution, tasks=(), operation=operation))
    return words


def _words_of_end(step: OperationStep, words: list[str]) -> list[str]:
    operation = step.execution.operation
    if operation is not None and operation.phase is OperationPhase.FINALIZE:
        return []  # told by what brokers support before they are restarted
    if step.transition is not None and step.transition[0] is TicketState.SUCCEEDED and words:
        return []
    return [step.transition[1] if step.transition is not None else step.sentence]
