"""Copies that producers outrun: seen by what is left, and said with the rate that holds them back."""

from __future__ import annotations

from guardian.execution.rules import gaining
from guardian.execution.rules.gaining import Gain, Way
from guardian.model.cluster_state import ClusterObservation, LogDir, LogDirReplica
from guardian.model.owned_setting import OwnedSetting
from guardian.model.throttle import FOLLOWER_RATE, LEADER_RATE
from guardian.model.topology import TopicPartition
from guardian.throttle.rules.throttling import Copy

MB = 1_000_000
T0 = TopicPartition("orders", 3)
COPY = Copy(T0, 0.0, leader=1, sources=(1, 2), destinations=(3,))
WAY = Way(T0, 1, 3)
RATES = (
    OwnedSetting("BROKER", "1", LEADER_RATE, (str(2 * MB),), None),
    OwnedSetting("BROKER", "3", FOLLOWER_RATE, (str(MB),), None),
)
SENTENCE = (
    "orders-3 gains nothing on broker 3 at 1 MB/s: producers write as fast; raise the ticket's --throttle, or "
    "floor_mb_per_s under [throttle]"
)


def held(leader: int, destination: int | None) -> ClusterObservation:
    """The megabytes of both; None: broker 3 does not tell."""
    sizes = {1: leader} | ({3: destination} if destination is not None else {})
    dirs = tuple(
        LogDir(broker, "/d", replicas={T0: LogDirReplica(size * MB, 0, is_future=False)})
        for broker, size in sizes.items()
    )
    return ClusterObservation(0, {}, {}, {}, dirs, {})


def said(*looks: tuple[int, int, int | None], rates: tuple[OwnedSetting, ...] = RATES) -> tuple[str, ...]:
    """What is said at the last of the looks: (seconds, megabytes of the leader, megabytes that have arrived)."""
    gains: dict[Way, Gain] = {}
    for second, leader, arrived in looks:
        gains = gaining.watched(gains, [COPY, None], held(leader, arrived), second * 1000)
    second, leader, arrived = looks[-1]
    return gaining.remarks(gains, rates, held(leader, arrived), second * 1000)


def test_a_copy_that_producers_outrun_for_half_a_minute_is_named_with_the_rate_that_holds_it_back() -> None:
    assert said((0, 100, 10), (15, 115, 25), (30, 130, 40)) == (SENTENCE,)
    assert said((0, 100, 10), (15, 130, 10), (31, 160, 10)) == (SENTENCE,)
    assert said((0, 100, 10), (15, 115, 25), (29, 129, 39)) == ()


def test_a_copy_that_gains_a_little_is_not_named() -> None:
    assert said((0, 100, 10), (20, 120, 31), (40, 140, 52)) == ()


def test_a_copy_onto_which_nobody_writes_or_that_nothing_throttles_is_not_named() -> None:
    assert said((0, 100, 10), (40, 100, 10)) == ()
    assert said((0, 100, 10), (40, 140, 50), rates=()) == ()


def test_what_a_broker_does_not_tell_is_no_gain_and_no_loss() -> None:
    assert said((0, 100, 10), (15, 115, None), (30, 130, 40)) == (SENTENCE,)
    assert said((0, 100, None), (40, 140, None)) == ()


def test_what_is_over_is_watched_no_longer() -> None:
    assert gaining.watched({WAY: Gain(1, 1, 0)}, [], held(100, 100), 0) == {}
