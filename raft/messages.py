"""What members may say to each other: six messages of plain values, checked before anything acts on them.

The library would unpickle whatever arrives. Here a frame is read by an unpickler that knows no class and no function,
so nothing but numbers, strings, bytes and containers of these can come out, and then the message must have exactly
the fields of its type. What fails either is refused, and its sender disconnected.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any, NoReturn

REQUEST_VOTE = "request_vote"
RESPONSE_VOTE = "response_vote"
APPEND_ENTRIES = "append_entries"
NEXT_NODE_IDX = "next_node_idx"
APPLY_COMMAND = "apply_command"
APPLY_COMMAND_RESPONSE = "apply_command_response"


# What an unpickler raises over garbage. MemoryError: a few bytes may ask for a table of any size.
_UNPICKLING_ERRORS = (
    pickle.UnpicklingError,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    TypeError,
    ValueError,
)


class RefusedMessage(Exception):
    """A frame that no member sends: one sentence on what is wrong with it."""


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> NoReturn:
        raise RefusedMessage(f"the frame names {module}.{name}: members exchange plain values only")


def dumps(message: object) -> bytes:
    """Plain values to bytes. Protocol 5 writes bytes without naming a function, as older protocols do."""
    return pickle.dumps(message, protocol=5)


def loads(data: bytes) -> Any:
    """Bytes to plain values. Raises RefusedMessage when they hold anything else, or are no frame of ours."""
    try:
        return _PlainUnpickler(io.BytesIO(data)).load()
    except RefusedMessage:
        raise
    except _UNPICKLING_ERRORS as e:
        raise RefusedMessage(f"the frame is garbage: {e}") from e


def check(message: object) -> dict[str, Any]:
    """The message itself when it is one of the six and its fields are right; else raises RefusedMessage."""
    if not isinstance(message, dict):
        raise RefusedMessage(f"a message is a dict, not {type(message).__name__}")
    kind = message.get("type")
    fields = _FIELDS.get(kind) if isinstance(kind, str) else None
    if fields is None:
        raise RefusedMessage(f"no member sends a message of type {kind!r}")
    for name, (is_right, is_required) in fields.items():
        if name not in message:
            if is_required:
                raise RefusedMessage(f"{kind} lacks {name}")
        elif not is_right(message[name]):
            raise RefusedMessage(f"{name} of {kind} is not what members send")
    unknown = message.keys() - fields.keys() - {"type"}
    if unknown:
        raise RefusedMessage(f"{kind} has fields that no member sends: {sorted(map(str, unknown))}")
    if kind == APPEND_ENTRIES:
        _check_indexes(message)
    if kind == APPLY_COMMAND_RESPONSE and ("error" in message) == ("log_idx" in message and "log_term" in message):
        raise RefusedMessage("apply_command_response says either where the command is, or what went wrong")
    return message


def _check_indexes(message: dict[str, Any]) -> None:
    for position, (_, index, _) in enumerate(message["entries"], start=1):
        if index != message["prevLogIdx"] + position:
            raise RefusedMessage(f"entries of append_entries after {message['prevLogIdx']} hold index {index}")


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _is_flag(value: object) -> bool:
    return type(value) is bool


def _is_command(value: object) -> bool:
    # The first byte is the library's entry type: REGULAR or NO_OP, the two that we let it use.
    return type(value) is bytes and value[:1] in (b"\x00", b"\x01")


def _is_regular_command(value: object) -> bool:
    return type(value) is bytes and value[:1] == b"\x00"


def _are_entries(value: object) -> bool:
    return type(value) is list and all(
        type(entry) is tuple
        and len(entry) == 3
        and _is_command(entry[0])
        and _is_count(entry[1])
        and _is_count(entry[2])
        for entry in value
    )


_Field = tuple[Callable[[object], bool], bool]  # is the value right, must it be there
_COUNT: _Field = (_is_count, True)
_OPTIONAL_COUNT: _Field = (_is_count, False)
_FLAG: _Field = (_is_flag, True)

_FIELDS: dict[str, dict[str, _Field]] = {
    REQUEST_VOTE: {"term": _COUNT, "last_log_index": _COUNT, "last_log_term": _COUNT},
    RESPONSE_VOTE: {"term": _COUNT},
    APPEND_ENTRIES: {
        "term": _COUNT,
        "commit_index": _COUNT,
        "prevLogIdx": _COUNT,
        "prevLogTerm": _COUNT,
        "entries": (_are_entries, True),
    },
    NEXT_NODE_IDX: {"term": _COUNT, "next_node_idx": _COUNT, "reset": _FLAG, "success": _FLAG},
    APPLY_COMMAND: {"command": (_is_regular_command, True), "request_id": _COUNT},
    APPLY_COMMAND_RESPONSE: {
        "request_id": _COUNT,
        "log_idx": _OPTIONAL_COUNT,
        "log_term": _OPTIONAL_COUNT,
        "error": _OPTIONAL_COUNT,
    },
}
