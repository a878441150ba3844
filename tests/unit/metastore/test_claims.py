"""Fencing tokens: they only go up, in both modes and from one to the other."""

from __future__ import annotations

import struct

import pytest

from guardian.errors import InvalidInput
from metastore import segment_keys as sk
from metastore.keys import PartitionId
from metastore.memory import MemoryStore
from metastore.tables import claims, segment_retention
from metastore.tables.claims import stored_claim
from metastore.tables.proposal import Proposal
from protos.guardian.v1 import records_pb2 as records
from protos.guardian.v1 import tiering_pb2 as pb
from tests import appending

P0, P1 = PartitionId("c", b"T" * 16, 0), PartitionId("c", b"T" * 16, 1)
NOW_MS = 1_700_000_000_000
PROPOSAL = Proposal(1, NOW_MS)


def named(partition: PartitionId) -> pb.TopicIdPartition:
    return pb.TopicIdPartition(
        cluster_id=partition.cluster_id, topic_id=partition.topic_id, partition=partition.partition
    )


class Store:
    def __init__(self) -> None:
        self.store = MemoryStore()

    def claim(
        self,
        *partitions: PartitionId,
        broker: int = 1,
        writer: str = "w",
        epochs: tuple[int, ...] | None = None,
        topics: tuple[str, ...] = (),
    ) -> list[pb.Claim]:
        request = pb.ClaimPartitionsRequest(
            partitions=map(named, partitions),
            broker_id=broker,
            writer=writer,
            mode=pb.CLAIM_ORDER if epochs is None else pb.VERIFIED,
            topics=topics,
        )
        command = records.ClaimPartitions(request=request, leader_epochs=epochs or ())
        written, reply = claims.claim(command, self.store, PROPOSAL)
        self.store.write(written, self.store.applied_index + 1)
        return list(reply.claims.claims)

    def token(self, partition: PartitionId, broker: int = 1, epoch: int | None = None, writer: str = "w") -> int:
        [claim] = self.claim(partition, broker=broker, writer=writer, epochs=None if epoch is None else (epoch,))
        assert not claim.error, claim.error
        return claim.fencing_token


@pytest.fixture
def store() -> Store:
    return Store()


def test_in_claim_order_each_claim_gets_the_next_number(store: Store) -> None:
    assert [store.token(P0, broker) for broker in (1, 2, 1, 1)] == [1, 2, 3, 4]
    assert store.token(P1) == 1


def test_claims_are_answered_in_the_order_of_the_request(store: Store) -> None:
    store.token(P1)
    answers = store.claim(P0, P1, P0)
    assert [(answer.partition, answer.fencing_token) for answer in answers] == [
        (named(P0), 1),
        (named(P1), 2),
        (named(P0), 2),
    ]


def test_a_verified_token_is_the_leader_epoch_and_one(store: Store) -> None:
    """0 would mean that nobody has claimed, and Kafka's epochs begin with it."""
    assert store.token(P0, epoch=0) == 1
    assert store.token(P0, broker=2, epoch=1) == 2
    assert store.token(P0, broker=1, epoch=9) == 10
    assert stored_claim(store.store, P0) == pb.PartitionClaim(
        fencing_token=10, broker_id=1, writer="w", leader_epoch=9, claimed_at_ms=NOW_MS
    )


def test_the_same_epoch_of_the_same_broker_gets_the_same_token(store: Store) -> None:
    """A repetition whose answer was lost; or a restarted broker, whose earlier instance the controller has ended."""
    token = store.token(P0, broker=1, epoch=4)
    before = store.store.scan(b"")
    assert store.token(P0, broker=1, epoch=4) == token
    assert store.token(P0, broker=1, epoch=4, writer="another instance") == token
    assert store.store.scan(b"") == before


@pytest.mark.parametrize(("broker", "epoch"), [(2, 4), (1, 3), (2, 3), (1, 0)])
def test_an_epoch_that_does_not_come_after_the_highest_is_fenced(store: Store, broker: int, epoch: int) -> None:
    store.token(P0, broker=1, epoch=4)
    before = store.store.scan(b"")
    [refused] = store.claim(P0, broker=broker, epochs=(epoch,))
    assert (refused.error_kind, refused.fencing_token) == (pb.FENCED_LEADER_EPOCH, 0)
    assert f"leader epoch {epoch} of broker {broker} does not come after epoch 4" in refused.error
    assert store.store.scan(b"") == before


def test_a_claim_that_could_not_be_verified_is_refused_and_others_are_not(store: Store) -> None:
    unverified, verified = store.claim(P0, P1, epochs=(-1, 7))
    assert (unverified.error_kind, "retry" in unverified.error) == (pb.NOT_VERIFIED, True)
    assert verified.fencing_token == 8
    assert stored_claim(store.store, P0) is None


def test_tokens_go_on_upwards_from_claim_order_to_verified(store: Store) -> None:
    for _ in range(6):
        store.token(P0)
    assert store.token(P0, epoch=2) == 7
    assert store.token(P0, epoch=2) == 7
    assert store.token(P0, epoch=3) == 8
    assert store.token(P0, epoch=50) == 51


def test_once_verified_nobody_claims_in_claim_order(store: Store) -> None:
    store.token(P0, epoch=2)
    [refused] = store.claim(P0)
    assert (refused.error_kind, "claim it in that mode" in refused.error) == (pb.FENCED_LEADER_EPOCH, True)
    assert store.token(P0, epoch=3) == 4


def test_a_deleted_partition_is_not_claimed(store: Store) -> None:
    written, _ = segment_retention.delete(pb.DeletePartitionsRequest(partitions=[named(P0)]), store.store, PROPOSAL)
    store.store.write(written, 1)
    for epochs in (None, (3,)):
        [refused] = store.claim(P0, epochs=epochs)
        assert refused.error_kind == pb.PARTITION_DELETED


def test_a_claim_registers_the_topic(store: Store) -> None:
    store.token(P0)
    thief = PartitionId("thief", P0.topic_id, 9)
    [refused] = store.claim(thief)
    assert (refused.error_kind, "is cluster c's, not thief's" in refused.error) == (pb.BELONGS_ELSEWHERE, True)
    first, second = store.claim(PartitionId("x", b"N" * 16, 0), PartitionId("y", b"N" * 16, 1))
    assert (first.error, second.error_kind) == ("", pb.BELONGS_ELSEWHERE)


def test_a_malformed_partition_is_its_own_error(store: Store) -> None:
    bad, good = store.claim(PartitionId("", b"T" * 16, 0), P1)
    assert (bad.error_kind, good.fencing_token) == (pb.APPEND_INVALID, 1)


def test_a_claim_says_for_people_which_topic_it_is_and_when_it_was_made(store: Store) -> None:
    store.claim(P0, P1, topics=("orders", "payments"))
    stored = [stored_claim(store.store, partition) for partition in (P0, P1)]
    assert stored == [
        pb.PartitionClaim(fencing_token=1, broker_id=1, writer="w", claimed_at_ms=NOW_MS, topic=topic)
        for topic in ("orders", "payments")
    ]
    store.claim(P1)
    assert [stored_claim(store.store, each).topic for each in (P0, P1)] == ["orders", ""]  # type: ignore[union-attr]


def test_a_claim_says_up_to_where_events_were_stored_before_it(store: Store) -> None:
    assert store.claim(P0, epochs=(3,))[0].next_event_id == 0
    events = [
        pb.SegmentEvent(segment_id=bytes([n]) * 16, state=pb.COPY_SEGMENT_STARTED, segment_leader_epochs={0: 0})
        for n in range(5)
    ]
    part = pb.PartitionEvents(partition=named(P0), events=events, fencing_token=4)
    request = pb.AppendSegmentEventsRequest(partitions=[part])
    store.store.write(appending.decide(request.SerializeToString(), store.store, PROPOSAL)[0], 2)
    for broker, epoch in ((1, 3), (2, 4)):  # the same token again, and a new one
        assert store.claim(P0, broker=broker, epochs=(epoch,))[0].next_event_id == 5
    [refused] = store.claim(P0, broker=1, epochs=(3,))
    assert (bool(refused.error), refused.next_event_id) == (True, 0)


@pytest.mark.parametrize(("epoch", "expected"), [(-1, None), (0, 0), (7, 7), (2**31 - 1, 2**31 - 1)])
def test_what_an_earlier_version_stored_is_understood(store: Store, epoch: int, expected: int | None) -> None:
    written = struct.pack(">qi", epoch, 5) + "Schreiber ü".encode()
    store.store.write([(sk.CLAIM + sk.partition(P0), written)], 1)
    claim = stored_claim(store.store, P0)
    assert claim is not None
    assert (claim.broker_id, claim.writer, claim.HasField("leader_epoch")) == (5, "Schreiber ü", expected is not None)
    assert claim.leader_epoch == (expected or 0)
    [refused] = store.claim(P0, broker=6, epochs=(3,))
    assert bool(refused.error) == (expected is not None and expected >= 3)


@pytest.mark.parametrize(
    ("request_", "epochs", "message"),
    [
        (pb.ClaimPartitionsRequest(), (), "partitions is empty"),
        (pb.ClaimPartitionsRequest(partitions=[named(P0)] * 10_001), (), "10001 partitions are claimed"),
        (pb.ClaimPartitionsRequest(partitions=[named(P0)], writer="x" * 201), (), "writer has 201"),
        (pb.ClaimPartitionsRequest(partitions=[named(P0)], mode=7), (), "mode is 7"),  # type: ignore[arg-type]
        (pb.ClaimPartitionsRequest(partitions=[named(P0)], mode=pb.VERIFIED), (), "0 leader epochs for 1 partitions"),
        (pb.ClaimPartitionsRequest(partitions=[named(P0)], mode=pb.VERIFIED), (1, 2), "2 leader epochs for 1"),
        (pb.ClaimPartitionsRequest(partitions=[named(P0)], mode=pb.VERIFIED), (2**31,), "a leader epoch is 2147483648"),
        (pb.ClaimPartitionsRequest(partitions=[named(P0)], topics=["a", "b"]), (), "2 topics for 1 partitions"),
        (pb.ClaimPartitionsRequest(partitions=[named(P0)] * 2, topics=["a"]), (), "1 topics for 2 partitions"),
        (pb.ClaimPartitionsRequest(partitions=[named(P0)], topics=["x" * 250]), (), "name in topics has 250"),
    ],
)
def test_a_malformed_claim_is_refused_whole(
    store: Store, request_: pb.ClaimPartitionsRequest, epochs: tuple[int, ...], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        claims.claim(records.ClaimPartitions(request=request_, leader_epochs=epochs), store.store, PROPOSAL)
