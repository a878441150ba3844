"""What the detectors of healing see in what Kafka shows."""

from __future__ import annotations

import pytest

from guardian.health.model.finding import FindingKind
from guardian.health.rules import troubles
from guardian.health.rules.troubles import STUCK_MS, Motions
from guardian.model.cluster_state import LogDir, LogDirReplica, PartitionState, Reassignment
from guardian.model.operation import Ask, AskKind
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import Broker, BrokerState, TopicPartition
from guardian.security.model.certificate import CertificateLife

GB = 1 << 30
DAY_MS = 86_400_000
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
STATES = {T0: PartitionState(1, (1, 2, 3), (1, 2, 3)), T1: PartitionState(2, (2, 3, 4), (2, 3, 4))}


def held(size_bytes: int) -> LogDirReplica:
    return LogDirReplica(size_bytes, 0, is_future=False)


def test_brokers_that_are_registered_or_have_replicas_and_do_not_live_are_down() -> None:
    registered = [Broker(1), Broker(3, state=BrokerState.MAINTENANCE), Broker(5), Broker(6, state=BrokerState.DRAINING)]
    found = list(troubles.brokers_down("live", [1, 2], registered, troubles.hosted(STATES)))
    assert [(each.subject.name, each.brokers) for each in found] == [("broker 4", (4,)), ("broker 5", (5,))]
    assert found[0].evidence == "broker 4 is fenced or gone, and is to have 1 replicas; 2 brokers live"


def test_a_draining_broker_that_holds_something_is_down_unless_a_removal_is_at_it() -> None:
    draining = [Broker(3, state=BrokerState.DRAINING)]

    def down(*states: TicketState, kind: AskKind = AskKind.REMOVE) -> list[str]:
        tickets = [Ticket("t", "live", kind, each, "ann", "", 1, 0, 0, ask=Ask(kind, (3,))) for each in states]
        emptied = troubles.emptied_by(tickets)
        return [each.subject.name for each in troubles.brokers_down("live", [1, 2, 4], draining, {3: 2}, emptied)]

    over = (TicketState.PENDING, TicketState.PAUSED, TicketState.SUCCEEDED, TicketState.CANCELLED)
    assert down() == down(*over) == ["broker 3"]
    assert down(TicketState.RUNNING) == down(TicketState.APPROVED) == down(TicketState.CANCELLING) == []
    assert down(TicketState.RUNNING, kind=AskKind.OFFLINE) == ["broker 3"]
    assert list(troubles.brokers_down("live", [1, 2, 4], draining, {3: 0})) == []


def test_a_log_dir_that_failed_is_told_with_what_is_nowhere_now() -> None:
    log_dirs = (
        LogDir(2, "/d1", replicas={T0: held(5)}),
        LogDir(2, "/d2", error="KAFKA_STORAGE_ERROR"),
        LogDir(3, "/d1", replicas={T0: held(5), T1: held(5)}),
    )
    (found,) = troubles.log_dirs_offline("live", log_dirs, STATES)
    assert (found.subject.name, found.brokers, found.log_dirs) == ("broker 2, log dir /d2", (2,), ("/d2",))
    assert found.evidence == (
        "log dir /d2 of broker 2 is offline (KAFKA_STORAGE_ERROR); 1 replicas of the broker are on no log dir that "
        "works"
    )
    assert list(troubles.log_dirs_offline("live", log_dirs[:1], STATES)) == []


def test_partitions_below_min_isr_and_those_just_at_it_are_told_apart() -> None:
    partitions = {
        TopicPartition("a", 0): PartitionState(1, (1, 2, 3), (1,)),
        TopicPartition("a", 1): PartitionState(1, (1, 2, 3), (1, 2)),
        TopicPartition("a", 2): PartitionState(1, (1, 2, 3), (1, 2, 3)),
        TopicPartition("b", 0): PartitionState(1, (1, 2), (1, 2)),  # at it with all its replicas: a setting, no loss
        TopicPartition("c", 0): PartitionState(1, (1, 2, 3), (1, 2)),
    }
    assert troubles.short_topics(partitions) == {"a", "c"}
    found = {
        each.subject.kind: each.evidence for each in troubles.isr_short("live", partitions, {"a": 2, "b": 2, "c": 1})
    }
    assert found == {
        FindingKind.UNDER_MIN_ISR: "a-0 (1 of 3 in sync, 2 needed): producers with acks=all are refused",
        FindingKind.AT_MIN_ISR: (
            "a-1 (2 of 3 in sync, 2 needed): with the next replica producers with acks=all are refused"
        ),
    }


def test_many_partitions_are_one_sighting_that_names_a_few() -> None:
    partitions = {TopicPartition("a", n): PartitionState(1, (1, 2), (1,)) for n in range(9)}
    (found,) = troubles.isr_short("live", partitions, {"a": 2})
    assert found.evidence.count("in sync") == 3
    assert "; and 6 more: producers" in found.evidence


def test_a_reassignment_is_stuck_when_it_has_copied_nothing_for_long() -> None:
    going = {T0: Reassignment((1, 2, 4), (4,), (2,)), T1: Reassignment((2, 3, 5), (5,), (2,))}
    seen: Motions = {}
    for now_ms, copied in ((0, 0), (STUCK_MS // 2, 10), (STUCK_MS, 20)):
        log_dirs = [LogDir(4, "/d", replicas={T0: held(7)}), LogDir(5, "/d", replicas={T1: held(copied)})]
        seen = troubles.motions(seen, going, log_dirs, now_ms)
    (found,) = troubles.stuck("live", seen, alive=[1, 2, 3, 5], now_ms=STUCK_MS)
    assert found.evidence == "t-0 to [4] has copied nothing for 10 min, broker 4 being down"
    assert found.since_ms == 0
    again = troubles.motions(seen, {T0: Reassignment((1, 2, 3), (3,), (2,))}, [], STUCK_MS)
    assert list(troubles.stuck("live", again, [1, 2, 3], STUCK_MS)) == []
    assert T1 not in again


def test_a_broker_that_holds_or_leads_far_more_than_the_others_of_its_label_is_a_skew() -> None:
    def log_dirs(*sizes: int) -> list[LogDir]:
        return [LogDir(broker, "/d", replicas={T0: held(size * GB)}) for broker, size in enumerate(sizes, 1)]

    plain = [Broker(broker) for broker in (1, 2, 3)]
    (found,) = troubles.skew("live", plain, log_dirs(100, 20, 30), {})
    assert found.subject.name == "brokers"
    assert found.evidence == "broker 1 holds 107.4 GB, 100% above the mean of 3 brokers"
    assert list(troubles.skew("live", plain, log_dirs(12, 4, 4), {})) == []  # harms nobody
    assert list(troubles.skew("live", plain, log_dirs(50, 45, 40), {})) == []
    labelled = [Broker(1, label="big"), Broker(2), Broker(3)]
    assert list(troubles.skew("live", labelled, log_dirs(100, 20, 30), {})) == []
    away = [Broker(1, state=BrokerState.DRAINING), Broker(2), Broker(3)]
    assert list(troubles.skew("live", away, log_dirs(100, 20, 30), {})) == []


def test_leaders_count_as_well() -> None:
    partitions = {TopicPartition("t", n): PartitionState(1 if n < 180 else 2, (1, 2), (1, 2)) for n in range(200)}
    empty = [LogDir(broker, "/d") for broker in (1, 2)]
    (found,) = troubles.skew("live", [Broker(1), Broker(2)], empty, partitions)
    assert found.evidence == "broker 1 leads 180 partitions, 80% above the mean of 2 brokers"


@pytest.mark.parametrize(
    ("life_days", "left_days", "words"),
    [
        (365, 14.5, None),
        (365, 13.5, "expires in 13.5 days: renew it"),
        (365, -2, "has expired, 2.0 days ago: renew it"),
        (7, 2.5, None),  # of a week, renewed each day: a third is left
        (7, 2.25, "expires in 2.2 days: renew it"),
    ],
)
def test_a_certificate_is_to_be_renewed_two_weeks_before_its_end_or_with_a_third_left(
    life_days: float, left_days: float, words: str | None
) -> None:
    until_ms = int(life_days * DAY_MS)
    life = CertificateLife("g1", "tls", "certificate", "/etc/g1.pem", 0, until_ms)
    found = list(troubles.certificates_expiring([life], until_ms - int(left_days * DAY_MS)))
    assert [each.evidence for each in found] == ([f"the certificate at /etc/g1.pem {words}"] if words else [])
    assert all(each.show == "guardian certs show /etc/g1.pem" for each in found)


def test_members_that_the_leader_does_not_reach_are_down() -> None:
    found = list(troubles.members_down(["g3", "g2"], "g1"))
    assert [each.subject.name for each in found] == ["member g2", "member g3"]
    assert found[0].evidence == "the leader g1 does not reach member g2"


def test_a_member_whose_clock_is_off_the_median_is_told_of() -> None:
    now_ms = 1_800_000_000_000
    assert list(troubles.clocks_off({})) == []
    assert list(troubles.clocks_off({"g1": now_ms, "g2": now_ms + 5_000, "g3": now_ms - 5_000})) == []
    found = list(troubles.clocks_off({"g1": now_ms, "g2": now_ms + 7_200_000, "g3": now_ms - 6_000}))
    assert [each.subject.title for each in found] == ["clock_off member g2", "clock_off member g3"]
    assert found[0].evidence.startswith("the clock of member g2 is 2 h")
    assert "ahead of the median" in found[0].evidence
    assert "behind the median" in found[1].evidence
