"""Whatever is done to a journal, in any order: it holds what a plain list would, and its disk what was synced last."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import raft.storage.journal
from raft.configuration import Configuration
from raft.entries import NO_OP, configuration_entry, configuration_in
from raft.storage.journal import Entry, Journal

pytestmark = pytest.mark.slow

CONFIGURATIONS = [
    Configuration.of_voters("g", {name: f"host:{name}" for name in names}) for names in ("a", "ab", "abc")
]
BODIES = st.one_of(
    st.binary(max_size=60).map(lambda command: b"\x00\x00" + command),
    st.just(NO_OP),
    st.sampled_from(CONFIGURATIONS).map(configuration_entry),
)


class JournalMachine(RuleBasedStateMachine):
    """`held` is what the journal must hold, `stored` what its disk must, each with the configuration before it."""

    @initialize(segment_bytes=st.sampled_from([1, 200, 700, 1 << 20]))
    def begin(self, segment_bytes: int) -> None:
        self.directory = Path(tempfile.mkdtemp())
        self.patch = patch.object(raft.storage.journal, "SEGMENT_BYTES", segment_bytes)
        self.patch.start()
        self.journal = Journal(self.directory, CONFIGURATIONS[0])
        self.journal.set_vote(1, None)
        self.held: list[Entry] = [(NO_OP, 1, 0)]
        self.stored = list(self.held)
        self.before: tuple[int, Configuration] = (0, CONFIGURATIONS[0])

    @rule(bodies=st.lists(BODIES, min_size=1, max_size=6), term=st.integers(0, 5))
    def append(self, bodies: list[bytes], term: int) -> None:
        for body in bodies:
            entry = (body, self.held[-1][1] + 1, term)
            self.journal.append(*entry)
            self.held.append(entry)

    @rule(fraction=st.floats(0, 1))
    def truncate(self, fraction: float) -> None:
        position = 1 + int(fraction * (len(self.held) - 1))
        self.journal.truncate(position)
        del self.held[position:]

    @rule()
    def sync(self) -> None:
        self.journal.sync()
        self.stored = list(self.held)

    @rule(fraction=st.floats(0, 1))
    def trim(self, fraction: float) -> None:
        up_to = self.held[int(fraction * (len(self.held) - 1))][1]
        self.journal.trim(up_to)
        first = self.journal.first_index
        assert first <= up_to
        dropped = [entry for entry in self.held if entry[1] < first]
        self.before = newest_configuration(self.before, dropped)
        self.held = [entry for entry in self.held if entry[1] >= first]
        self.stored = [entry for entry in self.stored if entry[1] >= first]

    @rule(index=st.integers(1, 60), term=st.integers(0, 5), configuration=st.sampled_from(CONFIGURATIONS))
    def reset(self, index: int, term: int, configuration: Configuration) -> None:
        self.journal.reset(index, term, configuration)
        self.held = [(NO_OP, index, term)]
        self.stored = list(self.held)
        self.before = (index, configuration)

    @rule(is_closed=st.booleans())
    def reopen(self, is_closed: bool) -> None:
        if is_closed:
            self.journal.close()
            self.stored = list(self.held)
        self.journal = Journal(self.directory)
        self.held = list(self.stored)

    @invariant()
    def holds_what_it_must(self) -> None:
        assert self.journal[:] == self.held
        assert len(self.journal) == len(self.held)
        expected = newest_configuration(self.before, self.held)
        assert (self.journal.configuration_index, self.journal.configuration) == expected
        for position in range(1, len(self.held) + 1):
            at = newest_configuration(self.before, self.held[:position])[1]
            assert self.journal.configuration_at(self.held[position - 1][1]) == at

    def teardown(self) -> None:
        if hasattr(self, "directory"):
            self.journal.close()
            self.patch.stop()
            shutil.rmtree(self.directory)


def newest_configuration(before: tuple[int, Configuration], entries: list[Entry]) -> tuple[int, Configuration]:
    found = before
    for body, index, _ in entries:
        configuration = configuration_in(body)
        if configuration is not None:
            found = (index, configuration)
    return found


TestJournal = JournalMachine.TestCase
TestJournal.settings = settings(max_examples=60, stateful_step_count=30)
