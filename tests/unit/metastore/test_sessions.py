"""Sessions: once carried out, always answered the same; and nothing grows without bound."""

from __future__ import annotations

import pytest

from metastore import appends, keys
from metastore.commands import append_command
from metastore.keys import Table
from metastore.tables import sessions
from protos.guardian.v1 import records_pb2 as pb
from protos.guardian.v1 import tiering_pb2
from tests.unit.metastore.proposing import USER, Group, in_session


@pytest.fixture
def group() -> Group:
    return Group()


def opened(group: Group, window: int = 4) -> int:
    reply = group.open_session(window, "host-1")
    assert not reply.error
    return reply.session_id


def allocate(
    group: Group, session: int, sequence: int, below: int = 1, count: int = 1, user: bytes = USER
) -> pb.CommandReply:
    request = tiering_pb2.AllocateIdsRequest(cluster_id="c", kind=tiering_pb2.TOPIC_ID, count=count)
    return group.propose(
        session=in_session(session, sequence, below, request.SerializeToString(), user).to_message(),
        allocate_ids=request,
    )


def one_event(segment: bytes) -> bytes:
    """A serialised CheckedAppend."""
    partition = tiering_pb2.TopicIdPartition(cluster_id="c", topic_id=b"T" * 16)
    event = tiering_pb2.SegmentEvent(
        segment_id=segment * 16, state="COPY_SEGMENT_STARTED", segment_leader_epochs={0: 0}
    )
    request = tiering_pb2.AppendSegmentEventsRequest(
        partitions=[tiering_pb2.PartitionEvents(partition=partition, events=[event])]
    )
    return appends.check(request.SerializeToString()).command


def replies_kept(group: Group) -> int:
    return len(group.store.scan(Table.SESSION_REPLY.prefix))


def test_a_session_has_the_id_that_its_proposer_drew_and_is_of_who_opened_it(group: Group) -> None:
    drawn = (1 << 64) - 7
    command = pb.OpenSession(session_id=drawn, window=4, owner="host-1", user=USER)
    assert group.propose(open_session=command).session_id == drawn
    session = group.machine.read().session(drawn)
    assert session is not None
    assert (session.window, session.user, session.owner, session.used_at_ms) == (4, USER, b"host-1", 0)
    assert group.machine.read().sessions() == 1
    assert group.propose(open_session=command).error_kind == pb.CONFLICT
    assert group.propose(open_session=pb.OpenSession(window=4, user=USER)).error_kind == pb.INVALID
    assert group.machine.read().sessions() == 1


def test_a_session_is_not_open_to_another_identity(group: Group) -> None:
    session = opened(group)
    mine = allocate(group, session, 1)
    for user in (b"certificate:kafka-2", b"token:kafka-1", b""):
        for sequence, below in ((1, 1), (2, 1), (2, 2), (1 << 40, 1 << 40)):
            stranger = allocate(group, session, sequence, below, user=user)
            assert stranger.error_kind == pb.SESSION_EXPIRED
            assert stranger.error == allocate(group, 77, 1).error.replace("77", str(session)), "and it learns nothing"
    checked = one_event(b"S")
    theirs = append_command(checked, 1000, in_session(session, 2, user=b"certificate:kafka-2"))
    assert group.apply(theirs).error_kind == pb.SESSION_EXPIRED
    assert allocate(group, session, 1) == mine
    assert allocate(group, session, 2, below=2).ids.first == mine.ids.first + 1


def test_another_command_under_a_sequence_is_refused_and_changes_nothing(group: Group) -> None:
    session = opened(group)
    first = allocate(group, session, 1)
    before = group.content()
    other_content = allocate(group, session, 1, count=2)
    assert (other_content.error_kind, "was another command" in other_content.error) == (pb.INVALID, True)
    request = tiering_pb2.AllocateIdsRequest(cluster_id="c", kind=tiering_pb2.TOPIC_ID, count=1).SerializeToString()
    drop = group.propose(
        session=in_session(session, 1, request=request).to_message(), drop_cluster=pb.DropCluster(name="live")
    )
    assert (drop.error_kind, "another command than this drop_cluster" in drop.error) == (pb.INVALID, True)
    append = group.apply(append_command(one_event(b"S"), 1000, in_session(session, 1)))
    assert (append.error_kind, append.HasField("segment_events")) == (pb.INVALID, False)
    assert group.content() == before
    assert allocate(group, session, 1) == first


def test_answers_to_more_than_can_have_been_sent_are_refused(group: Group) -> None:
    session = opened(group, window=4)
    allocate(group, session, 1)
    before = group.content()
    for below in (6, 7, 1 << 40):
        reply = allocate(group, session, below, below)
        assert (reply.error_kind, "at most 4 more can have been sent" in reply.error) == (pb.SESSION_EXPIRED, True)
    assert group.content() == before
    assert allocate(group, session, 2, below=2).ids.first == 2
    # Numbers that were given up before they arrived are no lie: a window of them may be missing.
    assert allocate(group, session, 6, below=6).ids.first == 3
    assert allocate(group, session, 3).error_kind == pb.SESSION_EXPIRED


@pytest.mark.parametrize("content", [b"", b"x" * 15, b"x" * 17])
def test_a_hash_of_another_length_is_refused(group: Group, content: bytes) -> None:
    use = in_session(opened(group), 1)._replace(content=content).to_message()
    reply = group.propose(session=use, drop_cluster=pb.DropCluster(name="live"))
    assert (reply.error_kind, f"{len(content)} bytes of content" in reply.error) == (pb.INVALID, True)


@pytest.mark.parametrize("window", [0, 1025])
def test_a_window_is_1_to_1024(group: Group, window: int) -> None:
    reply = group.open_session(window)
    assert (reply.error_kind, f"window is {window}" in reply.error) == (pb.INVALID, True)
    assert opened(group, 1) != opened(group, 1024)


def test_a_long_owner_is_refused(group: Group) -> None:
    assert group.open_session(1, "x" * 201).error_kind == pb.INVALID


def test_a_repeated_sequence_gets_the_reply_that_was_kept(group: Group) -> None:
    session = opened(group)
    first = allocate(group, session, 1)
    assert allocate(group, session, 1) == first
    assert allocate(group, session, 2).ids.first == first.ids.first + 1


def test_a_refusal_is_repeated_too(group: Group) -> None:
    session = opened(group)
    ref = in_session(session, 1).to_message()
    drop = pb.DropCluster(name="live")
    refused = group.propose(session=ref, drop_cluster=drop)
    assert refused.error_kind == pb.NOT_FOUND
    group.register("live", "id-1")
    assert group.propose(session=ref, drop_cluster=drop) == refused
    assert len(group.machine.read().clusters()) == 1


def test_sequences_may_arrive_out_of_order_within_the_window(group: Group) -> None:
    session = opened(group)
    firsts = [allocate(group, session, sequence).ids.first for sequence in (3, 1, 4, 2)]
    assert firsts == [1, 2, 3, 4]
    assert [allocate(group, session, sequence).ids.first for sequence in (1, 2, 3, 4)] == [2, 4, 1, 3]


def test_a_sequence_beyond_the_window_is_refused_until_answers_were_had(group: Group) -> None:
    session = opened(group)
    refused = allocate(group, session, 5)
    assert (refused.error_kind, "beyond its window of 4 from 1 on" in refused.error) == (pb.INVALID, True)
    assert allocate(group, session, 5, below=2).ids.first == 1


def test_what_was_answered_is_not_kept_and_not_repeated(group: Group) -> None:
    session = opened(group)
    for sequence in (1, 2, 3):
        allocate(group, session, sequence)
    assert replies_kept(group) == 3
    allocate(group, session, 4, below=4)
    assert replies_kept(group) == 1
    reply = allocate(group, session, 2, below=1)
    assert (reply.error_kind, "below answered_below, 4" in reply.error) == (pb.SESSION_EXPIRED, True)
    stored = group.machine.read().session(session)
    assert stored is not None
    assert stored.kept_bytes == sum(len(value) for _, value in group.store.scan(Table.SESSION_REPLY.prefix))


def test_an_unknown_session_has_expired(group: Group) -> None:
    reply = allocate(group, 77, 1)
    assert (reply.error_kind, "session 77 is not open any more" in reply.error) == (pb.SESSION_EXPIRED, True)
    assert allocate(group, 0, 1).error_kind == pb.SESSION_EXPIRED


@pytest.mark.parametrize(("sequence", "below"), [(0, 0), (3, 4)])
def test_impossible_numbers_are_invalid(group: Group, sequence: int, below: int) -> None:
    session = opened(group)
    before = group.content()
    assert allocate(group, session, sequence, below).error_kind == pb.INVALID
    assert group.content() == before


def test_appends_in_raw_form_are_carried_out_once(group: Group) -> None:
    session = opened(group)
    checked = one_event(b"S")
    first = group.apply(append_command(checked, 1000, in_session(session, 1)))
    assert [result.next_event_id for result in first.segment_events.results] == [1]
    kept = replies_kept(group)
    assert group.apply(append_command(checked, 1000, in_session(session, 1))) == first
    assert kept == replies_kept(group) == 1
    assert group.apply(append_command(checked, 1000, in_session(9, 1))).error_kind == pb.SESSION_EXPIRED


def test_an_append_and_a_command_share_a_sessions_sequences(group: Group) -> None:
    session = opened(group)
    allocate(group, session, 1)
    assert group.apply(append_command(one_event(b"S"), 1000, in_session(session, 1))).error_kind == pb.INVALID
    assert not group.apply(append_command(one_event(b"S"), 1000, in_session(session, 2))).error
    assert allocate(group, session, 2).error_kind == pb.INVALID


def test_bytes_kept_for_a_session_have_a_cap_and_room_comes_back(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MAX_KEPT_BYTES", 60)
    monkeypatch.setattr(sessions, "SMALL_KEPT_BYTES", 30)
    session = opened(group, window=100)
    sequence = 1
    while not (reply := allocate(group, session, sequence)).error:
        sequence += 1
    assert (reply.error_kind, "bytes of answers are kept" in reply.error) == (pb.BUSY, True)
    assert sequence < 10
    assert allocate(group, session, sequence).error_kind == pb.BUSY
    assert allocate(group, session, sequence, below=sequence).ids.first == sequence


def test_when_much_is_kept_for_all_each_has_a_small_share(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "SMALL_KEPT_BYTES", 30)
    monkeypatch.setattr(sessions, "MAX_TOTAL_KEPT_BYTES", 60)
    greedy, other = opened(group, 100), opened(group, 100)
    sequence = 1
    while not allocate(group, greedy, sequence).error:
        sequence += 1
    assert allocate(group, greedy, sequence).error_kind == pb.BUSY
    assert not allocate(group, other, 1).error
    assert not allocate(group, greedy, sequence, below=sequence).error


NEVER_MS = (1 << 63) - 1
DAY_MS = 86_400_000


def expire(group: Group, idle_ms: int = NEVER_MS, most: int = 0) -> int:
    reply = group.propose(expire_sessions=pb.ExpireSessions(idle_ms=idle_ms, max_sessions=most))
    assert not reply.error
    return reply.swept


def wait(group: Group, passed_ms: int) -> None:
    """Time passes, and a leader says so."""
    expire(group)
    group.now_ms += passed_ms
    expire(group)


def test_unused_sessions_are_forgotten_with_all_that_was_kept(group: Group) -> None:
    idle = opened(group)
    allocate(group, idle, 1)
    wait(group, 4000)
    used = opened(group)
    assert expire(group, 4000) == 0
    assert expire(group, 3999) == 1
    assert group.machine.read().session(idle) is None
    assert replies_kept(group) == 0
    assert allocate(group, idle, 2).error_kind == pb.SESSION_EXPIRED
    assert not allocate(group, used, 1).error
    assert group.machine.read().sessions() == 1


def test_a_use_keeps_a_session(group: Group) -> None:
    session = opened(group)
    wait(group, 9000)
    allocate(group, session, 1)
    wait(group, 10)
    assert expire(group, 10) == 0
    assert expire(group, 9) == 1
    assert group.content()[0][0][0] in (Table.ID_COUNTER, Table.HIGHEST_ID)


def test_beyond_the_most_the_least_recently_used_go(group: Group) -> None:
    ids = []
    for _ in range(4):
        wait(group, 10)
        ids.append(opened(group))
    wait(group, 10)
    allocate(group, ids[0], 1)
    assert expire(group, most=2) == 2
    assert [group.machine.read().session(each) is not None for each in ids] == [True, False, False, True]


@pytest.mark.parametrize("jump_ms", [30 * DAY_MS, -30 * DAY_MS])
def test_a_leaders_clock_that_jumps_makes_nobody_look_unused(group: Group, jump_ms: int) -> None:
    group.now_ms = 100 * DAY_MS
    session = opened(group)
    wait(group, 1000)
    group.now_ms += jump_ms
    allocate(group, session, 1)
    assert expire(group, 60_000) == 0
    group.now_ms -= jump_ms
    assert expire(group, 60_000) == 0


@pytest.mark.parametrize("jump_ms", [30 * DAY_MS, -30 * DAY_MS])
def test_a_leaders_clock_that_jumps_ends_expiry_for_nobody(group: Group, jump_ms: int) -> None:
    group.now_ms = 100 * DAY_MS
    opened(group)
    wait(group, 1000)
    group.now_ms += jump_ms
    allocate(group, opened(group), 1)
    expire(group, 60_000)
    group.now_ms -= jump_ms  # the next leader's is right
    for _ in range(7):
        wait(group, 10_000)
    assert expire(group, 60_000) == 2


def test_leaders_whose_clocks_differ_by_a_month_age_no_session_by_more_than_a_step_each(group: Group) -> None:
    group.now_ms = 100 * DAY_MS
    opened(group)
    for turn in range(10):
        group.now_ms = (100 + 30 * (turn % 2)) * DAY_MS
        assert expire(group, 5 * sessions.MAX_STEP_MS) == 0


def test_the_clocks_of_members_that_take_changes_age_no_session(group: Group) -> None:
    idle, used = opened(group), opened(group)
    wait(group, 1000)
    for sequence in range(1, 50):
        group.now_ms += DAY_MS * (-1) ** sequence
        allocate(group, used, sequence, below=sequence)
    assert expire(group, 60_000) == 0
    assert group.machine.read().session(idle) is not None


def test_a_negative_idle_time_is_refused(group: Group) -> None:
    reply = group.propose(expire_sessions=pb.ExpireSessions(idle_ms=-1))
    assert (reply.error_kind, "idle_ms is -1" in reply.error) == (pb.INVALID, True)


def test_expiry_does_a_bounded_part_of_the_work_and_goes_on(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MAX_LOOKED_AT", 3)
    for _ in range(7):
        opened(group)
    wait(group, 1)
    assert [expire(group, 0) for _ in range(4)] == [3, 3, 1, 0]
    assert group.content() == []


def test_the_records_of_one_expiry_are_bounded(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MAX_REMOVED", 4)
    for _ in range(3):
        session = opened(group)
        for sequence in (1, 2, 3):
            allocate(group, session, sequence)
    wait(group, 1)
    assert [expire(group, 0) for _ in range(4)] == [1, 1, 1, 0]


def test_a_look_that_is_cut_short_never_takes_one_that_was_used_later(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_LOOKED_AT", 2)
    ids = []
    for _ in range(4):
        wait(group, 10)
        ids.append(opened(group))
    wait(group, 10)
    for session in ids[:2]:
        allocate(group, session, 1)
    while expire(group, most=2) or group.machine.read().sessions() > 2:
        pass
    assert [group.machine.read().session(each) is not None for each in ids] == [True, True, False, False]


def test_at_the_most_sessions_opening_takes_the_least_recently_used(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_SESSIONS", 2)
    first, second = opened(group), opened(group)
    wait(group, 10)
    allocate(group, first, 1)
    third = opened(group)
    assert [group.machine.read().session(each) is not None for each in (first, second, third)] == [True, False, True]
    assert group.machine.read().sessions() == 2


def test_the_by_use_table_has_one_row_for_each_session(group: Group) -> None:
    session = opened(group)
    for sequence in range(1, 20):
        wait(group, 5000)
        allocate(group, session, sequence, below=sequence)
    assert expire(group, 20_000) == 0
    rows = group.store.scan(Table.SESSION_BY_USE.prefix)
    assert [keys.decode_session_by_use(key)[1] for key, _ in rows] == [session]
