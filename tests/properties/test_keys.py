"""Keys sort as what they name, can be read back, and never reach into a neighbour's range."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from metastore import keys
from metastore.keys import PartitionId

# Near one another, with the bytes that the encoding uses: where a mistake would show.
TEXTS = st.text(alphabet=st.sampled_from("\x00\x01\x02a\x7f\x80\xff\u0100\U00010000\U0010ffff"), max_size=5) | st.text(
    alphabet=st.characters(codec="utf-8"), max_size=10
)
UUIDS = st.binary(min_size=16, max_size=16) | st.sampled_from([bytes(16), b"\xff" * 16, b"\x00\x01" * 8])
PARTITIONS = st.builds(PartitionId, TEXTS, UUIDS, st.integers(0, (1 << 32) - 1))
TIMES = st.integers(0, (1 << 64) - 1)


@given(PARTITIONS, PARTITIONS)
@example(PartitionId("a", b"\xff" * 16, 0), PartitionId("a\x00", b"\xff" * 16, 0))
def test_partitions_sort_as_their_tuples_and_none_begins_as_another(one: PartitionId, other: PartitionId) -> None:
    assert (keys.partition(one) < keys.partition(other)) == (one < other)
    assert keys.partition(one).startswith(keys.partition(other)) == (one == other)


@given(TIMES, TIMES, TIMES, TIMES)
def test_audit_records_sort_newest_first(at_ms: int, index: int, other_at_ms: int, other_index: int) -> None:
    key, other = keys.audit(at_ms, index), keys.audit(other_at_ms, other_index)
    assert (key < other) == ((at_ms, index) > (other_at_ms, other_index))
    assert keys.decode_audit(key) == (at_ms, index)
    assert (key >= keys.audit_before(other_at_ms)) == (at_ms < other_at_ms)


@given(TIMES, TIMES)
def test_uses_of_sessions_are_read_back(used_at_ms: int, session_id: int) -> None:
    assert keys.decode_session_by_use(keys.session_by_use(used_at_ms, session_id)) == (used_at_ms, session_id)


@given(TEXTS, st.binary(max_size=3))
def test_a_text_is_read_back_with_where_it_ends(text: str, rest: bytes) -> None:
    key = keys.cluster(text)
    assert keys.read_text(key + rest, 1) == (text, len(key))


@given(TEXTS, TEXTS)
def test_names_sort_as_text(one: str, other: str) -> None:
    assert (keys.ticket(one) < keys.ticket(other)) == (one < other)
    assert keys.ticket(one).startswith(keys.ticket(other)) == (one == other)


@given(TEXTS, TEXTS, st.integers(0, 1 << 20), st.integers(0, 1 << 20))
def test_chunks_of_a_plan_sort_by_number_and_stay_apart(one: str, other: str, first: int, second: int) -> None:
    assert (keys.plan_chunk(one, first) < keys.plan_chunk(other, second)) == ((one, first) < (other, second))
    assert keys.plan_chunk(one, first).startswith(keys.plan_chunks(other)) == (one == other)


@given(TEXTS, TEXTS, UUIDS)
def test_no_two_tables_share_a_key(name: str, other: str, topic_id: bytes) -> None:
    made = [
        keys.applied_index(),
        keys.cluster(name),
        keys.plan(name),
        keys.plan_chunk(name, 0),
        keys.ticket(name),
        keys.ticket_by_idempotency_key(name),
        keys.execution(name),
        keys.topic_owner(topic_id),
        keys.session(1),
        keys.session_by_use(1, 1),
        keys.session_reply(1, 1),
        keys.audit(1, 1),
        keys.machine(name),
        keys.tenant(name),
        keys.topic(name, other),
        keys.idc_policy(name),
        keys.exclusion(name, 1),
        keys.document(name),
        keys.ended_session(1, b"h"),
        keys.reference(keys.tenant(name), keys.topic(name, other)),
        keys.id_counter(1),
        keys.highest_id(name, 1),
        keys.execution_task(name, 1),
    ]
    assert len({key[0] for key in made}) == len(made)
    assert len(set(keys.Table)) == len({table.prefix for table in keys.Table})


@given(st.binary(max_size=4), st.binary(max_size=6))
def test_the_end_of_a_prefix_is_after_all_that_begin_with_it(prefix: bytes, key: bytes) -> None:
    end = keys.end_of(prefix)
    assert (prefix <= key and (end is None or key < end)) == key.startswith(prefix)
