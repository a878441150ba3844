"""Whatever nouns are copied by their fields come back as they were; reports, which go one way, leave no field out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.health.model.disk_reads import DiskReader, DiskReads, PageCache
from guardian.health.model.disks import DiskHealth, DiskReport, DiskVerdict, Load
from guardian.health.model.finding import Detector, Finding, FindingKind, LastLook, Place, Subject
from guardian.health.wire.disks import disk_reads_to_proto, disks_to_proto, link_to_proto
from guardian.health.wire.durability import durability_to_proto
from guardian.health.wire.findings import findings_to_proto
from guardian.model.collection import BrokerKey, BrokerMove, CollectionAssignment, CollectorSeat
from guardian.model.cordon import Cordon
from guardian.model.durability import Durability, Loss, Rating, Scope, TopicDurability
from guardian.model.links import ClientPlace, Crosser, Crossing, Direction, Line, LinkSettings, LinkUse
from guardian.model.protection import DiskKey, Hold, Lever, LeverKind, Protection
from guardian.model.quota import GroupOffsets
from guardian.model.tickets.approval import ApprovalPolicy, ApprovalRule, parse_window
from guardian.model.tickets.progress import Progress
from guardian.model.topology import TopicPartition
from guardian.model.wire.approvals import approvals_from_proto, approvals_to_proto
from guardian.model.wire.collection import assignment_from_proto, assignment_to_proto
from guardian.model.wire.cordons import cordon_from_proto, cordon_to_proto
from guardian.model.wire.fields import filled, read
from guardian.model.wire.lines import lines_from_proto, lines_to_proto
from guardian.model.wire.previews import progress_from_proto, progress_to_proto
from guardian.model.wire.protection import protection_from_proto, protection_to_proto
from guardian.tiering.model import LiveSegment, TopicIdPartition
from guardian.tiering.wire import partition_from_proto, partition_to_proto, summary_from_proto
from protos.guardian.v1 import tiering_pb2

text = st.text(max_size=4)
texts = st.lists(text, max_size=3).map(tuple)
small = st.integers(0, 2**31 - 1)
big = st.integers(0, 2**53)
amount = st.floats(0, 1e12)


def several(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(strategy, max_size=3).map(tuple)


windows = several(st.sampled_from(["Mon-Fri 22:00-06:00", "08:00-12:00"]).map(parse_window))
rules = st.builds(
    ApprovalRule, text, texts, texts, texts, texts, st.booleans(), big, small, windows, text, st.booleans()
)
partitions = st.builds(TopicPartition, text, st.integers(0, 30))
disks = st.builds(DiskKey, small, text)
levers = st.builds(Lever, disks, st.sampled_from(LeverKind), text, text, big, big, texts, big, text, text, big, big)
brokers = st.builds(BrokerKey, text, small)
lines = st.builds(Line, st.tuples(text, text), amount, st.none() | amount)

ROUND_TRIPS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], Message], Callable[[Any], Any]]] = {
    "approvals": (st.builds(ApprovalPolicy, several(rules), big, text), approvals_to_proto, approvals_from_proto),
    "cordon": (
        st.builds(
            Cordon,
            text.filter(bool),
            small,
            text,
            st.none() | text,
            big,
            st.frozensets(partitions, max_size=9),
            text,
            st.booleans(),
            big,
            st.booleans(),
        ),
        cordon_to_proto,
        cordon_from_proto,
    ),
    "protection": (
        st.builds(
            Protection,
            text,
            several(levers),
            holds=several(st.builds(Hold, disks, big, text)),
            note=text,
            revision=big,
            stepped_ms=several(st.tuples(disks, big)),
            changed_at_ms=big,
        ),
        protection_to_proto,
        protection_from_proto,
    ),
    "assignment": (
        st.builds(
            CollectionAssignment,
            big,
            st.just({"g1": CollectorSeat("a", 2, 3), "g2": CollectorSeat("b")}),
            st.dictionaries(brokers, st.sampled_from(["g1", "g2"]), max_size=4),
            st.dictionaries(brokers, st.builds(BrokerMove, text, big), max_size=3),
        ),
        assignment_to_proto,
        assignment_from_proto,
    ),
    "lines": (
        st.builds(
            LinkSettings,
            lines=several(lines).map(lambda found: {line.between: line for line in found}),
            currency=text,
            near=st.floats(0.1, 1),
        ),
        lambda settings: lines_to_proto(settings, (), ()),
        lines_from_proto,
    ),
    "progress": (
        st.builds(Progress, big, big, amount, st.none() | big),
        lambda progress: progress_to_proto("t-1", progress),
        progress_from_proto,
    ),
    "tiered partition": (
        st.builds(TopicIdPartition, text, st.binary(max_size=16), small),
        partition_to_proto,
        partition_from_proto,
    ),
}


@pytest.mark.parametrize(("strategy", "to_proto", "from_proto"), ROUND_TRIPS.values(), ids=ROUND_TRIPS)
@given(data=st.data())
def test_a_noun_comes_back_as_it_was(
    strategy: st.SearchStrategy[Any],
    to_proto: Callable[[Any], Message],
    from_proto: Callable[[Any], Any],
    data: st.DataObject,
) -> None:
    noun = data.draw(strategy)
    message = to_proto(noun)
    assert from_proto(type(message).FromString(message.SerializeToString())) == noun


LOAD, PEERS = Load(1.0, 2.0, 3.0, 4.0), Load(5.0, 6.0, 7.0, 8.0)
CROSSER = Crosser(Direction("a", "b"), Crossing.CONSUME, "live", "orders", 9, "User:p", "c", "10.0.0.1", True)
USE = LinkUse(
    Direction("a", "b"), dict.fromkeys(Crossing, 10**9), 5, (6, 7), 8, 9.0, Line(("a", "b"), 1e9, price_gb=0.5)
)
REPORTS = {
    "disk": disks_to_proto(
        "live",
        (1, 2),
        DiskReport((DiskHealth(1, "sda", ("/d",), DiskVerdict.SLOW, LOAD, PEERS, 9.0, 3, 4, 5, 6, "slow"),), ()),
        1,
    ).disks[0],
    "reader": disk_reads_to_proto(
        "live",
        (1, 2),
        DiskReads((DiskReader("g", TopicPartition("t", 1), 2, "/d", "sda", 3, 4, 5.0, 6.0),), ()),
        GroupOffsets(),
        1,
    ).readers[0],
    "page cache": disk_reads_to_proto(
        "live", (1, 2), DiskReads((), (PageCache(1, 2, 3.0, 4.0),)), GroupOffsets(), 1
    ).caches[0],
    "link": link_to_proto(USE, [CROSSER], [CROSSER]),
    "crosser": link_to_proto(USE, [CROSSER], []).crossers[0],
    "topic": durability_to_proto(
        "live",
        Durability((TopicDurability("t", Rating.WEAK, 1, 2, 3, True, 4, 5, 6, 7, 8, ("why",), (9,)),), (), ()),
        1,
    ).topics[0],
    "loss": durability_to_proto("live", Durability((), (Loss(Scope.RACK, "r", (1,), 2, 3, 4, 5),), ()), 1).losses[0],
    "finding": findings_to_proto(
        [Finding(Subject(FindingKind.SKEW, "live", "broker 1"), "evidence", "show", 1, 2, brokers=(1,))], {}, 0, 0, 1
    ).findings[0],
    "look": findings_to_proto([], {Place(Detector.DISKS, "live"): LastLook(1, 2, "why")}, 0, 0, 1).looks[0],
    "client": lines_to_proto(LinkSettings(), [ClientPlace("t", "a", 1.0, 2.0)], ()).clients[0],
}


@pytest.mark.parametrize("message", REPORTS.values(), ids=REPORTS)
def test_a_report_leaves_no_field_out(message: Message) -> None:
    assert {field.name for field, _ in message.ListFields()} == set(message.DESCRIPTOR.fields_by_name)


def test_the_loads_of_a_disk_and_of_its_peers_are_told_apart() -> None:
    disk: Any = REPORTS["disk"]
    assert (disk.busy, disk.peers_busy, disk.await_ms, disk.peers_await_ms) == (2.0, 6.0, 1.0, 5.0)


def test_a_field_that_may_be_none_is_none_where_it_is_absent() -> None:
    message = tiering_pb2.PartitionSummary(claim=tiering_pb2.PartitionClaim(writer="w"))
    message.partition.SetInParent()
    found = summary_from_proto(message)
    assert found.claim is not None
    assert found.claim.leader_epoch is None
    with pytest.raises(InvalidInput, match="partition of PartitionSummary is missing: give it"):
        summary_from_proto(tiering_pb2.PartitionSummary())


def test_a_segment_of_a_newer_state_is_refused() -> None:
    message: Any = tiering_pb2.SegmentEvent(segment_id=b"s")
    message.state = 99
    with pytest.raises(InvalidInput, match="state of SegmentEvent is 99: this version of Guardian knows"):
        read(LiveSegment, message)


def test_a_field_that_the_message_lacks_is_an_error_of_ours() -> None:
    with pytest.raises((KeyError, AttributeError)):
        filled(tiering_pb2.TopicIdPartition(), LastLook())
