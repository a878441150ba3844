"""How far the log may be cut: members that were away for a while catch up from it, longer ones by a snapshot."""

from __future__ import annotations

KEPT_BYTES = 64 << 20
KEPT_ENTRIES = 100_000
MAX_HELD_BYTES = 512 << 20
"""A log that has grown so large is cut although somebody installs a snapshot: it starts anew with a newer one, rather
than that one slow member fills memory and disk of the leader."""


def trim_limit(
    *,
    first_index: int,
    last_index: int,
    size_bytes: int,
    synced_index: int,
    held_index: int | None,
    kept_bytes: int = KEPT_BYTES,
    kept_entries: int = KEPT_ENTRIES,
) -> int | None:
    """The index up to which the log may go, or None when all of it is to be kept.

    Never beyond `synced_index` (what the state machine would find after a crash) nor, up to MAX_HELD_BYTES, beyond
    `held_index` (where a member that installs a snapshot goes on).
    """
    if size_bytes > MAX_HELD_BYTES:
        held_index = None
    entries = last_index - first_index
    surplus = entries - kept_entries
    if size_bytes > kept_bytes:
        surplus = max(surplus, entries * (size_bytes - kept_bytes) // size_bytes)  # as if all were of one size
    limit = min(first_index + surplus, synced_index, synced_index if held_index is None else held_index)
    return limit if limit > first_index else None
