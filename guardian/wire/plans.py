"""Plans: protobuf <-> model, and the content hash under which a plan is stored."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from guardian.model.plan import (
    BrokerTransfer,
    GoalResult,
    LinkTransfer,
    LoadSummary,
    PartitionMove,
    Plan,
    RackTransfer,
    ReplicaPlacement,
)
from guardian.model.planner_settings import PlannerSettings
from guardian.model.topology import ANY_LOG_DIR, TopicPartition
from guardian.wire.fields import filled, read
from guardian.wire.tasks import task_from_proto, task_to_proto
from protos.guardian.v1 import tasks_pb2
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
        loads=[filled(pb.LoadSummary(), load) for load in plan.loads],
        goals=[filled(pb.GoalResult(), goal) for goal in plan.goals],
        unmet=plan.unmet,
        links=[filled(pb.LinkTransfer(), link) for link in plan.links],
        transfers=[filled(pb.BrokerTransfer(), transfer) for transfer in plan.transfers],
        throttle=plan.throttle,
        seconds=plan.seconds,
        settings=filled(tasks_pb2.PlannerSettings(), plan.settings) if plan.settings is not None else None,
        notes=plan.notes,
        racks=[filled(pb.RackTransfer(), rack) for rack in plan.racks],
        task=task_to_proto(plan.task) if plan.task is not None else None,
    )


def plan_from_proto(message: pb.Plan) -> Plan:
    """Raises InvalidInput when a field is wrong."""
    return Plan(
        cluster=message.cluster,
        kind=message.kind,
        moves=tuple(move_from_proto(move) for move in message.moves),
        made_at_ms=message.made_at_ms,
        input=message.input,
        loads=tuple(read(LoadSummary, load) for load in message.loads),
        goals=tuple(read(GoalResult, goal) for goal in message.goals),
        unmet=tuple(message.unmet),
        links=tuple(read(LinkTransfer, link) for link in message.links),
        transfers=tuple(read(BrokerTransfer, transfer) for transfer in message.transfers),
        throttle=message.throttle,
        seconds=message.seconds,
        settings=read(PlannerSettings, message.settings) if message.HasField("settings") else None,
        notes=tuple(message.notes),
        racks=tuple(read(RackTransfer, rack) for rack in message.racks),
        task=task_from_proto(message.task),
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
        goal=move.goal,
        relief=move.relief,
        stage=move.stage,
        is_new=move.is_new,
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
        goal=message.goal,
        relief=message.relief,
        stage=message.stage,
        is_new=message.is_new,
    )


def _placements_to_proto(placements: tuple[ReplicaPlacement, ...]) -> list[pb.ReplicaPlacement]:
    return [pb.ReplicaPlacement(broker=place.broker, log_dir=place.log_dir) for place in placements]


def _placements_from_proto(messages: Iterable[pb.ReplicaPlacement]) -> tuple[ReplicaPlacement, ...]:
    return tuple(ReplicaPlacement(place.broker, place.log_dir or ANY_LOG_DIR) for place in messages)
