"""What the quorum of controllers tells of itself, as troubles."""

from __future__ import annotations

import pytest

from guardian.health.model.finding import FindingKind
from guardian.health.rules import quorums
from guardian.health.rules.quorums import Committed
from guardian.model.operation import Quorum, VoterLag

THREE, FIVE = frozenset({101, 102, 103}), frozenset(range(101, 106))


@pytest.mark.parametrize(
    ("voters", "caught_up", "is_told"),
    [
        (THREE, THREE, False),
        (THREE, THREE - {102}, True),
        (FIVE, FIVE - {102}, False),
        (FIVE, FIVE - {102, 103}, True),
        (FIVE, FIVE - {102, 103, 104}, True),
        (frozenset({101, 102}), frozenset({101, 102}), True),
        (frozenset({101}), frozenset({101}), False),
    ],
)
def test_a_quorum_that_stands_no_further_loss_is_told(
    voters: frozenset[int], caught_up: frozenset[int], is_told: bool
) -> None:
    found = list(quorums.at_risk("live", Quorum(101, voters, caught_up)))
    assert [each.subject.kind for each in found] == [FindingKind.CONTROLLERS_AT_RISK] * is_told


def test_each_voter_that_is_behind_is_told_with_its_lag() -> None:
    behind = {103: VoterLag(1200, 90_000), 102: VoterLag(7)}
    found = list(quorums.behind("live", Quorum(101, THREE, frozenset({101}), 5000, behind)))
    assert [(each.subject.name, each.evidence) for each in found] == [
        ("controller 102", "controller 102 lacks 7 records of controller 101, which is active"),
        (
            "controller 103",
            "controller 103 lacks 1,200 records, and last had all 1.5 min ago, of controller 101, which is active",
        ),
    ]


@pytest.mark.parametrize(
    ("before", "now", "is_told"),
    [
        (None, Committed(20_000, 10**6), False),
        (Committed(0, -1), Committed(20_000, 10**6), False),
        (Committed(0, 1000), Committed(20_000, 1040), False),
        (Committed(0, 1000), Committed(20_000, 3000), False),
        (Committed(0, 1000), Committed(20_000, 3001), True),
        (Committed(20_000, 1000), Committed(20_000, 10**6), False),
        (Committed(0, 5000), Committed(20_000, 100), False),
    ],
)
def test_a_log_that_grows_fast_between_two_looks_is_told(
    before: Committed | None, now: Committed, is_told: bool
) -> None:
    found = list(quorums.grows("live", before, now))
    assert [each.subject.kind for each in found] == [FindingKind.METADATA_GROWS] * is_told
