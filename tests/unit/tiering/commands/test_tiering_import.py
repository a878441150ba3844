"""`guardian tiering import` against a member: what the topic tells is in the store afterwards, once, and all of it.

The records are handed over in place of a topic; tests/integration/tiering/test_import.py reads a real one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from guardian.client import GuardianClient
from guardian.model.text import uuid_text
from guardian.tiering.commands import tiering_import, tiering_topic
from guardian.tiering.commands.tiering_stored import StoredSegments
from guardian.tiering.model import LiveSegment, TopicIdPartition
from guardian.tiering.rules.topic_folding import MetadataFold, Place
from guardian.tiering.wire import live_segment_from_proto, partition_to_proto
from protos.guardian.v1 import tiering_pb2 as pb
from tests.command_line import app
from tests.unit.member.member import Member
from tests.unit.tiering import metadata_topic as written
from tests.unit.tiering.metadata_topic import DELETING, FINISHED, GONE, change, life, segment

P0 = TopicIdPartition("fake", written.TOPIC_ID, 0)
P1 = TopicIdPartition("fake", written.TOPIC_ID, 1)


class Topic:
    """Stands in for __remote_log_metadata."""

    def __init__(self) -> None:
        self.records: list[bytes | None] = []
        self.lost = 0

    def read(self, cluster: Any) -> tiering_topic.ReadTopic:
        fold = MetadataFold(cluster.cluster_id)
        for offset, record in enumerate(self.records):
            fold.add(Place(0, offset), record)
        return tiering_topic.ReadTopic(fold, self.lost)


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


@pytest.fixture
def client(member: Member) -> Iterator[GuardianClient]:
    with GuardianClient([member.endpoint]) as client:
        yield client


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Topic:
    """Partition 0: three finished copies, one under way, one being deleted, one deleted. Partition 1: one finished."""
    topic = Topic()
    monkeypatch.setattr(tiering_import, "read_topic", topic.read)
    for number in (1, 2, 3):
        topic.records += life(segment(number, 100 * number, 100 * number + 99), FINISHED)
    topic.records += life(segment(4, 400, 499))
    topic.records += life(segment(5, 0, 49), FINISHED, DELETING)
    topic.records += life(segment(6, 50, 99), FINISHED, DELETING, GONE)
    topic.records += life(segment(7), FINISHED, partition_number=1)
    return topic


Cli = Callable[..., Result]


@pytest.fixture
def cli(member: Member) -> Cli:
    def run(*arguments: str, code: int = 0) -> Result:
        words = ["tiering", "import", "--cluster", "live", "--endpoints", member.endpoint, *arguments]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == code, (result.output, result.exception)
        return result

    return run


def live(client: GuardianClient, partition: TopicIdPartition = P0) -> dict[int, LiveSegment]:
    found = map(live_segment_from_proto, client.list_live_segments(partition_to_proto(partition)).segments)
    return {int.from_bytes(one.id, "big"): one for one in found}


def expected(topic: Topic, partition: TopicIdPartition, *numbers: int) -> dict[int, LiveSegment]:
    cluster = type("Named", (), {"cluster_id": "fake"})
    segments = topic.read(cluster).fold.partitions[partition].segments
    return {number: segments[number.to_bytes(16, "big")].newest for number in numbers}


def proposals(member: Member) -> int:
    return len(member.replica.proposed)


def append(client: GuardianClient, number: int, *states: pb.RemoteLogSegmentState, token: int = 0) -> None:
    events = [pb.SegmentEvent(segment_id=number.to_bytes(16, "big"), state=state, broker_id=3) for state in states]
    [result] = client.append_segment_events(
        [pb.PartitionEvents(partition=partition_to_proto(P0), events=events, fencing_token=token)]
    )
    assert not result.error


def row(result: Result, name: str) -> list[str]:
    return next(line.split() for line in result.stdout.splitlines() if line.startswith(f"{name} "))


def test_what_is_finished_or_being_deleted_is_taken_as_it_is(cli: Cli, client: GuardianClient, topic: Topic) -> None:
    result = cli()
    assert live(client) == expected(topic, P0, 1, 2, 3, 5)
    assert live(client, P1) == expected(topic, P1, 7)
    assert "tell of 5 segments in 2 partitions" in result.stdout
    assert row(result, "PARTITION")[1:] == [
        "IN",
        "TOPIC",
        "TAKEN",
        "CHANGED",
        "THERE",
        "ENDED",
        "UNDER",
        "WAY",
        "DIFFER",
    ]
    assert row(result, "orders-0")[1:] == ["4", "4", "0", "0", "0", "1", "0"]
    assert row(result, "orders-1")[1:] == ["1", "1", "0", "0", "0", "0", "0"]
    assert "Left: 1 copy under way" in result.stdout
    assert "Guardian has every other segment that the topic has." in result.stdout


def test_all_facts_come_along(cli: Cli, client: GuardianClient, topic: Topic) -> None:
    begun = LiveSegment(b"F" * 16, written.STARTED, 5, 6, 10, 2**40, 77, {0: 10, 4: 12}, 9, True)
    finished = change(FINISHED, 8, b"where it lies", broker=-1)
    topic.records = [written.copy_started(begun), written.state_changed(begun.id, finished)]
    cli()
    [one] = live(client).values()
    assert one == expected(topic, P0, int.from_bytes(begun.id, "big")).popitem()[1]
    assert (one.custom_metadata, one.txn_index_empty, one.leader_epochs) == (b"where it lies", True, {0: 10, 4: 12})


def test_a_dry_run_says_what_it_would_take_and_changes_nothing(cli: Cli, member: Member, topic: Topic) -> None:
    before = proposals(member)
    result = cli("--dry-run")
    assert proposals(member) == before
    assert row(result, "PARTITION")[1:6] == ["IN", "TOPIC", "TO", "TAKE", "TO"]
    assert row(result, "orders-0")[1:3] == ["4", "4"]
    assert "5 segments would be taken or changed. Nothing was changed." in result.stdout


def test_again_takes_only_what_differs(cli: Cli, member: Member, client: GuardianClient, topic: Topic) -> None:
    cli()
    before = proposals(member)
    again = cli()
    assert proposals(member) == before
    assert row(again, "orders-0")[1:] == ["4", "0", "0", "4", "0", "1", "0"], "it has a copy under way"
    assert "orders-1" not in again.stdout
    topic.records.append(written.state_changed(segment(4).id, change(FINISHED)))
    topic.records.append(written.state_changed(segment(5).id, change(GONE)))
    topic.records += life(segment(1, 100, 199), FINISHED, DELETING)[2:]
    third = cli()
    assert proposals(member) == before + 1
    assert row(third, "orders-0")[1:] == ["4", "1", "2", "2", "0", "0", "0"]
    assert live(client) == expected(topic, P0, 1, 2, 3, 4)


def test_what_brokers_with_guardians_manager_have_deleted_stays_deleted(
    cli: Cli, client: GuardianClient, topic: Topic
) -> None:
    cli()
    append(client, 1, pb.DELETE_SEGMENT_STARTED, pb.DELETE_SEGMENT_FINISHED)
    append(client, 2, pb.DELETE_SEGMENT_STARTED)
    dry = json.loads(cli("--dry-run", "-o", "json").stdout)
    assert (dry["missing"], dry["partitions"][0]["ended"], dry["partitions"][0]["there"]) == (0, 1, 3)
    result = cli()
    assert row(result, "orders-0")[1:] == ["4", "0", "0", "3", "1", "1", "0"]
    assert set(live(client)) == {2, 3, 5}


def test_segments_that_only_guardian_has_are_its_own(cli: Cli, client: GuardianClient, topic: Topic) -> None:
    cli()
    event = pb.SegmentEvent(segment_id=b"G" * 16, state=pb.COPY_SEGMENT_STARTED, segment_leader_epochs={1: 0})
    [result] = client.append_segment_events([pb.PartitionEvents(partition=partition_to_proto(P0), events=[event])])
    assert not result.error
    assert "Only in Guardian: 1 segment, copied by brokers" in cli().stdout
    assert row(cli("-o", "wide"), "orders-0")[-2:] == ["1", uuid_text(written.TOPIC_ID)]


def test_it_appends_under_the_token_of_whoever_leads(cli: Cli, client: GuardianClient, topic: Topic) -> None:
    [claim] = client.claim_partitions([partition_to_proto(P0)], 2, "w", topics=["orders"])
    assert claim.fencing_token == 1
    cli()
    assert set(live(client)) == {1, 2, 3, 5}


def test_a_claim_in_between_is_followed(
    cli: Cli, client: GuardianClient, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = StoredSegments.tokens

    def claimed_since(stored: StoredSegments) -> dict[TopicIdPartition, int]:
        tokens = read(stored)
        client.claim_partitions([partition_to_proto(P0)], 2, "w")
        return tokens

    monkeypatch.setattr(StoredSegments, "tokens", claimed_since)
    assert "GUARDIAN LACKS" not in cli().stdout
    assert live(client) == expected(topic, P0, 1, 2, 3, 5)


def test_what_can_t_be_read_is_named_and_the_rest_taken(cli: Cli, client: GuardianClient, topic: Topic) -> None:
    topic.records.insert(2, b"\1\0\0noise")
    result = cli(code=1)
    assert "CAN'T BE READ: 1 record" in result.stdout
    assert "the record ends after 8 bytes" in result.stdout
    assert set(live(client)) == {1, 2, 3, 5}
    told = json.loads(cli("-o", "json", code=1).stdout)
    assert [(one["partition"], one["offset"]) for one in told["unreadable"]] == [(0, 2)]
    assert told["is_whole"] is False


def test_a_topic_whose_start_was_removed_is_no_whole_one(cli: Cli, topic: Topic) -> None:
    topic.lost = 12
    assert "ITS BEGINNING IS LOST: 12 records" in cli(code=1).stdout


def test_a_segment_with_other_facts_is_named_and_left_alone(cli: Cli, client: GuardianClient, topic: Topic) -> None:
    cli()
    held = live(client)
    other = life(segment(2, 200, 298), FINISHED, DELETING)
    topic.records[2:4] = other
    result = cli(code=1)
    assert f"DIFFERS: segment {uuid_text(segment(2).id)} of orders-0 in its offsets" in result.stdout
    assert live(client) == held


def test_a_segment_that_the_store_refuses_is_named_and_takes_no_other_along(
    cli: Cli, client: GuardianClient, topic: Topic
) -> None:
    large = segment(9, 900, 999, custom=b"c" * 20_000)
    topic.records += life(large, FINISHED)
    result = cli(code=1)
    assert "NOT TAKEN: orders-0, 1 segment: event of segment" in result.stdout
    assert "GUARDIAN LACKS 1 segment" in result.stdout
    assert set(live(client)) == {1, 2, 3, 5}


def test_a_partition_that_is_deleted_here_or_belongs_elsewhere_is_refused(
    cli: Cli, client: GuardianClient, topic: Topic
) -> None:
    cli()
    client.delete_partitions([partition_to_proto(P1)])
    foreign = TopicIdPartition("other", b"X" * 16, 0)
    client.claim_partitions([partition_to_proto(foreign)], 1, "w")
    topic.records += life(segment(8), FINISHED, topic="foreign", topic_id=b"X" * 16)
    result = cli(code=1)
    assert "NOT TAKEN: orders-1, 1 segment: the partition is deleted" in result.stdout
    assert "NOT TAKEN: foreign-0, 1 segment: topic id" in result.stdout
    assert [one["segments"] for one in json.loads(cli("-o", "json", code=1).stdout)["refused"]] == [1, 1]


def test_many_segments_go_in_bounded_requests(cli: Cli, member: Member, client: GuardianClient, topic: Topic) -> None:
    begun = [segment(number, 10 * number, 10 * number + 9) for number in range(1, 1201)]
    topic.records = [record for one in begun for record in life(one, FINISHED)]
    before = proposals(member)
    cli()
    assert proposals(member) == before + 3
    assert live(client) == expected(topic, P0, *range(1, 1201))
    topic.records = [
        record
        for one in begun[:20]
        for record in life(segment(5000 + one.start_offset, custom=b"c" * 15_000), FINISHED)
    ]
    before, sizes = proposals(member), len(member.replica.proposed)
    cli()
    assert proposals(member) > before
    assert max(len(each) for each in member.replica.proposed[sizes:]) < 600_000


def test_an_import_that_broke_off_is_taken_up_by_the_next(
    cli: Cli, member: Member, client: GuardianClient, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic.records = [
        record for number in range(1, 1001) for record in life(segment(number, 10 * number, 10 * number + 9), FINISHED)
    ]
    appended: list[int] = []
    send = GuardianClient.append_segment_events

    def breaks_off(self: GuardianClient, parts: Sequence[pb.PartitionEvents]) -> Any:
        if appended:
            raise KeyboardInterrupt
        appended.append(len(parts))
        return send(self, parts)

    with monkeypatch.context() as patched:
        patched.setattr(GuardianClient, "append_segment_events", breaks_off)
        cli(code=130)
    assert appended == [500]
    assert len(live(client)) == 500
    assert row(cli(), "orders-0")[1:] == ["1000", "500", "0", "500", "0", "0", "0"]
    assert len(live(client)) == 1000
