"""What Kafka shows of a cluster comes over the wire as it was, however large."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.model.cluster_state import BrokerNode, LiveFacts, LogDir, LogDirReplica, PartitionState, Reassignment
from guardian.model.topology import TopicPartition
from guardian.model.wire import parts as wire
from guardian.model.wire.live_facts import live_facts_from_proto, live_facts_to_proto, parts_of_live_facts
from protos.guardian.v1 import planning_pb2 as pb

text = st.text(max_size=4)
ids = st.integers(0, 2**31 - 1)
sizes = st.integers(-1, 2**62)
several = st.lists(ids, max_size=3).map(tuple)
partitions = st.builds(TopicPartition, text, st.integers(0, 30))
nodes = st.builds(BrokerNode, ids, text, st.integers(0, 65_535), text)
states = st.builds(PartitionState, st.integers(-1, 9), several, several, st.integers(-1, 99))


def replicas(*, is_future: bool) -> st.SearchStrategy[dict[TopicPartition, LogDirReplica]]:
    return st.dictionaries(partitions, st.builds(LogDirReplica, sizes, sizes, st.just(is_future)), max_size=3)


log_dirs = st.builds(LogDir, ids, text, text, sizes, sizes, replicas(is_future=False), replicas(is_future=True))


@st.composite
def all_facts(draw: st.DrawFn) -> LiveFacts:
    known = draw(st.dictionaries(partitions, states, max_size=4))
    moved = (
        draw(st.dictionaries(st.sampled_from(sorted(known)), st.builds(Reassignment, several, several, several)))
        if known
        else {}
    )
    brokers = {node.id: node for node in draw(st.lists(nodes, max_size=3))}
    return LiveFacts(draw(text), draw(ids), brokers, known, moved, tuple(draw(st.lists(log_dirs, max_size=3))))


@given(facts=all_facts(), most=st.sampled_from([1, 60, 1 << 20]))
def test_facts_come_back_as_they_were_whole_or_in_parts(facts: LiveFacts, most: int) -> None:
    whole = live_facts_to_proto(facts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "MAX_PART_BYTES", most)
        joined = pb.LiveFacts()
        for part in parts_of_live_facts(whole):
            joined.MergeFrom(pb.LiveFacts.FromString(part.SerializeToString()))
    found = live_facts_from_proto(joined)
    assert found == facts
    assert {partition: state.leader_epoch for partition, state in found.partitions.items()} == {
        partition: state.leader_epoch for partition, state in facts.partitions.items()
    }
    assert (list(found.partitions), list(found.brokers)) == (list(facts.partitions), list(facts.brokers))


def test_a_replica_in_no_log_dir_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"log_dir of LiveReplica: there are 1 \(got 1\)"):
        live_facts_from_proto(pb.LiveFacts(log_dirs=[pb.LiveLogDir()], replicas=[pb.LiveReplica(log_dir=1)]))
