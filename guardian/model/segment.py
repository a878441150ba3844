"""States of a tiered-storage segment and their transitions (KIP-405).

    none -> COPY_SEGMENT_STARTED -> COPY_SEGMENT_FINISHED -> DELETE_SEGMENT_STARTED -> DELETE_SEGMENT_FINISHED
                     └──────────────────────────────────────────────┘

Source: Kafka's RemoteLogSegmentState.isValidTransition. Repeating a state is valid, so retries are idempotent.
"""

from __future__ import annotations

from enum import Enum


class RemoteLogSegmentState(Enum):
    """Values are those of the wire, and are stored: never renumber."""

    COPY_SEGMENT_STARTED = 1
    COPY_SEGMENT_FINISHED = 2
    DELETE_SEGMENT_STARTED = 3
    DELETE_SEGMENT_FINISHED = 4


_NEXT: dict[RemoteLogSegmentState | None, frozenset[RemoteLogSegmentState]] = {
    None: frozenset({RemoteLogSegmentState.COPY_SEGMENT_STARTED}),
    RemoteLogSegmentState.COPY_SEGMENT_STARTED: frozenset(
        {RemoteLogSegmentState.COPY_SEGMENT_FINISHED, RemoteLogSegmentState.DELETE_SEGMENT_STARTED}
    ),
    RemoteLogSegmentState.COPY_SEGMENT_FINISHED: frozenset({RemoteLogSegmentState.DELETE_SEGMENT_STARTED}),
    RemoteLogSegmentState.DELETE_SEGMENT_STARTED: frozenset({RemoteLogSegmentState.DELETE_SEGMENT_FINISHED}),
    RemoteLogSegmentState.DELETE_SEGMENT_FINISHED: frozenset(),
}


def is_valid_transition(current: RemoteLogSegmentState | None, target: RemoteLogSegmentState) -> bool:
    """Return whether a segment may go from `current` (None: not stored) to `target`."""
    return current == target or target in _NEXT[current]
