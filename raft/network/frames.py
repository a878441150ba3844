"""What members may say to each other: messages of plain values, checked before anything acts on them.

    frame = length of the body (4 bytes, big-endian), body
    body  = one msgpack map: "type", and exactly the fields of that type

msgpack has no class and no function, so nothing but numbers, strings, bytes and containers of these can come out. What
is no map, of no known type, lacks a field, has one more, or a value that no member sends, is refused (RefusedMessage),
and its sender disconnected.

The library's own messages keep its field names (`prevLogIdx`, `next_node_idx`); the others are Raft's words.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection
from typing import Any

import msgpack

from raft.configuration import MAX_MEMBERS, Configuration
from raft.entries import PREFIX_BYTES, command_entry, configuration_entry, configuration_in, is_entry
from raft.protocol import StopCause

VERSION = 3
"""Of the protocol. A member speaks to its own version only."""

MAX_FRAME_BYTES = 16 << 20
"""A longer body is refused before it is read."""

MAX_COMMAND_BYTES = 3 << 20
"""Of an application's command."""

MAX_CHUNK_BYTES = 1 << 20
"""Of a snapshot's file, in one message."""

MAX_TERM = 1 << 62
"""No group gets there by elections, and one more still fits into 64 bits everywhere."""

MAX_MANIFEST_BYTES = 4 << 20
MAX_ENTRIES = 1 << 16
"""In one append_entries."""

LENGTH = struct.Struct(">I")

HELLO = "hello"
HELLO_REFUSED = "hello_refused"
# The library's.
REQUEST_VOTE = "request_vote"
RESPONSE_VOTE = "response_vote"
APPEND_ENTRIES = "append_entries"
NEXT_NODE_IDX = "next_node_idx"
APPLY_COMMAND = "apply_command"
APPLY_COMMAND_RESPONSE = "apply_command_response"
# Ours.
PRE_VOTE = "pre_vote"
PRE_VOTE_REPLY = "pre_vote_reply"
STALE_TERM = "stale_term"
TIMEOUT_NOW = "timeout_now"
READ_ROUND = "read_round"
READ_ROUND_REPLY = "read_round_reply"
READ_REQUEST = "read_request"
READ_REPLY = "read_reply"
CHANGE_REQUEST = "change_request"
CHANGE_REPLY = "change_reply"
SNAPSHOT_OFFER = "snapshot_offer"
SNAPSHOT_PULL = "snapshot_pull"
SNAPSHOT_CHUNK = "snapshot_chunk"
SNAPSHOT_INSTALLED = "snapshot_installed"
SNAPSHOT_REFUSED = "snapshot_refused"
VITALS = "vitals"
DIVERGED = "diverged"
INTRODUCTION_REQUEST = "introduction_request"
INTRODUCTION = "introduction"

REFUSED, REFUSED_DUPLICATE, REFUSED_LAPSE = range(3)
"""Causes in a hello_refused: another process has the name; the member has forgotten what it promised."""
LAST_WORDS = "last_words"

CHANGE_KINDS = ("add", "promote", "remove", "transfer")
"""Of a change_request. For all but `add` the address is ""; a transfer to "" leaves the choice to the leader."""

MAX_CONFIRMED = 64
"""Voters whose confirmed index a leader tells in one vitals."""

MAX_TEXT = 2048
_MAX_CHECKSUM_BYTES = 64
_MAX_NAME = 255
_STOP_CAUSES = frozenset(StopCause)
_MAX_CONFIGURATION_BYTES = 1 << 16
_COMMAND = command_entry(b"")
_CONFIGURATION = configuration_entry(Configuration("", ()))[:PREFIX_BYTES]
_MAX_ENTRY_BYTES = MAX_COMMAND_BYTES + PREFIX_BYTES


class RefusedMessage(Exception):
    """A frame that no member sends: one sentence on what is wrong with it."""


class RefusedVersion(RefusedMessage):
    """A hello in another version of the protocol."""


class _Packer:
    """Turns messages into frames. It keeps its buffer, so that a frame's bytes are copied into it and out, no more."""

    def __init__(self) -> None:
        self._packer = msgpack.Packer(autoreset=False, buf_size=1 << 20)

    def pack(self, message: dict[str, Any]) -> bytes:
        packer = self._packer
        packer.reset()
        packer.pack(message)
        with packer.getbuffer() as body:
            if len(body) > MAX_FRAME_BYTES:
                raise ValueError(f"{message['type']} takes {len(body)} bytes: a frame holds at most {MAX_FRAME_BYTES}")
            return b"".join((LENGTH.pack(len(body)), body))


_packer = _Packer()


def encode(message: dict[str, Any]) -> bytes:
    """A whole frame, with its length. Not for several threads at once.

    Raises ValueError when it would be too large: whoever makes a message bounds it.
    """
    return _packer.pack(message)


def decode(body: bytes | memoryview) -> dict[str, Any]:
    """The message in a frame's body, without the frame's length. Raises RefusedMessage."""
    try:
        message = msgpack.unpackb(
            body, use_list=False, max_array_len=MAX_ENTRIES, max_map_len=64, max_ext_len=0, max_str_len=1 << 16
        )
    except (ValueError, TypeError, MemoryError, msgpack.UnpackException) as error:
        raise RefusedMessage(f"the frame is garbage: {type(error).__name__} {error}") from error
    if type(message) is not dict:
        raise RefusedMessage(f"a message is a map, not {type(message).__name__}")
    check(message)
    return message


def check(message: dict[str, Any]) -> None:
    """Raises RefusedMessage unless the message is of a known type and has exactly that type's fields."""
    kind = message.get("type")
    if kind == HELLO and message.get("version") != VERSION:
        raise RefusedVersion(f"the sender speaks version {_shown(message.get('version'))}, this member {VERSION}")
    fields = None
    if type(kind) is str:
        fields = _FAILURES.get(kind) if "error" in message else None
        fields = fields or _FIELDS.get(kind)
    if fields is None:
        raise RefusedMessage(f"no member sends a message of type {_shown(kind)}")
    for name, is_right in fields.items():
        if name not in message:
            raise RefusedMessage(f"{kind} lacks {name}")
        if not is_right(message[name]):
            raise RefusedMessage(f"{name} of {kind} is not what members send")
    if len(message) != len(fields) + 1:
        unknown = sorted(_shown(name) for name in message if name not in fields and name != "type")
        raise RefusedMessage(f"{kind} has fields that no member sends: {unknown[:8]}")
    if kind == APPEND_ENTRIES:
        _check_entries(message)


def _shown(value: object) -> str:
    """Return the value for a sentence; what is large or nested is only named."""
    return repr(value)[:_MAX_NAME] if type(value) in (str, int) else type(value).__name__


def _check_entries(message: dict[str, Any]) -> None:
    """Entries follow each other, their terms never fall, and a configuration among them can be read."""
    index, term, newest_term = message["prevLogIdx"], message["prevLogTerm"], message["term"]
    entries = message["entries"]
    for entry in entries:
        if type(entry) is not tuple or len(entry) != 3:
            raise RefusedMessage("an entry of append_entries is not what members send")
        body, entry_index, entry_term = entry
        if type(body) is not bytes or not is_entry(body) or len(body) > _MAX_ENTRY_BYTES:
            raise RefusedMessage("an entry of append_entries holds what members do not send")
        index += 1
        if type(entry_index) is not int or entry_index != index:
            raise RefusedMessage(
                f"entries of append_entries after {message['prevLogIdx']} hold index {_shown(entry_index)}"
            )
        if type(entry_term) is not int or not term <= entry_term <= newest_term:
            raise RefusedMessage(f"entry {index} of append_entries is not of a term from {term} to {newest_term}")
        term = entry_term
        _check_configuration(body)
    message["entries"] = list(entries)


def _check_configuration(entry: bytes) -> None:
    if not entry.startswith(_CONFIGURATION):
        return
    if len(entry) > _MAX_CONFIGURATION_BYTES:
        raise RefusedMessage(f"a configuration of {len(entry)} bytes is more than members send")
    try:
        configuration_in(entry)
    except (ValueError, RecursionError) as error:  # RecursionError: JSON of many brackets
        raise RefusedMessage(f"an entry of append_entries holds {error}") from error


_Check = Callable[[Any], bool]


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _is_term(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_TERM


def _is_version(value: object) -> bool:
    return type(value) is int and value == VERSION


def _is_flag(value: object) -> bool:
    return type(value) is bool


def _is_array(value: object) -> bool:
    return type(value) is tuple or type(value) is list


def _is_name(value: object) -> bool:
    return type(value) is str and 0 < len(value) <= _MAX_NAME


def _are_names(value: object) -> bool:
    return type(value) is tuple and len(value) <= MAX_MEMBERS and all(_is_name(name) for name in value)


def _is_cause(value: object) -> bool:
    return type(value) is int and REFUSED <= value <= REFUSED_LAPSE


def _is_confirmed(value: object) -> bool:
    return (
        (type(value) is tuple or type(value) is list)
        and len(value) <= MAX_CONFIRMED
        and all(
            (type(pair) is tuple or type(pair) is list) and len(pair) == 2 and _is_name(pair[0]) and _is_count(pair[1])
            for pair in value
        )
    )


def _is_command(value: object) -> bool:
    return type(value) is bytes and value.startswith(_COMMAND) and len(value) <= _MAX_ENTRY_BYTES


def _one_of(texts: Collection[str]) -> _Check:
    return lambda value: type(value) is str and value in texts


def _up_to(most: int, kind: type[bytes] | type[str]) -> _Check:
    return lambda value: type(value) is kind and len(value) <= most


_is_text = _up_to(MAX_TEXT, str)
_is_checksum = _up_to(_MAX_CHECKSUM_BYTES, bytes)
_is_chunk = _up_to(MAX_CHUNK_BYTES, bytes)
_is_manifest = _up_to(MAX_MANIFEST_BYTES, bytes)


_LOG_END: dict[str, _Check] = {"term": _is_term, "last_log_index": _is_count, "last_log_term": _is_term}

_FIELDS: dict[str, dict[str, _Check]] = {
    HELLO: {
        "version": _is_version,
        "name": _is_name,
        "process": _is_name,
        "incarnation": _is_name,
        "last_index": _is_count,
        "configuration_index": _is_count,
        "group": _is_text,
        "client_address": _is_text,
    },
    HELLO_REFUSED: {"reason": _is_text, "cause": _is_cause, "confirmed_index": _is_count},
    REQUEST_VOTE: {**_LOG_END, "is_transfer": _is_flag},
    RESPONSE_VOTE: {"term": _is_term},
    APPEND_ENTRIES: {
        "term": _is_term,
        "commit_index": _is_count,
        "prevLogIdx": _is_count,
        "prevLogTerm": _is_term,
        "entries": _is_array,
    },
    NEXT_NODE_IDX: {
        "term": _is_term,
        "next_node_idx": _is_count,
        "reset": _is_flag,
        "success": _is_flag,
        "has_space": _is_flag,
    },
    APPLY_COMMAND: {"command": _is_command, "request_id": _is_count},
    APPLY_COMMAND_RESPONSE: {"request_id": _is_count, "log_idx": _is_count, "log_term": _is_term},
    PRE_VOTE: _LOG_END,
    PRE_VOTE_REPLY: {"term": _is_term, "is_granted": _is_flag},
    STALE_TERM: {"term": _is_term},
    TIMEOUT_NOW: {"term": _is_term},
    READ_ROUND: {"term": _is_term, "round": _is_count},
    READ_ROUND_REPLY: {"term": _is_term, "round": _is_count},
    READ_REQUEST: {"request_id": _is_count},
    READ_REPLY: {"request_id": _is_count, "index": _is_count},
    CHANGE_REQUEST: {"request_id": _is_count, "kind": _one_of(CHANGE_KINDS), "name": _is_text, "address": _is_text},
    CHANGE_REPLY: {"request_id": _is_count, "error": _is_text, "code": _is_count},
    SNAPSHOT_OFFER: {"term": _is_term, "snapshot_id": _is_name, "index": _is_count, "manifest": _is_manifest},
    SNAPSHOT_PULL: {"snapshot_id": _is_name, "file": _is_text, "offset": _is_count},
    SNAPSHOT_CHUNK: {"snapshot_id": _is_name, "file": _is_text, "offset": _is_count, "data": _is_chunk},
    SNAPSHOT_INSTALLED: {"term": _is_term, "index": _is_count},
    SNAPSHOT_REFUSED: {"snapshot_id": _is_name, "reason": _is_text},
    VITALS: {
        "term": _is_term,
        "index": _is_count,
        "checksum": _is_checksum,
        "clock_ms": _is_count,
        "confirmed": _is_confirmed,
    },
    DIVERGED: {"index": _is_count, "checksum": _is_checksum},
    LAST_WORDS: {"cause": _one_of(_STOP_CAUSES), "reason": _is_text},
    INTRODUCTION_REQUEST: {},
    INTRODUCTION: {"members": _are_names},
}

# A reply has these fields instead when the request failed. The number says why; 0 in a change_reply: it did not fail.
_FAILURES: dict[str, dict[str, _Check]] = {
    APPLY_COMMAND_RESPONSE: {"request_id": _is_count, "error": _is_count},
    READ_REPLY: {"request_id": _is_count, "error": _is_count},
}
