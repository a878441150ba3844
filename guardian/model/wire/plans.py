"""Plans: protobuf <-> model, and the content hash under which a plan is stored."""

from __future__ import annotations

import hashlib

from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.topology import ANY_LOG_DIR
from guardian.model.wire.fields import NOT_ON_THE_WIRE, ByHand, by_hand, codec
from guardian.model.wire.tasks import task_from_proto, task_to_proto
from protos.guardian.v1 import tickets_pb2 as pb


def plan_to_bytes(plan: Plan) -> bytes:
    """The plan's canonical serialised form: the same plan gives the same bytes."""
    return plan_to_proto(plan).SerializeToString(deterministic=True)


def plan_hash(serialized: bytes) -> str:
    """SHA-256, in hex, of a plan's canonical serialised form."""
    return hashlib.sha256(serialized).hexdigest()


plan_to_proto, plan_from_proto = codec(Plan, pb.Plan)
move_to_proto = codec(PartitionMove, pb.PartitionMove)[0]


by_hand(
    ReplicaPlacement,
    log_dir=ByHand(
        lambda message, value: setattr(message, "log_dir", value), lambda message: message.log_dir or ANY_LOG_DIR
    ),
)
by_hand(
    Plan,
    excused=NOT_ON_THE_WIRE,
    joins=NOT_ON_THE_WIRE,
    task=ByHand(
        lambda message, task: message.task.CopyFrom(task_to_proto(task)), lambda message: task_from_proto(message.task)
    ),
)
