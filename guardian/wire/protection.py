"""What is held to protect disks: protobuf <-> model."""

from __future__ import annotations

from guardian.errors import InvalidInput
from guardian.model.protection import DiskCondition, DiskKey, Doing, Hold, Lever, LeverKind, Protection
from guardian.wire.tickets import throttle_from_proto, throttle_to_proto
from protos.guardian.v1 import protection_pb2 as pb


def protection_to_proto(protection: Protection) -> pb.ProtectionState:
    return pb.ProtectionState(
        cluster=protection.cluster,
        levers=[lever_to_proto(lever) for lever in protection.levers],
        intents=[throttle_to_proto(intent) for intent in protection.intents],
        holds=[
            pb.ProtectionHold(disk=_disk_to_proto(hold.disk), until_ms=hold.until_ms, by=hold.by)
            for hold in protection.holds
        ],
        note=protection.note,
        revision=protection.revision,
        steps=[pb.ProtectionStepTime(disk=_disk_to_proto(disk), at_ms=at_ms) for disk, at_ms in protection.stepped_ms],
        changed_at_ms=protection.changed_at_ms,
    )


def protection_from_proto(message: pb.ProtectionState) -> Protection:
    """Raises InvalidInput when a field is wrong."""
    return Protection(
        cluster=message.cluster,
        levers=tuple(lever_from_proto(lever) for lever in message.levers),
        intents=tuple(throttle_from_proto(intent) for intent in message.intents),
        holds=tuple(Hold(_disk_from_proto(hold.disk), hold.until_ms, hold.by) for hold in message.holds),
        note=message.note,
        revision=message.revision,
        stepped_ms=tuple((_disk_from_proto(step.disk), step.at_ms) for step in message.steps),
        changed_at_ms=message.changed_at_ms,
    )


def lever_to_proto(lever: Lever) -> pb.ProtectionLever:
    return pb.ProtectionLever(
        disk=_disk_to_proto(lever.disk),
        kind=pb.ProtectionLeverKind.Name(lever.kind.value),
        subject=lever.subject,
        quota_key=lever.quota_key,
        value=lever.value,
        before=lever.before,
        entries=lever.entries,
        least=lever.least,
        hit=lever.hit,
        why=lever.why,
        set_at_ms=lever.set_at_ms,
        changed_at_ms=lever.changed_at_ms,
    )


def lever_from_proto(message: pb.ProtectionLever) -> Lever:
    """Raises InvalidInput when the kind is unknown."""
    try:
        kind = LeverKind(message.kind)
    except ValueError:
        raise InvalidInput(
            f"kind of a lever is {message.kind}: this version of Guardian knows 1 to {len(LeverKind)}"
        ) from None
    return Lever(
        disk=_disk_from_proto(message.disk),
        kind=kind,
        subject=message.subject,
        quota_key=message.quota_key,
        value=message.value,
        before=message.before,
        entries=tuple(message.entries),
        least=message.least,
        hit=message.hit,
        why=message.why,
        set_at_ms=message.set_at_ms,
        changed_at_ms=message.changed_at_ms,
    )


def condition_to_proto(condition: DiskCondition) -> pb.DiskLimitHealth:
    return pb.DiskLimitHealth(
        disk=_disk_to_proto(condition.key),
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
        disk=_disk_to_proto(doing.disk),
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


def _disk_to_proto(disk: DiskKey) -> pb.ProtectedDisk:
    return pb.ProtectedDisk(broker=disk.broker, disk=disk.disk)


def _disk_from_proto(message: pb.ProtectedDisk) -> DiskKey:
    return DiskKey(message.broker, message.disk)
