"""Ids: nobody else gets them, and Kafka takes them."""

from __future__ import annotations

import base64

import pytest

from guardian.errors import InvalidInput
from metastore.tables import ids
from protos.guardian.v1 import records_pb2 as pb
from protos.guardian.v1 import tiering_pb2
from protos.guardian.v1.tiering_pb2 import SEGMENT_ID, TOPIC_ID, AllocateIdsReply, AllocateIdsRequest
from tests.unit.metastore.proposing import Group


@pytest.fixture
def group() -> Group:
    return Group()


def allocate(group: Group, cluster: str, kind: tiering_pb2.IdKind, count: int) -> pb.CommandReply:
    return group.propose(allocate_ids=AllocateIdsRequest(cluster_id=cluster, kind=kind, count=count))


def test_numbers_increase_over_all_clusters_for_each_kind(group: Group) -> None:
    asked = [("a", TOPIC_ID, 2), ("b", TOPIC_ID, 1), ("a", SEGMENT_ID, 5), ("a", TOPIC_ID, 10)]
    assert [allocate(group, *each).ids.first for each in asked] == [1, 3, 1, 4]
    views = group.machine.read()
    assert [views.highest_id("a", TOPIC_ID), views.highest_id("b", TOPIC_ID)] == [13, 3]
    assert [views.highest_id("a", SEGMENT_ID), views.highest_id("b", SEGMENT_ID)] == [5, 0]


@pytest.mark.parametrize(
    ("cluster", "kind", "count", "named"),
    [
        ("", 1, 1, "cluster_id"),
        ("x" * 201, 1, 1, "cluster_id"),
        ("a", 0, 1, "kind"),
        ("a", 9, 1, "kind"),
        ("a", 1, 0, "count"),
        ("a", 1, 10_001, "count"),
    ],
)
def test_a_wrong_field_is_named(group: Group, cluster: str, kind: tiering_pb2.IdKind, count: int, named: str) -> None:
    reply = allocate(group, cluster, kind, count)
    assert (reply.error_kind, reply.error.startswith(named)) == (pb.INVALID, True)
    assert group.content() == []


def test_a_question_for_no_cluster_or_kind_is_refused(group: Group) -> None:
    with pytest.raises(InvalidInput, match="cluster_id"):
        group.machine.read().highest_id("", TOPIC_ID)
    with pytest.raises(InvalidInput, match="kind"):
        group.machine.read().highest_id("a", 3)


def test_ids_are_uuids_that_kafka_accepts() -> None:
    """org.apache.kafka.common.Uuid: not reserved, and nothing that a command line takes for an option."""
    reserved = {bytes(16), (1).to_bytes(16, "big")}
    for number in (1, 2, 255, 1 << 40, (1 << 62) - 1):
        for kind in (TOPIC_ID, SEGMENT_ID):
            made = ids.to_bytes(kind, number)
            assert len(made) == 16
            assert made not in reserved
            assert not base64.urlsafe_b64encode(made).startswith(b"-")
            assert (made[6] >> 4, made[8] >> 6) == (8, 2)  # version 8, variant 10: no random uuid is equal to it


def test_ids_sort_as_their_numbers_and_kinds_stay_apart() -> None:
    numbers = [1, 2, 256, 1 << 32, (1 << 62) - 1]
    topics = [ids.to_bytes(TOPIC_ID, number) for number in numbers]
    assert topics == sorted(topics)
    assert not set(topics) & {ids.to_bytes(SEGMENT_ID, number) for number in numbers}


def test_a_reply_is_expanded_to_ids() -> None:
    request = AllocateIdsRequest(cluster_id="a", kind=TOPIC_ID, count=3)
    reply = ids.expand(request, AllocateIdsReply(first=7))
    assert reply.first == 7
    assert list(reply.ids) == [ids.to_bytes(TOPIC_ID, number) for number in (7, 8, 9)]
