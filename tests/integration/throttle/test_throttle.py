"""The adaptive throttle on real brokers: it sees them, yields, says why, and leaves nothing, even on a dead one."""

from __future__ import annotations

import itertools
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from guardian.collection.loop.asking import CountersAsker
from guardian.execution.loop.around import LiveSurroundings
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.model.execution import AdaptedRate
from guardian.model.ticket import TicketState
from guardian.model.topology import TopicPartition
from guardian.throttle.model import PRODUCE, BrokerCounters
from guardian.throttle.rules.adapting import Line, ThrottleSettings
from tests.integration.bench import Bench, now_ms
from tests.integration.beside import beside
from tests.patience import CONTROL_S, PATIENCE_S, until

pytestmark = pytest.mark.integration

BROKERS = (1, 2, 3, 4)
SIZE_BYTES = 16_000_000
# Kafka averages over ten seconds, so the first 10 x rate bytes pass at once: the rest must last for some ticks.
THROTTLE = 600_000
FLOOR = 20_000  # below the tenth of it at which copies begin
# Idle disks are far below it; writers that wait for each write keep one above it, on spindles and on NVMe.
DISK_LIMIT = 0.6
WRITERS, WRITE_BYTES, WRITES_A_FILE = 6, 65_536, 512
# Limits that nothing on this machine comes near, so that a test touches the one that it is about.
EASY = ThrottleSettings(
    floor_mb_per_s=FLOOR / 1e6,
    disk_utilisation=1.0,
    await_ms=100_000,
    nic_share=1.0,
    p99_ms=100_000,
    rise_s=0.5,
    settle_s=0.5,
    window_s=0.5,
)


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    spec = ClusterSpec("throttle", brokers=4, plugin=True)
    with KafkaCluster.start(spec, tmp_path_factory.mktemp("kafka")) as cluster:
        yield cluster


class Watched(Bench):
    """Its driver has eyes of its own."""

    def __init__(self, kafka: KafkaCluster, control: KafkaControl, topic: str) -> None:
        super().__init__(kafka.to_cluster(), control, topic, THROTTLE)
        self.kafka = kafka
        self.asker = CountersAsker(None)
        self.lines: Mapping[Line, float] = {}
        self.look_by(EASY)

    def look_by(self, settings: ThrottleSettings) -> None:
        """Another driver, which keeps to these limits."""
        self.driver.close()
        self.new_driver(
            around=LiveSurroundings(lambda _: self.kafka.to_cluster(), self.asker, settings, lambda: self.lines, now_ms)
        )

    def is_copying(self) -> bool:
        return TopicPartition(self.topic, 0) in self.control.list_reassignments()

    def rate_of(self, broker: int) -> AdaptedRate:
        execution = self.store.execution("t-1")
        rates = execution.rates if execution else ()
        return next((each for each in rates if each.broker == broker), AdaptedRate(0))

    def set_by_kafka(self, broker: int, side: str) -> str:
        return self.throttles(broker)[str(broker)].get(f"{side}.replication.throttled.rate", "")


@pytest.fixture
def bench(kafka: KafkaCluster, new_topic: Callable[[], str]) -> Iterator[Watched]:
    with closing(KafkaControl(kafka.to_cluster(), CONTROL_S)) as control:
        bench = Watched(kafka, control, new_topic())
        yield bench
        bench.driver.close()
        bench.asker.close()
        data.delete_topics(bench.cluster, [bench.topic], PATIENCE_S)


def test_a_real_broker_tells_what_a_decision_needs(bench: Watched) -> None:
    bench.create_topic((1, 2), size_bytes=SIZE_BYTES)
    brokers = bench.cluster.brokers
    found: dict[int, BrokerCounters] = {}

    def all_have_answered() -> bool:
        found.update({each.broker: each for each in bench.asker.ask(brokers)()})
        return found.keys() == set(BROKERS)

    until(all_have_answered)
    assert found[1].requests[PRODUCE].count > 0
    assert found[1].requests[PRODUCE].p99_ms > 0
    assert all(counters.disks for counters in found.values())
    assert all(disk.busy_ms > 0 and disk.operations > 0 for disk in found[1].disks.values())
    # The next answers bring no name again, and are of later moments.
    first = dict(found)
    found.clear()
    until(all_have_answered)
    assert all(found[broker].at_ms > first[broker].at_ms for broker in BROKERS)
    assert found[1].disks.keys() == first[1].disks.keys()
    assert found[1].requests[PRODUCE].count >= first[1].requests[PRODUCE].count


def test_rates_rise_to_the_ceiling_where_brokers_have_room_and_nothing_is_left(bench: Watched) -> None:
    bench.create_topic((1, 2), (1, 2), size_bytes=SIZE_BYTES)
    bench.ticket("balance", bench.move(0, 3, 2), bench.move(1, 3, 2), max_throttle=4 * THROTTLE)
    bench.tick_until(lambda: bench.rate_of(3).rate > THROTTLE)
    assert "there is room" in bench.rate_of(3).why
    in_force: list[int] = []

    def is_over() -> bool:
        in_force.append(int(bench.set_by_kafka(3, "follower") or 0))
        return bench.state().is_over

    bench.tick_until(is_over)
    assert THROTTLE < max(in_force) <= 4 * THROTTLE, in_force
    assert bench.state() is TicketState.SUCCEEDED, bench.said
    assert not any(bench.throttles(*BROKERS).values())


def test_a_disk_that_others_fill_takes_the_rate_down_and_gives_it_back_when_they_end(
    bench: Watched, tmp_path: Path
) -> None:
    """Write to the brokers' own disk until it passes its limit: the rate falls to the floor, and rises afterwards."""
    bench.create_topic((1, 2), size_bytes=2 * SIZE_BYTES)
    # A reporter that is late is another test's reason for the floor.
    bench.look_by(replace(EASY, disk_utilisation=DISK_LIMIT, stale_s=PATIENCE_S))
    bench.ticket("balance", bench.move(0, 3, 2))
    bench.tick_until(lambda: bench.rate_of(3).rate > FLOOR and "there is room" in bench.rate_of(3).why)
    with ExitStack() as stack:
        for number in range(WRITERS):
            stack.enter_context(beside(partial(write_through, tmp_path / f"busy-{number}")))
        bench.tick_until(lambda: bench.rate_of(3).rate == FLOOR)
        busy = re.search(r"disk \S+ is (\d+)% busy, limit (\d+)%", bench.rate_of(3).why)
        assert busy, bench.rate_of(3).why
        assert int(busy[1]) > int(busy[2]) == round(100 * DISK_LIMIT)
        bench.tick_until(lambda: bench.set_by_kafka(3, "follower") == str(FLOOR))
        assert bench.set_by_kafka(1, "leader")
        assert bench.is_copying()
    bench.tick_until(lambda: bench.rate_of(3).rate > FLOOR)
    assert "there is room" in bench.rate_of(3).why
    bench.tick_until(lambda: int(bench.set_by_kafka(3, "follower")) > FLOOR)
    assert bench.is_copying()
    bench.cancel()
    bench.tick_until(lambda: bench.state().is_over)
    assert not any(bench.throttles(*BROKERS).values())


def write_through(path: Path, over: threading.Event) -> None:
    """Keep the disk below this file busy: each write returns once the disk has it."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
    try:
        written = os.urandom(WRITE_BYTES)
        for number in itertools.count():
            if over.is_set():
                break
            os.pwrite(file, written, number % WRITES_A_FILE * WRITE_BYTES)
    finally:
        os.close(file)
        path.unlink()


def test_without_metrics_copies_go_at_the_floor(bench: Watched, kafka: KafkaCluster) -> None:
    bench.create_topic((1, 2), size_bytes=SIZE_BYTES)
    silent = LiveSurroundings(
        lambda _: kafka.to_cluster(), Silent(), ThrottleSettings(floor_mb_per_s=FLOOR / 1e6, stale_s=1.0), dict, now_ms
    )
    bench.driver.close()
    bench.new_driver(around=silent)
    bench.ticket("balance", bench.move(0, 3, 2))
    bench.tick_until(lambda: bench.rate_of(3).rate == FLOOR)
    assert "no metrics of it for 1 s" in bench.rate_of(3).why
    bench.tick_until(lambda: bench.set_by_kafka(3, "follower") == str(FLOOR))
    bench.cancel()
    bench.tick_until(lambda: bench.state().is_over)
    assert not any(bench.throttles(*BROKERS).values())


def test_what_is_left_of_a_line_caps_what_brokers_behind_it_take_in(bench: Watched) -> None:
    """Brokers 1, 2 and 4 stand in shanghai, 3 in suzhou."""
    bench.create_topic((1, 2), size_bytes=SIZE_BYTES)
    bench.lines = {("shanghai", "suzhou"): 300_000.0}
    bench.ticket("balance", bench.move(0, 3, 2))
    bench.tick_until(lambda: bench.set_by_kafka(3, "follower") == "300000")
    bench.lines = {("shanghai", "suzhou"): 0.0}
    bench.tick_until(lambda: bench.set_by_kafka(3, "follower") == str(FLOOR))
    assert "clients and replication take more of it" in " ".join(bench.said)
    bench.cancel()
    bench.tick_until(lambda: bench.state().is_over)
    assert not any(bench.throttles(*BROKERS).values())


def test_a_throttled_broker_is_killed_and_its_ticket_cancelled_its_configuration_is_clean(bench: Watched) -> None:
    bench.create_topic((1, 2), size_bytes=SIZE_BYTES)
    bench.ticket("balance", bench.move(0, 4, 2))
    bench.tick_until(bench.is_copying)
    assert bench.set_by_kafka(4, "follower")
    bench.kafka.kill_broker(4)
    until(lambda: 4 not in bench.control.describe_cluster().brokers)
    bench.cancel()
    bench.tick_until(lambda: bench.state().is_over)
    assert bench.state() is TicketState.CANCELLED, bench.said
    assert not any(bench.throttles(1, 2, 3).values())
    bench.kafka.start_broker(4)
    until(lambda: 4 in bench.control.describe_cluster().brokers)
    until(lambda: bench.throttles(4) == {bench.topic: {}, "4": {}})  # whom others know already


class Silent:
    """Reporters that don't answer."""

    def ask(self, _brokers: object) -> Callable[[], list[BrokerCounters]]:
        return list
