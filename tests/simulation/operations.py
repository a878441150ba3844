"""The world of operations: a federation in memory, a planner that answers late, hooks whose machines go on alone.

    driver ── wire ──▶ FakeKafka, MemoryExecutionStore, Federation, Machines          any call may be its last

What the driver's process alone knows (plans asked for, hooks that it started) is gone with it; brokers that are going
down or coming up go on doing so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from guardian.errors import GuardianError, InvalidInput
from guardian.execution.loop.driver import Driver
from guardian.execution.loop.operating import Operations
from guardian.execution.loop.ports import DriverClocks, DriverPorts, DriverSettings
from guardian.execution.model import HookTarget
from guardian.execution.operations.leaders import GOAL
from guardian.execution.operations.world import OperationLimits
from guardian.kafka.fake import FakeKafka
from guardian.model.cordon import Cordon
from guardian.model.execution import Execution, TaskState
from guardian.model.federation import Exclusion
from guardian.model.operation import Ask, AskKind, HookAction, HookAnswer, HookKey, Operation, Quorum
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Remove, Task
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import BrokerState, TopicPartition
from tests.memory_execution import MemoryExecutionStore
from tests.simulation.world import CLUSTER, MB, Crash, InThisThread, Moment, Wire, Wired, moments_of

LIMITS = OperationLimits(settle_ms=1500, calm_ms=1500, back_within_ms=60_000, retry_ms=1500, unseen_ms=4000)
CONTROLLER = 100


class Federation:
    """Implements `guardian.execution.loop.operating.OperationStore`."""

    def __init__(self, store: MemoryExecutionStore, brokers: Collection[int], now_ms: Callable[[], int]) -> None:
        self._store = store
        self._now_ms = now_ms
        self.excluded: dict[int, Exclusion] = {}
        self.states = dict.fromkeys(brokers, BrokerState.ACTIVE)
        self.tickets: list[str] = []

    def exclusions(self, _cluster: str) -> Mapping[int, Exclusion]:
        now = self._now_ms()
        return {broker: each for broker, each in self.excluded.items() if not 0 < each.until_ms <= now}

    def broker_states(self, _cluster: str) -> Mapping[int, BrokerState]:
        return dict(self.states)

    def host_of(self, _cluster: str, broker: int) -> str:
        return f"host{broker}"

    def cordon(self, _cluster: str, _broker: int) -> Cordon | None:
        return None  # the cordoner is no part of these stories

    def leader_moves(self, _cluster: str, _brokers: Collection[int]) -> Sequence[PartitionMove]:
        found = []
        for ticket_id in reversed(self.tickets):
            ticket, execution = self._store.ticket(ticket_id), self._store.execution(ticket_id)
            if ticket.kind == AskKind.OFFLINE and execution is not None:
                found += [t.move for t in execution.tasks if t.state is TaskState.DONE and t.move.goal == GOAL]
        return found

    def offline_tickets(self, _cluster: str) -> Collection[str]:
        return {each for each in self.tickets if self._store.ticket(each).kind == AskKind.OFFLINE}

    def put_exclusions(self, exclusions: Sequence[Exclusion]) -> None:
        for exclusion in exclusions:
            self.excluded[exclusion.broker_id] = exclusion

    def lift_exclusions(self, exclusions: Sequence[Exclusion]) -> None:
        for exclusion in exclusions:
            if self.excluded.get(exclusion.broker_id) == exclusion:
                del self.excluded[exclusion.broker_id]
                if self.states.get(exclusion.broker_id) is BrokerState.DRAINING:
                    self.states[exclusion.broker_id] = BrokerState.ACTIVE

    def set_broker_states(self, _cluster: str, states: Mapping[int, BrokerState]) -> None:
        self.states.update({broker: state for broker, state in states.items() if broker in self.states})

    def forget_broker(self, _cluster: str, broker: int) -> None:
        self.states.pop(broker, None)


class Planner:
    """Implements `guardian.execution.loop.operating.Planner`: answers when asked again, from what was then."""

    def __init__(self, world: OperationsWorld) -> None:
        self._world = world
        self._made: dict[str, Plan | GuardianError] = {}

    def ask(
        self,
        key: str,
        _cluster: str,
        task: Task,
        _settings: PlannerSettings | None = None,
        *,
        complete_metrics: bool = False,  # noqa: ARG002  (the protocol's name)
    ) -> Plan | GuardianError | None:
        if key in self._made:
            return self._made[key]
        assert isinstance(task, Remove)
        self._made[key] = self._world.plan_removal(task.brokers)
        return None

    def forget(self, key: str) -> None:
        self._made.pop(key, None)


class Machines:
    """Brokers and controllers stop and start in their own time, whoever asked for it."""

    def __init__(self, kafka: FakeKafka, down_ms: int, away_ms: int) -> None:
        self._kafka = kafka
        self.down_ms = down_ms
        self.away_ms = away_ms
        self._due: list[tuple[int, Callable[[], None]]] = []
        self.refusals: Counter[int] = Counter()  # how often a node's hook will fail
        self.log: list[tuple[HookAction, int]] = []
        self.away: set[int] = set()
        self.stopped: set[int] = set()  # since the world looked last
        self.answer_ms = 0  # so much later than the node is down or up, its hook ends

    def let_pass(self) -> None:
        for due, action in [each for each in self._due if each[0] <= self._kafka.now_ms]:
            self._due.remove((due, action))
            action()

    def carry_out(self, key: HookKey) -> tuple[int, bool]:
        """When it is over, and whether it went well."""
        now = self._kafka.now_ms
        self.log.append((key.action, key.node))
        if self.refusals[key.node]:
            self.refusals[key.node] -= 1
            return now + self.down_ms, False
        if key.action is not HookAction.START:
            self._due.append((now + self.down_ms, lambda: self._stop(key.node)))
        if key.action is HookAction.STOP:
            return now + self.down_ms + self.answer_ms, True
        up_at = now + (self.away_ms if key.action is HookAction.START else self.down_ms + self.away_ms)
        self._due.append((up_at, lambda: self._start(key.node)))
        return up_at + self.answer_ms, True

    def _stop(self, node: int) -> None:
        self.away.add(node)
        self.stopped.add(node)
        quorum = self._quorum()
        self._kafka.quorum = replace(quorum, caught_up=quorum.caught_up - {node})
        if node < CONTROLLER:
            self._kafka.kill_broker(node)

    def _start(self, node: int) -> None:
        self.away.discard(node)
        quorum = self._quorum()
        self._kafka.quorum = replace(quorum, caught_up=quorum.caught_up | ({node} & quorum.voters))
        if node < CONTROLLER:
            self._kafka.start_broker(node)

    def _quorum(self) -> Quorum:
        assert self._kafka.quorum is not None
        return self._kafka.quorum


class Hooks:
    """As `guardian.execution.loop.hooks.HookRunner`: one process's knowledge of what it started."""

    def __init__(self, machines: Machines, kafka: FakeKafka) -> None:
        self._machines = machines
        self._kafka = kafka
        self._runs: dict[str, dict[HookKey, tuple[int, bool]]] = {}

    def must_be_seen(self, name: str) -> bool:
        return name == "kubernetes"

    def start(self, ticket_id: str, key: HookKey, _name: str, _target: HookTarget) -> None:
        runs = self._runs.setdefault(ticket_id, {})
        if key not in runs:
            runs[key] = self._machines.carry_out(key)

    def answers(self, ticket_id: str) -> dict[HookKey, HookAnswer]:
        runs = self._runs.get(ticket_id, {}).items()
        return {
            key: HookAnswer(is_ok, "" if is_ok else "exit 1") for key, (at, is_ok) in runs if at <= self._kafka.now_ms
        }

    def keep_only(self, ticket_ids: Collection[str]) -> None:
        for ticket_id in self._runs.keys() - set(ticket_ids):
            del self._runs[ticket_id]


class OperationsWorld:
    """Brokers 1 to `brokers`, two in a rack, all tickets on cluster "live". `min_isr` holds for every topic.

    After every call of the driver: no partition has fewer in-sync replicas than `min_isr`, nor than it was created with
    less those on brokers that went down and have not caught up since; a leader is there, nothing is on a broker that
    was unregistered, and no more controllers are away than a majority can spare.
    """

    def __init__(self, brokers: int = 5, min_isr: int = 1, controllers: int = 3, racks: int = 0) -> None:
        ids = range(1, brokers + 1)
        log_dirs = {broker: (f"/b{broker}/d0", f"/b{broker}/d1") for broker in ids}
        rack_of = {broker: f"rack{(broker - 1) % racks}" if racks else f"rack{broker}" for broker in ids}
        self.kafka = FakeKafka(rack_of, log_dirs, MB)
        voters = frozenset(range(CONTROLLER, CONTROLLER + controllers))
        self.kafka.quorum = Quorum(CONTROLLER, voters, voters)
        self.min_isr = min_isr
        self.store = MemoryExecutionStore()
        self.federation = Federation(self.store, ids, lambda: self.kafka.now_ms)
        self.machines = Machines(self.kafka, down_ms=300, away_ms=900)
        self.wire = Wire(self.check_invariants)
        self.said: list[str] = []
        self.lows: set[TopicPartition] = set()  # allowed to be without its leader: it has one replica
        self._replication_factor: dict[TopicPartition, int] = {}
        self._behind: set[tuple[TopicPartition, int]] = (
            set()
        )  # replicas on brokers that went down, not yet in sync again
        self.configs = dict(self.kafka.peek().configs)
        self.driver = self.new_driver()

    def new_driver(self) -> Driver:
        """Another process, which knows only the stores and Kafka."""
        hooks = Wired(self.wire, Hooks(self.machines, self.kafka))
        operations = Operations(
            Wired(self.wire, self.federation),  # type: ignore[arg-type]
            Planner(self),
            hooks,  # type: ignore[arg-type]
            LIMITS,
        )
        store, admin = Wired(self.wire, self.store), Wired(self.wire, self.kafka)
        self.driver = Driver(
            DriverPorts(
                store,  # type: ignore[arg-type]
                lambda _: admin,  # type: ignore[arg-type, return-value]
                operations=operations,
            ),
            DriverClocks(lambda: self.kafka.now_ms, since_boot_s=lambda: self.kafka.now_ms / 1000),
            DriverSettings(tiered_warm_up_s=0.0),
            pool=InThisThread(),
        )
        return self.driver

    def topic(
        self, name: str, assignments: Mapping[int, Collection[int]], size: int = MB, rate: int = 0
    ) -> OperationsWorld:
        self.kafka.create_topic(name, assignments, size, rate)
        self.kafka.set_config(("TOPIC", name), "min.insync.replicas", str(self.min_isr))
        for number, replicas in assignments.items():
            self._replication_factor[TopicPartition(name, number)] = len(replicas)
        # Only the topic's own: whatever a ticket has set meanwhile is to be gone in the end.
        self.configs["TOPIC", name] = self.kafka.peek().configs["TOPIC", name]
        return self

    def ask(self, ask: Ask, ticket_id: str = "t-1", author: str = "ann") -> OperationsWorld:
        """An approved ticket that asks for this."""
        at_ms = self.kafka.now_ms
        ticket = Ticket(
            ticket_id, CLUSTER, ask.kind, TicketState.APPROVED, author, "", 5 * MB, at_ms, at_ms, (), ticket_id, ask=ask
        )
        self.store.put(ticket, Plan(CLUSTER, ask.kind, ()))
        self.federation.tickets.append(ticket_id)
        return self

    def machines_quorum(self, leader: int, *voters: int) -> None:
        """These nodes vote, brokers among them."""
        self.kafka.quorum = Quorum(leader, frozenset(voters), frozenset(voters))

    def without_shutdown(self, ticket_id: str) -> Ticket:
        ticket = self.store.ticket(ticket_id)
        assert ticket.ask is not None
        return replace(ticket, ask=replace(ticket.ask, shutdown=False, hook=""))

    def no_plan(self) -> Plan:
        return Plan(CLUSTER, "", ())

    def moments(self) -> frozenset[Moment]:
        return moments_of(self.store)

    def check_invariants(self) -> None:
        self.machines.let_pass()
        gone = self.kafka._unregistered
        down = {
            broker for broker, at in self.kafka._brokers.items() if not at.alive or at.fenced
        } | self.machines.stopped
        self.machines.stopped.clear()
        for tp, state in self.kafka._partitions.items():
            if tp in self.lows:
                continue
            factor = self._replication_factor[tp]
            need = min(self.min_isr, factor)
            assert len(state.isr) >= need, f"{tp} is under min ISR {need}: {state}"
            self._behind |= {(tp, broker) for broker in down.intersection(state.replicas)}
            self._behind -= {(tp, broker) for broker in set(state.isr) - down}
            excused = {broker for broker in state.replicas if (tp, broker) in self._behind}
            assert len({*state.isr, *excused}) >= factor, f"{tp} has fewer in-sync replicas than before: {state}"
            assert state.leader >= 0, f"{tp} has no leader: {state}"
            assert gone.isdisjoint(state.replicas), f"{tp} is on a broker that was unregistered: {state}"
            heading = set(state.replicas) - set(state.removing)
            assert len(heading) == factor, f"{tp} changed its replication factor: {state}"
        quorum = self.kafka.quorum
        if quorum is not None and quorum.voters:
            assert len(quorum.caught_up) > len(quorum.voters) // 2, f"no majority is left: {quorum}"

    def plan_removal(self, brokers: Collection[int]) -> Plan | GuardianError:
        """Each replica to the broker that holds least; what finds no place stays and is named."""
        now = self.kafka.peek()
        held = Counter(b for state in now.partitions.values() for b in state.replicas)
        free = now.brokers.keys() - set(brokers) - self.federation.excluded.keys()
        moves, unmet = [], []
        for tp, state in sorted(now.partitions.items()):
            if set(brokers).isdisjoint(state.replicas) or tp in now.reassignments:
                continue
            target = list(state.replicas)
            for index, broker in enumerate(state.replicas):
                if broker in brokers:
                    able = sorted((held[b], b) for b in free - set(target))
                    if not able:
                        unmet.append(f"broker {broker} can't go: there is no place for {tp}")
                        continue
                    target[index] = able[0][1]
                    held[able[0][1]] += 1
            if not state.isr or state.leader < 0:
                unmet.append(f"{tp} has no replica in sync to copy from")
            elif target != list(state.replicas):
                original = tuple(ReplicaPlacement(b) for b in state.replicas)
                moves.append(PartitionMove(tp, original, tuple(map(ReplicaPlacement, target)), goal="exclusion"))
        if not now.brokers:
            return InvalidInput("no broker is alive")
        return Plan(CLUSTER, AskKind.REMOVE, tuple(moves), unmet=tuple(unmet))

    def tick(self, ticks: int = 1) -> OperationsWorld:
        for _ in range(ticks):
            self.said = self.driver.tick()
            self.machines.let_pass()
        return self

    def run(self, max_ticks: int = 600, *, pauses: bool = False) -> OperationsWorld:
        """Until no ticket is left to drive (or one pauses); a crashed driver is followed by a new one."""
        for _ in range(max_ticks):
            driven = self.store.driven_tickets()
            if not driven or (pauses and any(t.state is TicketState.PAUSED for t in driven)):
                return self
            try:
                self.tick()
            except Crash:
                self.new_driver()
        raise AssertionError(f"not over after {max_ticks} ticks: {self.said}")

    def run_until(self, condition: Callable[[], bool], max_ticks: int = 600) -> OperationsWorld:
        for _ in range(max_ticks):
            if condition():
                return self
            try:
                self.tick()
            except Crash:
                self.new_driver()
        raise AssertionError(f"not so after {max_ticks} ticks: {self.said}")

    def advance(self, state: TicketState, ticket_id: str = "t-1") -> OperationsWorld:
        """What a person does to a ticket."""
        ticket, execution = self.store.ticket(ticket_id), self.store.execution(ticket_id)
        transition = TicketTransition(state, self.kafka.now_ms, "bob", "because")
        self.store.advance(ticket_id, ticket.state, transition, None, execution.revision if execution else 0)
        return self

    def state(self, ticket_id: str = "t-1") -> TicketState:
        return self.store.ticket(ticket_id).state

    def reason(self, ticket_id: str = "t-1") -> str:
        return self.store.ticket(ticket_id).history[-1].reason

    def execution(self, ticket_id: str = "t-1") -> Execution:
        execution = self.store.execution(ticket_id)
        assert execution is not None
        return execution

    def operation(self, ticket_id: str = "t-1") -> Operation:
        operation = self.execution(ticket_id).operation
        assert operation is not None
        return operation

    def begun(self, ticket_id: str) -> bool:
        return self.store.execution(ticket_id) is not None

    def on(self, *brokers: int) -> list[str]:
        """The partitions with a replica there."""
        now = self.kafka.peek()
        return sorted(str(tp) for tp, state in now.partitions.items() if not set(brokers).isdisjoint(state.replicas))

    def topics(self) -> set[str]:
        return {tp.topic for tp in self.kafka.peek().partitions}

    def orders(self) -> dict[str, tuple[int, tuple[int, ...]]]:
        """Who leads, and the order of replicas."""
        return {str(tp): (state.leader, state.replicas) for tp, state in self.kafka.peek().partitions.items()}

    def leaves_no_throttle(self) -> OperationsWorld:
        now = self.kafka.peek()
        assert now.configs == self.configs
        assert not now.reassignments
        return self

    def is_whole(self) -> OperationsWorld:
        """Every replica is in sync."""
        lacking = {str(tp): at for tp, at in self.kafka.peek().partitions.items() if len(at.isr) < len(at.replicas)}
        assert not lacking
        return self
