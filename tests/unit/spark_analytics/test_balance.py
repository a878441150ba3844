from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.model.plan import Plan, ReplicaPlacement, spreads
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts
from spark_analytics.planners.balance import plan
from spark_analytics.planners.settings import BalanceSettings

MB = 1_000_000


def cluster(
    *partitions: PartitionFacts,
    brokers: int = 3,
    log_dirs: int = 2,
    offline: tuple[int, str] = (0, ""),
    usable: int = 10**11,
) -> ClusterModel:
    return ClusterModel.of(
        "live",
        [BrokerFacts(broker, f"r{broker}") for broker in range(1, brokers + 1)],
        [
            LogDirFacts(broker, f"/d{number}", 10**12, usable, "vda", offline=(broker, f"/d{number}") == offline)
            for broker in range(1, brokers + 1)
            for number in range(1, log_dirs + 1)
        ],
        partitions,
        at_ms=42,
        input="by hand",
    )


def partition(
    number: int, *on: str, write: float = MB, read: float = 0.0, size: int = MB, movable: bool = True
) -> PartitionFacts:
    places = tuple(ReplicaPlacement(int(item[0]), item[2:]) for item in on)
    return PartitionFacts(TopicPartition("t", number), places, write, read, size, movable)


def make(model: ClusterModel, target_spread: float = 0.1, reserve: float = 0.05) -> Plan:
    return plan(model, BalanceSettings(target_spread=target_spread, capacity_reserve=reserve))


def test_an_even_cluster_stays_as_it_is() -> None:
    made = make(cluster(*(partition(n, f"{1 + n % 3}:/d{1 + n // 3 % 2}") for n in range(12))))
    assert made.moves == ()
    assert (made.made_at_ms, made.input, made.kind) == (42, "by hand", "balance")


def test_an_idle_cluster_stays_as_it_is() -> None:
    assert make(cluster(*(partition(n, "1:/d1", write=0.0) for n in range(3)), brokers=1)).moves == ()
    assert make(cluster()).moves == ()


def test_disks_of_one_broker_are_balanced_within_it() -> None:
    made = make(cluster(*(partition(n, "1:/d1") for n in range(4)), brokers=1))
    assert spreads(made.loads)["log dir"] == (1.0, 0.0)
    assert [len(move.log_dir_moves) for move in made.moves] == [1, 1]
    assert all(move.added_brokers == () for move in made.moves)
    assert made.moves[0].reason == "log dir /d1 of broker 1 at 2.00x the mean; log dir /d2 of broker 1 at 0.00x"


def test_replicas_go_from_the_most_to_the_least_loaded_broker() -> None:
    made = make(cluster(*(partition(n, f"1:/d{1 + n % 2}") for n in range(6))))
    assert spreads(made.loads) == {"broker": (2.0, 0.0), "log dir": (2.0, 0.0)}
    assert len(made.moves) == 4
    assert {move.added_brokers for move in made.moves} == {(2,), (3,)}


def test_the_least_data_is_copied() -> None:
    """Either partition would do: the small one goes."""
    made = make(cluster(partition(0, "1:/d1", size=900 * MB), partition(1, "1:/d1", size=MB), brokers=1))
    assert [move.partition.partition for move in made.moves] == [1]


FULL_DISKS = [
    partition(number, on, write=write * MB)
    for number, (on, write) in enumerate([("1:/d1", 8), ("1:/d1", 7), ("1:/d2", 6), ("1:/d2", 5)])
]


def test_two_replicas_change_places_when_no_move_helps() -> None:
    made = make(cluster(*FULL_DISKS, brokers=1))
    assert spreads(made.loads)["log dir"] == pytest.approx((2 / 13, 0.0))
    assert len(made.moves) == 2
    assert sum("which carries more" in move.reason for move in made.moves) == 1


def test_both_copies_of_an_exchange_must_fit_on_a_disk_that_log_dirs_share() -> None:
    assert len(make(cluster(*FULL_DISKS, brokers=1, usable=2 * MB), reserve=0.0).moves) == 2
    assert make(cluster(*FULL_DISKS, brokers=1, usable=2 * MB - 1), reserve=0.0).moves == ()


def test_a_move_that_turned_out_not_to_be_needed_is_given_back() -> None:
    """The lightest partition left first, then heavier ones made its move pointless."""
    rates = [5, 9, 6, 3]
    made = make(
        cluster(
            *(partition(n, "1:/d1", write=rate, size=rate * 100) for n, rate in enumerate(rates)),
            brokers=1,
            log_dirs=3,
        ),
        target_spread=0.3,
    )
    assert [move.partition.partition for move in made.moves] == [0, 1]
    assert spreads(made.loads)["log dir"][1] <= 0.3


def test_consumers_are_served_elsewhere_by_handing_over_leaders_which_copies_nothing() -> None:
    made = make(cluster(*(partition(n, "1:/d1", "2:/d1", write=MB, read=6 * MB) for n in range(4)), brokers=2))
    assert spreads(made.loads)["broker"] == pytest.approx((0.75, 0.0))
    assert sum(move.target[0].broker == 2 for move in made.moves) == 2
    assert all(move.added_brokers == () for move in made.moves)


def test_leaders_are_spread_even_without_consumers() -> None:
    made = make(cluster(*(partition(n, "1:/d1", "2:/d1") for n in range(4)), brokers=2, log_dirs=1))
    assert [move.target_brokers for move in made.moves] == [(2, 1), (2, 1)]
    assert made.bytes_to_copy == 0
    assert "broker 1 leads 4 partitions" in made.moves[0].reason


def test_what_must_not_move_stays() -> None:
    fixed = [partition(n, "1:/d1", "2:/d1", movable=False) for n in range(4)]
    assert make(cluster(*fixed)).moves == ()


def test_nothing_goes_to_an_offline_log_dir() -> None:
    made = make(cluster(*(partition(n, "1:/d1") for n in range(4)), brokers=1, offline=(1, "/d2")))
    assert made.moves == ()
    assert [row.log_dir for row in made.loads] == ["", "/d1"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"target_spread": -0.1}, "target_spread is -0.1"),
        ({"leader_spread": float("nan")}, "leader_spread is nan"),
        ({"capacity_limit": 1.5}, "capacity_limit is 1.5"),
        ({"capacity_reserve": -1.0}, r"capacity_reserve is -1\.0"),
    ],
)
def test_settings_are_checked_at_birth(values: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        BalanceSettings(**values)
