"""The page of the docs that is the fault matrix: pure, from rows to Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from guardian.model.faults.outcome import Span
from tests.bench.faults.rows import Row, loss_text, read_text

_HEAD = """\
# What faults do: predicted and measured

Each line is a topic of a real cluster of Kafka 4.3 (with ELR off: 4.0, whose features leave it so): replication factor
3, all in sync, 20 to 50 records a second. The fault
was made by a pulled cable (network namespaces), kill -9, SIGSTOP, or by taking away what was never fsynced.
`guardian what-if` predicts by the same code. A clock is set for the broker's process alone, by a preloaded library.

Intervals of this cluster: {times}. Lost is counted by the numbers of acknowledged records; silent is the longest time
without an acknowledgement. Read and lost counts records that a consumer had and that are gone; it is silent while
nothing new comes. `make bench-faults` writes this page; how to read a prediction: [faults](faults.md).
"""
_COLUMNS = (
    "ELR",
    "topic and producer",
    "lost: predicted",
    "measured",
    "silent: predicted",
    "measured",
    "read and lost: predicted",
    "measured",
    "as predicted",
    "measured on",
)


def page(rows: Iterable[Row], times: str) -> str:
    """Return the page. Rows of repeats are one line, with the least and the most that happened."""
    key = lambda row: (row.story, not row.elr, row.setting.name)  # noqa: E731
    lines = [_HEAD.format(times=times)]
    for story, of_story in groupby(sorted(rows, key=key), key=lambda row: row.story):
        lines += [
            f"## {story[0].upper()}{story[1:]}\n",
            f"| {' | '.join(_COLUMNS)} |",
            "|---" * len(_COLUMNS) + "|",
        ]
        lines += [_line(list(same)) for _, same in groupby(of_story, key=lambda row: (row.elr, row.setting.name))]
        lines.append("")
    return "\n".join(lines)


def _line(same: Sequence[Row]) -> str:
    first = same[0]
    right = sum(not (row.verdict.wrong_lost or row.verdict.wrong_safe) for row in same)
    in_band = sum(row.verdict.in_band for row in same)
    silent = _span(row.predicted.silent_s for row in same) if first.is_silence_foretold else "not told"
    return (
        f"| {'on' if first.elr else 'off'} | {first.setting.name} | {loss_text(first.predicted)} "
        f"| {_range([len(row.happened.lost) for row in same])} of {_range([row.happened.acked for row in same])} "
        f"| {silent} | {_range([round(row.happened.silent_s) for row in same])} s "
        f"| {_read_predicted(same)} | {_read(same)} "
        f"| loss {right} of {len(same)}"
        + (f", silence {in_band} of {len(same)}" if first.is_silence_foretold else "")
        + f" | {max(row.day for row in same)} |"
    )


def _read_predicted(same: Sequence[Row]) -> str:
    first = same[0]
    silent = f", silent {_span(row.predicted.unread_s for row in same)}" if first.is_silence_foretold else ""
    return f"{read_text(first.predicted)}{silent}"


def _span(spans: Iterable[Span]) -> str:
    found = list(spans)
    return f"{min(each.least_s for each in found):.0f} to {max(each.most_s for each in found):.0f} s"


def _read(same: Sequence[Row]) -> str:
    found = [row.happened.readers for row in same if row.happened.readers]
    if not found:
        return "not measured"
    return f"{_range([each.lost for each in found])}, silent {_range([round(each.silent_s) for each in found])} s"


def _range(values: Sequence[int]) -> str:
    return str(values[0]) if min(values) == max(values) else f"{min(values)} to {max(values)}"
