"""The effects of all tasks of a ticket, put together in one request of each kind. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from guardian.execution.rules import creating
from guardian.execution.rules.converging import Look
from guardian.model.cluster_state import ClusterObservation
from guardian.model.effects import (
    AlterConfigs,
    AlterReassignments,
    AlterReplicaLogDirs,
    ConfigChange,
    ConfigKey,
    CreatePartitions,
    Effect,
    ElectLeaders,
)
from guardian.model.execution import ACTIVE, ExecutionTask
from guardian.model.topology import TopicPartition


def effects_of(
    tasks: tuple[ExecutionTask, ...],
    looks: Mapping[int, Look],
    held: frozenset[int],
    changes: Mapping[ConfigKey, ConfigChange],
    observation: ClusterObservation,
) -> tuple[Effect, ...]:
    """Throttles first, then one request of each kind for all tasks; what copies waits while its throttle is unset."""
    active = [task.number for task in tasks if task.state in ACTIVE]
    allowed = [looks[number] for number in active if not (looks[number].copies and number in held)]
    throttle: tuple[Effect, ...] = (AlterConfigs(changes),) if changes else ()
    return throttle + _batched((effect for found in allowed for effect in found.effects), tasks, observation)


def _batched(
    effects: Iterable[Effect], tasks: tuple[ExecutionTask, ...], observation: ClusterObservation
) -> tuple[Effect, ...]:
    """The log dirs of replicas that are to come are told before the request that brings them (trap 22)."""
    created: dict[TopicPartition, tuple[int, ...]] = {}
    resized: dict[TopicPartition, tuple[int, ...] | None] = {}
    ahead: dict[tuple[TopicPartition, int], str] = {}
    targets: dict[TopicPartition, tuple[int, ...] | None] = {}
    log_dirs: dict[tuple[TopicPartition, int], str] = {}
    elections: list[TopicPartition] = []
    for effect in effects:
        match effect:
            case AlterReplicaLogDirs(moved, is_ahead):
                (ahead if is_ahead else log_dirs).update(moved)
            case AlterReassignments(reassigned, changes_replication_factor):
                (resized if changes_replication_factor else targets).update(reassigned)
            case CreatePartitions(made):
                created.update(made)
            case ElectLeaders(elected):
                elections.extend(elected)
    batches: list[Effect] = []
    if ahead:
        batches.append(AlterReplicaLogDirs(ahead, ahead=True))
    batches.extend(creating.requests(created, tasks, observation))
    if targets:
        batches.append(AlterReassignments(targets))
    if resized:
        batches.append(AlterReassignments(resized, changes_replication_factor=True))
    if log_dirs:
        batches.append(AlterReplicaLogDirs(log_dirs))
    if elections:
        batches.append(ElectLeaders(tuple(elections)))
    return tuple(batches)
