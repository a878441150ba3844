"""Plans: protobuf <-> model, and the content hash under which a plan is stored."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from guardian.model.plan import ANY_LOG_DIR, LoadSummary, PartitionMove, Plan, ReplicaPlacement
from guardian.model.topology import TopicPartition
from protos.guardian.v1 import tickets_pb2 as pb


def plan_to_bytes(plan: Plan) -> bytes:
    """The plan's canonical serialised form: the same plan gives the same bytes."""
    return plan_to_proto(plan).SerializeToString(deterministic=True)


def plan_hash(serialized: bytes) -> str:
    """SHA-256, in hex, of a plan's canonical serialised form."""
    return hashlib.sha256(serialized).hexdigest()


def plan_to_proto(plan: Plan) -> pb.Plan:
    return pb.Plan(
        cluster=plan.cluster,
        kind=plan.kind,
        moves=[move_to_proto(move) for move in plan.moves],
        made_at_ms=plan.made_at_ms,
        input=plan.input,
        loads=[
            pb.LoadSummary(broker=load.broker, log_dir=load.log_dir, before=load.before, after=load.after)
            for load in plan.loads
        ],
    )


def plan_from_proto(message: pb.Plan) -> Plan:
    """Raises InvalidInput when a field is wrong."""
    return Plan(
        cluster=message.cluster,
        kind=message.kind,
        moves=tuple(move_from_proto(move) for move in message.moves),
        made_at_ms=message.made_at_ms,
        input=message.input,
        loads=tuple(LoadSummary(load.broker, load.log_dir, load.before, load.after) for load in message.loads),
    )


def move_to_proto(move: PartitionMove) -> pb.PartitionMove:
    return pb.PartitionMove(
        topic=move.partition.topic,
        partition=move.partition.partition,
        original=_placements_to_proto(move.original),
        target=_placements_to_proto(move.target),
        size_bytes=move.size_bytes,
        write_rate=move.write_rate,
        reason=move.reason,
    )


def move_from_proto(message: pb.PartitionMove) -> PartitionMove:
    """Raises InvalidInput when a field is wrong."""
    return PartitionMove(
        partition=TopicPartition(message.topic, message.partition),
        original=_placements_from_proto(message.original),
        target=_placements_from_proto(message.target),
        size_bytes=message.size_bytes,
        write_rate=message.write_rate,
        reason=message.reason,
    )


def _placements_to_proto(placements: tuple[ReplicaPlacement, ...]) -> list[pb.ReplicaPlacement]:
    return [pb.ReplicaPlacement(broker=place.broker, log_dir=place.log_dir) for place in placements]


def _placements_from_proto(messages: Iterable[pb.ReplicaPlacement]) -> tuple[ReplicaPlacement, ...]:
    return tuple(ReplicaPlacement(place.broker, place.log_dir or ANY_LOG_DIR) for place in messages)
