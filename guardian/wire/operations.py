"""Asks and operations: protobuf <-> model."""

from __future__ import annotations

from guardian.model.operation import Ask, Operation
from guardian.wire.fields import filled, read
from protos.guardian.v1 import operations_pb2 as pb


def ask_to_proto(ask: Ask) -> pb.Ask:
    return filled(pb.Ask(), ask)


def ask_from_proto(message: pb.Ask) -> Ask:
    """Raises InvalidInput when a field is wrong."""
    return read(Ask, message)


def operation_to_proto(operation: Operation) -> pb.Operation:
    return filled(pb.Operation(), operation)


def operation_from_proto(message: pb.Operation) -> Operation:
    """Raises InvalidInput when a field is wrong."""
    return read(Operation, message)
