"""Nothing but plain values comes out of a frame, and nothing but the messages of members is acted on."""

from __future__ import annotations

import pickle
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.configuration import Configuration
from raft.entries import NO_OP, configuration_entry
from raft.network import frames
from raft.network.frames import LENGTH, RefusedMessage, RefusedVersion

CONFIGURATION = configuration_entry(Configuration.of_voters("g", {"a": "host:1"}))
APPEND: dict[str, Any] = {
    "type": "append_entries",
    "term": 3,
    "commit_index": 8,
    "prevLogIdx": 9,
    "prevLogTerm": 2,
    "entries": [(b"\x00\x00\xff", 10, 2), (NO_OP, 11, 3), (CONFIGURATION, 12, 3)],
}
GOOD: list[dict[str, Any]] = [
    {
        "type": "hello",
        "version": frames.VERSION,
        "name": "a",
        "process": "p",
        "incarnation": "i",
        "last_index": 7,
        "configuration_index": 3,
        "group": "",
        "client_address": "",
    },
    {"type": "hello_refused", "reason": "", "cause": frames.REFUSED_LAPSE, "confirmed_index": 7},
    {"type": "request_vote", "term": 3, "last_log_index": 9, "last_log_term": 2, "is_transfer": False},
    {"type": "response_vote", "term": 3},
    APPEND,
    {**APPEND, "entries": []},
    {"type": "next_node_idx", "term": 3, "next_node_idx": 10, "reset": False, "success": True, "has_space": True},
    {"type": "apply_command", "command": b"\x00\x00x", "request_id": 1},
    {"type": "apply_command_response", "request_id": 1, "log_idx": 5, "log_term": 3},
    {"type": "apply_command_response", "request_id": 1, "error": 4},
    {"type": "pre_vote", "term": 3, "last_log_index": 9, "last_log_term": 2},
    {"type": "pre_vote_reply", "term": 3, "is_granted": True},
    {"type": "stale_term", "term": 3},
    {"type": "last_words", "cause": "damaged", "reason": "a file is damaged"},
    {"type": "timeout_now", "term": 3},
    {"type": "read_round", "term": 3, "round": 7},
    {"type": "read_round_reply", "term": 3, "round": 7},
    {"type": "read_request", "request_id": 1},
    {"type": "read_reply", "request_id": 1, "index": 9},
    {"type": "read_reply", "request_id": 1, "error": 2},
    {"type": "change_request", "request_id": 1, "kind": "add", "name": "d", "address": "host:4"},
    {"type": "change_reply", "request_id": 1, "error": "", "code": 0},
    {"type": "snapshot_offer", "term": 3, "snapshot_id": "s", "index": 9, "manifest": b"{}"},
    {"type": "snapshot_pull", "snapshot_id": "s", "file": "state/1.sst", "offset": 0},
    {"type": "snapshot_chunk", "snapshot_id": "s", "file": "state/1.sst", "offset": 0, "data": b"x"},
    {"type": "snapshot_installed", "term": 3, "index": 9},
    {"type": "snapshot_refused", "snapshot_id": "s", "reason": "it is gone"},
    {"type": "vitals", "term": 3, "index": 9, "checksum": b"x", "clock_ms": 5, "confirmed": (("i", 8),)},
    {"type": "diverged", "index": 9, "checksum": b"x"},
    {"type": "introduction_request"},
    {"type": "introduction", "members": ("a", "b")},
]
every_good = pytest.mark.parametrize("message", GOOD, ids=lambda message: str(message["type"]))


def decoded(message: dict[Any, Any]) -> dict[str, Any]:
    return frames.decode(msgpack.packb(message))


@every_good
def test_what_members_say_arrives(message: dict[str, Any]) -> None:
    frame = frames.encode(message)
    assert LENGTH.unpack_from(frame) == (len(frame) - LENGTH.size,)
    assert frames.decode(frame[LENGTH.size :]) == message
    assert frames.decode(memoryview(frame)[LENGTH.size :]) == message


def test_every_type_is_among_those_tested() -> None:
    assert {message["type"] for message in GOOD} == set(frames._FIELDS)


@every_good
@pytest.mark.parametrize("wrong", [None, "\N{SNOWMAN}" * 3000, -1, 1.5, [[]], b"\x02x", [None], {}, 1 << 63])
def test_a_field_of_another_kind_is_refused(message: dict[str, Any], wrong: object) -> None:
    for field in message.keys() - {"type"}:
        if wrong == b"\x02x" and field in ("data", "manifest", "checksum"):
            continue  # they hold any bytes
        with pytest.raises(RefusedMessage):
            decoded(message | {field: wrong})


@every_good
def test_a_flag_is_no_number_and_a_number_no_flag(message: dict[str, Any]) -> None:
    for field, value in message.items():
        if type(value) in (bool, int):
            with pytest.raises(RefusedMessage):
                decoded(message | {field: int(value) if type(value) is bool else True})


@every_good
def test_a_missing_field_and_an_unknown_one_are_refused(message: dict[str, Any]) -> None:
    for field in message:
        with pytest.raises(RefusedMessage):
            decoded({key: value for key, value in message.items() if key != field})
    with pytest.raises(RefusedMessage, match="fields that no member sends"):
        decoded(message | {"transmission": "start"})


@pytest.mark.parametrize("kind", ["add", "", 7, None, [], {}, b"hello", "x" * 5000])
def test_other_types_are_refused(kind: object) -> None:
    with pytest.raises(RefusedMessage, match="no member sends"):
        decoded({"type": kind, "term": 1})


def test_a_hello_of_another_version_is_told_apart() -> None:
    for version in (0, 1, frames.VERSION - 1, frames.VERSION + 1, "3", None, [3]):
        with pytest.raises(RefusedVersion):
            decoded({"type": "hello", "version": version, "name": "a", "and": "more"})


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([(b"\x00\x00", 10, 3), (b"\x00\x00", 12, 3)], "hold index 12"),
        ([(b"\x00\x00", 9, 3)], "hold index 9"),
        ([(b"\x00\x00", True, 3)], "hold index bool"),
        ([(b"\x00\x00", 10, 1)], "not of a term from 2 to 3"),
        ([(b"\x00\x00", 10, 4)], "not of a term from 2 to 3"),
        ([(b"\x00\x00", 10, 3), (b"\x00\x00", 11, 2)], "not of a term from 3 to 3"),
        ([(b"\x00\x02", 10, 3)], "do not send"),
        ([("x", 10, 3)], "do not send"),
        ([(b"\x00\x00" + bytes(frames.MAX_COMMAND_BYTES + 1), 10, 3)], "do not send"),
        ([(b"\x00\x00", 10)], "not what members send"),
        ([7], "not what members send"),
        ([(b"\x00\x01{", 10, 3)], "holds"),
        ([(b"\x00\x01" + b"[" * 60_000, 10, 3)], "holds"),
        ([(b"\x00\x01" + b" " * (1 << 16), 10, 3)], "more than members send"),
        ([(NO_OP, 10, 3)] * (frames.MAX_ENTRIES + 1), "garbage"),
    ],
)
def test_entries_that_no_leader_sends_are_refused(entries: list[object], why: str) -> None:
    with pytest.raises(RefusedMessage, match=why):
        decoded(APPEND | {"entries": entries})


def test_only_commands_of_the_application_are_forwarded() -> None:
    for command in (CONFIGURATION, NO_OP, b"", b"\x00", b"\x00\x00" + bytes(frames.MAX_COMMAND_BYTES + 1)):
        with pytest.raises(RefusedMessage):
            decoded({"type": "apply_command", "command": command, "request_id": 1})
    largest = {"type": "apply_command", "command": b"\x00\x00" + bytes(frames.MAX_COMMAND_BYTES), "request_id": 1}
    assert decoded(largest) == largest


def test_a_chunk_and_a_manifest_have_a_largest_size() -> None:
    chunk = {"type": "snapshot_chunk", "snapshot_id": "s", "file": "f", "offset": 0}
    offer = {"type": "snapshot_offer", "term": 3, "snapshot_id": "s", "index": 9}
    for message, field, largest in (
        (chunk, "data", frames.MAX_CHUNK_BYTES),
        (offer, "manifest", frames.MAX_MANIFEST_BYTES),
    ):
        assert decoded({**message, field: bytes(largest)})
        with pytest.raises(RefusedMessage):
            decoded({**message, field: bytes(largest + 1)})


def test_a_message_that_fits_no_frame_is_refused_where_it_is_made() -> None:
    entries = [(b"\x00\x00" + bytes(3 << 20), 10 + number, 3) for number in range(6)]
    with pytest.raises(ValueError, match="a frame holds at most"):
        frames.encode(APPEND | {"entries": entries})
    assert frames.decode(frames.encode(GOOD[2])[LENGTH.size :]) == GOOD[2]


def test_a_pickle_and_a_msgpack_extension_are_garbage() -> None:
    extension = msgpack.packb({"type": "response_vote", "term": msgpack.ExtType(5, b"x")})
    time = msgpack.packb({"type": "response_vote", "term": msgpack.Timestamp(1)})
    for body in (pickle.dumps(GOOD[2]), extension, time, b"", b"\xc1", msgpack.packb(GOOD[2]) + b"\x00"):
        with pytest.raises(RefusedMessage):
            frames.decode(body)


def test_a_few_bytes_that_ask_for_much_memory_are_refused() -> None:
    bombs = [b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\x91" * 10_000]
    bombs.append(b"\xdc\xff\xff" * 2000)
    for bomb in bombs:
        with pytest.raises(RefusedMessage):
            frames.decode(bomb)


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_or_a_message(body: bytes) -> None:
    try:
        message = frames.decode(body)
    except RefusedMessage:
        return
    assert message["type"] in frames._FIELDS


_SHORT = st.text(max_size=9) | st.binary(max_size=9)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.floats() | _SHORT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_SHORT, inner, max_size=3),
    max_leaves=5,
)


@given(
    message=st.sampled_from(GOOD),
    changes=st.dictionaries(st.text(max_size=9) | st.sampled_from(sorted(APPEND)), PLAIN, max_size=4),
)
def test_any_values_in_any_fields_are_refused_or_a_message(message: dict[str, Any], changes: dict[str, Any]) -> None:
    try:
        assert decoded(message | changes)["type"] in frames._FIELDS
    except RefusedMessage:
        return


@given(message=st.sampled_from(GOOD), position=st.integers(0, 1 << 20), value=st.integers(0, 255))
def test_a_message_with_a_changed_byte_is_refused_or_a_message(
    message: dict[str, Any], position: int, value: int
) -> None:
    body = bytearray(msgpack.packb(message))
    body[position % len(body)] = value
    try:
        assert frames.decode(bytes(body))["type"] in frames._FIELDS
    except RefusedMessage:
        return


@given(
    commands=st.lists(st.binary(max_size=50)),
    previous=st.integers(0, 1 << 62),
    terms=st.tuples(st.integers(0, 1 << 62), st.integers(0, 1 << 62)).map(sorted),
    commit_index=st.integers(0, (1 << 63) - 1),
)
def test_entries_come_out_as_they_went_in(
    commands: list[bytes], previous: int, terms: list[int], commit_index: int
) -> None:
    message = APPEND | {
        "term": terms[1],
        "prevLogTerm": terms[0],
        "prevLogIdx": previous,
        "commit_index": commit_index,
        "entries": [(b"\x00\x00" + command, previous + at, terms[1]) for at, command in enumerate(commands, start=1)],
    }
    assert frames.decode(frames.encode(message)[LENGTH.size :]) == message
