"""Pages of a table by its keys: each begins behind the key that the one before ended with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge

from guardian.errors import InvalidInput
from metastore import keys
from metastore.store import ReadView

_REFERRERS = 32  # read at once: of many targets few are needed


def rows_behind(
    view: ReadView, prefix: bytes, after: bytes, limit: int, max_bytes: int
) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Return at most `limit` rows and, beyond the first, `max_bytes` of values, behind the key `after` (b"" for the
    first ones), and the last one's key; b"": that was all. Raises InvalidInput for a key of another list."""
    require_key_of(prefix, after)
    return rows_under(view, (prefix,), after, limit, max_bytes)


def require_key_of(prefix: bytes, after: bytes) -> None:
    """Raises InvalidInput where a page is to begin behind a key of another list; b"": it is the first one."""
    if after and not after.startswith(prefix):
        raise InvalidInput("page_token is another list's: use the next_page_token of the page before")


def narrowed(prefix: bytes, prefixes: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what `prefix` and each of the prefixes have in common; nothing where that is nothing."""
    for each in prefixes:
        if each.startswith(prefix) or prefix.startswith(each):
            yield max(prefix, each, key=len)


def rows_under(
    view: ReadView, prefixes: Iterable[bytes], after: bytes, limit: int, max_bytes: int
) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Return the same of the rows under several prefixes, which ascend: what lies between them is not read."""
    rows: list[tuple[bytes, bytes]] = []
    size = 0
    for prefix in prefixes:
        is_within = after.startswith(prefix)
        if after > prefix and not is_within:
            continue
        for key, value in view.scan(prefix, after + b"\x00" if is_within else b"", limit + 1 - len(rows)):
            size += len(value)
            if rows and (len(rows) == limit or size > max_bytes):
                return rows, rows[-1][0]
            rows.append((key, value))
    return rows, b""


def referrers_behind(view: ReadView, targets: Iterable[bytes], table: bytes, after: bytes) -> Iterator[bytes]:
    """Yield the keys of a table's entries behind the key `after` that name one of the targets, in their order, as
    whoever asks goes on. They are read by references, some at a time.
    """
    return merge(*(_referrers(view, keys.references(target), table, after) for target in targets))


def _referrers(view: ReadView, prefix: bytes, table: bytes, after: bytes) -> Iterator[bytes]:
    start = prefix + after + b"\x00" if after else b""
    while rows := view.scan(prefix + table, start, _REFERRERS):
        yield from (key[len(prefix) :] for key, _ in rows)
        if len(rows) < _REFERRERS:
            return
        start = rows[-1][0] + b"\x00"
