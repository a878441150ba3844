"""A cluster in memory, a store in memory and a driver that may die between any two calls: stories are told on these.

The standing invariants are checked after every single call that the driver makes, not only after its ticks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any, NamedTuple

from guardian.execution.loop.around import Surroundings
from guardian.execution.loop.driver import Driver
from guardian.execution.loop.ports import DriverClocks, DriverPorts, DriverSettings, Labels, Replanner
from guardian.execution.loop.request_facts import TopicUses
from guardian.execution.rules import foreign
from guardian.execution.rules.slots import ExecutionLimits
from guardian.kafka.fake import FakeKafka
from guardian.model.execution import Execution
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.tasks import PlanTask
from guardian.model.ticket import MAX_EXECUTION_BYTES, Ticket, TicketPart, TicketState, TicketTransition
from guardian.model.topology import ANY_LOG_DIR, TopicPartition
from guardian.tickets.rules.validating import resolve
from tests.memory_execution import MemoryExecutionStore
from tests.moments import moment

CLUSTER = "live"
MB = 1_000_000
WRITES = frozenset(
    {
        "alter_reassignments",
        "alter_replica_log_dirs",
        "elect_preferred_leaders",
        "alter_configs",
        "alter_configs_through_controller",
        "alter_client_quotas",
        "create_topics",
        "create_partitions",
        "create_acls",
        "delete_acls",
        "delete_topics",
        "advance",
    }
)


class Crash(BaseException):
    """The driver's process died: nothing in it lives on to catch that."""


class Broken(BaseException):
    """An invariant does not hold, which the driver must not take for an error of its own."""


class InThisThread(Executor):
    """Carries out at once what it is given: a simulation has one cluster, and would wait for a thread at each tick."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001  as a pool of threads does; a Crash is one
            future.set_exception(error)
        return future


class Moment(NamedTuple):
    """Where a ticket stands, as it is stored."""

    kind: str
    where: str


def moments_of(store: MemoryExecutionStore) -> frozenset[Moment]:
    """Of each ticket."""
    return frozenset(Moment(each.kind, moment(each, store.execution(each.id))) for each in store.tickets())


class Wire:
    """Every call of the driver to Kafka and to the store passes here, is counted, and may be its last.

    At call number `die_at` the process dies: before the call reaches its end, or `after` it did. A write to Kafka that
    dies with `late` calls to go still reaches Kafka, when the next driver has made so many calls. Who listens gets the
    moments before and after each call, and those at which the process died.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        self._invariants = check
        self._delayed: list[tuple[int, Callable[[], object]]] = []
        self.calls = 0
        self.die_at = -1
        self.after = False
        self.late = 0
        self.before_calls: list[frozenset[Moment]] = []
        self.after_calls: list[frozenset[Moment]] = []
        self.died_at: frozenset[Moment] = frozenset()
        self._moments: Callable[[], frozenset[Moment]] | None = None

    def listen(self, moments: Callable[[], frozenset[Moment]]) -> None:
        self._moments = moments

    def _check(self) -> None:
        try:
            self._invariants()
        except AssertionError as error:
            raise Broken(str(error)) from error

    def call(self, name: str, function: Callable[..., object], *args: object) -> object:
        self.calls += 1
        for due, delayed in [item for item in self._delayed if item[0] <= self.calls]:
            self._delayed.remove((due, delayed))
            delayed()
            self._check()
        if self.calls == self.die_at:
            if self.after:
                function(*args)
            elif self.late and name in WRITES and name != "advance":
                self._delayed.append((self.calls + self.late, lambda: function(*args)))
            self._check()
            self.died_at = self._moments() if self._moments else frozenset()
            raise Crash(name)
        is_rehearsal = self._moments is not None and self.die_at < 0
        if self._moments is not None and is_rehearsal:
            self.before_calls.append(self._moments())
        answer = function(*args)
        if self._moments is not None and is_rehearsal:
            self.after_calls.append(self._moments())
        self._check()
        return answer


class Wired:
    """An admin or a store, each of whose methods goes over the wire."""

    def __init__(self, wire: Wire, inner: object) -> None:
        self._wire = wire
        self._inner = inner

    def __getattr__(self, name: str) -> Callable[..., object]:
        function = getattr(self._inner, name)
        return lambda *args: self._wire.call(name, function, *args)


class World:
    """Brokers 1 to `brokers` with two log dirs each (/b1/d0, /b1/d1, ...), all tickets on cluster "live"."""

    def __init__(
        self,
        brokers: int = 4,
        limits: ExecutionLimits | None = None,
        bytes_per_call: int = MB,
        tiered_warm_up_s: float = 0.0,
        replan: Replanner | None = None,
        labels: Labels | None = None,
        around: Surroundings | None = None,
        uses: TopicUses | None = None,
        max_ticket_bytes: int = MAX_EXECUTION_BYTES,
    ) -> None:
        self.uses = uses
        self.max_ticket_bytes = max_ticket_bytes
        ids = range(1, brokers + 1)
        log_dirs = {broker: (f"/b{broker}/d0", f"/b{broker}/d1") for broker in ids}
        self.kafka = FakeKafka({broker: f"rack{broker}" for broker in ids}, log_dirs, bytes_per_call)
        self.store = MemoryExecutionStore()
        self.limits = limits or ExecutionLimits()
        self.wire = Wire(self.check_invariants)
        self.tiered_warm_up_s = tiered_warm_up_s
        self.replan = replan
        self.labels = labels
        self.around = around
        self.least_led: dict[TopicPartition, int] = {}  # bytes that whoever leads must have locally
        self.said: list[str] = []
        self.heard: set[str] = set()  # in all ticks
        self._in_sync: dict[TopicPartition, int] = {}
        self._replication_factor: dict[TopicPartition, set[int]] = {}
        self.configs: Mapping[tuple[str, str], Mapping[str, str]] = {}
        self.driver = self.new_driver()

    def new_driver(self) -> Driver:
        """Another process, which knows only the store and Kafka."""
        store, admin = Wired(self.wire, self.store), Wired(self.wire, self.kafka)
        self.driver = Driver(
            DriverPorts(
                store,  # type: ignore[arg-type]
                lambda _: admin,  # type: ignore[arg-type, return-value]
                replanner=self.replan,
                surroundings=self.around,
                labels=Wired(self.wire, self.labels) if self.labels else None,  # type: ignore[arg-type]
                uses=self.uses,
            ),
            DriverClocks(lambda: self.kafka.now_ms, since_boot_s=lambda: self.kafka.now_ms / 1000),
            DriverSettings(self.limits, tiered_warm_up_s=self.tiered_warm_up_s, max_ticket_bytes=self.max_ticket_bytes),
            pool=InThisThread(),
        )
        return self.driver

    def ticket(
        self,
        *moves: PartitionMove,
        ticket_id: str = "t-1",
        throttle: int = 5 * MB,
        kind: str = "",
        task: PlanTask | None = None,
        part: TicketPart | None = None,
    ) -> World:
        """An approved ticket with these moves, completed from the cluster as it is now."""
        now = self.kafka.peek()
        kind = kind or (task.kind if task is not None else "balance")
        cluster = self.kafka.describe_cluster()
        plan = resolve(Plan(CLUSTER, kind, moves, task=task), cluster, now.partitions, now.log_dirs, {})
        approved = Ticket(
            ticket_id,
            CLUSTER,
            kind,
            TicketState.APPROVED,
            "ann",
            ticket_id,
            throttle,
            created_at_ms=0,
            updated_at_ms=0,
            moves=len(plan.moves),
            bytes_to_copy=plan.bytes_to_copy,
            part=part,
        )
        self.store.put(approved, plan)
        self.remember()
        for each in plan.moves:
            if each.changes_replication_factor:
                asked = len(each.target)
                self._replication_factor[each.partition].add(asked)
                self._in_sync[each.partition] = min(self._in_sync[each.partition], asked)
        return self

    def remember(self) -> None:
        """What is so now must still be so later: in-sync counts, replication factors, configurations."""
        now = self.kafka.peek()
        self.expect_losses()
        self._replication_factor = {tp: {len(state.replicas)} for tp, state in now.partitions.items()}
        self.configs = now.configs

    def moments(self) -> frozenset[Moment]:
        return moments_of(self.store)

    def expect_losses(self) -> None:
        """What just died has taken replicas out of sync: no more of them may go."""
        self._in_sync = {tp: len(state.isr) for tp, state in self.kafka.peek().partitions.items()}

    def check_invariants(self) -> None:
        partitions, reassignments = self.kafka.peek_at_partitions()
        for tp, state in partitions.items():
            removing = reassignments[tp].removing if tp in reassignments else ()
            heading = set(state.replicas) - set(removing)
            if tp not in self._in_sync:
                continue  # it was created since
            assert len(state.isr) >= self._in_sync[tp], f"{tp} has fewer in-sync replicas than before: {state}"
            assert len(heading) in self._replication_factor[tp], f"{tp} changed its replication factor: {state}"
        log_dirs = self.kafka.peek().log_dirs if self.least_led else ()
        for tp, least in self.least_led.items():
            leader = partitions[tp].leader
            local = sum(d.replicas[tp].size_bytes for d in log_dirs if d.broker == leader and tp in d.replicas)
            assert local >= least, f"{tp} is led by broker {leader}, which has {local} of {least} bytes"

    def tick(self, ticks: int = 1) -> World:
        for _ in range(ticks):
            self.said = self.driver.tick()
            self.heard.update(self.said)
            assert not any("nobody foresaw" in sentence for sentence in self.said), self.said
        return self

    def run(self, max_ticks: int = 400) -> World:
        """Until no ticket is left to drive; a crashed driver is followed by a new one."""
        for _ in range(max_ticks):
            if not self.store.driven_tickets():
                return self
            try:
                self.tick()
            except Crash:
                self.new_driver()
        raise AssertionError(f"not over after {max_ticks} ticks: {self.said}")

    def run_until(self, condition: Callable[[], bool], max_ticks: int = 400) -> World:
        for _ in range(max_ticks):
            if condition():
                return self
            self.tick()
        raise AssertionError(f"not so after {max_ticks} ticks: {self.said}")

    def run_until_in_flight(self, *names: str) -> World:
        """Until Kafka reassigns all of these partitions ("t-0")."""
        wanted = set(names)
        return self.run_until(lambda: wanted <= {str(tp) for tp in self.kafka.peek().reassignments})

    def roll_back(self, ticket_id: str = "t-1") -> World:
        """Somebody takes back a ticket that is over."""
        return self._told(TicketState.ROLLING_BACK, None, ticket_id)

    def cancel(self, ticket_id: str = "t-1") -> World:
        ticket, execution = self.store.ticket(ticket_id), self.store.execution(ticket_id)
        transition = TicketTransition(TicketState.CANCELLING, self.kafka.now_ms, "ann", "cancelled")
        self.store.advance(ticket_id, ticket.state, transition, None, execution.revision if execution else 0)
        return self

    def adopt(self, ticket_id: str = "t-1") -> World:
        """Somebody makes other tools' work the ticket's."""
        ticket = self.store.ticket(ticket_id)
        adopted = foreign.adopted(ticket, self.store.execution(ticket_id), self.kafka.now_ms)
        return self._told(TicketState.RUNNING, adopted, ticket_id)

    def wait(self, ticket_id: str = "t-1") -> World:
        """Somebody leaves other tools' work to them."""
        awaited = foreign.awaited(self.store.ticket(ticket_id), self.store.execution(ticket_id))
        return self._told(TicketState.PAUSED, awaited, ticket_id)

    def resume(self, ticket_id: str = "t-1") -> World:
        """Somebody lets a paused ticket go on."""
        return self._told(TicketState.RUNNING, None, ticket_id)

    def _told(self, state: TicketState, execution: Execution | None, ticket_id: str) -> World:
        transition = TicketTransition(state, self.kafka.now_ms, "ann", "told so")
        revision = self.execution(ticket_id).revision
        self.store.advance(ticket_id, self.store.ticket(ticket_id).state, transition, execution, revision)
        return self

    def state(self, ticket_id: str = "t-1") -> TicketState:
        return self.store.ticket(ticket_id).state

    def reason(self, ticket_id: str = "t-1") -> str:
        return self.store.ticket(ticket_id).history[-1].reason

    def execution(self, ticket_id: str = "t-1") -> Execution:
        execution = self.store.execution(ticket_id)
        assert execution is not None
        return execution

    def config(self, kind: str, name: object, key: str) -> str | None:
        return self.kafka.peek().configs[kind, str(name)].get(key)

    def leaves_nothing(self) -> World:
        """Configurations are those of before, and nothing is in flight."""
        now = self.kafka.peek()
        assert now.configs == self.configs
        assert not now.reassignments
        assert not any(log_dir.future_replicas for log_dir in now.log_dirs)
        return self

    def is_at(self, move: PartitionMove, placements: tuple[ReplicaPlacement, ...]) -> bool:
        """Whether Kafka shows the replicas in this order, in these log dirs, the first one leading."""
        now = self.kafka.peek()
        state = now.partitions[move.partition]
        dirs_right = all(p.log_dir in (ANY_LOG_DIR, now.log_dir_of(move.partition, p.broker)) for p in placements)
        return (
            dirs_right
            and state.leader == placements[0].broker
            and state.replicas == tuple(p.broker for p in placements)
        )


def move(name: str, *target: int | str, rate: float = 0.0) -> PartitionMove:
    """`move("t-0", 3, "2:/b2/d1")`: partition 0 of t to broker 3, and to that log dir of broker 2."""
    topic, _, number = name.rpartition("-")
    return PartitionMove(TopicPartition(topic, int(number)), (), tuple(map(_placement, target)), write_rate=rate)


def _placement(text: int | str) -> ReplicaPlacement:
    broker, _, log_dir = str(text).partition(":")
    return ReplicaPlacement(int(broker), log_dir or ANY_LOG_DIR)


def created(name: str, *target: int | str) -> PartitionMove:
    """`created("t-0", 3, "2:/b2/d1")`: partition 0 of t is created there."""
    topic, _, number = name.rpartition("-")
    return PartitionMove(TopicPartition(topic, int(number)), (), tuple(map(_placement, target)), is_new=True)
