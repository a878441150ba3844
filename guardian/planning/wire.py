"""The section [planner] as a member tells it, and plans that people asked for as they are stored <-> protobuf."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping

from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct

from guardian.planning.model import UserTaskAnswer, UserTaskRecord, UserTaskState
from protos.guardian.v1 import user_tasks_pb2 as pb

_MAX_UNPACKED_BYTES = 8 << 20


def planner_to_proto(section: Mapping[str, object]) -> Struct:
    """Convert the section without what is infinite, which JSON does not have: all that may be infinite is so by
    default.
    """
    return ParseDict({name: value for name, value in section.items() if not _is_infinite(value)}, Struct())


def planner_from_proto(told: Struct) -> dict[str, object]:
    """The section as it was written; whole numbers have become numbers."""
    found: dict[str, object] = MessageToDict(told)
    return found


def _is_infinite(value: object) -> bool:
    return isinstance(value, float) and math.isinf(value)


def user_task_to_proto(record: UserTaskRecord, process: str) -> pb.UserTask:
    """Return the message of a task; `process` is the run of the member that was asked."""
    return pb.UserTask(
        id=record.id,
        cluster=record.cluster,
        endpoint=record.endpoint,
        url=record.url,
        client=record.client,
        person=record.person,
        started_ms=record.started_ms,
        request=record.request,
        member=record.member,
        process=process,
        state=record.state.value,  # type: ignore[arg-type]  # its number
        ticket_ids=record.ticket_ids,
    )


def user_task_from_proto(message: pb.UserTask) -> UserTaskRecord:
    """Return the task of a message."""
    return UserTaskRecord(
        message.id,
        message.cluster,
        message.endpoint,
        message.url,
        message.client,
        message.person,
        message.started_ms,
        message.request,
        message.member,
        UserTaskState(message.state),
        tuple(message.ticket_ids),
    )


def packed_answer(answer: UserTaskAnswer) -> bytes:
    """Return the compressed message of an answer."""
    message = pb.UserTaskAnswer(status=answer.status, document=answer.document, text=answer.text)
    return zlib.compress(message.SerializeToString(deterministic=True))


def unpacked_answer(packed: bytes) -> UserTaskAnswer | None:
    """Return the answer of a compressed message; None: nothing is kept, or more than anybody would have stored."""
    if not packed:
        return None
    unpacker = zlib.decompressobj()
    plain = unpacker.decompress(packed, _MAX_UNPACKED_BYTES)
    if not unpacker.eof:
        return None
    message = pb.UserTaskAnswer.FromString(plain)
    return UserTaskAnswer(message.status, message.document, message.text)
