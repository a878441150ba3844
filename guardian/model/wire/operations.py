"""Asks and operations: protobuf <-> model."""

from __future__ import annotations

from guardian.model.operation import Ask, Operation
from guardian.model.wire.fields import codec
from protos.guardian.v1 import operations_pb2 as pb

ask_to_proto, ask_from_proto = codec(Ask, pb.Ask)
operation_to_proto, operation_from_proto = codec(Operation, pb.Operation)
