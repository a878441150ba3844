"""New replicas of a tiered partition on real brokers that begin after the last tiered offset (KIP-1023).

Who leads meanwhile, and that consumers see OffsetOutOfRange only where data is gone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from confluent_kafka import TopicPartition as WirePartition
from confluent_kafka.admin import AdminClient

from deploy.local.answering import register
from guardian.execution.loop.driver import Driver
from guardian.execution.loop.ports import DriverClocks, DriverPorts, DriverSettings
from guardian.kafka.control import KafkaControl
from guardian.model.cluster_state import PartitionState
from guardian.model.execution import ExecutionTask, TaskState
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from guardian.tickets.rules.validating import resolve
from tests.integration.tiering.harness import (
    Members,
    Stored,
    TieredCluster,
    guardian_plugin,
)
from tests.integration.tiering.records import produce, read, require_whole
from tests.memory_execution import MemoryExecutionStore
from tests.patience import CONTROL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

RECORDS = 600
WARM_UP_S = 1000.0  # half of the limit: no test lasts that long
COVER_BYTES = 150_000
# Kafka 4.3 lets a new replica begin after the last tiered offset only where the leader has deleted something locally.
ROOMY = {"local_retention_bytes": "200000", "min_insync_replicas": "1"}


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Members]:
    with Members(tmp_path_factory.mktemp("guardian")) as members:
        yield members


@pytest.fixture(scope="module")
def tiered(members: Members, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TieredCluster]:
    home, metadata = tmp_path_factory.mktemp("tiered"), guardian_plugin(members.endpoints)
    with TieredCluster(home, metadata, brokers=4, follower_fetch_last_tiered_offset_enable="true") as tiered:
        with members.client() as client:
            register(client, tiered.cluster)
        yield tiered
        tiered.require_all_alive()


class Mover:
    """One ticket, ticked by the test."""

    def __init__(self, tiered: TieredCluster, partition: TopicPartition) -> None:
        self._partition = partition
        self._control = KafkaControl(tiered.cluster, CONTROL_S)
        self._store = MemoryExecutionStore()
        self._driver = Driver(
            DriverPorts(self._store, lambda _: self._control),
            DriverClocks(lambda: time.time_ns() // 1_000_000),
            DriverSettings(tiered_warm_up_s=WARM_UP_S),
        )

    def close(self) -> None:
        self._driver.close()
        self._control.close()

    def move_to(self, *brokers: int) -> None:
        target = tuple(ReplicaPlacement(broker) for broker in brokers)
        move = PartitionMove(self._partition, (), target, write_rate=COVER_BYTES / WARM_UP_S)
        description = self._control.describe_cluster()
        plan = resolve(
            Plan("tiered", "run-plan", (move,)),
            description,
            self._control.describe_partitions([self._partition.topic]),
            self._control.describe_log_dirs(sorted(description.brokers)),
            {},
        )
        self._store.put(Ticket("t-1", "tiered", "run-plan", TicketState.APPROVED, "ann", "h", 0, 0, 0), plan)

    def tick_until(self, what: str, condition: Callable[[], object]) -> None:
        said: list[str] = []

        def is_so() -> object:
            now = self._driver.tick()
            if now != said:
                said[:] = now
                print(*said, sep="\n")  # noqa: T201  (the story of a failure)
            return condition()

        wait_for(what, is_so, every_s=0.1)

    @property
    def task(self) -> ExecutionTask:
        execution = self._store.execution("t-1")
        assert execution is not None
        return execution.tasks[0]

    def is_held(self, detail: str) -> bool:
        return self._store.execution("t-1") is not None and self.task.detail.startswith(detail)

    def is_over(self) -> bool:
        return self._store.ticket("t-1").state.is_over

    def state(self) -> PartitionState:
        return self._control.describe_partitions([self._partition.topic])[self._partition]

    def local_bytes(self, broker: int) -> int:
        log_dirs = self._control.describe_log_dirs([broker])
        return sum(d.replicas[self._partition].size_bytes for d in log_dirs if self._partition in d.replicas)


@pytest.fixture
def partition(tiered: TieredCluster, members: Members, new_topic: Callable[[], str]) -> TopicPartition:
    """On brokers 1 and 2, copied to the remote store; the last third is still on their disks."""
    topic = new_topic()
    tiered.create_topic(topic, {0: (1, 2)}, **ROOMY)
    produce(tiered.cluster, topic, range(RECORDS), 1)
    partition = TopicPartition(topic, 0)
    with members.client() as client:
        stored = Stored(client, tiered, topic, 1)
        # How many segments there are depends on how the producer happens to batch.
        wait_for(
            "all closed segments are copied",
            lambda: 0 < tiered.local_segments(partition, 1)[-1] == stored.copied_up_to(0),
        )
    wait_for("some have left the local disk", lambda: tiered.local_segments(partition, 1)[0] > RECORDS // 4)
    return partition


@pytest.fixture
def mover(tiered: TieredCluster, partition: TopicPartition) -> Iterator[Mover]:
    with closing(Mover(tiered, partition)) as mover:
        yield mover


@pytest.mark.parametrize(
    ("target", "meanwhile", "keeper"),
    [
        pytest.param((3, 2), (2, 3), 2, marks=pytest.mark.long, id="a replica stays"),
        pytest.param((3, 4), (1, 3), 1, id="none stays"),
    ],
)
def test_an_old_replica_leads_until_the_new_one_has_enough_on_its_disks(
    tiered: TieredCluster,
    partition: TopicPartition,
    mover: Mover,
    target: tuple[int, ...],
    meanwhile: tuple[int, ...],
    keeper: int,
) -> None:
    mover.move_to(*target)
    waits = f"holds the lead at broker {keeper} until broker 3 has 150 kB local"
    mover.tick_until("the lead is held", lambda: mover.is_held(waits))
    first_local = [tiered.local_segments(partition, broker)[0] for broker in (keeper, 3)]
    assert first_local[0] < first_local[1], "the new replica did not begin after the last tiered offset"
    assert mover.local_bytes(3) < COVER_BYTES
    ticks = iter(range(20))
    mover.tick_until("some ticks have passed", lambda: next(ticks) == 19)
    state = mover.state()
    assert (state.leader, state.replicas, set(state.isr)) == (keeper, meanwhile, set(meanwhile))
    produce(tiered.cluster, partition.topic, range(RECORDS, 2 * RECORDS), 1)
    mover.tick_until("the ticket is over", mover.is_over)
    assert mover.task.state is TaskState.DONE
    assert (mover.state().leader, mover.state().replicas) == (3, target)
    assert mover.local_bytes(3) >= COVER_BYTES
    require_whole(tiered.cluster, partition.topic, 2 * RECORDS)


def test_out_of_range_is_only_what_is_gone(tiered: TieredCluster, partition: TopicPartition) -> None:
    """Not what is not local."""
    require_whole(tiered.cluster, partition.topic, RECORDS)
    gone = RECORDS // 3
    admin = AdminClient({"bootstrap.servers": tiered.cluster.bootstrap})
    for done in admin.delete_records([WirePartition(partition.topic, 0, gone)]).values():
        done.result(PATIENCE_S)
    assert read(tiered.cluster, partition, gone, RECORDS) == list(range(gone, RECORDS))
    with pytest.raises(AssertionError, match="out of range"):
        read(tiered.cluster, partition, gone - 1, RECORDS)
