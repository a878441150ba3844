"""What is left of each line between IDCs for moves: its share of the capacity, less what clients and replication take.

    links file (capacity, IDCs) ─┐
    the lake, the activity store ┴─▶ tick, on the leader ─▶ room() ─▶ executor: caps on what brokers take in

What moves themselves copy is in none of those numbers, so that a move does not make room for itself vanish. A line
whose use can't be told has no room: moves go over it at the floor.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from guardian.activity.store import ActivityStore
from guardian.core.adapting import Line
from guardian.core.links import MINUTE_MS
from guardian.errors import GuardianError
from guardian.model.links import LinkSettings, load_links
from guardian.model.topology import Cluster
from guardian.server.link_use import LinkUseReader
from spark_analytics.lake.samples import LakeReader, ReadLimits
from spark_analytics.lake.window import Window

_LIMITS = ReadLimits(seconds=20.0)
_MINUTES = 3  # the busiest of so many counts


class LineRoom:
    """`tick` is for one thread, `room` for any. `share` of a line's capacity is for all of its traffic; `lag_ms` is how
    late rows may be in the lake."""

    def __init__(
        self,
        clusters: Callable[[], list[Cluster]],
        lake_url: str,
        activity: ActivityStore | None,
        links_file: Path | None,
        share: float,
        lag_ms: int,
        now_ms: Callable[[], int],
    ) -> None:
        self._clusters = clusters
        self._lake_url = lake_url
        self._activity = activity
        self._links_file = links_file
        self._share = share
        self._lag_ms = lag_ms
        self._now_ms = now_ms
        self._room: Mapping[Line, float] = {}
        self._lock = threading.Lock()

    def room(self) -> Mapping[Line, float]:
        """Bytes/s, by line and direction; a line without a limit is left out."""
        with self._lock:
            return self._room

    def tick(self) -> list[str]:
        """Looks again. Where that fails, no line that has a limit has room, and the sentence says why."""
        if self._links_file is None:
            return []
        settings = LinkSettings()
        said: list[str] = []
        used: dict[Line, float] | None = None
        try:
            settings = load_links(self._links_file)
            if any(line.bits_per_s for line in settings.lines.values()):
                used = self._used()
        except GuardianError as error:
            said.append(f"the use of lines can't be told, so moves take their least over them: {error}")
        found = {
            direction: max(0.0, line.bits_per_s * self._share / 8 - used.get(direction, 0.0))
            if used is not None
            else 0.0
            for line in settings.lines.values()
            if line.bits_per_s
            for direction in (line.between, (line.between[1], line.between[0]))
        }
        with self._lock:
            self._room = found if settings.lines else dict.fromkeys(self._room, 0.0)
        return said

    def _used(self) -> dict[Line, float]:
        end_ms = (self._now_ms() - self._lag_ms) // MINUTE_MS * MINUTE_MS
        window = Window(end_ms - _MINUTES * MINUTE_MS, end_ms)
        reader = LinkUseReader(LakeReader(self._lake_url, _LIMITS), self._activity, self._links_file)
        return {
            (use.direction.from_idc, use.direction.to_idc): use.peak_bits_per_s / 8
            for use in reader.uses(self._clusters(), window)
        }
