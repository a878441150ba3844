"""Segment events and ids through the client, over the real services of one member."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from guardian.client import GuardianClient
from guardian.errors import ClusterUnavailable, InvalidInput, NotFound, OutOfRange
from protos.guardian.v1 import tiering_pb2 as pb
from tests.patience import CALL_S, PATIENCE_S
from tests.unit.member.member import Member

STARTED, FINISHED = pb.COPY_SEGMENT_STARTED, pb.COPY_SEGMENT_FINISHED


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


@pytest.fixture
def client(member: Member) -> Iterator[GuardianClient]:
    with GuardianClient([member.endpoint], timeout_s=CALL_S) as client:
        yield client


def partition(number: int) -> pb.TopicIdPartition:
    return pb.TopicIdPartition(cluster_id="c1", topic_id=bytes(range(16)), partition=number)


def started(number: int) -> pb.SegmentEvent:
    return pb.SegmentEvent(
        segment_id=number.to_bytes(16, "big"),
        state=STARTED,
        broker_id=1,
        event_timestamp_ms=5,
        start_offset=number * 100,
        end_offset=number * 100 + 99,
        segment_size_bytes=10,
        segment_leader_epochs={1: number * 100},
    )


def part(name: int, *events: pb.SegmentEvent, token: int = 0) -> pb.PartitionEvents:
    return pb.PartitionEvents(partition=partition(name), events=events, fencing_token=token)


def segments(events: list[pb.SegmentEvent]) -> list[int]:
    return [int.from_bytes(event.segment_id, "big") for event in events]


def pulled(client: GuardianClient, name: int) -> list[int]:
    groups = client.pull_segment_events(partition(name)).groups
    return segments([event for group in groups for event in group.events])


def test_events_are_appended_pulled_and_listed(client: GuardianClient) -> None:
    results = client.append_segment_events([part(0, started(1), started(2)), part(1, started(3))])
    assert [(result.next_event_id, result.error) for result in results] == [(2, ""), (1, "")]
    assert pulled(client, 0) == [1, 2]
    live, next_event_id, gone = client.list_live_segments(partition(0))
    assert (segments(live), next_event_id, gone) == ([1, 2], 2, {})
    with pytest.raises(OutOfRange):
        client.pull_segment_events(partition(0), from_event_id=99)


def test_a_pipeline_of_appends_keeps_their_order(client: GuardianClient) -> None:
    with client.segment_event_stream(window=8) as stream:
        futures = [
            stream.append(pb.AppendSegmentEventsRequest(partitions=[part(0, started(number))])) for number in range(50)
        ]
        assert [future.result(PATIENCE_S).results[0].next_event_id for future in futures] == list(range(1, 51))
    assert pulled(client, 0) == list(range(50))


def test_partitions_are_listed_of_all_of_a_cluster_or_of_a_topic(client: GuardianClient) -> None:
    client.append_segment_events([part(1, started(1)), part(0, started(2))])
    elsewhere = pb.TopicIdPartition(cluster_id="a", topic_id=b"E" * 16, partition=2)
    client.claim_partitions([elsewhere], broker_id=3, writer="w", topics=["orders"])
    assert [each.partition for each in client.list_partitions()] == [elsewhere, partition(0), partition(1)]
    for arguments in (("c1",), ("c1", bytes(range(16))), ("", bytes(range(16)))):
        found = client.list_partitions(*arguments)
        assert [each.partition for each in found] == [partition(0), partition(1)]
    [summary] = client.list_partitions("a")
    assert (summary.claim.broker_id, summary.claim.topic, summary.claim.fencing_token) == (3, "orders", 1)
    for nothing in (("nowhere",), ("c", bytes(range(16))), ("a", bytes(range(16))), ("", b"X" * 16)):
        assert client.list_partitions(*nothing) == ()
    with pytest.raises(InvalidInput, match="topic_id has 3 bytes"):
        client.list_partitions("c1", b"abc")


def test_a_deleted_partition_is_listed_as_such(client: GuardianClient) -> None:
    client.append_segment_events([part(0, started(1))])
    client.delete_partitions([partition(0)])
    [summary] = client.list_partitions()
    assert (summary.deleted, summary.live_segments, summary.next_event_id) == (True, 0, 1)
    with pytest.raises(NotFound):
        client.list_live_segments(partition(0))


def test_a_leader_claims_verified_by_what_the_brokers_of_its_cluster_say(
    client: GuardianClient, member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    [topic_id] = member.kafka.topic_ids(["t"]).values()
    name = pb.TopicIdPartition(cluster_id="fake", topic_id=topic_id)
    [claim] = client.claim_partitions([name], 1, mode=pb.VERIFIED)
    assert (claim.fencing_token, claim.error) == (1, "")
    with pytest.raises(NotFound, match=r"no cluster with cluster\.id c1 is registered"):
        client.claim_partitions([partition(0)], 1, mode=pb.VERIFIED)
    member.kafka.reachable = False
    verified = member._finder.verified
    monkeypatch.setattr(member._finder, "verified", lambda *asked: verified(*asked[:-1], 0.1))  # type: ignore[call-arg]
    with pytest.raises(ClusterUnavailable):
        client.claim_partitions([name], 1, mode=pb.VERIFIED)


def test_a_writer_that_was_overtaken_is_told(client: GuardianClient) -> None:
    (first,) = client.claim_partitions([partition(0)], broker_id=1)
    (second,) = client.claim_partitions([partition(0)], broker_id=2)
    assert second.fencing_token > first.fencing_token
    (late,) = client.append_segment_events([part(0, started(1), token=first.fencing_token)])
    assert late.error_kind == pb.FENCED_LEADER_EPOCH
    (good,) = client.append_segment_events([part(0, started(1), token=second.fencing_token)])
    assert good.error == ""


def test_followed_partitions_give_what_is_stored_and_then_what_comes(client: GuardianClient) -> None:
    client.append_segment_events([part(0, started(1), started(2)), part(1, started(3))])
    caught_up = list(client.follow_segment_events([(partition(0), 0), (partition(1), 0)], until_caught_up=True))
    stored = segments([event for reply in caught_up for group in reply.groups for event in group.events])
    assert sorted(stored) == [1, 2, 3]

    follow = client.follow_segment_events([(partition(0), 2)])
    late = threading.Timer(0.3, client.append_segment_events, [[part(0, started(4))]])
    late.start()
    seen: list[int] = []
    while not seen:
        seen += segments([event for group in next(follow).groups for event in group.events])
    assert seen == [4]
    follow.close()  # type: ignore[attr-defined]
    late.join()


def test_a_follower_goes_on_where_it_was_at_another_member() -> None:
    first = Member()
    second = Member(first.machine)
    try:
        with GuardianClient([first.endpoint, second.endpoint], timeout_s=CALL_S) as client:
            client.append_segment_events([part(0, started(1))])
            follow = client.follow_segment_events([(partition(0), 0)])
            seen: list[int] = []
            while not seen:
                seen += segments([event for group in next(follow).groups for event in group.events])
            first.stop()
            client.append_segment_events([part(0, started(2))])
            while len(seen) < 2:
                seen += segments([event for group in next(follow).groups for event in group.events])
            assert seen == [1, 2]
            follow.close()  # type: ignore[attr-defined]
    finally:
        first.stop()
        second.stop()


def test_a_deleted_partition_is_said_to_be_and_followed_no_more(client: GuardianClient) -> None:
    client.append_segment_events([part(0, started(1))])
    client.delete_partitions([partition(0)])
    (reply,) = client.follow_segment_events([(partition(0), 0)])
    assert reply.deleted


def test_ids_are_given_once(client: GuardianClient) -> None:
    assert client.highest_id("c1", pb.TOPIC_ID) == 0
    first = client.allocate_ids("c1", pb.TOPIC_ID, 5)
    second = client.allocate_ids("c1", pb.TOPIC_ID)
    assert second.first == first.first + 5
    assert len(first.ids) == 5
    assert client.highest_id("c1", pb.TOPIC_ID) == second.first
