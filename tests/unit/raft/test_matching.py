"""What an append_entries means for a log: T1 of the design's list, decided without a group."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from raft.configuration import Configuration
from raft.entries import command_entry
from raft.node.matching import Contradiction, Mismatch, NewEntries, NothingNew, compare
from raft.storage.journal import Entry, Journal

GROUP = Configuration.of_voters("g", {"a": "a:1"})


def entries(first: int, last: int, term: int) -> list[Entry]:
    return [(command_entry(b"%d" % index), index, term) for index in range(first, last + 1)]


def message(after: tuple[int, int], sent: list[Entry], term: int = 9) -> dict[str, Any]:
    return {
        "type": "append_entries",
        "term": term,
        "commit_index": 0,
        "prevLogIdx": after[0],
        "prevLogTerm": after[1],
        "entries": sent,
    }


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """Anchor 1 (term 0), 2-5 of term 1, 6-10 of term 2."""
    journal = Journal(tmp_path, GROUP)
    journal.set_vote(2, None)
    for entry in [*entries(2, 5, 1), *entries(6, 10, 2)]:
        journal.append(*entry)
    yield journal
    journal.close()


def test_what_is_all_new_is_taken_as_it_is(journal: Journal) -> None:
    new = message((10, 2), entries(11, 12, 2))
    assert compare(new, journal, kept_index=5) == NewEntries(new)


@pytest.mark.parametrize("sent", [[], entries(5, 5, 1), [*entries(5, 5, 1), *entries(6, 8, 2)]])
def test_what_is_known_changes_nothing_and_vouches_for_no_more_than_it_holds(
    journal: Journal, sent: list[Entry]
) -> None:
    assert compare(message((4, 1), sent), journal, kept_index=5) == NothingNew(4 + len(sent))


def test_only_what_follows_the_known_part_is_new(journal: Journal) -> None:
    sent = [*entries(9, 10, 2), *entries(11, 12, 3)]
    assert compare(message((8, 2), sent), journal, kept_index=5) == NewEntries(message((10, 2), entries(11, 12, 3)))


def test_a_conflict_begins_where_the_terms_differ(journal: Journal) -> None:
    sent = [*entries(6, 7, 2), *entries(8, 9, 3)]
    assert compare(message((5, 1), sent), journal, kept_index=5) == NewEntries(message((7, 2), entries(8, 9, 3)))


def test_a_log_that_is_too_short_names_its_end(journal: Journal) -> None:
    assert compare(message((20, 3), entries(21, 21, 3)), journal, kept_index=5) == Mismatch(11)


def test_a_mismatch_skips_the_whole_term_but_nothing_that_is_committed(journal: Journal) -> None:
    assert compare(message((9, 3), []), journal, kept_index=5) == Mismatch(6)
    assert compare(message((9, 3), []), journal, kept_index=7) == Mismatch(8)


def test_a_leader_that_contradicts_what_is_committed_is_not_followed(journal: Journal) -> None:
    with pytest.raises(Contradiction, match="term 3 at index 9, which is committed here in term 2"):
        compare(message((9, 3), []), journal, kept_index=9)
    with pytest.raises(Contradiction, match="another entry at index 8"):
        compare(message((7, 2), entries(8, 8, 3)), journal, kept_index=8)


def test_what_lies_before_the_anchor_is_known_to_match(journal: Journal) -> None:
    journal.reset(50, 4, GROUP)
    sent = [*entries(48, 49, 3), *entries(50, 52, 4)]
    assert compare(message((47, 3), sent), journal, kept_index=50) == NewEntries(message((50, 4), entries(51, 52, 4)))
    assert compare(message((47, 3), entries(48, 49, 3)), journal, kept_index=50) == NothingNew(49)
    assert compare(message((47, 3), []), journal, kept_index=50) == NothingNew(47)
