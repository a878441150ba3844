from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.interop.reassignment_json import read, write
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.topology import ANY_LOG_DIR, TopicPartition

pytestmark = pytest.mark.slow

PLACEMENT = ReplicaPlacement

topics = st.from_regex(r"[a-zA-Z0-9_-][a-zA-Z0-9._-]{0,248}", fullmatch=True)
ids = st.integers(0, 2**31 - 1)
log_dirs = st.just(ANY_LOG_DIR) | st.text(max_size=20).map(lambda name: f"/{name}")
placements = st.lists(st.builds(ReplicaPlacement, ids, log_dirs), min_size=1, max_size=4, unique_by=lambda p: p.broker)
moves = st.lists(
    st.builds(
        lambda topic, number, target: PartitionMove(TopicPartition(topic, number), (), tuple(target)),
        topics,
        ids,
        placements,
    ),
    max_size=5,
    unique_by=lambda move: move.partition,
).map(tuple)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["topic", "partition", "replicas", "log_dirs", "version", "x"]), inner, max_size=5
        )
    ),
    max_leaves=12,
)


def entry(**changes: Any) -> dict[str, Any]:
    return {"topic": "t", "partition": 0, "replicas": [1, 2], **changes}


def file_of(*entries: object) -> str:
    return json.dumps({"version": 1, "partitions": list(entries)})


def test_a_file_with_log_dirs_becomes_a_plan() -> None:
    plan = read(file_of(entry(log_dirs=["any", "/data/disk2"]), entry(partition=7, replicas=[3])), "live")
    assert plan.cluster == "live"
    assert [move.partition for move in plan.moves] == [TopicPartition("t", 0), TopicPartition("t", 7)]
    assert plan.moves[0].target == (PLACEMENT(1), PLACEMENT(2, "/data/disk2"))
    assert plan.moves[1].target == (PLACEMENT(3, ANY_LOG_DIR),)
    assert plan.moves[0].original == ()


def test_what_is_written_is_the_documented_format() -> None:
    move = PartitionMove(
        TopicPartition("t", 0), (PLACEMENT(1, "/a"), PLACEMENT(2, "/b")), (PLACEMENT(3), PLACEMENT(2, "/c"))
    )
    assert json.loads(write([move])) == {
        "version": 1,
        "partitions": [{"topic": "t", "partition": 0, "replicas": [3, 2], "log_dirs": ["any", "/c"]}],
    }
    assert json.loads(write([move], target=False))["partitions"] == [
        {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["/a", "/b"]}
    ]


def test_a_rollback_of_an_unknown_original_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^original of t-0 is not known: "):
        write(read(file_of(entry()), "live").moves, target=False)


def test_a_rollback_of_a_partition_that_is_created_is_refused() -> None:
    created = PartitionMove(TopicPartition("t", 0), (), (PLACEMENT(1),), is_new=True)
    assert json.loads(write([created]))["partitions"][0]["replicas"] == [1]
    with pytest.raises(InvalidInput, match="t-0 is created by the plan: to undo that, delete its topic"):
        write([created], target=False)


@given(moves)
def test_writing_then_reading_is_identity(written: tuple[PartitionMove, ...]) -> None:
    assert read(write(written), "live").moves == written


@given(moves)
def test_reading_then_writing_is_identity_for_rollbacks_too(written: tuple[PartitionMove, ...]) -> None:
    rollback = tuple(PartitionMove(move.partition, move.target, move.target) for move in written)
    assert read(write(rollback, target=False), "live").moves == written


@given(st.text() | st.text(alphabet='{}[]":,0123456789-eE.tfnu '))
def test_arbitrary_text_is_read_or_refused_in_one_sentence(text: str) -> None:
    _read_or_refuse(text)


@given(documents)
def test_arbitrary_json_is_read_or_refused_in_one_sentence(document: object) -> None:
    _read_or_refuse(json.dumps(document))


@given(st.lists(documents, max_size=3))
def test_arbitrary_partitions_are_read_or_refused_in_one_sentence(partitions: list[object]) -> None:
    _read_or_refuse(file_of(*partitions))


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("topic", "partition", "replicas", "log_dirs"), documents)))
def test_an_entry_with_arbitrary_fields_is_read_or_refused_in_one_sentence(changes: dict[str, object]) -> None:
    _read_or_refuse(file_of(entry(**changes)))


def _read_or_refuse(text: str) -> None:
    refusal = ""
    try:
        read(text, "live")
    except InvalidInput as error:
        refusal = str(error)
    assert "\n" not in refusal
    assert len(refusal) < 400


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the reassignment file is not JSON at line 1, column 1: Expecting value"),
        (
            "{",
            "the reassignment file is not JSON at line 1, column 2: Expecting property name enclosed in double quotes",
        ),
        ("[]", 'the reassignment file is []: use an object, such as {"version": 1, "partitions": []}'),
        ("{}", "version is missing: use 1"),
        ('{"version": 2, "partitions": []}', "version is 2: use 1"),
        ('{"version": "1", "partitions": []}', 'version is "1": use 1'),
        ('{"version": true, "partitions": []}', "version is true: use 1"),
        ('{"version": 1}', "partitions is missing: use a list of objects with topic, partition and replicas"),
        (
            '{"version": 1, "partitions": {}}',
            "partitions is {}: use a list of objects with topic, partition and replicas",
        ),
        (file_of(7), "partitions[0] is 7: use an object with topic, partition and replicas"),
        (file_of({"partition": 0, "replicas": [1]}), "partitions[0].topic is missing: use a topic's name"),
        (
            file_of(entry(), entry(topic="a b")),
            "partitions[1].topic is \"a b\": use a topic's name: up to 249 of a-z, A-Z, 0-9, '.', '_' and '-'",
        ),
        (
            file_of(entry(topic="..")),
            "partitions[0].topic is \"..\": use a topic's name: up to 249 of a-z, A-Z, 0-9, '.', '_' and '-'",
        ),
        (file_of(entry(partition=-1)), "partitions[0].partition is -1: use a partition's number, such as 0"),
        (file_of(entry(partition=True)), "partitions[0].partition is true: use a partition's number, such as 0"),
        (file_of(entry(partition=1.0)), "partitions[0].partition is 1.0: use a partition's number, such as 0"),
        (file_of(entry(partition=2**31)), "partitions[0].partition is 2147483648: use a partition's number, such as 0"),
        (
            file_of(entry(), entry(partition=1), entry(partition=2), entry(partition=3, replicas="1,2")),
            'partitions[3].replicas is "1,2": use a list of broker ids, such as [1, 2]',
        ),
        (file_of(entry(replicas=[])), "partitions[0].replicas is []: use a list of broker ids, such as [1, 2]"),
        (file_of(entry(replicas=[1, -2])), "partitions[0].replicas[1] is -2: use a broker id, such as 1"),
        (file_of(entry(replicas=[1, "2"])), 'partitions[0].replicas[1] is "2": use a broker id, such as 1'),
        (file_of(entry(replicas=[1, 2, 1])), "partitions[0].replicas is [1, 2, 1]: name broker 1 once"),
        (
            file_of(entry(log_dirs=["any"])),
            'partitions[0].log_dirs has 1 entries: give 2, one for each of replicas, such as ["any", "any"]',
        ),
        (
            file_of(entry(log_dirs="any")),
            'partitions[0].log_dirs is "any": give 2, one for each of replicas, such as ["any", "any"]',
        ),
        (
            file_of(entry(log_dirs=["any", "disk2"])),
            'partitions[0].log_dirs[1] is "disk2": use "any" or an absolute path',
        ),
        (
            file_of(entry(logdirs=["any", "any"])),
            'partitions[0] has a field "logdirs": use only topic, partition, replicas and log_dirs',
        ),
        (file_of(entry(), entry(replicas=[3, 4])), "partitions[1] is t-0, as is partitions[0]: keep one entry"),
    ],
)
def test_a_refusal_names_the_field_the_value_and_the_fix(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read(text, "live")
    assert str(refusal.value) == message


def test_a_file_nested_without_end_is_refused() -> None:
    with pytest.raises(InvalidInput):
        read("[" * 200_000, "live")


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(InvalidInput):
        read('{"version": 1, "partitions": [{"topic": "t", "partition": ' + "9" * 6000 + "}]}", "live")


def test_a_huge_value_is_shown_cut() -> None:
    with pytest.raises(InvalidInput) as refusal:
        read(file_of(entry(topic="x" * 100_000)), "live")
    assert len(str(refusal.value)) < 200
