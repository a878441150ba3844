"""The journal alone: what is synced is found again, what was cut off is dropped, what is damaged is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.errors import CannotStart
from raft.journal import Entry, FileJournal

ENTRIES: list[Entry] = [(b"\x01", 1, 0), (b"\x00one", 2, 1), (b"\x00" + bytes(5000), 3, 1), (b"\x00three", 4, 2)]


def journal_with(directory: Path, entries: list[Entry]) -> FileJournal:
    journal = FileJournal(directory)
    for entry in entries:
        journal.append(*entry)
    journal.sync()
    return journal


def reopened(directory: Path) -> list[Entry]:
    journal = FileJournal(directory)
    try:
        return journal[:]
    finally:
        journal.close()


def test_a_synced_log_is_found_again(tmp_path: Path) -> None:
    journal_with(tmp_path, ENTRIES)  # not closed, as after kill -9
    assert reopened(tmp_path) == ENTRIES


def test_what_is_not_synced_is_not_on_disk(tmp_path: Path) -> None:
    journal = journal_with(tmp_path, ENTRIES[:2])
    journal.append(*ENTRIES[2])
    assert reopened(tmp_path) == ENTRIES[:2]


def test_term_and_vote_are_found_again(tmp_path: Path) -> None:
    FileJournal(tmp_path).set_vote(7, "b")
    journal = FileJournal(tmp_path)
    assert (journal.term, journal.voted_for) == (7, "b")


def test_a_damaged_vote_is_refused(tmp_path: Path) -> None:
    FileJournal(tmp_path).set_vote(7, "b")
    (tmp_path / "vote.json").write_bytes(b"")
    with pytest.raises(CannotStart, match=r"vote\.json is damaged"):
        FileJournal(tmp_path)


@pytest.mark.parametrize("keep", range(5))
@pytest.mark.parametrize("synced", range(5))
def test_truncating_removes_synced_and_waiting_entries_alike(tmp_path: Path, keep: int, synced: int) -> None:
    journal = journal_with(tmp_path, ENTRIES[:synced])
    for entry in ENTRIES[synced:]:
        journal.append(*entry)
    journal.truncate(keep)
    journal.append(b"\x00new", keep + 1, 9)
    journal.sync()
    journal.append(b"\x00newer", keep + 2, 9)
    journal.close()
    assert reopened(tmp_path) == [*ENTRIES[:keep], (b"\x00new", keep + 1, 9), (b"\x00newer", keep + 2, 9)]


def test_a_cut_off_end_is_dropped_wherever_the_cut_is(tmp_path: Path) -> None:
    journal_with(tmp_path, ENTRIES[:2]).close()
    complete = (tmp_path / "log").read_bytes()
    journal_with(tmp_path, []).close()
    whole = journal_with(tmp_path / "whole", [*ENTRIES[:2], ENTRIES[3]])
    whole.close()
    data = (tmp_path / "whole" / "log").read_bytes()
    for cut in range(len(complete), len(data)):
        (tmp_path / "log").write_bytes(data[:cut])
        assert reopened(tmp_path) == ENTRIES[:2]
        assert (tmp_path / "log").read_bytes() == complete


def test_an_end_of_zeros_is_dropped(tmp_path: Path) -> None:
    journal_with(tmp_path, ENTRIES).close()
    with (tmp_path / "log").open("ab") as log:
        log.write(bytes(500))
    assert reopened(tmp_path) == ENTRIES


def test_a_flipped_bit_before_the_last_record_is_refused(tmp_path: Path) -> None:
    journal_with(tmp_path, ENTRIES).close()
    data = (tmp_path / "log").read_bytes()
    last_record = len(data) - 28 - len(ENTRIES[3][0])
    for position in (*range(100), last_record - 1):
        damaged = bytearray(data)
        damaged[position] ^= 4
        (tmp_path / "log").write_bytes(damaged)
        with pytest.raises(CannotStart, match="damaged"):
            FileJournal(tmp_path)
        assert (tmp_path / "log").read_bytes() == damaged


def test_a_hole_is_refused(tmp_path: Path) -> None:
    journal_with(tmp_path, [ENTRIES[0], ENTRIES[2]])
    with pytest.raises(CannotStart, match="jumps from index 1 to 3"):
        FileJournal(tmp_path)


def test_the_term_of_an_index(tmp_path: Path) -> None:
    journal = journal_with(tmp_path, ENTRIES)
    assert [journal.term_at(index) for index in range(6)] == [None, 0, 1, 1, 2, None]
    assert FileJournal(tmp_path / "empty").term_at(1) is None
