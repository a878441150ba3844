"""The short form of an append in the log."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from metastore.commands import append_command, append_in
from protos.guardian.v1 import records_pb2


def test_an_append_is_read_back() -> None:
    append = append_in(append_command(b"checked", 5, (1, 2, 3)))
    assert append is not None
    assert (append.checked, append.proposed_at_ms, append.session) == (b"checked", 5, (1, 2, 3))


def test_without_a_session_there_is_none() -> None:
    append = append_in(append_command(b"", 5))
    assert append is not None
    assert append.session == (0, 0, 0)


@pytest.mark.parametrize("entry", [b"", b"\x00", b"\x00\x01" + bytes(31), b"\x00\x02" + bytes(40)])
def test_a_cut_off_or_other_entry_is_none(entry: bytes) -> None:
    assert append_in(entry) is None


def test_no_protobuf_command_looks_like_one() -> None:
    for command in (records_pb2.Command(), records_pb2.Command(proposed_at_ms=1, actor="x")):
        assert append_in(command.SerializeToString()) is None


@pytest.mark.parametrize("session", [(-1, 0, 0), (0, 1 << 64, 0)])
def test_numbers_out_of_range_are_refused(session: tuple[int, int, int]) -> None:
    with pytest.raises(InvalidInput, match="session is"):
        append_command(b"", 0, session)
