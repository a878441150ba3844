"""The journal alone: what is synced is found again, what was cut off is dropped, what is damaged is refused."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import raft.storage.journal
from raft.configuration import Configuration
from raft.entries import NO_OP, configuration_entry
from raft.errors import CannotStart
from raft.storage.journal import Entry, Journal
from raft.storage.segment_format import RECORD_HEADER_BYTES

ANCHOR: Entry = (NO_OP, 1, 0)
ENTRIES: list[Entry] = [ANCHOR, (b"\x00\x00one", 2, 1), (b"\x00\x00" + bytes(5000), 3, 1), (b"\x00\x00three", 4, 2)]
FIRST = Configuration.of_voters("g", {"a": "host:1", "b": "host:2"})
SECOND = FIRST.with_learner("c", "host:3")
THIRD = SECOND.with_promoted("c", "c-1")


def opened(directory: Path) -> Journal:
    """With a vote, as any log has that holds entries of a term."""
    journal = Journal(directory, FIRST)
    if journal.term == 0:
        journal.set_vote(1, None)
    return journal


def journal_with(directory: Path, entries: list[Entry]) -> Journal:
    journal = opened(directory)
    for entry in entries[len(journal) :]:
        journal.append(*entry)
    journal.sync()
    return journal


def journal_of_segments(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    """Ten entries, the second and later ones each in a segment of its own."""
    monkeypatch.setattr(raft.storage.journal, "SEGMENT_BYTES", 1)
    journal = opened(directory)
    for index in range(2, 11):
        journal.append(b"\x00\x00%d" % index, index, 1)
        journal.sync()
    assert len(segments(directory)) == 10
    return journal


def segments(directory: Path) -> list[Path]:
    return sorted(directory.glob("log-*"))


def reopened(directory: Path) -> list[Entry]:
    journal = Journal(directory)
    try:
        return journal[:]
    finally:
        journal.close()


def test_a_new_journal_holds_an_anchor_and_the_first_configuration(tmp_path: Path) -> None:
    for _ in range(2):
        journal = Journal(tmp_path, FIRST)
        assert (journal[:], journal.first_index, journal.last_index, journal.last_term) == ([ANCHOR], 1, 1, 0)
        assert (journal.configuration, journal.configuration_index) == (FIRST, 0)
        journal.close()
    assert Journal(tmp_path / "joining").configuration is None


def test_a_synced_log_is_found_again(tmp_path: Path) -> None:
    journal_with(tmp_path, ENTRIES)  # not closed, as after kill -9
    assert reopened(tmp_path) == ENTRIES


def test_what_is_not_synced_is_not_on_disk(tmp_path: Path) -> None:
    journal = journal_with(tmp_path, ENTRIES[:2])
    journal.append(*ENTRIES[2])
    assert reopened(tmp_path) == ENTRIES[:2]


def recorded(patch: pytest.MonkeyPatch, name: str, calls: list[tuple[str, Path]]) -> None:
    """Has each call of os.<name>, which takes a descriptor first, noted with the file's path."""
    call = getattr(os, name)

    def record(file: int, *arguments: object) -> object:
        calls.append((name, Path(f"/proc/self/fd/{file}").readlink()))
        return call(file, *arguments)

    patch.setattr(os, name, record)


def test_a_sync_is_one_write_and_one_fdatasync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = journal_with(tmp_path, ENTRIES[:1])
    calls: list[tuple[str, Path]] = []
    for name in ("pwrite", "fdatasync", "fsync"):
        recorded(monkeypatch, name, calls)
    for entry in ENTRIES[1:]:
        journal.append(*entry)
    journal.sync()
    journal.sync()
    assert calls == [("pwrite", newest(tmp_path)), ("fdatasync", newest(tmp_path))]


def test_what_a_killed_process_wrote_but_did_not_sync_is_synced_before_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = journal_with(tmp_path, ENTRIES[:2])
    journal.append(*ENTRIES[2])
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", lambda _file: None)
        journal.sync()
    calls: list[tuple[str, Path]] = []
    recorded(monkeypatch, "fdatasync", calls)
    assert reopened(tmp_path) == ENTRIES[:3]
    assert calls == [("fdatasync", newest(tmp_path))]


def test_a_write_that_the_kernel_splits_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, offset: write(file, data[:7], offset))
    journal_with(tmp_path, ENTRIES)
    assert reopened(tmp_path) == ENTRIES


def test_an_append_that_leaves_a_hole_or_a_damaged_configuration_changes_nothing(tmp_path: Path) -> None:
    journal = journal_with(tmp_path, ENTRIES)
    for index in (0, 4, 6):
        with pytest.raises(ValueError, match=f"index {index} does not follow 4"):
            journal.append(b"\x00\x00x", index, 2)
    with pytest.raises(ValueError, match="Expecting"):
        journal.append(b"\x00\x01{", 5, 2)
    journal.close()
    assert reopened(tmp_path) == ENTRIES


def test_term_and_vote_are_found_again(tmp_path: Path) -> None:
    Journal(tmp_path).set_vote(7, "b")
    journal = Journal(tmp_path)
    assert (journal.term, journal.voted_for) == (7, "b")


def test_a_damaged_vote_is_refused(tmp_path: Path) -> None:
    for damage in (b"", b"{}", b"[]", b'{"term": "x", "voted_for": null}'):
        Journal(tmp_path / "m").set_vote(7, "b")
        (tmp_path / "m" / "vote.json").write_bytes(damage)
        with pytest.raises(CannotStart, match=r"vote\.json is damaged"):
            Journal(tmp_path / "m")
        shutil.rmtree(tmp_path / "m")


def test_a_vote_that_still_reads_well_but_was_changed_is_refused(tmp_path: Path) -> None:
    Journal(tmp_path).set_vote(17, "b")
    path = tmp_path / "vote.json"
    for damage in (path.read_bytes().replace(b"17", b"16"), path.read_bytes().replace(b'"b"', b'"c"')):
        path.write_bytes(damage)
        with pytest.raises(CannotStart, match=r"vote\.json is damaged \(its checksum is wrong"):
            Journal(tmp_path)


def test_a_log_without_its_vote_and_a_vote_without_its_log_are_refused(tmp_path: Path) -> None:
    journal_with(tmp_path / "a", ENTRIES).close()
    (tmp_path / "a" / "vote.json").unlink()
    with pytest.raises(CannotStart, match=r"vote\.json is missing"):
        Journal(tmp_path / "a")
    journal_with(tmp_path / "b", ENTRIES).close()
    segments(tmp_path / "b")[0].unlink()
    with pytest.raises(CannotStart, match=r"has vote\.json but no log"):
        Journal(tmp_path / "b", FIRST)


@pytest.mark.parametrize("segment_bytes", [1, 5000, 16 << 20])
@pytest.mark.parametrize("keep", range(1, 5))
@pytest.mark.parametrize("synced", range(1, 5))
def test_truncating_removes_synced_and_waiting_entries_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: int, synced: int, segment_bytes: int
) -> None:
    monkeypatch.setattr(raft.storage.journal, "SEGMENT_BYTES", segment_bytes)
    journal = opened(tmp_path)
    for entry in ENTRIES[1:synced]:
        journal.append(*entry)
        journal.sync()
    for entry in ENTRIES[synced:]:
        journal.append(*entry)
    journal.truncate(keep)
    assert journal[:] == ENTRIES[:keep]
    journal.append(b"\x00\x00new", keep + 1, 9)
    journal.sync()
    journal.append(b"\x00\x00newer", keep + 2, 9)
    journal.close()
    assert reopened(tmp_path) == [
        *ENTRIES[:keep],
        (b"\x00\x00new", keep + 1, 9),
        (b"\x00\x00newer", keep + 2, 9),
    ]


def test_truncating_alone_is_kept_too(tmp_path: Path) -> None:
    journal = journal_with(tmp_path, ENTRIES)
    journal.truncate(2)
    assert reopened(tmp_path) == ENTRIES
    journal.sync()
    assert reopened(tmp_path) == ENTRIES[:2]
    journal = journal_with(tmp_path, ENTRIES[:3])
    assert reopened(tmp_path) == ENTRIES[:3]


def test_the_anchor_is_not_truncated_and_what_is_not_there_is(tmp_path: Path) -> None:
    journal = journal_with(tmp_path, ENTRIES)
    with pytest.raises(ValueError, match="anchor"):
        journal.truncate(0)
    journal.truncate(4)
    assert journal[:] == ENTRIES


def newest(directory: Path) -> Path:
    return segments(directory)[-1]


def test_a_cut_off_end_is_dropped_wherever_the_cut_is(tmp_path: Path) -> None:
    journal = journal_with(tmp_path, ENTRIES[:2])
    complete = newest(tmp_path).read_bytes()
    journal.append(b"\x00\x00three", 3, 2)
    journal.close()
    data = newest(tmp_path).read_bytes()
    for cut in range(len(complete), len(data)):
        newest(tmp_path).write_bytes(data[:cut])
        assert reopened(tmp_path) == ENTRIES[:2]
        assert newest(tmp_path).read_bytes() == complete


def test_an_end_of_zeros_is_dropped(tmp_path: Path) -> None:
    journal_with(tmp_path, ENTRIES).close()
    with newest(tmp_path).open("ab") as log:
        log.write(bytes(500))
    assert reopened(tmp_path) == ENTRIES


def batch_after(directory: Path, before: list[Entry], batch: list[Entry]) -> tuple[bytes, bytes]:
    """The newest file before and after `batch` was written to it at once."""
    journal = journal_with(directory, before)
    complete = newest(directory).read_bytes()
    for entry in batch:
        journal.append(*entry)
    journal.close()
    return complete, newest(directory).read_bytes()


BATCH: list[Entry] = [(b"\x00\x00" + os.urandom(700), index, 1) for index in range(3, 9)]


def test_a_batch_of_which_a_sector_was_never_written_is_dropped_from_there(tmp_path: Path) -> None:
    complete, data = batch_after(tmp_path, ENTRIES[:2], BATCH)
    for sector in range(len(complete) // 512 + 1, len(data) // 512):
        torn = bytearray(data)
        torn[sector * 512 : (sector + 1) * 512] = bytes(512)
        newest(tmp_path).write_bytes(torn)
        kept = reopened(tmp_path)
        assert kept == [*ENTRIES[:2], *BATCH][: len(kept)]
        assert 2 <= len(kept) < 8


def test_a_sector_of_zeros_is_damage_when_a_later_batch_proves_that_it_was_synced(tmp_path: Path) -> None:
    complete, data = batch_after(tmp_path, ENTRIES[:2], BATCH)
    _, longer = batch_after(tmp_path, [*ENTRIES[:2], *BATCH], [(b"\x00\x00end", 9, 1)])
    for sector in range(len(complete) // 512 + 1, len(data) // 512):
        damaged = bytearray(longer)
        damaged[sector * 512 : (sector + 1) * 512] = bytes(512)
        newest(tmp_path).write_bytes(damaged)
        with pytest.raises(CannotStart, match="damaged"):
            Journal(tmp_path)
        assert newest(tmp_path).read_bytes() == damaged


def test_a_flipped_bit_is_refused_wherever_it_is(tmp_path: Path) -> None:
    journal_with(tmp_path, [*ENTRIES[:2], BATCH[0]]).close()
    data = newest(tmp_path).read_bytes()
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 4
        newest(tmp_path).write_bytes(damaged)
        with pytest.raises(CannotStart, match=r"damaged|no segment"):
            Journal(tmp_path)
        assert newest(tmp_path).read_bytes() == damaged


def test_a_file_that_is_no_segment_of_this_version_or_has_another_name_is_refused(tmp_path: Path) -> None:
    journal_with(tmp_path, ENTRIES).close()
    path = newest(tmp_path)
    path.rename(tmp_path / "log-00000000000000000007")
    with pytest.raises(CannotStart, match="not what its name says"):
        Journal(tmp_path)
    (tmp_path / "log-00000000000000000007").write_bytes(b"")
    with pytest.raises(CannotStart, match="it is no segment"):
        Journal(tmp_path)


def test_a_missing_segment_is_a_hole_and_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal_of_segments(tmp_path, monkeypatch).close()
    segments(tmp_path)[4].unlink()
    with pytest.raises(CannotStart, match="ends before index 5, and the next segment begins at 6"):
        Journal(tmp_path)


def test_an_older_segment_that_was_cut_off_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal_of_segments(tmp_path, monkeypatch).close()
    older = segments(tmp_path)[4]
    older.write_bytes(older.read_bytes()[:-1])
    with pytest.raises(CannotStart, match="ends within a record"):
        Journal(tmp_path)


def test_full_segments_are_followed_by_new_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = journal_of_segments(tmp_path, monkeypatch)
    entries = journal[:]
    assert journal.size_bytes == sum(path.stat().st_size for path in segments(tmp_path))
    assert reopened(tmp_path) == entries


def test_trimming_drops_whole_segments_and_keeps_the_entry_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = journal_of_segments(tmp_path, monkeypatch)
    entries = journal[:]
    for up_to, first in ((0, 1), (4, 4), (3, 4), (7, 7), (99, 10)):
        journal.trim(up_to)
        assert (journal.first_index, journal[:]) == (first, entries[first - 1 :])
        assert len(segments(tmp_path)) == len(journal)
        assert reopened(tmp_path) == entries[first - 1 :]
    journal.append(b"\x00\x00more", 11, 1)
    journal.close()
    assert reopened(tmp_path) == [entries[-1], (b"\x00\x00more", 11, 1)]


def test_trimming_leaves_what_a_waiting_truncation_replaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = journal_of_segments(tmp_path, monkeypatch)
    entries = journal[:]
    journal.truncate(4)
    journal.trim(9)
    assert journal[:] == entries[3:4]
    journal.append(b"\x00\x00new", 5, 2)
    journal.close()
    assert reopened(tmp_path) == [entries[3], (b"\x00\x00new", 5, 2)]


def test_a_reset_leaves_an_anchor_and_goes_on_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for index in (5, 1, 500):  # within, at the beginning of and beyond what is there
        directory = tmp_path / str(index)
        journal = journal_of_segments(directory, monkeypatch)
        journal.append(b"\x00\x00not synced", 11, 1)
        journal.reset(index, 7, SECOND)
        journal.append(b"\x00\x00next", index + 1, 7)
        journal.close()
        journal = Journal(directory)
        assert journal[:] == [(NO_OP, index, 7), (b"\x00\x00next", index + 1, 7)]
        assert (journal.configuration, journal.configuration_index, journal.term) == (SECOND, index, 7)
        assert len(segments(directory)) == 2
        journal.close()


def test_a_reset_keeps_a_vote_of_its_term(tmp_path: Path) -> None:
    journal = journal_with(tmp_path, ENTRIES)
    journal.set_vote(7, "b")
    journal.reset(50, 6, SECOND)
    journal.reset(60, 7, SECOND)
    assert (journal.term, journal.voted_for) == (7, "b")


def test_the_newest_configuration_is_in_force_and_a_truncated_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for segment_bytes in (1, 16 << 20):
        monkeypatch.setattr(raft.storage.journal, "SEGMENT_BYTES", segment_bytes)
        directory = tmp_path / str(segment_bytes)
        journal = journal_with(
            directory,
            [*ENTRIES[:2], (configuration_entry(SECOND), 3, 1), (NO_OP, 4, 1), (configuration_entry(THIRD), 5, 1)],
        )
        journal.close()
        journal = Journal(directory)
        assert (journal.configuration, journal.configuration_index) == (THIRD, 5)
        assert [journal.configuration_at(index) for index in range(1, 7)] == [
            FIRST,
            FIRST,
            SECOND,
            SECOND,
            THIRD,
            THIRD,
        ]
        journal.truncate(4)
        assert (journal.configuration, journal.configuration_index) == (SECOND, 3)
        journal.append(NO_OP, 5, 2)
        journal.sync()
        journal.trim(5)
        journal.close()
        journal = Journal(directory)
        assert (journal.configuration, journal.configuration_index) == (SECOND, 3)
        journal.close()


def test_after_trimming_the_configuration_before_the_log_is_still_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raft.storage.journal, "SEGMENT_BYTES", 1)
    journal = opened(tmp_path)
    for entry in (ENTRIES[1], (configuration_entry(SECOND), 3, 1), (NO_OP, 4, 1), (configuration_entry(THIRD), 5, 1)):
        journal.append(*entry)
        journal.sync()
    journal.trim(4)
    for _ in range(2):
        assert journal.first_index == 4
        assert (journal.configuration_at(4), journal.configuration) == (SECOND, THIRD)
        journal.close()
        journal = Journal(tmp_path)


def test_the_term_of_an_index(tmp_path: Path) -> None:
    journal = journal_with(tmp_path, ENTRIES)
    assert [journal.term_at(index) for index in range(6)] == [None, 0, 1, 1, 2, None]


@pytest.mark.parametrize("call", ["pwrite", "fdatasync"])
def test_a_failed_write_is_raised_stays_raised_and_is_never_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    journal = journal_with(tmp_path, ENTRIES)
    journal.append(b"\x00\x00lost", 5, 2)

    def fail(*_arguments: object) -> int:
        raise OSError(errno.EIO, "the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(OSError, match="the disk is gone"):
            journal.sync()
    attempts: list[Callable[[], None]] = [
        journal.sync,
        lambda: journal.append(b"\x00\x00x", 6, 2),
        lambda: journal.truncate(2),
        lambda: journal.set_vote(3, "a"),
        lambda: journal.trim(1),
        lambda: journal.reset(9, 9, FIRST),
    ]
    for attempt in attempts:
        with pytest.raises(OSError, match="the disk is gone"):
            attempt()
    journal.close()
    assert reopened(tmp_path)[:4] == ENTRIES


def test_a_failed_vote_is_final_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = journal_with(tmp_path, ENTRIES)

    def fail(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="full"):
            journal.set_vote(9, "b")
    assert (journal.term, journal.voted_for) == (1, None)
    with pytest.raises(OSError, match="full"):
        journal.append(b"\x00\x00x", 5, 2)


def test_a_record_takes_so_much_more_than_its_entry(tmp_path: Path) -> None:
    journal = journal_with(tmp_path, ENTRIES)
    before = journal.size_bytes
    journal.append(b"\x00\x00x", 5, 2)
    assert journal.size_bytes == before + RECORD_HEADER_BYTES + 3
