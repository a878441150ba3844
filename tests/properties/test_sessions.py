"""Whatever a network does to a session's commands, each is carried out once and has one answer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metastore.keys import Table
from metastore.tables import sessions
from protos.guardian.v1 import records_pb2 as pb
from protos.guardian.v1 import tiering_pb2
from tests.unit.metastore.proposing import Group, in_session

pytestmark = pytest.mark.slow

WINDOW = 4
# Which of the sessions; which of those under way (or a new one); whether its answer gets through to the client.
deliveries = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, WINDOW), st.booleans(), st.integers(0, 3000)), max_size=60
)
# What nobody well-behaved sends.
numbers = st.tuples(st.integers(0, 4), st.integers(0, 12), st.integers(0, 12))
wild = st.lists(numbers, max_size=60)


def allocate(group: Group, session: int, sequence: int, below: int) -> pb.CommandReply:
    return group.propose(
        session=in_session(session, sequence, below).to_message(),
        allocate_ids=tiering_pb2.AllocateIdsRequest(cluster_id="c", kind=tiering_pb2.TOPIC_ID, count=1),
    )


def require_sound(group: Group) -> None:
    """What is kept is what the sessions' rows say."""
    rows = group.store.scan(Table.SESSION.prefix)
    ids = [int.from_bytes(key[1:], "big") for key, _ in rows]
    found = [sessions.stored_session(group.store, each) for each in ids]
    totals = sessions.stored_totals(group.store)
    assert totals.sessions == len(rows) == len(group.store.scan(Table.SESSION_BY_USE.prefix))
    replies = group.store.scan(Table.SESSION_REPLY.prefix)
    for session in found:
        assert session is not None
        own = [(key, value) for key, value in replies if int.from_bytes(key[1:9], "big") == session.id]
        assert sum(len(value) for _, value in own) == session.kept_bytes
        assert len(own) <= session.window
        assert all(session.answered_below <= int.from_bytes(key[9:], "big") <= session.highest for key, _ in own)
    assert {int.from_bytes(key[1:9], "big") for key, _ in replies} <= set(ids)


class Client:
    """Sends what is under way in any order and as often as it likes, until it has the answer."""

    def __init__(self, group: Group) -> None:
        self.id = group.open_session(WINDOW).session_id
        self.sent: dict[int, pb.CommandReply] = {}
        self.answered: set[int] = set()

    @property
    def below(self) -> int:
        return next(sequence for sequence in range(1, 1000) if sequence not in self.answered)

    def deliver(self, group: Group, choice: int, gets_through: bool) -> None:
        waiting = [each for each in range(self.below, self.below + WINDOW) if each not in self.answered]
        sequence = waiting[choice % len(waiting)]
        reply = allocate(group, self.id, sequence, self.below)
        assert not reply.error
        assert self.sent.setdefault(sequence, reply) == reply
        if gets_through:
            self.answered.add(sequence)


@settings(max_examples=200)
@given(deliveries)
def test_any_interleaving_and_repetition_gives_each_command_once(
    steps: list[tuple[int, int, bool, int]],
) -> None:
    group = Group()
    clients = [Client(group), Client(group)]
    for which, choice, gets_through, later_ms in steps:
        group.now_ms += later_ms
        clients[which].deliver(group, choice, gets_through)
    replies = [reply.ids.first for client in clients for reply in client.sent.values()]
    assert sorted(replies) == list(range(1, len(replies) + 1))
    require_sound(group)


@settings(max_examples=200)
@given(wild)
def test_no_numbers_make_a_command_count_twice(steps: list[tuple[int, int, int]]) -> None:
    group = Group()
    for _ in range(2):
        group.open_session(WINDOW)
    done: dict[tuple[int, int], int] = {}
    for session, sequence, below in steps:
        reply = allocate(group, session, sequence, below)
        if not reply.error:
            assert done.setdefault((session, sequence), reply.ids.first) == reply.ids.first
    assert sorted(done.values()) == list(range(1, len(done) + 1))
    assert group.machine.read().highest_id("c", tiering_pb2.TOPIC_ID) == len(done)
    require_sound(group)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from("ouex"), st.integers(0, 9), st.integers(0, 2000)), max_size=40))
def test_expiry_takes_the_least_recently_used_and_leaves_nothing_behind(steps: list[tuple[str, int, int]]) -> None:
    """Against a twin that is obviously right: a dictionary of last uses."""
    group = Group()
    used: dict[int, int] = {}
    sequences: dict[int, int] = {}
    for kind, choice, later_ms in steps:
        group.now_ms += later_ms
        group.propose(expire_sessions=pb.ExpireSessions(idle_ms=(1 << 63) - 1))
        if kind == "o":
            used[group.open_session().session_id] = group.now_ms
        elif kind == "u" and used:
            session = sorted(used)[choice % len(used)]
            sequence = sequences[session] = sequences.get(session, 0) + 1
            assert not allocate(group, session, sequence, sequence).error
            used[session] = group.now_ms
        elif kind in "ex":
            idle, most = (1500, 0) if kind == "e" else ((1 << 63) - 1, choice)
            swept = group.propose(expire_sessions=pb.ExpireSessions(idle_ms=idle, max_sessions=most)).swept
            old = {session for session, at in used.items() if at < group.now_ms - idle}
            order = sorted(used, key=lambda session: (used[session], session))
            gone = old | set(order[: max(0, len(order) - (most or len(order)))])
            assert swept == len(gone)
            for session in gone:
                del used[session]
        assert {each for each in range(1, len(steps) + 1) if group.machine.read().session(each)} == set(used)
    require_sound(group)
