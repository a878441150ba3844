"""The last look at a ticket before it ends: whether a throttle that was put back is there again. Pure.

A request that was late, as out of the socket of a broker that was stopped, may set it again.
"""

from __future__ import annotations

from guardian.model.cluster_state import ClusterObservation
from guardian.model.effects import ConfigKey
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.owned_setting import OwnedSetting
from guardian.throttle.rules import throttling
from guardian.throttle.rules.throttling import Copy


def looks_once_more(execution: Execution) -> bool:
    """Return whether all that the ticket moved must be observed: its throttles were put back, and it may end."""
    is_done_with_throttles = bool(execution.lifted) and not execution.throttles
    return is_done_with_throttles and all(task.state.is_over for task in execution.tasks)


def shown_again(
    execution: Execution, observation: ClusterObservation, held_by_others: frozenset[ConfigKey]
) -> tuple[OwnedSetting, ...]:
    """Throttles that were put back, and yet are there at the last look, though nobody else holds them."""
    if not looks_once_more(execution):
        return ()
    copies = [copy for task in execution.tasks if (copy := _copy_of_ended(task))]
    shown = throttling.rates_shown_again(execution.lifted, observation)
    shown += throttling.entries_shown_again(execution.lifted, copies, observation)
    return tuple(intent for intent in shown if ConfigKey.of(intent) not in held_by_others)


def _copy_of_ended(task: ExecutionTask) -> Copy | None:
    """Return what an ended task listed as copied: on its way, and, where it is not where it was to go, on its way
    back.
    """
    original = {replica.broker for replica in task.move.original}
    target = {replica.broker for replica in task.move.target}
    copied = target - original if task.state is TaskState.DONE else original ^ target
    if not task.started_at_ms or not original or not copied:
        return None
    return Copy(task.move.partition, 0.0, 0, tuple(original | target), tuple(copied))
