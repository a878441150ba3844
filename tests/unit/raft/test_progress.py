"""How much a leader sends ahead, and from where it goes on."""

from __future__ import annotations

from pathlib import Path

from raft.entries import command_entry
from raft.rules.progress import BATCH_BYTES, WINDOW_BYTES, Progress, next_batch
from raft.storage.journal import Journal


def streaming(next_index: int = 11) -> Progress:
    progress = Progress(next_index)
    progress.matched(next_index, has_space=True)
    return progress


def test_one_message_at_a_time_until_the_logs_are_known_to_match() -> None:
    progress = Progress(11)
    assert progress.may_send_entries
    progress.sent(20, 100)
    assert not progress.may_send_entries
    progress.matched(21, has_space=True)
    assert (progress.match_index, progress.next_index, progress.may_send_entries) == (20, 21, True)


def test_an_acknowledgement_of_part_of_what_is_under_way_rewinds_nothing() -> None:
    progress = streaming()
    for last in (20, 30, 40):
        progress.sent(last, 100)
    progress.matched(21, has_space=True)
    assert (progress.match_index, progress.next_index) == (20, 41)
    progress.matched(16, has_space=True)  # an old one
    assert (progress.match_index, progress.next_index) == (20, 41)


def test_the_window_closes_and_opens() -> None:
    progress = streaming()
    progress.sent(20, WINDOW_BYTES)
    assert not progress.may_send_entries
    progress.matched(21, has_space=True)
    assert progress.may_send_entries


def test_a_rejection_goes_on_from_the_hint_one_message_at_a_time() -> None:
    progress = streaming()
    progress.sent(20, 100)
    progress.rejected(5, last_index=20)
    assert (progress.next_index, progress.is_probing, progress.may_send_entries) == (5, True, True)
    progress.rejected(99, last_index=20)
    assert progress.next_index == 21


def test_after_a_broken_connection_it_goes_on_from_what_is_acknowledged() -> None:
    progress = streaming()
    progress.sent(20, 100)
    progress.disconnected()
    assert (progress.next_index, progress.may_send_entries) == (11, True)


def test_a_member_without_space_gets_no_entries_until_it_has_some() -> None:
    progress = streaming()
    progress.sent(20, 100)
    progress.matched(11, has_space=False)
    assert (progress.next_index, progress.may_send_entries) == (11, False)
    progress.matched(11, has_space=True)
    assert progress.may_send_entries


def test_after_a_snapshot_it_goes_on_behind_it() -> None:
    progress = Progress(11)
    progress.installed(500)
    assert (progress.match_index, progress.next_index) == (500, 501)


def test_a_batch_is_bounded_in_bytes_but_holds_at_least_one_entry(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    small, large = command_entry(bytes(BATCH_BYTES // 3)), command_entry(bytes(2 * BATCH_BYTES))
    for index, entry in enumerate((small, small, small, small, large, small), start=2):
        journal.append(entry, index, 0)
    assert [index for _, index, _ in next_batch(journal, 2)[0]] == [2, 3, 4]
    assert [index for _, index, _ in next_batch(journal, 5)[0]] == [5, 6]
    assert [index for _, index, _ in next_batch(journal, 6)[0]] == [6]
    assert next_batch(journal, 7) == ([(small, 7, 0)], len(small))
    journal.close()
