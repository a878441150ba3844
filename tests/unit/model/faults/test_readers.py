"""How long consumers get nothing new: they follow the high watermark of a leader that answers, right or stale."""

from __future__ import annotations

import pytest

from guardian.model.faults.controller import Record, Settings
from guardian.model.faults.outcome import Outcome, outcome
from guardian.model.faults.stories import NAMED, Roles
from guardian.model.faults.times import Times
from guardian.model.faults.unfolding import Beginning

ROLES = Roles(1, (2, 3), (101,))
TIMES = Times(session_s=6.0, heartbeat_s=0.5, replica_lag_s=10.0)


def told(fault: str, min_isr: int, *, acks_all: bool) -> Outcome:
    return outcome(
        Beginning(Record(ROLES.brokers, 1, ROLES.brokers)),
        Settings(min_isr),
        NAMED[fault](ROLES),
        acks_all=acks_all,
        times=TIMES,
        controllers=ROLES.controllers,
    )


@pytest.mark.parametrize(
    ("fault", "min_isr", "measured_s"),
    [
        ("cut1", 2, (12.6, 12.8)),  # the leader waits for who is in the ISR, though acks=1 does not
        ("cut2", 1, (10.6, 11.6)),  # until the ISR is the leader alone
        ("cut2", 2, (54.6, 55.2)),  # which is less than min.insync.replicas: until the heal
        ("cut4", 2, (41.1, 44.6)),  # followers leave the leader that is cut off once another one is elected
        ("cut3", 2, (0.5, 0.8)),
        ("pause-short", 2, (5.1, 5.3)),
    ],
)
def test_readers_wait_though_acks_1_goes_on(fault: str, min_isr: int, measured_s: tuple[float, float]) -> None:
    found = told(fault, min_isr, acks_all=False)
    assert found.unread_s.least_s - 1 <= measured_s[0]
    assert measured_s[1] <= found.unread_s.most_s + 3
    assert found.unread_s.most_s - found.unread_s.least_s <= 16
    assert found.silent_s.most_s < 6


def test_a_reader_stays_with_a_leader_that_is_cut_off_until_the_network_is_whole() -> None:
    """With acks=all a producer gives up after request.timeout.ms and finds who leads; nothing tells a reader."""
    found = told("cut6", 2, acks_all=True)
    assert found.silent_s.least_s < 32
    assert found.unread_s.least_s >= 44


def test_a_reader_finds_who_leads_when_its_leader_dies() -> None:
    found = told("kill-leader", 2, acks_all=True)
    assert abs(found.unread_s.least_s - found.silent_s.least_s) < 1
    assert abs(found.unread_s.most_s - found.silent_s.most_s) < 1
