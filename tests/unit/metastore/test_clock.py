"""The group's clock: the median of the members', which never goes back and moves in steps; and what expires by it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.tables import clock
from protos.guardian.v1 import federation_pb2
from protos.guardian.v1 import records_pb2 as pb
from tests.unit.metastore.proposing import Group

NOW_MS = 1_800_000_000_000
DAY_MS = 86_400_000
AHEAD_MS = NOW_MS + 100 * DAY_MS
CLOCKS = st.lists(st.integers(1, 1 << 50), min_size=1, max_size=7)


@pytest.fixture
def group() -> Group:
    group = Group()
    group.now_ms = NOW_MS
    advance(group, NOW_MS)
    return group


def advance(group: Group, *clocks_ms: int) -> int:
    """Propose the members' clocks, and return the group's after it."""
    reply = group.propose(advance_clock=pb.AdvanceClock(clocks_ms=clocks_ms))
    assert not reply.error
    return group.machine.read().clock_ms


def change(group: Group, host: str) -> federation_pb2.AuditRecord:
    """Change something, and return its audit record."""
    machine = federation_pb2.FederationEntry(machine=federation_pb2.Machine(host=host))
    put = federation_pb2.FederationChange(put=machine)
    group.propose(actor="ann", change_federation=federation_pb2.ChangeFederationRequest(changes=[put]))
    return next(each for each in audit(group) if host in each.subject)


def audit(group: Group) -> list[federation_pb2.AuditRecord]:
    return group.machine.read().audit_page(0, 0, "", b"", 1000)[0]


@pytest.mark.parametrize(
    ("clocks", "middle"),
    [([5], 5), ([7, 3], 3), ([1, 9, 4], 4), ([8, 2, 6, 4], 4), ([AHEAD_MS, NOW_MS], NOW_MS)],
)
def test_the_median_is_the_lower_one_of_an_even_number(clocks: list[int], middle: int) -> None:
    assert clock.median(clocks) == middle


@given(st.integers(1, 1 << 50), CLOCKS)
def test_it_never_goes_back_nor_far_and_never_beyond_the_median(before: int, clocks: list[int]) -> None:
    after = clock.advanced(before, clocks)
    assert before <= after <= before + clock.MAX_STEP_MS
    assert after <= max(before, clock.median(clocks))


@given(CLOCKS)
def test_after_a_pause_it_comes_up_to_the_median_by_itself(clocks: list[int]) -> None:
    middle = clock.median(clocks)
    now = max(1, middle - 10 * clock.MAX_STEP_MS)
    for _ in range(10):
        now = clock.advanced(now, clocks)
    assert now == middle


def test_one_member_whose_clock_is_off_moves_nothing(group: Group) -> None:
    for off_ms in (AHEAD_MS, NOW_MS - 100 * DAY_MS):
        for _ in range(50):
            assert advance(group, NOW_MS + 1000, off_ms, NOW_MS + 2000) <= NOW_MS + 2000
    assert advance(group, NOW_MS + 1000, NOW_MS + 2000, NOW_MS + 3000) == NOW_MS + 2000


@pytest.mark.parametrize("clocks", [[], [0], [-5, 3], [1] * 65, [1 << 60]])
def test_nonsense_is_refused(group: Group, clocks: list[int]) -> None:
    assert group.propose(advance_clock=pb.AdvanceClock(clocks_ms=clocks)).error
    assert group.machine.read().clock_ms == NOW_MS


def test_a_leader_that_is_100_days_ahead_trims_no_audit(group: Group) -> None:
    change(group, "m1")
    group.now_ms = AHEAD_MS
    for _ in range(20):
        advance(group, NOW_MS, AHEAD_MS, NOW_MS)
        assert group.propose(trim_audit=pb.TrimAudit(keep_ms=DAY_MS)).swept == 0
    assert len(audit(group)) == 1


@pytest.mark.parametrize("stamp_ms", [AHEAD_MS, NOW_MS - 100 * DAY_MS], ids=["ahead", "behind"])
def test_what_a_proposer_with_a_wrong_clock_changes_is_kept_as_long_as_all_else(group: Group, stamp_ms: int) -> None:
    group.now_ms = stamp_ms
    assert NOW_MS <= change(group, "m1").at_ms <= NOW_MS + clock.MAX_STEP_MS
    assert group.propose(trim_audit=pb.TrimAudit(keep_ms=DAY_MS)).swept == 0
    later_ms = NOW_MS
    while later_ms < NOW_MS + clock.MAX_STEP_MS + 10_000:
        later_ms = advance(group, NOW_MS + DAY_MS)
    assert group.propose(trim_audit=pb.TrimAudit(keep_ms=1)).swept == 1


def test_refusals_bear_a_time_near_the_groups(group: Group) -> None:
    refusals = [pb.Refusal(at_ms=at_ms, who="eve", what="x", why="y") for at_ms in (1, AHEAD_MS)]
    assert not group.propose(record_refusals=pb.RecordRefusals(refusals=refusals)).error
    assert all(abs(each.at_ms - NOW_MS) <= 3_600_000 for each in audit(group))
    assert group.propose(trim_audit=pb.TrimAudit(keep_ms=DAY_MS)).swept == 0


def test_a_leader_that_is_100_days_ahead_expires_no_session(group: Group) -> None:
    opened = group.open_session().session_id
    group.now_ms = AHEAD_MS
    for _ in range(500):
        advance(group, NOW_MS, AHEAD_MS, NOW_MS)
        assert group.propose(expire_sessions=pb.ExpireSessions(idle_ms=3_600_000)).swept == 0
    assert group.machine.read().session(opened) is not None


def test_without_a_group_clock_stamps_are_as_they_were() -> None:
    group = Group()
    assert change(group, "m1").at_ms == 1000
    assert group.propose(trim_audit=pb.TrimAudit(keep_ms=0)).swept == 0
