"""What is left of each line between IDCs for moves: its share of the capacity, less what clients and replication take.

    links file (capacity, IDCs) ─┐
    the lake, the activity store ┴─▶ tick, on the leader ─▶ room() ─▶ executor: caps on what brokers take in

What moves themselves copy is in none of those numbers, so that a move does not make room for itself vanish. A line
whose use can't be told has no room: moves go over it at the floor. That is so where the lake is silent about a cluster
at both ends, and until a new leader has looked. It is so too where no member keeps what clients do, unless the member
is told to fill lines all the same. What clients of no known network move counts on each line that it may cross.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from guardian.activity.store.store import ActivityStore
from guardian.errors import GuardianError
from guardian.lake.model.window import Window
from guardian.lake.store.reader import LakeReader, ReadLimits
from guardian.links.loop.link_use import Carried, LinkUseReader
from guardian.links.rules.links import MINUTE_MS
from guardian.model.links import Direction, LinkSettings, load_links
from guardian.model.topology import Cluster
from guardian.throttle.rules.adapting import Line

_LIMITS = ReadLimits(seconds=20.0)
_MINUTES = 3  # the busiest of so many counts
_STALE_MS = 2 * MINUTE_MS  # what was known so long ago was known when this member led the last time


class LineRoom:
    """`tick` is for one thread, `room` for any. `share` of a line's capacity is for all of its traffic; `lag_ms` is how
    late rows may be in the lake. `without_clients` takes replication for all that there is where no client activity is
    kept. Raises InvalidInput when the links file is wrong at first.
    """

    def __init__(
        self,
        clusters: Callable[[], list[Cluster]],
        lake_url: str,
        activity: ActivityStore | None,
        links_file: Path | None,
        share: float,
        lag_ms: int,
        now_ms: Callable[[], int],
        without_clients: bool = False,
    ) -> None:
        self._clusters = clusters
        self._lake_url = lake_url
        self._activity = activity
        self._links_file = links_file
        self._share = share
        self._lag_ms = lag_ms
        self._now_ms = now_ms
        self._without_clients = without_clients
        self._room: Mapping[Line, float] = dict.fromkeys(_limited(load_links(links_file)) if links_file else (), 0.0)
        self._told_ms = now_ms()
        self._lock = threading.Lock()

    def room(self) -> Mapping[Line, float]:
        """Bytes/s, by line and direction; a line without a limit is left out."""
        with self._lock:
            is_stale = self._now_ms() - self._told_ms > _STALE_MS
            return dict.fromkeys(self._room, 0.0) if is_stale else self._room

    def tick(self) -> list[str]:
        """Looks again. Where that fails, no line that has a limit has room, and the sentence says why."""
        if self._links_file is None:
            return []
        with self._lock:
            lines: Collection[Line] = self._room.keys()
        found: Mapping[Line, float] = {}
        said: list[str] = []
        try:
            limits = _limited(load_links(self._links_file))
            lines = limits.keys()
            if limits:
                found, said = self._left(limits)
        except GuardianError as error:
            said = [f"the use of lines can't be told, so moves take their least over them: {error}"]
        with self._lock:
            self._room, self._told_ms = {line: found.get(line, 0.0) for line in lines}, self._now_ms()
        return said

    def _left(self, limits: Mapping[Direction, float]) -> tuple[dict[Line, float], list[str]]:
        """Return what is left of the lines whose use can be told, in bytes/s, and what people should know."""
        end_ms = (self._now_ms() - self._lag_ms) // MINUTE_MS * MINUTE_MS
        window = Window(end_ms - _MINUTES * MINUTE_MS, end_ms)
        reader = LinkUseReader(LakeReader(self._lake_url, _LIMITS), self._activity, self._links_file)
        carried = reader.carried(self._clusters(), window, limits, without_clients=self._without_clients)
        left: dict[Line, float] = {
            line: max(0.0, limits[line] * self._share / 8 - used) for line, used in carried.bytes_per_s.items()
        }
        return left, list(_sentences(carried))


def _limited(settings: LinkSettings) -> dict[Direction, float]:
    """bits/s each way."""
    return {
        Direction(*way): line.bits_per_s
        for line in settings.lines.values()
        if line.bits_per_s
        for way in (line.between, line.between[::-1])
    }


def _sentences(carried: Carried) -> Iterator[str]:
    """The same as long as it holds."""
    for why in dict.fromkeys(carried.unknown.values()):
        lines = " and ".join(f"{one} to {other}" for (one, other), reason in carried.unknown.items() if reason == why)
        yield f"moves take their least over {lines}: {why}"
    if carried.has_unplaced:
        yield (
            "clients from addresses in no network count on each line that they may cross: give [networks] in the file "
            "that `links` names"
        )
