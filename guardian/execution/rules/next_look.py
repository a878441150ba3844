"""When the next look at a ticket should come soon. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from guardian.model.effects import TOPIC, AlterConfigs, ConfigKey, SettleDebts
from guardian.model.execution import ACTIVE, Execution, ExecutionTask, TaskState
from guardian.model.text import without_text
from guardian.model.throttle import DEFAULT_THROTTLE, LISTS
from guardian.tickets.rules.progressing import bytes_of

_SOON_OVER_MS = 1_000
_SOON_OVER_BYTES = DEFAULT_THROTTLE * _SOON_OVER_MS // 1_000


def may_soon_be_over(execution: Execution, throttle: int, now_ms: int) -> bool:
    """Return whether a small move began so lately that it may end at any moment: its slot would lie idle until the next
    look.

    Kafka alone takes up to half a second (`replica.fetch.wait.max.ms`) until a follower asks for a partition that is
    new to it. What is still not over after a second goes slowly. `throttle` is bytes/s per broker, 0 for none.
    """
    at_once = min(_SOON_OVER_BYTES, throttle * _SOON_OVER_MS // 1_000) if throttle else _SOON_OVER_BYTES
    return any(
        task.state in ACTIVE
        and 0 <= now_ms - task.started_at_ms < _SOON_OVER_MS  # less by the clock of a former leader
        and bytes_of(task.move, back=task.state is TaskState.REVERTING) <= at_once
        for task in execution.tasks
    )


def leads_on(before: Execution, after: Execution, effects: Iterable[object]) -> bool:
    """Return whether another step may follow this one at once.

    How much is copied, how fast it may be and what is said of it wait for the clock. Each look takes a few milliseconds
    of the brokers' time, and clients feel those.
    """
    return (
        len(before.tasks) != len(after.tasks)
        or any(map(_is_elsewhere, before.tasks, after.tasks))
        or _held_throttles(before) != _held_throttles(after)
        or (before.foreign, before.directory) != (after.foreign, after.directory)
        or without_text(before.operation) != without_text(after.operation)
        or any(map(_does_more_than_adapt, effects))
    )


def _is_elsewhere(before: ExecutionTask, after: ExecutionTask) -> bool:
    """Return whether more than the task's progress changed."""
    if before is after:
        return False
    return replace(before, copied_bytes=after.copied_bytes, detail=after.detail, reason=after.reason) != after


def _held_throttles(execution: Execution) -> set[tuple[object, ...]]:
    """Return the keys, and of lists their entries."""
    return {(ConfigKey.of(each), *(each.values if each.key in LISTS else ())) for each in execution.throttles}


def _does_more_than_adapt(effect: object) -> bool:
    """Return whether the effect is more than rates that take the place of rates, or what costs nobody anything while it
    waits.
    """
    if isinstance(effect, AlterConfigs):
        return any(
            key.resource_type == TOPIC or change.expected is None or change.value is None
            for key, change in effect.changes.items()
        )
    return not isinstance(effect, SettleDebts)
