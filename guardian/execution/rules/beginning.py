"""How a ticket that carries a plan begins: whether the plan still fits the cluster, and the tasks made of it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from guardian.execution.rules import creating
from guardian.execution.rules.converging import was_moved_away
from guardian.model.cluster_state import ClusterObservation
from guardian.model.effects import TOPIC
from guardian.model.execution import Execution, ExecutionTask
from guardian.model.plan import PartitionMove, Plan
from guardian.model.ticket import Ticket

TIERED = "remote.storage.enable"
_HOLD_LIMIT = 2  # warm-up times: one to copy, one in sync


def begin(ticket: Ticket, plan: Plan, tiered: Collection[str] = (), warm_up_s: float = 0.0) -> Execution:
    """All tasks PENDING, in the order in which they start: the plan's own, or most relief per byte first, then by name.

    New replicas of the `tiered` topics lead when they hold what is written in `warm_up_s`; at once when that is 0.
    """
    numbered = enumerate(_listed(plan), start=1)
    warm_ups = dict.fromkeys(tiered, warm_up_s)
    tasks = tuple(_task(number, move, warm_ups.get(move.partition.topic, 0.0)) for number, move in numbered)
    configs = tuple(sorted(creating.topic_configs(plan).items()))
    if configs:
        tasks = tuple(replace(task, topic_configs=configs) if _creates_topic(task) else task for task in tasks)
    return Execution(ticket.id, tasks)


def _listed(plan: Plan) -> Sequence[PartitionMove]:
    if plan.is_ordered:
        return plan.moves
    return sorted(plan.moves, key=lambda m: (-m.write_rate / max(m.bytes_to_copy, 1), m.partition))


def in_order(plan: Plan) -> list[PartitionMove]:
    """Return the plan's moves in the order in which the executor starts them: all of a stage before the next one's."""
    return sorted(_listed(plan), key=lambda move: move.stage)


def _creates_topic(task: ExecutionTask) -> bool:
    return task.move.is_new and task.move.partition.partition == 0


def tiered_topics(observation: ClusterObservation) -> frozenset[str]:
    """The topics whose segments are copied to remote storage."""
    configs = observation.configs.items()
    return frozenset(name for (kind, name), values in configs if kind == TOPIC and values.get(TIERED) == "true")


def _task(number: int, move: PartitionMove, warm_up_s: float) -> ExecutionTask:
    return ExecutionTask(
        number, move, cover_bytes=round(move.write_rate * warm_up_s), hold_ms=round(_HOLD_LIMIT * warm_up_s * 1000)
    )


def why_stale(plan: Plan, observation: ClusterObservation) -> str:
    """Say why the plan must not start (the cluster changed since it was made); empty when it may."""
    return next((reason for move in plan.moves if (reason := was_moved_away(move, observation))), "")
