"""Plans: protobuf <-> model, and the content hash under which a plan is stored."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from guardian.model.plan import (
    ANY_LOG_DIR,
    BrokerTransfer,
    GoalResult,
    LinkTransfer,
    LoadSummary,
    PartitionMove,
    Plan,
    RackTransfer,
    ReplicaPlacement,
)
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
        loads=[_load_to_proto(load) for load in plan.loads],
        goals=[_goal_to_proto(goal) for goal in plan.goals],
        unmet=plan.unmet,
        links=[_link_to_proto(link) for link in plan.links],
        transfers=[_transfer_to_proto(transfer) for transfer in plan.transfers],
        throttle=plan.throttle,
        seconds=plan.seconds,
        settings=[pb.PlanSetting(name=name, value=value) for name, value in plan.settings],
        notes=plan.notes,
        racks=[
            pb.RackTransfer(from_rack=rack.from_rack, to_rack=rack.to_rack, bytes=rack.bytes) for rack in plan.racks
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
        loads=tuple(_load_from_proto(load) for load in message.loads),
        goals=tuple(_goal_from_proto(goal) for goal in message.goals),
        unmet=tuple(message.unmet),
        links=tuple(_link_from_proto(link) for link in message.links),
        transfers=tuple(_transfer_from_proto(transfer) for transfer in message.transfers),
        throttle=message.throttle,
        seconds=message.seconds,
        settings=tuple((setting.name, setting.value) for setting in message.settings),
        notes=tuple(message.notes),
        racks=tuple(RackTransfer(rack.from_rack, rack.to_rack, rack.bytes) for rack in message.racks),
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


def _load_to_proto(load: LoadSummary) -> pb.LoadSummary:
    return pb.LoadSummary(
        broker=load.broker,
        log_dir=load.log_dir,
        before=load.before,
        after=load.after,
        resource=load.resource,
        capacity=load.capacity,
        is_leaving=load.is_leaving,
    )


def _load_from_proto(message: pb.LoadSummary) -> LoadSummary:
    return LoadSummary(
        broker=message.broker,
        log_dir=message.log_dir,
        before=message.before,
        after=message.after,
        resource=message.resource,
        capacity=message.capacity,
        is_leaving=message.is_leaving,
    )


def _goal_to_proto(goal: GoalResult) -> pb.GoalResult:
    return pb.GoalResult(
        goal=goal.goal,
        is_hard=goal.is_hard,
        before=goal.before,
        after=goal.after,
        target=goal.target,
        is_met=goal.is_met,
    )


def _goal_from_proto(message: pb.GoalResult) -> GoalResult:
    return GoalResult(
        goal=message.goal,
        is_hard=message.is_hard,
        before=message.before,
        after=message.after,
        target=message.target,
        is_met=message.is_met,
    )


def _link_to_proto(link: LinkTransfer) -> pb.LinkTransfer:
    return pb.LinkTransfer(
        from_idc=link.from_idc,
        to_idc=link.to_idc,
        bytes=link.bytes,
        seconds=link.seconds,
        cost=link.cost or 0.0,
        has_cost=link.cost is not None,
    )


def _link_from_proto(message: pb.LinkTransfer) -> LinkTransfer:
    return LinkTransfer(
        from_idc=message.from_idc,
        to_idc=message.to_idc,
        bytes=message.bytes,
        seconds=message.seconds,
        cost=message.cost if message.has_cost else None,
    )


def _transfer_to_proto(transfer: BrokerTransfer) -> pb.BrokerTransfer:
    return pb.BrokerTransfer(
        broker=transfer.broker,
        bytes_in=transfer.bytes_in,
        bytes_out=transfer.bytes_out,
        bytes_inside=transfer.bytes_inside,
        seconds=transfer.seconds,
    )


def _transfer_from_proto(message: pb.BrokerTransfer) -> BrokerTransfer:
    return BrokerTransfer(
        broker=message.broker,
        bytes_in=message.bytes_in,
        bytes_out=message.bytes_out,
        bytes_inside=message.bytes_inside,
        seconds=message.seconds,
    )
