"""What to tidy up in an hour's directory of the lake, or whether to remove it. Pure.

Members write a file a minute each. Once an hour is over, its files become one; the old ones stay for a while, since a
reader may have listed them. The new file names those that it replaces, so that whoever comes next, also after a crash,
removes them and never merges them again. Meanwhile rows are there twice: readers drop duplicates by the collection
that a row belongs to (cluster, broker, at_ms).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

HIDDEN = "."
MIN_FILES = 2


@dataclass(frozen=True, slots=True)
class LakeTimes:
    """Milliseconds: how long rows are kept, after its end an hour is merged, and after that the old files stay. A file
    that was begun and never finished is removed once it is `abandoned_ms` old."""

    retention_ms: int
    settled_ms: int = 600_000
    grace_ms: int = 900_000
    abandoned_ms: int = 3_600_000


@dataclass(frozen=True, slots=True)
class LakeFile:
    """`replaces` are the names of those whose rows are in this one too; empty for a member's own file."""

    modified_ms: int
    replaces: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Chores:
    """Files by name: to be removed, and, in this order, to be merged into one. Or the whole directory is too old."""

    expired: bool = False
    remove: tuple[str, ...] = ()
    merge: tuple[str, ...] = field(default=())


NOTHING = Chores()


def chores(hour_end_ms: int, files: Mapping[str, LakeFile], now_ms: int, times: LakeTimes) -> Chores:
    """Decide what an hour's directory needs now. `hour_end_ms` in ms since the epoch."""
    if hour_end_ms < now_ms - times.retention_ms:
        return Chores(expired=True)
    abandoned = [
        name
        for name, file in files.items()
        if name.startswith(HIDDEN) and file.modified_ms < now_ms - times.abandoned_ms
    ]
    whole = {name: file for name, file in files.items() if not name.startswith(HIDDEN)}
    replaced = {name: file.modified_ms for file in whole.values() for name in file.replaces if name in whole}
    over = [name for name, since_ms in replaced.items() if since_ms < now_ms - times.grace_ms]
    current = sorted(name for name in whole if name not in replaced)
    is_settled = hour_end_ms < now_ms - times.settled_ms
    merge = tuple(current) if is_settled and len(current) >= MIN_FILES else ()
    return Chores(remove=tuple(sorted([*abandoned, *over])), merge=merge)
