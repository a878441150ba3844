"""Cordons survive the wire, and what can't be one is refused."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.model.cordon import Cordon
from guardian.model.topology import TopicPartition
from guardian.model.wire.cordons import cordon_from_proto, cordon_to_proto
from protos.guardian.v1 import placement_pb2 as pb


@pytest.mark.parametrize(
    "cordon",
    [
        Cordon("live", 0),
        Cordon("live", 7, "*", "", 5, note="waits", is_lifted=True, revision=3, is_foreign=True),
        Cordon("live", 7, "*", "/disk1", held=frozenset(TopicPartition("t", n) for n in (0, 1, 2, 5, 7, 8))),
    ],
)
def test_a_cordon_survives_the_wire(cordon: Cordon) -> None:
    message = pb.Cordon.FromString(cordon_to_proto(cordon).SerializeToString())
    assert cordon_from_proto(message) == cordon


def test_partitions_travel_as_ranges() -> None:
    held = frozenset(TopicPartition("t", n) for n in (*range(1000), 2000))
    [topic] = cordon_to_proto(Cordon("live", 7, held=held)).held
    assert list(topic.ranges) == [0, 999, 2000, 2000]


@pytest.mark.parametrize("ranges", [[1], [5, 4], [0, 4_000_000_000]])
def test_ranges_that_are_none_are_refused(ranges: list[int]) -> None:
    with pytest.raises(InvalidInput):
        cordon_from_proto(pb.Cordon(cluster="live", broker_id=7, held=[pb.HeldTopic(topic="t", ranges=ranges)]))
