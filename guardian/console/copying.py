"""What tickets copy to, from and within each broker of a cluster, found in one walk over their tasks. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from guardian.model.execution import AdaptedRate, Execution, ExecutionTask, TaskState
from guardian.model.ticket import Ticket


@dataclass(frozen=True, slots=True)
class Copying:
    """A partition that a ticket moves to, from or within the broker."""

    ticket: Ticket
    task: ExecutionTask
    is_into: bool


@dataclass(frozen=True, slots=True)
class Copies:
    """Of one broker: what runs comes first; `rates` are what copies may take of it."""

    moving: tuple[Copying, ...] = ()
    rates: tuple[tuple[Ticket, AdaptedRate], ...] = ()


def copies_by_broker(running: Iterable[tuple[Ticket, Execution]]) -> dict[int, Copies]:
    """Return by broker the copies of tasks that are not over."""
    moving: defaultdict[int, list[Copying]] = defaultdict(list)
    rates: defaultdict[int, list[tuple[Ticket, AdaptedRate]]] = defaultdict(list)
    for ticket, execution in running:
        for rate in execution.rates:
            if not rate.line:
                rates[rate.broker].append((ticket, rate))
        for task in execution.tasks:
            if task.state.is_over:
                continue
            sources = {place.broker for place in task.move.original}
            targets = {place.broker for place in task.move.target}
            for broker in sources | targets:
                moving[broker].append(Copying(ticket, task, broker in targets - sources))
    return {
        broker: Copies(tuple(sorted(moving[broker], key=_order)), tuple(rates[broker]))
        for broker in sorted({*moving, *rates})
    }


def _order(each: Copying) -> tuple[bool, int, int]:
    return each.task.state is TaskState.PENDING, each.task.started_at_ms, each.task.number
