"""What is held to protect disks: protobuf <-> model."""

from __future__ import annotations

from collections.abc import Iterable

import guardian.model.wire.tickets  # noqa: F401  how intents are written
from guardian.model.protection import DiskCondition, DiskKey, Doing, Lever, Protection
from guardian.model.wire.fields import NOT_ON_THE_WIRE, ByHand, alias, by_hand, codec, filled, read
from protos.guardian.v1 import protection_pb2 as pb

protection_to_proto, protection_from_proto = codec(Protection, pb.ProtectionState)
lever_to_proto = codec(Lever, pb.ProtectionLever)[0]
condition_to_proto = codec(DiskCondition, pb.DiskLimitHealth)[0]
doing_to_proto = codec(Doing, pb.DiskDoing)[0]


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
