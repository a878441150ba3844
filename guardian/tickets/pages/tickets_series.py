"""A ticket's throttle over time, above what the brokers suffered meanwhile: three charts on one axis of time. Pure.

bytes/s that copies may take of each broker   (events: each change is one)
how busy the brokers' disks were              (the lake)
how long producers waited, p99                (the lake)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from guardian.model.event import Event
from guardian.model.eventing import RATE
from guardian.model.throttle import FOLLOWER_RATE
from guardian.model.ticket import Ticket, TicketState
from guardian.web.pressure import PressureSeen

# More lines than these can't be told apart.
MOST_LINES = 6
_BROKER = "broker "
_EARLIER_MS = 300_000
_LONGEST_MS = 12 * 3_600_000

# (ms since the epoch, value); None: no longer set.
Steps = list[tuple[int, float | None]]


def rate_steps(events: Iterable[Event]) -> dict[str, Steps]:
    """Return by "broker 3" or "line east to west" each change of what copies may take. Of a ticket whose rates are
    fixed, return what was set in Kafka.
    """
    adapted: dict[str, Steps] = {}
    fixed: dict[str, Steps] = {}
    for event in events:
        for change in event.changes:
            if change.key in (RATE, FOLLOWER_RATE):
                steps = (adapted if change.key == RATE else fixed).setdefault(change.scope, [])
                steps.append((event.at_ms, float(change.after) if _is_number(change.after) else None))
    return adapted or fixed


def _is_number(text: str) -> bool:
    return text.isdecimal()


def brokers_of(steps: Mapping[str, Steps]) -> list[int]:
    """Those that have a rate, the ones whose rate changed most often first."""
    found = [(len(each), scope) for scope, each in steps.items() if scope.startswith(_BROKER)]
    ordered = sorted(found, key=lambda pair: (-pair[0], pair[1]))
    return [int(scope.removeprefix(_BROKER)) for _, scope in ordered if scope.removeprefix(_BROKER).isdecimal()]


def window_of(ticket: Ticket, now_ms: int) -> tuple[int, int]:
    """The time to show: from a little before it ran until it was over, the last hours of it where that is long."""
    starts = [past.at_ms for past in ticket.history if past.state in (TicketState.RUNNING, TicketState.ROLLING_BACK)]
    end_ms = ticket.history[-1].at_ms + 60_000 if ticket.state.is_over and ticket.history else now_ms
    end_ms = max(1, min(end_ms, now_ms))
    begin_ms = (starts[0] if starts else end_ms) - _EARLIER_MS
    return max(0, begin_ms, end_ms - _LONGEST_MS), end_ms


def charts(
    steps: Mapping[str, Steps], pressure: PressureSeen, brokers: Sequence[int], window: tuple[int, int]
) -> dict[str, object]:
    """Columns for the three charts. `brokers` are those to show."""
    begin_ms, end_ms = window
    shown = list(brokers)[:MOST_LINES]
    scopes = {f"{_BROKER}{broker}": steps.get(f"{_BROKER}{broker}", []) for broker in shown}
    lines = {scope: each for scope, each in steps.items() if not scope.startswith(_BROKER)}
    rates = {scope: _held(each, end_ms) for scope, each in {**scopes, **lines}.items() if each}
    seen = {f"{_BROKER}{id}": pressure.brokers[id] for id in shown if id in pressure.brokers}
    busy = {name: list(each.disk_busy) for name, each in seen.items() if each.disk_busy}
    waits = {name: list(each.produce_p99_ms) for name, each in seen.items() if each.produce_p99_ms}
    return {
        "from": begin_ms / 1000,
        "to": end_ms / 1000,
        "rate": aligned(rates, is_held=True),
        "busy": aligned(busy),
        "p99": aligned(waits),
    }


def _held(steps: Steps, end_ms: int) -> Steps:
    """A rate holds until it is changed: up to the end of what is shown."""
    if steps and steps[-1][1] is not None and steps[-1][0] < end_ms:
        return [*steps, (end_ms, steps[-1][1])]
    return steps


def aligned(
    series: Mapping[str, Sequence[tuple[int, float | None]]], *, is_held: bool = False
) -> dict[str, list[object]]:
    """Align the series: `at` in s since the epoch, and for each of `labels` its `values` then, None where there is
    none. `is_held`: a value holds until the next one.
    """
    times = sorted({at_ms for points in series.values() for at_ms, _ in points})
    columns: list[object] = []
    for points in series.values():
        known = dict(points)
        column: list[float | None] = []
        last: float | None = None
        for at_ms in times:
            last = known.get(at_ms, last if is_held else None)
            column.append(last)
        columns.append(column)
    return {"at": [at_ms / 1000 for at_ms in times], "labels": [*series], "values": columns}
