"""Log dirs as people call them: without what all of a broker's have in common."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from guardian.model.plan import LoadSummary, PartitionMove, ReplicaPlacement
from guardian.model.topology import ANY_LOG_DIR


def short_log_dirs(places: Iterable[ReplicaPlacement]) -> dict[str, str]:
    """Log dir paths without what all of a broker's have in common: of /data/d1/kafka and /data/d2/kafka, d1 and d2."""
    by_broker: dict[int, set[str]] = {}
    for place in places:
        if place.log_dir != ANY_LOG_DIR:
            by_broker.setdefault(place.broker, set()).add(place.log_dir)
    names: dict[str, str] = {}
    # What a broker's only log dir is called for short tells little: the name that it has beside others wins.
    for paths in sorted(by_broker.values(), key=lambda paths: (len(paths), sorted(paths))):
        names |= _short(sorted(paths))
    return names


def _short(paths: Collection[str]) -> dict[str, str]:
    parts = {path: PurePosixPath(path).parts for path in paths}
    least = min(map(len, parts.values()))
    first = min(_alike(list(parts.values())), least - 1)
    last = min(_alike([each[::-1] for each in parts.values()]), least - 1 - first) if len(parts) > 1 else 0
    return {path: "/".join(each[first : len(each) - last]) for path, each in parts.items()}


def _alike(paths: Sequence[tuple[str, ...]]) -> int:
    """Return how many of their first parts are the same in all paths."""
    return len(list(itertools.takewhile(lambda part: len(set(part)) == 1, zip(*paths, strict=False))))


def shortened(text: str, names: Mapping[str, str]) -> str:
    """A sentence with its log dirs' short names."""
    for path in sorted(names, key=len, reverse=True):
        text = text.replace(path, names[path])
    return text


def names_of(moves: Iterable[PartitionMove], loads: Iterable[LoadSummary] = ()) -> dict[str, str]:
    """Return the short names of all log dirs that moves and loads are about."""
    return short_log_dirs(
        [place for move in moves for place in (*move.original, *move.target)]
        + [ReplicaPlacement(load.broker, load.log_dir) for load in loads if load.log_dir]
    )


def places_text(places: Iterable[ReplicaPlacement], names: Mapping[str, str]) -> str:
    """Return replicas as `1:d0, 2:d1`; the first is the preferred leader."""
    return ", ".join(
        str(place.broker)
        if place.log_dir == ANY_LOG_DIR
        else f"{place.broker}:{names.get(place.log_dir, place.log_dir)}"
        for place in places
    )
