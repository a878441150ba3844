"""A follower's view of what a leader sends: which of it is new, and whether the logs agree before it.

The library drops everything after the point where a message begins, known or not (T1). Here a log is cut only where an
entry of the leader's contradicts it.
"""

from __future__ import annotations

from dataclasses import dataclass

from raft.errors import REJOIN, Diverged
from raft.node.library import Message
from raft.storage.journal import Journal


class Contradiction(Diverged):
    """A leader's log lacks what is committed here: some member lost or forged what it had acknowledged."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}, so its history differs from the majority's; {REJOIN}")
        self.what = what


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The logs do not agree before the entries; they may before `hint`, the next index that the leader should try."""

    hint: int


@dataclass(frozen=True, slots=True)
class NothingNew:
    """The logs agree up to `matched`. What follows here is kept but not vouched for."""

    matched: int


@dataclass(frozen=True, slots=True)
class NewEntries:
    """The message without what is known already: the log's end, or a contradiction, is where it begins."""

    message: Message


def compare(message: Message, journal: Journal, kept_index: int) -> Mismatch | NothingNew | NewEntries:
    """Tell what an append_entries of a current leader means for this log. Up to `kept_index` all is committed, whether
    this member may apply it yet or not. Raises Contradiction."""
    previous = message["prevLogIdx"]
    known_term = journal.term_at(previous)
    if known_term is None and previous < journal.first_index:
        message = _from_anchor(message, journal)  # what is before the anchor is committed, so the logs agree on it
        previous = message["prevLogIdx"]
        known_term = journal.term_at(previous)
        if known_term is None:
            return NothingNew(previous)
    if known_term is None:
        return Mismatch(journal.last_index + 1)
    if known_term != message["prevLogTerm"]:
        if previous <= kept_index:
            raise Contradiction(
                f"the leader has term {message['prevLogTerm']} at index {previous}, which is committed here in term "
                f"{known_term}"
            )
        return Mismatch(_first_of_term(journal, previous, known_term, kept_index))
    message = _without_known_entries(message, journal)
    if not message["entries"]:
        return NothingNew(message["prevLogIdx"])
    first_new = message["prevLogIdx"] + 1
    if first_new <= kept_index:
        raise Contradiction(f"the leader has another entry at index {first_new}, which is committed here")
    return NewEntries(message)


def _from_anchor(message: Message, journal: Journal) -> Message:
    entries = message["entries"]
    skipped = journal.first_index - message["prevLogIdx"]
    if skipped > len(entries):
        last = message["prevLogIdx"] + len(entries)
        return {**message, "prevLogIdx": last, "entries": []}
    _, index, term = entries[skipped - 1]
    return {**message, "prevLogIdx": index, "prevLogTerm": term, "entries": entries[skipped:]}


def _without_known_entries(message: Message, journal: Journal) -> Message:
    """The same message as if sent for the first entry that this log lacks or has from another term."""
    entries = message["entries"]
    if not entries or journal.last_index == message["prevLogIdx"]:
        return message
    known = 0
    while known < len(entries) and journal.term_at(entries[known][1]) == entries[known][2]:
        known += 1
    if not known:
        return message
    _, index, term = entries[known - 1]
    return {**message, "prevLogIdx": index, "prevLogTerm": term, "entries": entries[known:]}


def _first_of_term(journal: Journal, index: int, term: int, kept_index: int) -> int:
    """Return the index where the entries of a term begin here. The leader has none of them at these indexes, so it may
    skip them all.
    """
    while index - 1 > kept_index and journal.term_at(index - 1) == term:
        index -= 1
    return index
