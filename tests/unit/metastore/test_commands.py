"""The short form of an append in the log."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from metastore.commands import NO_SESSION, SessionUse, append_command, append_in, content_of
from protos.guardian.v1 import records_pb2


def test_an_append_is_read_back() -> None:
    session = SessionUse((1 << 64) - 1, 2, 3, "certificate:Зоя".encode(), content_of(b"request"))
    append = append_in(append_command(b"checked", 5, session))
    assert append is not None
    assert (append.checked, append.proposed_at_ms, append.session) == (b"checked", 5, session)


def test_without_a_session_there_is_none() -> None:
    append = append_in(append_command(b"", 5))
    assert append is not None
    assert append.session == NO_SESSION


@pytest.mark.parametrize(
    "entry",
    [b"", b"\x00", b"\x00\x01" + bytes(49), b"\x00\x02" + bytes(60), b"\x00\x01" + bytes(48) + b"\x00\x03ab"],
)
def test_a_cut_off_or_other_entry_is_none(entry: bytes) -> None:
    assert append_in(entry) is None


def test_no_protobuf_command_looks_like_one() -> None:
    for command in (records_pb2.Command(), records_pb2.Command(proposed_at_ms=1, actor="x")):
        assert append_in(command.SerializeToString()) is None


@pytest.mark.parametrize(
    "session",
    [
        SessionUse(-1, 0, 0),
        SessionUse(0, 1 << 64, 0),
        SessionUse(1, 1, 1, b"u" * 1025, bytes(16)),
        SessionUse(1, 1, 1, b"u", bytes(15)),
    ],
)
def test_what_does_not_fit_is_refused(session: SessionUse) -> None:
    with pytest.raises(InvalidInput, match=r"session (is|has)"):
        append_command(b"", 0, session)
