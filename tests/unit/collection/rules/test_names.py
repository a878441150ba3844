from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.collection.rules.names import NOTHING_KNOWN, MetricNames, values_by_name
from guardian.errors import InvalidInput
from protos.guardian.v1 import reporter_pb2 as pb

HELD = MetricNames(7, ("a:Value", "b:Value"))


def test_a_caller_without_names_asks_for_all_and_one_with_names_for_the_rest() -> None:
    assert NOTHING_KNOWN.request() == pb.CollectRequest()
    assert HELD.request(("a",)) == pb.CollectRequest(dictionary_id=7, known_names=2, name_prefixes=["a"])


def test_new_names_continue_the_known_ones() -> None:
    assert HELD.extended_by(pb.MetricBatch(dictionary_id=7, first_name_id=2, names=["c:Value"])) == MetricNames(
        7, ("a:Value", "b:Value", "c:Value")
    )
    assert HELD.extended_by(pb.MetricBatch(dictionary_id=7, first_name_id=2)) is HELD


def test_a_dictionary_that_begins_anew_replaces_the_known_one() -> None:
    assert HELD.extended_by(pb.MetricBatch(dictionary_id=8, names=["c:Value"])) == MetricNames(8, ("c:Value",))


@pytest.mark.parametrize(
    "batch",
    [pb.MetricBatch(dictionary_id=7, first_name_id=3), pb.MetricBatch(dictionary_id=8, first_name_id=2)],
    ids=["a gap", "another dictionary"],
)
def test_names_that_do_not_continue_the_known_ones_are_refused(batch: pb.MetricBatch) -> None:
    with pytest.raises(InvalidInput, match="first_name_id"):
        HELD.extended_by(batch)


def test_ids_without_a_name_are_left_out() -> None:
    assert values_by_name(pb.MetricBatch(ids=[1, 99], values=[2.0, 3.0]), HELD) == {"b:Value": 2.0}


def test_ids_and_values_of_different_length_are_refused() -> None:
    with pytest.raises(InvalidInput, match="ids has 2 entries and values has 1"):
        values_by_name(pb.MetricBatch(ids=[0, 1], values=[2.0]), HELD)


class BrokerTwin:
    """The broker's side of the protocol, written to be obviously right: metric k always has the value k."""

    def __init__(self) -> None:
        self.dictionary_id = 0
        self.names: list[str] = []
        self.restart(1)

    def restart(self, dictionary_id: int) -> None:
        self.dictionary_id = dictionary_id
        self.names = []

    def collect(self, request: pb.CollectRequest, metrics: list[int]) -> pb.MetricBatch:
        for metric in metrics:
            if f"metric:{metric}" not in self.names:
                self.names.append(f"metric:{metric}")
        continues = request.dictionary_id == self.dictionary_id and request.known_names <= len(self.names)
        first = request.known_names if continues else 0
        return pb.MetricBatch(
            dictionary_id=self.dictionary_id,
            first_name_id=first,
            names=self.names[first:],
            ids=[self.names.index(f"metric:{metric}") for metric in metrics],
            values=metrics,
        )


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("collect"), st.lists(st.integers(0, 12), unique=True)),
        st.tuples(st.just("answer is lost"), st.lists(st.integers(0, 12), unique=True)),
        st.tuples(st.just("broker restarts"), st.just([])),
        st.tuples(st.just("collector restarts"), st.just([])),
    ),
    max_size=30,
)


@given(STEPS)
def test_no_value_is_ever_misnamed_whoever_restarts(steps: list[tuple[str, list[int]]]) -> None:
    broker, held, dictionaries = BrokerTwin(), NOTHING_KNOWN, 1
    for what, metrics in steps:
        if what == "broker restarts":
            dictionaries += 1
            broker.restart(dictionaries)
        elif what == "collector restarts":
            held = NOTHING_KNOWN
        else:
            batch = broker.collect(held.request(), metrics)
            if what == "collect":
                held = held.extended_by(batch)
                assert values_by_name(batch, held) == {f"metric:{metric}": metric for metric in metrics}
