"""The layout against a twin that looks every value up by its name."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.collection.rules.layout import MetricLayout, OfBroker, OfPartition, OfTopic, scatter
from guardian.errors import InvalidInput
from protos.guardian.v1 import reporter_pb2 as pb

TOPICS = ("a", "a-1", "b.c", "d_e")
PARTITION_NAMES = {
    OfPartition.SIZE: "kafka.log:type=Log,name=Size,topic={},partition={}:Value",
    OfPartition.LOG_END_OFFSET: "kafka.log:type=Log,name=LogEndOffset,topic={},partition={}:Value",
    OfPartition.REPLICAS: "kafka.cluster:type=Partition,name=ReplicasCount,topic={},partition={}:Value",
    OfPartition.FETCH_LAG: "kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=ReplicaFetcherThread-1-7,"
    "topic={},partition={}:Value",
}
TOPIC_NAMES = {
    OfTopic.BYTES_IN: "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic={}:Count",
    OfTopic.MESSAGES_IN: "kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec,topic={}:Count",
}
STATE = "kafka.server:type=KafkaServer,name=BrokerState:Value"
KEPT = "kafka.server:type=ReplicaManager,name=LeaderCount:Value"
UNUSED = (
    "kafka.log:type=Log,name=Size,topic=a,partition=0,is-future=true:Value",
    "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=a:OneMinuteRate",
    "kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=ReplicaAlterLogDirsThread-0,topic=a,partition=0:Value",
    "kafka.server:type=Fetch,client-id=x:byte-rate",
    "",
)
NAMES = st.one_of(
    st.builds(
        lambda name, topic, number: name.format(topic, number),
        st.sampled_from(list(PARTITION_NAMES.values())),
        st.sampled_from(TOPICS),
        st.integers(0, 12),
    ),
    st.builds(str.format, st.sampled_from(list(TOPIC_NAMES.values())), st.sampled_from(TOPICS)),
    st.sampled_from([STATE, KEPT, *UNUSED]),
)
BATCHES = st.lists(st.dictionaries(NAMES, st.floats(0, 1e15)), min_size=1, max_size=6)


@given(BATCHES)
def test_every_value_is_where_its_name_says_and_nothing_else_is(batches: list[dict[str, float]]) -> None:
    names: list[str] = []
    layout = MetricLayout()
    for metrics in batches:
        known = len(names)
        names += [name for name in metrics if name not in names]
        batch = pb.MetricBatch(
            dictionary_id=1,
            first_name_id=known,
            names=names[known:],
            ids=[names.index(name) for name in metrics],
            values=metrics.values(),
        )
        layout = layout.extended_by(batch)
        found = scatter(batch, layout)
        expected_cells = 0
        for row, key in enumerate(layout.partitions):
            topic, _, number = key.rpartition("-")
            assert list(layout.topics)[layout.partition_topics[row]] == topic
            assert layout.partition_numbers[row] == int(number)
            for column, name in PARTITION_NAMES.items():
                expected = metrics.get(name.format(topic, number), math.nan)
                np.testing.assert_equal(found.partitions[column, row], expected)
                expected_cells += not math.isnan(expected)
        assert np.count_nonzero(~np.isnan(found.partitions)) == expected_cells
        for row, topic in enumerate(layout.topics):
            for topic_column, name in TOPIC_NAMES.items():
                np.testing.assert_equal(found.topics[topic_column, row], metrics.get(name.format(topic), math.nan))
        np.testing.assert_equal(found.broker[OfBroker.STATE], metrics.get(STATE, math.nan))
        assert layout.kept == tuple(name for name in names if name == KEPT)
        np.testing.assert_equal(found.kept, [metrics.get(name, math.nan) for name in layout.kept])


def test_a_layout_asks_for_what_it_lacks_and_for_all_once_it_has_forgotten() -> None:
    layout = MetricLayout(kept_prefixes=("x",)).extended_by(pb.MetricBatch(dictionary_id=7, names=["a:Value", "x:Y"]))
    assert layout.request() == pb.CollectRequest(dictionary_id=7, known_names=2)
    assert layout.kept == ("x:Y",)
    assert layout.extended_by(pb.MetricBatch(dictionary_id=7, first_name_id=2)) is layout
    assert layout.forgotten().request() == pb.CollectRequest()
    assert layout.forgotten().kept_prefixes == ("x",)


def test_a_dictionary_that_begins_anew_replaces_the_known_one() -> None:
    first = MetricLayout().extended_by(pb.MetricBatch(dictionary_id=7, names=[STATE]))
    second = first.extended_by(pb.MetricBatch(dictionary_id=8, names=[KEPT, STATE]))
    assert (second.id, second.known) == (8, 2)
    assert scatter(pb.MetricBatch(ids=[1], values=[3.0]), second).broker[OfBroker.STATE] == 3.0


@pytest.mark.parametrize(
    "batch",
    [pb.MetricBatch(dictionary_id=7, first_name_id=3), pb.MetricBatch(dictionary_id=8, first_name_id=2)],
    ids=["a gap", "another dictionary"],
)
def test_names_that_do_not_continue_the_known_ones_are_refused(batch: pb.MetricBatch) -> None:
    layout = MetricLayout().extended_by(pb.MetricBatch(dictionary_id=7, names=["a:Value", "b:Value"]))
    with pytest.raises(InvalidInput, match="first_name_id"):
        layout.extended_by(batch)


def test_a_partition_between_two_fetchers_has_the_lag_of_the_one_that_knows() -> None:
    name = "kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=ReplicaFetcherThread-0-{},topic=t,partition=0"
    batch = pb.MetricBatch(
        dictionary_id=1,
        names=[f"{name.format(1)}:Value", f"{name.format(2)}:Value"],
        ids=[0, 1],
        values=[5.0, math.nan],
    )
    assert scatter(batch, MetricLayout().extended_by(batch)).partitions[OfPartition.FETCH_LAG, 0] == 5.0
