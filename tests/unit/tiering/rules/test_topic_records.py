"""Records of __remote_log_metadata are read as Kafka's own serde has written them; what is none is refused."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.model.segment import RemoteLogSegmentState
from guardian.tiering.model import LiveSegment, SegmentChange, SegmentName
from guardian.tiering.rules.topic_records import CopyStarted, PartitionDeleted, StateChanged, decode
from tests.unit.tiering import metadata_topic as written

# Made by MetadataRecordWriter.java beside it, with the jars of Kafka 4.3.0.
KAFKA = Path(__file__).parent.parent / "fixtures" / "metadata_records.jsonl"
RECORDS: list[dict[str, Any]] = [json.loads(line) for line in KAFKA.read_text().splitlines()]
DELETED = ["DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED"]


def expected(told: dict[str, Any]) -> CopyStarted | StateChanged | PartitionDeleted:
    """What Kafka was given to write."""
    topic, topic_id, partition = told["topic"], bytes.fromhex(told["topic_id"]), told["partition"]
    if told["kind"] == "deleted":
        return PartitionDeleted(topic_id, partition, topic, told["state"] == "DELETE_PARTITION_FINISHED")
    name = SegmentName(topic_id, partition, bytes.fromhex(told["segment_id"]))
    custom = bytes.fromhex(told["custom_metadata"])
    if told["kind"] == "changed":
        state = RemoteLogSegmentState[told["state"]]
        return StateChanged(name, topic, SegmentChange(state, told["broker_id"], told["at_ms"], custom))
    segment = LiveSegment(
        name.segment_id,
        RemoteLogSegmentState.COPY_SEGMENT_STARTED,
        told["broker_id"],
        told["at_ms"],
        told["start_offset"],
        told["end_offset"],
        told["size_bytes"],
        dict(told["leader_epochs"]),
        told["max_timestamp_ms"],
        told["txn_index_empty"],
        custom,
    )
    return CopyStarted(name, topic, segment)


def test_all_kinds_and_states_are_among_kafkas_records() -> None:
    assert [one["kind"] for one in RECORDS] == ["started"] * 4 + ["changed"] * 6 + ["deleted"] * 3
    assert {one["state"] for one in RECORDS if one["kind"] == "changed"} == {
        each.name for each in RemoteLogSegmentState
    } - {"COPY_SEGMENT_STARTED"}


@pytest.mark.parametrize("told", RECORDS, ids=lambda told: f"{told['kind']}-{told.get('state', '')}")
def test_what_kafka_wrote_is_what_is_read(told: dict[str, Any]) -> None:
    assert decode(bytes.fromhex(told["record"])) == expected(told)


@pytest.mark.parametrize("told", RECORDS, ids=lambda told: f"{told['kind']}-{told.get('state', '')}")
def test_the_records_of_these_tests_are_written_as_kafka_writes_them(told: dict[str, Any]) -> None:
    record = expected(told)
    where: dict[str, Any] = {"topic": told["topic"], "partition_number": told["partition"]}
    where["topic_id"] = bytes.fromhex(told["topic_id"])
    if isinstance(record, CopyStarted):
        assert written.copy_started(record.segment, **where).hex() == told["record"]
    elif isinstance(record, StateChanged):
        assert written.state_changed(record.name.segment_id, record.change, **where).hex() == told["record"]
    else:
        state = DELETED.index(told["state"])
        assert written.partition_deleted(state, broker=4, at_ms=77, **where).hex() == told["record"]


@pytest.mark.parametrize("told", RECORDS, ids=lambda told: f"{told['kind']}-{told.get('state', '')}")
def test_a_part_of_a_record_and_more_than_one_are_refused(told: dict[str, Any]) -> None:
    record = bytes.fromhex(told["record"])
    for length in range(len(record)):
        with pytest.raises(InvalidInput):
            decode(record[:length])
    with pytest.raises(InvalidInput, match="1 bytes follow message"):
        decode(record + b"\0")


@given(st.binary(max_size=120), st.sampled_from([b"", b"\1\0\0", b"\1\1\0", b"\1\2\1", b"\1\0\1"]))
def test_bytes_of_any_kind_are_a_record_or_refused(noise: bytes, begin: bytes) -> None:
    with suppress(InvalidInput):
        assert isinstance(decode(begin + noise), CopyStarted | StateChanged | PartitionDeleted)


def test_version_1_is_read_with_what_it_adds_passed_over() -> None:
    begun = written.segment(1, txn_index_empty=True)
    read = decode(written.copy_started(begun, version=1, more_tags={1: b"\0\0\0\7"}))
    assert isinstance(read, CopyStarted)
    assert read.segment == begun
    finished = written.change(written.FINISHED)
    later = decode(written.state_changed(begun.id, finished, version=1, more_tags={0: b"\0\0\0\7", 1: b"\0" * 8}))
    assert isinstance(later, StateChanged)
    assert later.change == finished


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (None, "the record is empty"),
        (b"", "the record is empty"),
        (b"\0\0\0", "version of the record's frame is 0"),
        (b"\2\0\0", "version of the record's frame is 2"),
        (b"\1\3\0", "message 3 is of a broker's own file"),
        (b"\1\4\0", "kind of message is 4"),
        (b"\1\0\2", "version of message 0 is 2"),
        (b"\xff\xff\xff\xff\xff\xff", "a number has more than 5 bytes"),
        (written.copy_started(written.segment(1, 5, 4)), "offsets are 5 to 4"),
        (written.copy_started(written.segment(1, -1, 4)), "offsets are -1 to 4"),
        (written.copy_started(written.segment(1, size=-1)), "size of the segment is -1"),
        (written.copy_started(written.segment(1), partition_number=-1), "partition of topic orders is -1"),
        (
            written.state_changed(b"S" * 16, written.change(written.STARTED)),
            "a later state of a segment is COPY_SEGMENT_STARTED",
        ),
        (written.partition_deleted(3), "state of a deleted partition is 3"),
    ],
)
def test_what_is_wrong_is_said(record: bytes | None, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        decode(record)


def test_a_segment_begins_with_a_copy_and_has_leader_epochs() -> None:
    begun = written.segment(1)
    whole = written.copy_started(begun)
    with pytest.raises(InvalidInput, match="state of a new segment is COPY_SEGMENT_FINISHED"):
        decode(whole[:-2] + b"\1\0")
    with pytest.raises(InvalidInput, match="state of a segment is 9"):
        decode(whole[:-2] + b"\x09\0")
    without = LiveSegment(begun.id, begun.state, 1, 5, 0, 99, 1000, {})
    with pytest.raises(InvalidInput, match="has no leader epochs"):
        decode(written.copy_started(without))
