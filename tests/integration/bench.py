"""A driver that a test ticks itself: tickets on a real cluster, without members and what they decide beside it.

The store is in memory, the brokers are not. What a tick said is printed when it says something else than the last one:
the story of a failure.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from guardian.execution.loop.around import Surroundings
from guardian.execution.loop.driver import Driver
from guardian.execution.loop.ports import DriverClocks, DriverPorts, DriverSettings
from guardian.execution.loop.rehearsing import resolved_now
from guardian.execution.rules.slots import ExecutionLimits
from guardian.kafka import data
from guardian.kafka.admin import BROKER, TOPIC
from guardian.kafka.control import KafkaControl
from guardian.model.cluster_state import LogDir
from guardian.model.execution import Execution
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.tasks import PlanTask
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import ANY_LOG_DIR, Cluster, TopicPartition
from guardian.tickets.rules.ticketing import cancel
from tests.memory_execution import MemoryExecutionStore
from tests.patience import PATIENCE_S, until, wait_for

TICK_S = 0.2
SIZE_BYTES = 12_000_000
# Kafka averages over ten seconds, so the first 10 x rate bytes pass at once: the rest must last for some ticks.
THROTTLE = 500_000
_RECORD_BYTES = 10_000


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Bench:
    """One topic on a real cluster, one ticket t-1, and a driver."""

    def __init__(self, cluster: Cluster, control: KafkaControl, topic: str, throttle: int = THROTTLE) -> None:
        self.cluster = cluster
        self.control = control
        self.topic = topic
        self.throttle = throttle
        self.store = MemoryExecutionStore()
        self.said: list[str] = []
        self.driver = self.new_driver()

    def new_driver(self, limits: ExecutionLimits | None = None, around: Surroundings | None = None) -> Driver:
        """Another process, which knows only the store and Kafka. `around` is what it sees of the brokers' load."""
        self.driver = Driver(
            DriverPorts(self.store, lambda _: self.control, surroundings=around),
            DriverClocks(now_ms),
            DriverSettings(limits or ExecutionLimits()),
        )
        return self.driver

    def create_topic(self, *replicas: tuple[int, ...], size_bytes: int = 0) -> None:
        """With so many bytes in each partition; SIZE_BYTES are enough for a throttled copy to last for some ticks."""
        data.create_topics(self.cluster, {self.topic: dict(enumerate(replicas))}, {}, PATIENCE_S)
        producer = data.producer(self.cluster, acks="all", linger_ms=50)
        for number in range(len(replicas)):
            for _ in range(size_bytes // _RECORD_BYTES):
                producer.produce(self.topic, bytes(_RECORD_BYTES), partition=number)
                producer.poll(0)
        assert producer.flush(PATIENCE_S) == 0

    def partition(self, number: int) -> TopicPartition:
        return TopicPartition(self.topic, number)

    def move(
        self, number: int, *target: int | ReplicaPlacement, is_new: bool = False, write_rate: float = 0.0
    ) -> PartitionMove:
        places = tuple(each if isinstance(each, ReplicaPlacement) else ReplicaPlacement(each) for each in target)
        return PartitionMove(self.partition(number), (), places, is_new=is_new, write_rate=write_rate)

    def ticket(self, kind: str, *moves: PartitionMove, task: PlanTask | None = None, max_throttle: int = 0) -> None:
        """An approved ticket, checked as the server does."""
        name = self.cluster.name
        plan = resolved_now(self.control, Plan(name, kind, moves, task=task))
        ticket = Ticket("t-1", name, kind, TicketState.APPROVED, "ann", "h", self.throttle, 0, 0)
        self.store.put(replace(ticket, max_throttle=max_throttle), plan)

    def tick_until(self, condition: Callable[[], object]) -> None:
        until(condition, every_s=TICK_S, meanwhile=self._tick)

    def _tick(self) -> None:
        said = self.driver.tick()
        if said != self.said:
            self.said = said
            print(*said, sep="\n")  # noqa: T201

    def run(self) -> TicketState:
        """Until the ticket is over."""
        self.tick_until(lambda: self.state().is_over)
        return self.state()

    def cancel(self) -> None:
        ticket = self.store.ticket("t-1")
        self.store.advance("t-1", ticket.state, cancel(ticket, "ann", "", 0), None, self.execution().revision)

    def state(self) -> TicketState:
        return self.store.ticket("t-1").state

    def reason(self) -> str:
        return self.store.ticket("t-1").history[-1].reason

    def execution(self) -> Execution:
        execution = self.store.execution("t-1")
        assert execution is not None
        return execution

    # What Kafka shows.

    def brokers(self) -> Sequence[int]:
        return [broker.id for broker in self.cluster.brokers]

    def log_dirs(self) -> tuple[LogDir, ...]:
        return self.control.describe_log_dirs(self.brokers())

    def log_dir_of(self, number: int, broker: int) -> str:
        partition = self.partition(number)
        return next(d.path for d in self.log_dirs() if d.broker == broker and partition in d.replicas)

    def other_log_dir(self, number: int, broker: int) -> str:
        partition = self.partition(number)
        return next(d.path for d in self.log_dirs() if d.broker == broker and partition not in d.replicas)

    def last_log_dir(self, broker: int) -> str:
        return [each.path for each in self.log_dirs() if each.broker == broker][-1]

    def replicas(self) -> dict[int, tuple[int, ...]]:
        found = self.control.describe_partitions([self.topic])
        return {partition.partition: state.replicas for partition, state in found.items()}

    def ends_at(self, number: int, placements: tuple[ReplicaPlacement, ...]) -> bool:
        """Whether it is there in the end: the broker that is asked may be behind the controller."""
        return wait_for(f"partition {number} is at {placements}", lambda: self._is_at(number, placements))

    def _is_at(self, number: int, placements: tuple[ReplicaPlacement, ...]) -> bool:
        state = self.control.describe_partitions([self.topic])[self.partition(number)]
        brokers = tuple(placement.broker for placement in placements)
        return (
            (state.leader, state.replicas) == (brokers[0], brokers)
            and set(state.isr) == set(brokers)
            and all(p.log_dir in (ANY_LOG_DIR, self.log_dir_of(number, p.broker)) for p in placements)
        )

    def throttles(self, *brokers: int) -> dict[str, dict[str, str]]:
        """What is set of them on the topic and on these brokers (none named: all), by name."""
        resources = [(TOPIC, self.topic), *((BROKER, str(broker)) for broker in brokers or self.brokers())]
        return {
            name: {key: value for key, value in values.items() if "throttled" in key or "alter.log.dirs" in key}
            for (_, name), values in self.control.describe_configs(resources).items()
        }

    def leaves_nothing(self) -> None:
        assert not any(self.throttles().values())
        assert not self.control.list_reassignments()
        assert not any(log_dir.future_replicas for log_dir in self.log_dirs())
