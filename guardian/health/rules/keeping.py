"""What of a watch is stored for the next leader, when, and with what that one begins. Pure.

A finding that two leaders see is one finding. It goes on as it is, with the time since which it is known, until looks
of the new leader have not seen it for as long as that always takes. What is older than `FRESH_MS` is left out: nobody
looked meanwhile, and what is so again began anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from guardian.health.model.finding import Seen
from guardian.health.rules.findings import Watch
from guardian.model.event import MAX_KEPT_FINDINGS

EVERY_MS = 60_000
FRESH_MS = 3 * EVERY_MS

Mark = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """Hold what was stored last of a cluster: its mark, and when."""

    mark: Mark = ()
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class ToKeep:
    """Name what is to be stored of a cluster; `seen` is all of it."""

    cluster: str
    kept: Kept
    seen: tuple[Seen, ...]


def to_keep(watch: Watch, last: Mapping[str, Kept], now_ms: int) -> list[ToKeep]:
    """Return the clusters of which something else is seen than was stored, or which were stored a while ago."""
    by_cluster: dict[str, list[Seen]] = defaultdict(list)
    for seen in watch.seen.values():
        by_cluster[seen.place.cluster].append(seen)
    found = []
    for cluster in sorted(by_cluster.keys() | last.keys()):
        gravest = sorted(by_cluster[cluster], key=lambda seen: (not seen.is_raised, seen.sighting.subject.kind.gravity))
        shown = tuple(gravest[:MAX_KEPT_FINDINGS])
        mark = tuple(sorted((*each.sighting.subject, each.since_ms, each.is_raised) for each in shown))
        known = last.get(cluster, Kept())
        if mark != known.mark or (mark and now_ms - known.at_ms >= EVERY_MS):
            found.append(ToKeep(cluster, Kept(mark, now_ms), shown))
    return found


def restored(kept: Iterable[tuple[int, Iterable[Seen]]], now_ms: int) -> Watch:
    """Return the watch with which a new leader begins, of what was stored at some times. Nothing was looked at yet."""
    return Watch(
        {
            seen.sighting.subject: replace(seen, last_seen_ms=now_ms)
            for at_ms, of_cluster in kept
            if now_ms - at_ms < FRESH_MS
            for seen in of_cluster
        }
    )
