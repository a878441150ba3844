"""How far a log is cut."""

from __future__ import annotations

import pytest

from raft.rules.trimming import trim_limit

MIB = 1 << 20


@pytest.mark.parametrize(
    ("first", "last", "size", "synced", "held", "limit"),
    [
        (1, 1000, MIB, 1000, None, None),  # short enough
        (1, 150_001, MIB, 150_001, None, 50_001),  # too many entries
        (1, 10_001, 128 * MIB, 10_001, None, 5_001),  # too many bytes
        (1, 150_001, MIB, 20_000, None, 20_000),  # only what the state machine keeps
        (1, 150_001, MIB, 150_001, 30_000, 30_000),  # a snapshot is under way
        (1, 150_001, MIB, 20_000, 30_000, 20_000),  # both, and the lesser counts
        (1, 150_001, MIB, 0, None, None),  # nothing is synced
        (40_000, 150_000, MIB, 150_000, 0, None),  # somebody needs all of it
        (1, 10_001, 1024 * MIB, 10_001, 0, 9_376),  # but not when it fills the leader's memory
    ],
)
def test_the_log_is_cut_as_far_as_nobody_needs_it(
    first: int, last: int, size: int, synced: int, held: int | None, limit: int | None
) -> None:
    found = trim_limit(first_index=first, last_index=last, size_bytes=size, synced_index=synced, held_index=held)
    assert found == limit
