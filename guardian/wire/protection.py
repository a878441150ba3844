"""What is held to protect disks: protobuf <-> model."""

from __future__ import annotations

from guardian.model.protection import DiskCondition, DiskKey, Doing, Hold, Lever, Protection
from guardian.wire.fields import filled, read
from guardian.wire.tickets import throttle_from_proto, throttle_to_proto
from protos.guardian.v1 import protection_pb2 as pb


def protection_to_proto(protection: Protection) -> pb.ProtectionState:
    return pb.ProtectionState(
        cluster=protection.cluster,
        levers=[lever_to_proto(lever) for lever in protection.levers],
        intents=[throttle_to_proto(intent) for intent in protection.intents],
        holds=[filled(pb.ProtectionHold(), hold) for hold in protection.holds],
        note=protection.note,
        revision=protection.revision,
        steps=[
            pb.ProtectionStepTime(disk=filled(pb.ProtectedDisk(), disk), at_ms=at_ms)
            for disk, at_ms in protection.stepped_ms
        ],
        changed_at_ms=protection.changed_at_ms,
    )


def protection_from_proto(message: pb.ProtectionState) -> Protection:
    """Raises InvalidInput when a field is wrong."""
    return Protection(
        cluster=message.cluster,
        levers=tuple(read(Lever, lever) for lever in message.levers),
        intents=tuple(throttle_from_proto(intent) for intent in message.intents),
        holds=tuple(read(Hold, hold) for hold in message.holds),
        note=message.note,
        revision=message.revision,
        stepped_ms=tuple((read(DiskKey, step.disk), step.at_ms) for step in message.steps),
        changed_at_ms=message.changed_at_ms,
    )


def lever_to_proto(lever: Lever) -> pb.ProtectionLever:
    return filled(pb.ProtectionLever(), lever)


def condition_to_proto(condition: DiskCondition) -> pb.DiskLimitHealth:
    return pb.DiskLimitHealth(
        disk=filled(pb.ProtectedDisk(), condition.key),
        log_dirs=condition.log_dirs,
        state=pb.DiskLimitState.Name(condition.state.value),
        utilisation=condition.utilisation,
        await_ms=condition.await_ms,
        read_bytes_per_s=condition.read_bytes_per_s,
        write_bytes_per_s=condition.write_bytes_per_s,
        why=condition.why,
    )


def doing_to_proto(doing: Doing) -> pb.DiskDoing:
    return pb.DiskDoing(
        disk=filled(pb.ProtectedDisk(), doing.disk),
        topic=doing.partition.topic,
        partition=doing.partition.partition,
        behaviour=pb.DiskBehaviour.Name(doing.behaviour.value),
        bytes_per_s=doing.bytes_per_s,
        expected_bytes_per_s=doing.expected,
        from_disk=doing.from_disk,
        abnormal=doing.is_abnormal,
        why=doing.why,
        clients=[
            pb.DiskClientUse(
                client_id=use.client.client_id, user=use.client.user, group=use.group, bytes_per_s=use.bytes_per_s
            )
            for use in doing.clients
        ],
    )
