"""The plans' table: readable once complete and right, never before."""

from __future__ import annotations

import hashlib
import random
import zlib

import pytest

from guardian.errors import InvalidInput
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.topology import TopicPartition
from guardian.model.wire.plans import plan_hash, plan_to_bytes
from metastore import keys
from metastore.memory import MemoryStore
from metastore.records import Record
from metastore.tables import plans
from metastore.tables.proposal import Proposal
from metastore.views import Views
from protos.guardian.v1 import records_pb2 as pb


def large_plan() -> Plan:
    noise = random.Random(1)  # noqa: S311  content that does not compress, the same in every run
    move = ReplicaPlacement(1)
    return Plan(
        cluster="live",
        kind="balance",
        moves=tuple(
            PartitionMove(
                TopicPartition("t", number), (move,), (ReplicaPlacement(2),), reason=noise.randbytes(60).hex()
            )
            for number in range(20_000)
        ),
    )


PLAN = large_plan()
CONTENT = plan_to_bytes(PLAN)
HASH = plan_hash(CONTENT)
CHUNKS = plans.split(HASH, CONTENT)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def put(store: MemoryStore, chunk: pb.PutPlanChunk) -> tuple[list[Record], pb.CommandReply]:
    records, reply = plans.handle(chunk, store, Proposal(index=1, at_ms=0))
    store.write(records, store.applied_index + 1)
    return records, reply


def chunks_of(content: bytes, count: int, level: int = 9) -> list[pb.PutPlanChunk]:
    packed = zlib.compress(content, level)
    size = -(-len(packed) // count)
    return [
        pb.PutPlanChunk(
            plan_hash=hashlib.sha256(content).hexdigest(),
            chunk=number,
            chunks=count,
            data=packed[number * size : (number + 1) * size],
        )
        for number in range(count)
    ]


def test_a_large_plan_needs_several_chunks_of_limited_size() -> None:
    assert len(CHUNKS) > 2
    assert max(len(chunk.data) for chunk in CHUNKS) <= 512 << 10


@pytest.mark.slow
@pytest.mark.parametrize("order", ["forward", "backward", "twice"])
def test_a_plan_is_readable_once_all_chunks_are_there(store: MemoryStore, order: str) -> None:
    chunks = {"forward": CHUNKS, "backward": CHUNKS[::-1], "twice": [c for c in CHUNKS for _ in "12"][:-1]}[order]
    for chunk in chunks:
        assert Views(store).plan(HASH) is None
        _, reply = put(store, chunk)
        assert not reply.error
    assert Views(store).plan(HASH) == PLAN
    assert Views(store).has_plan(HASH)


def test_a_complete_plan_does_not_change_any_more(store: MemoryStore) -> None:
    for chunk in CHUNKS:
        put(store, chunk)
    records, reply = put(store, pb.PutPlanChunk(plan_hash=HASH, chunk=0, chunks=1, data=b"other"))
    assert reply.error == ""
    assert [key for key, _ in records] == [keys.plan(HASH)], "only when it was put last"
    assert Views(store).plan(HASH) == PLAN


def test_another_proposer_may_cut_the_same_plan_differently(store: MemoryStore) -> None:
    small = b"a small content" * 100
    first, second = chunks_of(small, 3), chunks_of(small, 2, level=0)
    for chunk in (*first[:2], *second):
        _, reply = put(store, chunk)
        assert not reply.error
    assert plans.serialized_plan(store, second[0].plan_hash) == small


def test_content_with_another_hash_is_refused_and_removed(store: MemoryStore) -> None:
    chunks = chunks_of(b"one content" * 50, 2)
    for chunk in chunks:
        chunk.plan_hash = HASH
        _, reply = put(store, chunk)
    assert (reply.error_kind, "hold content with hash" in reply.error) == (pb.INVALID, True)
    assert store.scan(b"") == []


@pytest.mark.parametrize("data", [b"no zlib", zlib.compress(b"x")[:-1], zlib.compress(b"x") + b"more"])
def test_a_broken_stream_is_refused(store: MemoryStore, data: bytes) -> None:
    chunk = pb.PutPlanChunk(plan_hash=hashlib.sha256(b"x").hexdigest(), chunks=1, data=data)
    _, reply = put(store, chunk)
    assert (reply.error_kind, "no zlib stream" in reply.error) == (pb.INVALID, True)
    assert not plans.is_complete(store, chunk.plan_hash)


def test_what_unpacks_to_too_much_is_refused(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MAX_PLAN_BYTES", 1000)
    chunk = chunks_of(bytes(1001), 1)[0]
    assert put(store, chunk)[1].error_kind == pb.INVALID
    assert not put(store, chunks_of(bytes(1000), 1)[0])[1].error
    with pytest.raises(InvalidInput, match="split it into plans"):
        plans.split(chunk.plan_hash, bytes(1001))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"plan_hash": "zz"}, "plan_hash is 'zz'"),
        ({"chunks": 0}, "chunks is 0"),
        ({"chunks": 65}, "chunks is 65"),
        ({"chunk": 2}, "chunk is 2 of 2"),
        ({"data": b""}, "data has 0 bytes"),
        ({"data": bytes((512 << 10) + 1)}, "data has 524289 bytes"),
    ],
)
def test_a_wrong_field_is_refused(store: MemoryStore, fields: dict[str, object], message: str) -> None:
    chunk: dict[str, object] = {"plan_hash": HASH, "chunk": 0, "chunks": 2, "data": b"x"}
    with pytest.raises(InvalidInput, match=message):
        plans.handle(pb.PutPlanChunk(**{**chunk, **fields}), store, 0)  # type: ignore[arg-type]
