"""Executions in commands: large ones are packed, for an entry of the Raft log takes 3 MiB.

A task repeats its neighbours' brokers, paths and reasons, so that tens of thousands of them pack to a tenth or less.
"""

from __future__ import annotations

import zlib

from google.protobuf.message import DecodeError

from guardian.errors import InvalidInput
from protos.guardian.v1 import records_pb2, tickets_pb2

PACKED_FROM_BYTES = 64 << 10  # below it packing saves nothing that counts
MAX_UNPACKED_BYTES = 128 << 20  # what a few bytes may unpack to is bounded


def put_execution(command: records_pb2.AdvanceTicket, execution: tickets_pb2.Execution) -> None:
    """Set the command's execution, packed where it is large."""
    serialized = execution.SerializeToString()
    if len(serialized) < PACKED_FROM_BYTES:
        command.execution.CopyFrom(execution)
    else:
        command.packed_execution = zlib.compress(serialized)


def unpacked(command: records_pb2.AdvanceTicket) -> records_pb2.AdvanceTicket:
    """Return the command with its execution as a message. Raises InvalidInput where what is packed is none."""
    if not command.packed_execution:
        return command
    execution = None if command.HasField("execution") else _execution(command.packed_execution)
    if execution is None:
        raise InvalidInput(
            f"packed_execution of ticket {command.ticket_id}: no zlib stream of one execution of up to "
            f"{MAX_UNPACKED_BYTES} bytes (got {len(command.packed_execution)} bytes); send it anew"
        )
    found = records_pb2.AdvanceTicket()
    found.CopyFrom(command)
    found.ClearField("packed_execution")
    found.execution.CopyFrom(execution)
    return found


def _execution(packed: bytes) -> tickets_pb2.Execution | None:
    unpacker = zlib.decompressobj()
    try:
        serialized = unpacker.decompress(packed, MAX_UNPACKED_BYTES)
        return tickets_pb2.Execution.FromString(serialized) if unpacker.eof and not unpacker.unused_data else None
    except (zlib.error, DecodeError):
        return None
