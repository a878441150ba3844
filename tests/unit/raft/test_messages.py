"""Nothing but plain values comes out of a frame, and nothing but the six messages is acted on."""

from __future__ import annotations

import os
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft import messages

GOOD: list[dict[str, Any]] = [
    {"type": "request_vote", "term": 3, "last_log_index": 9, "last_log_term": 2},
    {"type": "response_vote", "term": 3},
    {
        "type": "append_entries",
        "term": 3,
        "commit_index": 8,
        "prevLogIdx": 9,
        "prevLogTerm": 2,
        "entries": [(b"\x00\xff", 10, 3), (b"\x01", 11, 3)],
    },
    {"type": "next_node_idx", "term": 3, "next_node_idx": 10, "reset": False, "success": True},
    {"type": "apply_command", "command": b"\x00x", "request_id": 1},
    {"type": "apply_command_response", "request_id": 1, "log_idx": 5, "log_term": 3},
    {"type": "apply_command_response", "request_id": 1, "error": 4},
]


class Exploit:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("exploited",)


@pytest.mark.parametrize("message", GOOD, ids=lambda message: message["type"])
def test_what_members_say_arrives(message: dict[str, Any]) -> None:
    assert messages.check(messages.loads(messages.dumps(message))) == message


@pytest.mark.parametrize("protocol", range(6))
def test_no_function_is_called(protocol: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(messages.RefusedMessage, match="plain values only"):
        messages.loads(pickle.dumps(Exploit(), protocol=protocol))
    assert list(tmp_path.iterdir()) == []


@given(st.binary(max_size=200))
def test_garbage_is_refused_or_a_plain_value(data: bytes) -> None:
    try:
        value = messages.loads(data)
    except messages.RefusedMessage:
        return
    with pytest.raises(messages.RefusedMessage):
        messages.check(value)


@pytest.mark.parametrize("message", GOOD, ids=lambda message: message["type"])
@pytest.mark.parametrize("wrong", [None, "1", -1, True, 1.5, [], b"", b"\x02x", [(b"\x00", 10, 3, 4)], [None], 1 << 64])
def test_a_field_of_another_kind_is_refused(message: dict[str, Any], wrong: object) -> None:
    for field in message.keys() - {"type"}:
        if (type(message[field]) is bool and wrong is True) or (type(message[field]) is list and wrong == []):
            continue
        with pytest.raises(messages.RefusedMessage):
            messages.check(message | {field: wrong})


@pytest.mark.parametrize("message", GOOD, ids=lambda message: message["type"])
def test_a_missing_field_and_an_unknown_one_are_refused(message: dict[str, Any]) -> None:
    for field in message:
        with pytest.raises(messages.RefusedMessage):
            messages.check({key: value for key, value in message.items() if key != field})
    with pytest.raises(messages.RefusedMessage, match="fields that no member sends"):
        messages.check(message | {"transmission": "start"})


@pytest.mark.parametrize("kind", ["timeout_now", "add", "", 7, None, []])
def test_other_types_are_refused(kind: object) -> None:
    with pytest.raises(messages.RefusedMessage, match="no member sends"):
        messages.check({"type": kind, "term": 1})


def test_entries_must_follow_each_other() -> None:
    with pytest.raises(messages.RefusedMessage, match="hold index 12"):
        messages.check(GOOD[2] | {"entries": [(b"\x00", 10, 3), (b"\x00", 12, 3)]})
