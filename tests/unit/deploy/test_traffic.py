import heapq

import pytest

from deploy.local.state import from_state, to_state
from deploy.local.traffic import (
    LARGEST_SHARE,
    RATE,
    PartitionTraffic,
    heavy_tailed,
    plan_traffic,
)
from guardian.errors import InvalidInput

RACKS = {1: "shanghai-a", 2: "shanghai-b", 3: "suzhou-a"}


def spread(loads: list[float]) -> float:
    return max(loads) * len(loads) / sum(loads) - 1


def led_by(traffic: tuple[PartitionTraffic, ...], brokers: dict[int, str]) -> list[float]:
    return [sum(part.rate for part in traffic if part.replicas[0] == broker) for broker in brokers]


def written_by(traffic: tuple[PartitionTraffic, ...], brokers: dict[int, str]) -> list[float]:
    return [sum(part.rate for part in traffic if broker in part.replicas) for broker in brokers]


def test_the_same_seed_gives_the_same_traffic_and_another_one_does_not() -> None:
    assert plan_traffic(RACKS, seed=7) == plan_traffic(RACKS, seed=7)
    assert plan_traffic(RACKS, seed=7) != plan_traffic(RACKS, seed=8)


@pytest.mark.parametrize("seed", range(20))
def test_traffic_is_skewed_over_brokers_and_log_dirs(seed: int) -> None:
    traffic = plan_traffic(RACKS, seed=seed)
    assert sum(part.rate for part in traffic) == pytest.approx(RATE)
    assert 36 <= len(traffic) <= 48
    assert spread(led_by(traffic, RACKS)) > 1.5
    # With RF 2 on three brokers one broker can take half of all writes at most: 0.5 is the largest spread there is.
    assert 0.45 < spread(written_by(traffic, RACKS)) <= 0.5
    dirs = {(broker, number): 0.0 for broker in RACKS for number in range(3)}
    for part in traffic:
        for broker in part.replicas:
            dirs[broker, 0 if part.first_log_dir else 1] += part.rate
    assert spread(list(dirs.values())) > 1


@pytest.mark.parametrize("seed", range(20))
def test_traffic_can_be_balanced(seed: int) -> None:
    rates = sorted((part.rate for part in plan_traffic(RACKS, seed=seed) for _ in part.replicas), reverse=True)
    assert rates[0] <= 1.01 * LARGEST_SHARE * RATE
    bins = [0.0] * 9
    for rate in rates:
        heapq.heapreplace(bins, bins[0] + rate)
    assert spread(bins) < 0.1


@pytest.mark.parametrize("brokers", range(1, 8))
def test_replicas_stand_on_two_brokers_of_different_racks_where_there_are(brokers: int) -> None:
    racks = {broker: RACKS[(broker - 1) % 3 + 1] for broker in range(1, brokers + 1)}
    for part in plan_traffic(racks, seed=1):
        assert len(set(part.replicas)) == len(part.replicas) == min(2, brokers)
        assert len({racks[broker] for broker in part.replicas}) == len(part.replicas)


def test_brokers_that_share_one_rack_still_get_two_replicas() -> None:
    assert all(len(set(part.replicas)) == 2 for part in plan_traffic({1: "r", 2: "r"}, seed=1))


def test_a_workload_needs_a_broker() -> None:
    with pytest.raises(InvalidInput, match="brokers is empty"):
        plan_traffic({}, seed=1)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 44])
def test_heavy_tailed_rates_add_up_to_the_total(count: int) -> None:
    rates = heavy_tailed(count, 100.0, 3)
    assert sum(rates) == pytest.approx(100.0)
    assert min(rates) > 0


def test_a_partitions_traffic_survives_its_state() -> None:
    part = plan_traffic(RACKS, seed=1)[0]
    assert from_state(PartitionTraffic, to_state(part)) == part
