"""The simulated brokers: the same at the same time, never going back, and agreeing with one another."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest

from deploy.local.fleet.clocks import BEGINNING_S, DailyWave, Episodes
from deploy.local.fleet.model import BrokerModel
from deploy.local.fleet.shape import IDCS, ClusterShape, FleetSpec, fleet
from guardian.errors import InvalidInput
from protos.guardian.v1 import reporter_pb2 as pb

SPEC = FleetSpec(brokers=12, replicas=60, clusters=1, seed=7)
NOW_MS = 1_795_000_000_000
MINUTE_MS = 60_000
DAY_MS = 86_400_000
EVERYTHING = pb.CollectRequest(with_activity=True)
COUNTERS = (":Count", "LogEndOffset", "LogStartOffset", "-total")
SIZE, START, END, REPLICAS, IN_SYNC, UNDER_REPLICATED = (
    "kafka.log:type=Log,name=Size",
    "kafka.log:type=Log,name=LogStartOffset",
    "kafka.log:type=Log,name=LogEndOffset",
    "kafka.cluster:type=Partition,name=ReplicasCount",
    "kafka.cluster:type=Partition,name=InSyncReplicasCount",
    "kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions:Value",
)
BYTES_IN = "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec"


@pytest.fixture(scope="module")
def shape() -> ClusterShape:
    return fleet(SPEC)[0]


@pytest.fixture(scope="module")
def brokers(shape: ClusterShape) -> list[BrokerModel]:
    return [BrokerModel(shape, position) for position in range(SPEC.brokers)]


def named(broker: BrokerModel, at_ms: int) -> dict[str, float]:
    return dict(zip(broker.names(), broker.values(at_ms).tolist(), strict=True))


def of_partition(values: dict[str, float], head: str) -> dict[str, float]:
    """By "topic=T,partition=P"."""
    return {
        name.removeprefix(head + ",").removesuffix(":Value"): value
        for name, value in values.items()
        if name.startswith(head + ",")
    }


def test_a_fleet_made_again_answers_the_same(brokers: list[BrokerModel]) -> None:
    again = BrokerModel(fleet(SPEC)[0], 3)
    assert again.names() == brokers[3].names()
    assert np.array_equal(again.values(NOW_MS), brokers[3].values(NOW_MS))
    assert again.batch(NOW_MS, EVERYTHING) == brokers[3].batch(NOW_MS, EVERYTHING)


def test_another_seed_makes_another_fleet(brokers: list[BrokerModel]) -> None:
    other = BrokerModel(fleet(FleetSpec(12, 60, 1, seed=8))[0], 3)
    assert other.shape.id != brokers[3].shape.id
    assert other.names() != brokers[3].names()


def test_every_name_is_there_once_with_a_finite_value(brokers: list[BrokerModel]) -> None:
    for broker in brokers:
        names = broker.names()
        values = broker.values(NOW_MS)
        assert len(names) == len(set(names)) == len(values)
        assert np.isfinite(values).all()


def test_counters_never_fall_while_a_broker_lives(brokers: list[BrokerModel]) -> None:
    for broker in brokers:
        started = broker.started_at_ms(NOW_MS)
        times = [NOW_MS + step for step in (0, 1, 250, 1_000, MINUTE_MS, 13 * MINUTE_MS, 4 * 60 * MINUTE_MS)]
        assert {broker.started_at_ms(at_ms) for at_ms in times} == {started}
        counters = [at for at, name in enumerate(broker.names()) if any(mark in name for mark in COUNTERS)]
        seen = np.stack([broker.values(at_ms)[counters] for at_ms in times])
        assert (np.diff(seen, axis=0) >= 0).all()
        assert (seen >= 0).all()
        assert (seen[-1] > seen[0]).any()


def test_counters_of_the_host_never_fall(brokers: list[BrokerModel]) -> None:
    def numbers(at_ms: int) -> list[int]:
        host = brokers[0].batch(at_ms, EVERYTHING).host
        disks = [(d.bytes_read, d.bytes_written, d.busy_ms, d.read_ms, d.write_ms) for d in host.disks]
        cpu = (host.cpu.user_ms, host.cpu.system_ms, host.cpu.io_wait_ms, host.cpu.idle_ms, host.pressure.io_some_us)
        return [*(number for disk in disks for number in disk), *cpu, host.nics[0].bytes_received]

    seen = [numbers(NOW_MS + step * 7 * MINUTE_MS) for step in range(50)]
    for one, two in itertools.pairwise(seen):
        assert all(before <= after for before, after in zip(one, two, strict=True))


def test_a_restart_begins_counters_and_the_dictionary_anew_but_no_log(brokers: list[BrokerModel]) -> None:
    broker = brokers[0]
    restart = broker.started_at_ms(NOW_MS)
    before, after = named(broker, restart - 1), named(broker, restart + 1000)
    assert broker.started_at_ms(restart - 1) < restart
    assert broker.dictionary_id(restart - 1) != broker.dictionary_id(restart)
    assert after[f"{BYTES_IN}:Count"] < before[f"{BYTES_IN}:Count"]
    ends = of_partition(before, END)
    assert all(end >= ends[name] for name, end in of_partition(after, END).items())


def test_replicas_of_a_partition_have_the_same_log_but_for_a_moment(brokers: list[BrokerModel]) -> None:
    ends: dict[str, list[float]] = defaultdict(list)
    starts: dict[str, set[float]] = defaultdict(set)
    leaders: dict[str, float] = {}
    for broker in brokers:
        values = named(broker, NOW_MS)
        led = {name for name, count in of_partition(values, REPLICAS).items() if count}
        for name, end in of_partition(values, END).items():
            ends[name].append(end)
            if name in led:
                assert name not in leaders
                leaders[name] = end
        for name, start in of_partition(values, START).items():
            starts[name].add(start)
        for name, size in of_partition(values, SIZE).items():
            assert size >= 0
            assert (size > 0) == (of_partition(values, END)[name] > of_partition(values, START)[name])
            break
    assert set(leaders) == set(ends)
    assert all(len(found) == 1 for found in starts.values())
    # A follower is behind by seconds of traffic at most, out of years.
    assert all(0 <= leaders[name] - min(found) < 0.0001 * leaders[name] + 100 for name, found in ends.items())
    assert any(leaders[name] > min(found) for name, found in ends.items())


def test_a_partition_stands_in_as_many_idcs_as_it_has_replicas(shape: ClusterShape) -> None:
    idcs = np.array([IDCS.index(broker.idc) for broker in shape.brokers])
    placed = np.sort(idcs[shape.partitions.brokers], axis=1)
    assert (placed == [0, 1, 2]).all()
    held = np.bincount(shape.partitions.brokers.ravel(), minlength=SPEC.brokers)
    assert abs(held - SPEC.replicas).max() <= 1


def test_a_dead_disk_has_no_replica_and_others_lead_what_it_led(
    shape: ClusterShape, brokers: list[BrokerModel]
) -> None:
    ((position, log_dir),) = np.argwhere(shape.dead_dirs)
    broker = brokers[position]
    facts = broker.batch(NOW_MS, EVERYTHING).host
    assert [one.offline for one in facts.log_dirs] == [at == log_dir for at in range(SPEC.log_dirs)]
    assert not facts.log_dirs[log_dir].replicas
    assert len(facts.disks) == SPEC.log_dirs - 1
    values = named(broker, NOW_MS)
    assert values["kafka.log:type=LogManager,name=OfflineLogDirectoryCount:Value"] == 1
    offline = values["kafka.server:type=ReplicaManager,name=OfflineReplicaCount:Value"]
    assert offline > 0
    assert sum(named(other, NOW_MS)[UNDER_REPLICATED] for other in brokers) == offline
    assert (shape.partitions.leaders >= 0).all()
    assert not (shape.partitions.dead[:, 0] & (shape.partitions.leaders == shape.partitions.brokers[:, 0])).any()


def test_what_the_log_dirs_hold_is_what_the_metrics_tell_of(brokers: list[BrokerModel]) -> None:
    for broker in brokers:
        host = broker.batch(NOW_MS, EVERYTHING).host
        held = {name for log_dir in host.log_dirs for name in log_dir.replicas}
        sizes = of_partition(named(broker, NOW_MS), SIZE)
        assert held == {name.removeprefix("topic=").replace(",partition=", "-") for name in sizes}
        assert sum(log_dir.size_bytes for log_dir in host.log_dirs) == pytest.approx(sum(sizes.values()), abs=10)
        assert all(one.total_bytes == one.usable_bytes + one.size_bytes for one in host.log_dirs if not one.offline)


def test_logs_grow_and_are_trimmed(brokers: list[BrokerModel]) -> None:
    before, after = named(brokers[0], NOW_MS), named(brokers[0], NOW_MS + 2 * DAY_MS)
    for head in (START, END):
        earlier, later = of_partition(before, head), of_partition(after, head)
        assert all(later[name] >= earlier[name] for name in earlier)
        assert sum(later[name] > earlier[name] for name in earlier) > len(earlier) / 2


def test_load_has_days_and_nights(shape: ClusterShape) -> None:
    midnight_s = NOW_MS // DAY_MS * 86_400
    hours = [shape.wave.rate(midnight_s + hour * 3600) for hour in range(24)]
    assert max(hours) > 1.55
    assert min(hours) < 0.45
    assert shape.wave.rate(midnight_s) == pytest.approx(shape.wave.rate(midnight_s + 86_400))


@pytest.mark.parametrize("at_s", [BEGINNING_S + 12_345.0, BEGINNING_S + 1e8])
def test_the_total_of_a_wave_is_the_integral_of_its_rate(at_s: float) -> None:
    wave = DailyWave(86_400.0, 0.3)
    hour = [wave.rate(at_s + step + 0.5) for step in range(3600)]
    assert wave.total(at_s + 3600) - wave.total(at_s) == pytest.approx(sum(hour), rel=1e-6)


def test_episodes_add_up_to_the_time_for_which_they_were_on() -> None:
    episodes = Episodes(np.array([1000.0, 300.0]), np.array([0.0, 77.0]), 0.25)
    seconds = [episodes.on(BEGINNING_S + step + 0.5) for step in range(2000)]
    total = episodes.total(BEGINNING_S + 2000) - episodes.total(BEGINNING_S)
    assert total == pytest.approx(np.sum(seconds, axis=0), abs=2)
    assert total[0] == pytest.approx(500, abs=1)


def test_hot_topics_are_busier_while_they_are_hot(shape: ClusterShape) -> None:
    hot = int(np.argmax(shape.topics.heat))
    times = NOW_MS / 1000 + np.arange(0, 86_400, 600)
    ratios = [
        (shape.written(at_s + 1) - shape.written(at_s))[hot] / (shape.wave.total(at_s + 1) - shape.wave.total(at_s))
        for at_s in times
    ]
    assert max(ratios) > 4
    assert min(ratios) == pytest.approx(1.0, rel=1e-3)


def test_a_slow_disk_is_slow_beside_its_peers_and_only_for_a_while(
    shape: ClusterShape, brokers: list[BrokerModel]
) -> None:
    position, log_dir = np.argwhere(shape.slow_dirs)[0]
    name = f"sd{'bcdefgh'[log_dir]}"

    def wait_ms(at_ms: int) -> dict[str, float]:
        earlier, later = (brokers[position].batch(at, EVERYTHING).host.disks for at in (at_ms, at_ms + MINUTE_MS))
        return {
            two.name: (two.write_ms - one.write_ms) / (two.writes_completed - one.writes_completed)
            for one, two in zip(earlier, later, strict=True)
        }

    waits = [wait_ms(NOW_MS + step * 20 * MINUTE_MS) for step in range(24)]
    ratios = [found[name] / max(wait for other, wait in found.items() if other != name) for found in waits]
    assert max(ratios) > 4
    assert min(ratios) < 1.5


def test_more_speed_makes_shorter_days_but_no_more_traffic() -> None:
    slow, fast = (BrokerModel(fleet(FleetSpec(12, 60, 1, 7, speed=speed))[0], 0) for speed in (1.0, 24.0))
    assert fast.shape.wave.day_s * 24 == slow.shape.wave.day_s
    day_s = NOW_MS / 1000 + 86_400
    ratio = (fast.shape.wave.total(day_s) - fast.shape.wave.total(NOW_MS / 1000)) / 86_400
    assert ratio == pytest.approx(1.0, abs=0.01)


def test_slices_follow_one_another_and_are_always_the_same(brokers: list[BrokerModel]) -> None:
    broker = brokers[0]
    life_ms = broker.started_at_ms(NOW_MS)
    first = broker.batch(NOW_MS, EVERYTHING).activity
    assert len(first) == 16
    assert [one.number for one in first] == list(range(first[0].number, first[0].number + 16))
    asked = pb.CollectRequest(with_activity=True, activity_life_ms=life_ms, activity_after=first[-1].number)
    assert not broker.batch(NOW_MS, asked).activity
    (new,) = broker.batch(NOW_MS + MINUTE_MS, asked).activity
    assert (new.number, new.from_ms) == (first[-1].number + 1, first[-1].to_ms)
    again = broker.batch(NOW_MS + MINUTE_MS, EVERYTHING).activity
    assert list(again) == [*first[1:], new]
    lengths = {
        len(field)
        for field in (new.principals, new.client_ids, new.addresses, new.resources, new.operations, new.allowed)
    }
    assert len(lengths) == 1
    assert max(*new.principals, *new.resources, *new.operations) < len(new.strings)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"brokers": 0}, "brokers is 0"),
        ({"replicas": 0}, "partitions is 0"),
        ({"brokers": 3, "clusters": 4}, "clusters is 4"),
        ({"base_port": 80}, "base-port is 80"),
        ({"speed": 0.0}, "speed is 0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_a_fleet_that_can_not_be_is_refused(wrong: dict[str, int], field: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        FleetSpec(**wrong)


@pytest.mark.parametrize("spec", [FleetSpec(1, 1, 1), FleetSpec(2, 3, 2), FleetSpec(4, 1000, 1), FleetSpec(7, 5, 3)])
def test_the_smallest_fleets_answer_too(spec: FleetSpec) -> None:
    for shape in fleet(spec):
        for position in range(len(shape.brokers)):
            broker = BrokerModel(shape, position)
            assert len(broker.names()) == len(broker.values(NOW_MS))
            assert broker.batch(NOW_MS, EVERYTHING).broker_id == position + 1
