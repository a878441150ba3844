"""Faults of a whole cluster: which partitions they touch, from where they start, and what is said of topics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from guardian.errors import InvalidInput
from guardian.model.cluster_state import Eligible, LogDir, LogDirReplica, PartitionState
from guardian.model.durability import BrokerPlace, TopicFacts, TopicSettings
from guardian.model.faults.advice import advice
from guardian.model.faults.cluster import Cluster, halting, predict
from guardian.model.faults.controller import Record, Settings
from guardian.model.faults.fault import Blow, Fault
from guardian.model.faults.outcome import Lost, Outcome, outcome
from guardian.model.faults.stories import NAMED, Roles
from guardian.model.faults.times import Times
from guardian.model.faults.unfolding import Beginning, Ended
from guardian.model.topology import TopicPartition

SAFE, LOOSE = TopicSettings(2, False), TopicSettings(1, True)
BROKERS = {each: BrokerPlace(f"r{each % 3}", "north" if each < 3 else "south") for each in range(1, 7)}


def full(*replicas: int) -> PartitionState:
    return PartitionState(replicas[0], replicas, replicas)


def now(**topics: TopicFacts) -> Cluster:
    return Cluster(topics, BROKERS)


def facts(*partitions: PartitionState, settings: TopicSettings = SAFE, **eligible: Eligible) -> TopicFacts:
    return TopicFacts(settings, dict(enumerate(partitions)), {int(key[1:]): each for key, each in eligible.items()})


@pytest.mark.parametrize(
    ("fault", "touched"),
    [
        (Fault(Blow.CUT, 1, (1,), seconds=5), 1),  # follows in the second
        (Fault(Blow.CUT, 2, (1,), seconds=5), 1),  # leads the first
        (Fault(Blow.CUT, 3, (1,), seconds=5), 1),
        (Fault(Blow.CUT, 4, (1,), seconds=5), 1),
        (Fault(Blow.CUT, 6, (1, 2), seconds=5), 2),
        (Fault(Blow.CUT, 7, seconds=5), 3),
        (Fault(Blow.CUT, 8, seconds=5), 3),
        (Fault(Blow.KILL, brokers=(1,), seconds=5), 2),
        (Fault(Blow.KILL, racks=("r1",), seconds=5), 3),  # brokers 1 and 4
        (Fault(Blow.KILL, idcs=("north",), seconds=5), 2),  # brokers 1 and 2
        (Fault(Blow.CLOCK, brokers=(2,), ahead_s=-7200.0, seconds=5), 1),
        (Fault(Blow.SLOW_FOLLOWER, brokers=(1,), share=0.5, seconds=5), 1),  # follows in the second
        (Fault(Blow.SLOW_FOLLOWER, brokers=(1, 2), share=0.5, seconds=5), 2),
        (Fault(Blow.SLOW_DISK, brokers=(1,), each_s=1.0, seconds=5), 2),
    ],
)
def test_a_fault_touches_the_partitions_that_it_is_about(fault: Fault, touched: int) -> None:
    (found,) = predict(now(t=facts(full(1, 2, 3), full(2, 3, 1), full(4, 5, 6))), fault, [True])
    assert found.partitions == touched


def test_partitions_that_differ_in_names_alone_are_played_once(monkeypatch: pytest.MonkeyPatch) -> None:
    played = []

    def counted(*given: Any, **named: Any) -> Outcome:
        played.append(given)
        return outcome(*given, **named)

    monkeypatch.setattr("guardian.model.faults.cluster.outcome", counted)
    many = facts(*(full(*(1 + (n + each) % 6 for each in range(3))) for n in range(60)))
    found = predict(now(a=many, b=many), Fault(Blow.KILL, brokers=(1,), seconds=5))
    assert len(played) == 3 * 2  # as first, second or third replica; acks=all and acks=1
    assert [(each.topic, each.acks_all, each.partitions) for each in found] == [
        ("a", False, 30), ("b", False, 30), ("a", True, 30), ("b", True, 30),
    ]  # fmt: skip


def test_it_begins_as_kafka_stands_now() -> None:
    """Broker 2 is in the ELR of the first alone: its leader may die there, and the second waits for that."""
    thin = PartitionState(1, (1, 2, 3), (1,))
    places = {**BROKERS, 3: replace(BROKERS[3], is_alive=False)}
    fault = Fault(Blow.KILL, brokers=(1,), seconds=60)
    eligible = facts(thin, p0=Eligible((2, 3)))
    (spared,) = predict(Cluster({"t": eligible}, places), fault, [True])
    assert (spared.lost, spared.awaited) == (Lost.NONE, ())
    alone = facts(thin, settings=TopicSettings(1, False))
    (waits,) = predict(Cluster({"t": alone}, places), fault, [True])
    assert (waits.lost, waits.awaited, waits.ended) == (Lost.NONE, (1,), Ended.RETURNED)


def test_what_goes_with_a_stale_leader_is_told_as_more_than_seconds() -> None:
    thin = PartitionState(1, (1, 2, 3), (1,))
    (found,) = predict(now(t=facts(thin, settings=LOOSE)), Fault(Blow.KILL, brokers=(1,), seconds=60), [True])
    assert (found.lost, found.loses) == (Lost.SINCE_BEHIND, 1)


def test_brokers_that_never_come_back_are_waited_for_until_the_end() -> None:
    fault = Fault(Blow.LOSE, brokers=(1, 2, 3), seconds=0)
    (found,) = predict(now(t=facts(full(1, 2, 3))), fault, [True])
    assert (found.lost, found.ended) == (Lost.EVERYTHING, Ended.NEVER)


def test_names_are_those_of_the_cluster() -> None:
    (found,) = predict(now(t=facts(full(4))), Fault(Blow.KILL, brokers=(4,), seconds=20), [True])
    assert found.awaited == (4,)


def test_a_controller_that_is_a_broker_too_goes_with_it() -> None:
    """Brokers 1, 2 and 3 are the quorum: with two of them gone nobody elects, with one of them somebody does."""
    combined = replace(now(t=facts(full(1, 4, 5))), controllers=(1, 2, 3))
    (one,) = predict(combined, Fault(Blow.KILL, brokers=(1,), seconds=0), [True])
    assert one.ended is Ended.ELECTED
    (two,) = predict(combined, Fault(Blow.KILL, brokers=(1, 2), seconds=0), [True])
    assert two.ended is Ended.NEVER


def test_the_preferred_leader_is_elected_once_it_is_back_in_sync() -> None:
    story = NAMED["kill-elect"](Roles(1, (2, 3), (101,)))
    start = Beginning(Record((1, 2, 3), 1, (1, 2, 3)))
    found = outcome(start, Settings(2), story, acks_all=True, controllers=(101,))
    assert (found.lost, found.leaders) == (Lost.NONE, (1,))
    without = replace(story, events=story.events[:-1])
    assert outcome(start, Settings(2), without, acks_all=True, controllers=(101,)).leaders == (2,)


def test_times_of_the_configuration_count() -> None:
    quick = Times.of_config({"broker.session.timeout.ms": "3000"}, {"request.timeout.ms": "5000"})
    assert (quick.session_s, quick.request_timeout_s, quick.replica_lag_s) == (3.0, 5.0, 30.0)
    fault = Fault(Blow.KILL, brokers=(1,), seconds=60)
    usual, soon = (
        predict(replace(now(t=facts(full(1, 2, 3))), times=times), fault, [True])[0] for times in (Times(), quick)
    )
    assert soon.silent_s.most_s < usual.silent_s.most_s - 5


ON_DIRS = (
    LogDir(1, "/a", replicas={TopicPartition("t", 0): LogDirReplica(1, 0, is_future=False)}),
    LogDir(1, "/b", replicas={TopicPartition("t", 1): LogDirReplica(1, 0, is_future=False)}),
    LogDir(2, "/a", replicas={TopicPartition("t", 1): LogDirReplica(1, 0, is_future=False)}),
    LogDir(2, "/b", replicas={TopicPartition("t", 0): LogDirReplica(1, 0, is_future=False)}),
)


def test_of_log_dirs_that_fail_on_two_brokers_a_partition_loses_the_copy_that_is_on_one() -> None:
    """Min ISR 2 is met without either of them, and with both gone nobody is acknowledged by acks=all."""
    at = replace(now(t=facts(full(1, 2, 3), full(2, 1, 3))), log_dirs=ON_DIRS)
    (found,) = predict(at, Fault(Blow.LOG_DIR, brokers=(1, 2), log_dirs=("/a",), seconds=0), [True])
    assert (found.partitions, found.lost, found.ended) == (2, Lost.NONE, Ended.ELECTED)
    both = Fault(Blow.LOG_DIR, brokers=(1, 2), log_dirs=("/a", "/b"), seconds=0)
    (found,) = predict(at, both, [True])
    assert (found.ended, halting(at, both)) == (Ended.NEVER, (1, 2))


def test_a_log_dir_that_is_repaired_serves_again() -> None:
    at = replace(now(t=facts(full(1))), log_dirs=ON_DIRS)
    at = replace(at, topics={"t": facts(full(1), settings=TopicSettings(1, False))})
    (found,) = predict(at, Fault(Blow.LOG_DIR, brokers=(1,), log_dirs=("/a",), seconds=20), [True])
    assert (found.lost, found.ended, found.awaited) == (Lost.NONE, Ended.RETURNED, (1,))
    assert found.silent_s.least_s >= 25


def test_log_dirs_are_named_for_disks_alone() -> None:
    with pytest.raises(InvalidInput, match="log_dirs: not of this fault"):
        Fault(Blow.KILL, brokers=(1,), log_dirs=("/a",))


@pytest.mark.parametrize(
    ("ahead_s", "settings", "refused"),
    [
        (-3700.0, TopicSettings(1, False, after_max_s=3600.0), True),
        (-3500.0, TopicSettings(1, False, after_max_s=3600.0), False),
        (7200.0, TopicSettings(1, False, after_max_s=3600.0), False),
        (7200.0, TopicSettings(1, False, before_max_s=60.0), True),
        (-86_400.0, TopicSettings(1, False), False),  # no limit, or LogAppendTime
    ],
)
def test_a_leader_whose_clock_is_wrong_refuses_records_until_it_is_right(
    ahead_s: float, settings: TopicSettings, refused: bool
) -> None:
    fault = Fault(Blow.CLOCK, brokers=(1,), ahead_s=ahead_s, seconds=20)
    for found in predict(now(t=facts(full(1, 2, 3), settings=settings)), fault):
        assert found.lost is Lost.NONE
        assert (found.silent_s.least_s >= 20) == refused
        assert found.ended is Ended.HEALED


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"blow": Blow.CUT, "number": 9, "brokers": (1,)}, "cut: unknown number (got 9); use 1 to 8"),
        ({"blow": Blow.CUT, "number": 4}, "nothing is hit (got none); name a broker"),
        ({"blow": Blow.KILL, "brokers": (1,), "seconds": 601.0}, "seconds: out of range (got 601); use 0 to 600"),
        ({"blow": Blow.KILL, "brokers": (1,), "seconds": float("nan")}, "seconds: out of range (got nan)"),
        ({"blow": Blow.KILL, "brokers": (1,), "order": (1,) * 30}, "every_s: too long (got 30 for each start)"),
        ({"blow": Blow.CLOCK, "brokers": (1,)}, "ahead_s: out of range (got 0)"),
        ({"blow": Blow.CLOCK, "brokers": (1,), "ahead_s": float("nan")}, "ahead_s: out of range (got nan)"),
        ({"blow": Blow.KILL, "brokers": (1,), "ahead_s": 5.0}, "ahead_s: out of range (got 5)"),
        ({"blow": Blow.KILL, "brokers": (9,)}, "brokers: unknown (got 9); see `guardian broker list`"),
        ({"blow": Blow.KILL, "racks": ("x",)}, "racks: unknown (got x); use r0, r1, r2"),
        ({"blow": Blow.KILL, "idcs": ("x",)}, "idcs: unknown (got x); use north, south"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        predict(now(t=facts(full(1, 2, 3))), Fault(**given))  # type: ignore[arg-type]
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("fault", "settings", "elr", "said"),
    [
        (Fault(Blow.CUT, 1, (2,), seconds=60), SAFE, True, "replica.lag.time.max.ms 30000 costs 30 to 45 s of silence"),
        (Fault(Blow.CUT, 4, (1,), seconds=60), SAFE, True, "only producers with acks=0 or 1 lose records"),
        (Fault(Blow.POWER, brokers=(1, 2, 3), seconds=5), SAFE, True, "put copies into racks of different power"),
        (Fault(Blow.KILL, brokers=(1, 2, 3), seconds=5), SAFE, True, "`guardian durability` names whom to start first"),
        (Fault(Blow.KILL, brokers=(1,), seconds=5), LOOSE, True, ""),
        (
            Fault(Blow.CLOCK, brokers=(1,), ahead_s=-7200.0),
            TopicSettings(2, False, after_max_s=3600.0),
            True,
            "leaders refuse for good what is produced while",
        ),
        (Fault(Blow.CLOCK, brokers=(1,), ahead_s=-7200.0), SAFE, True, "records are taken: neither"),
        (Fault(Blow.KILL, brokers=(2,), seconds=5), SAFE, False, "raise eligible.leader.replicas.version to 1"),
    ],
)
def test_advice_fits_what_is_predicted(fault: Fault, settings: TopicSettings, elr: bool, said: str) -> None:
    cluster = replace(now(t=facts(full(1, 2, 3), settings=settings)), elr=elr)
    assert said in " ".join(advice(cluster, fault, predict(cluster, fault)))


def test_unclean_elections_that_lose_acks_all_are_advised_against() -> None:
    thin = now(t=facts(PartitionState(1, (1, 2, 3), (1,)), settings=LOOSE))
    fault = Fault(Blow.KILL, brokers=(1,), seconds=60)
    assert "acks=all loses records of t: set min.insync.replicas to 2" in " ".join(
        advice(thin, fault, predict(thin, fault))
    )
