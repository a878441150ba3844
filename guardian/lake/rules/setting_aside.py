"""Where a damaged file of the lake goes, and when it may. Pure.

    LAKE/<table>/cluster=/hour=/<file>.parquet  ──▶  LAKE/damaged/<table>/cluster=/hour=/<file>.parquet

One such file would keep all rows of its window from whoever reads it. There it is in nobody's way, whatever reads the
lake, and lies for whoever wants to look; it goes when its hour does.
"""

from __future__ import annotations

import re

DAMAGED = "damaged"
_YOUNG_MS = 60_000
_INSIDE = re.compile(r"/(\w+/cluster=[^/]+/hour=[^/]+/[^/]+)$")


def place_set_aside(path: str) -> str:
    """Return where a file of the lake goes, as its path is written; nothing where it is none of an hour's directory."""
    inside = _INSIDE.search(path)
    return f"{path[: inside.start()]}/{DAMAGED}/{inside[1]}" if inside else ""


def may_be_under_way(modified_ms: int | None, now_ms: int) -> bool:
    """Return whether somebody may still be copying the file; so it is where nothing says when it was written."""
    return modified_ms is None or now_ms - modified_ms < _YOUNG_MS
