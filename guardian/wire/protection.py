"""What is held to protect disks: protobuf <-> model."""

from __future__ import annotations

from collections.abc import Iterable

import guardian.wire.tickets  # noqa: F401  how intents are written
from guardian.model.protection import DiskCondition, DiskKey, Doing, Lever, Protection
from guardian.wire.fields import NOT_ON_THE_WIRE, ByHand, alias, by_hand, filled, read
from protos.guardian.v1 import protection_pb2 as pb


def protection_to_proto(protection: Protection) -> pb.ProtectionState:
    return filled(pb.ProtectionState(), protection)


def protection_from_proto(message: pb.ProtectionState) -> Protection:
    """Raises InvalidInput when a field is wrong."""
    return read(Protection, message)


def lever_to_proto(lever: Lever) -> pb.ProtectionLever:
    return filled(pb.ProtectionLever(), lever)


def condition_to_proto(condition: DiskCondition) -> pb.DiskLimitHealth:
    return filled(pb.DiskLimitHealth(), condition)


def doing_to_proto(doing: Doing) -> pb.DiskDoing:
    return filled(pb.DiskDoing(), doing)


def _write_key(message: pb.DiskLimitHealth, disk: DiskKey) -> None:
    filled(message.disk, disk)


def _write_steps(message: pb.ProtectionState, steps: Iterable[tuple[DiskKey, int]]) -> None:
    for disk, at_ms in steps:
        filled(message.steps.add(at_ms=at_ms).disk, disk)


by_hand(
    Protection,
    stepped_ms=ByHand(
        _write_steps, lambda message: tuple((read(DiskKey, step.disk), step.at_ms) for step in message.steps)
    ),
)
by_hand(DiskCondition, key=ByHand(_write_key), from_ms=NOT_ON_THE_WIRE)
by_hand(
    Doing,
    expected=alias("expected_bytes_per_s"),
    is_abnormal=alias("abnormal"),
    peers=NOT_ON_THE_WIRE,
    write_rate=NOT_ON_THE_WIRE,
    followers=NOT_ON_THE_WIRE,
)
