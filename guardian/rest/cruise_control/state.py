"""The answer of state: the executor, the monitor, the analyzer and the anomaly detector, as Guardian has them. Pure.

Several tickets may run on a cluster at once, where Cruise Control has one execution. The numbers are those of all, the
ids those of the oldest, and "guardian" lists the tickets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guardian.model.actor import Agent
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.ticket import Ticket, TicketState
from guardian.model.tickets.progress import Progress
from guardian.rest.cruise_control.placing import MB
from guardian.rest.cruise_control.user_tasks import task_id_of
from protos.guardian.v1 import insight_pb2

IDLE = "NO_TASK_IN_PROGRESS"
_BETWEEN, _INSIDE, _LEADER = "INTER_BROKER_REPLICA_ACTION", "INTRA_BROKER_REPLICA_ACTION", "LEADER_ACTION"
_IN_PROGRESS = {
    _BETWEEN: "INTER_BROKER_REPLICA_MOVEMENT_TASK_IN_PROGRESS",
    _INSIDE: "INTRA_BROKER_REPLICA_MOVEMENT_TASK_IN_PROGRESS",
    _LEADER: "LEADER_MOVEMENT_TASK_IN_PROGRESS",
}
_TASK_STATES = {
    TaskState.PENDING: "PENDING",
    TaskState.RUNNING: "IN_PROGRESS",
    TaskState.REVERTING: "ABORTING",
    TaskState.REVERTED: "ABORTED",
    TaskState.FAILED: "DEAD",
    TaskState.DONE: "COMPLETED",
}
_FINISHED = ("COMPLETED", "ABORTED", "DEAD")
# What Cruise Control's six kinds of anomalies are here, and where its answer has those of late.
_ANOMALIES: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "GOAL_VIOLATION": ("recentGoalViolations", (insight_pb2.SKEW, insight_pb2.DISK_FILLS)),
    "BROKER_FAILURE": ("recentBrokerFailures", (insight_pb2.BROKER_DOWN,)),
    "DISK_FAILURE": ("recentDiskFailures", (insight_pb2.LOG_DIR_OFFLINE,)),
    "METRIC_ANOMALY": ("recentMetricAnomalies", (insight_pb2.SLOW_DISK, insight_pb2.LINE_NEAR_LIMIT)),
    "TOPIC_ANOMALY": (
        "recentTopicAnomalies",
        (
            insight_pb2.TOPIC_OFFLINE,
            insight_pb2.TOPIC_AT_RISK,
            insight_pb2.TOPIC_WEAK,
            insight_pb2.UNDER_MIN_ISR,
            insight_pb2.AT_MIN_ISR,
        ),
    ),
    "MAINTENANCE_EVENT": ("recentMaintenanceEvents", ()),
}
_HEALED = frozenset({"GOAL_VIOLATION", "BROKER_FAILURE", "DISK_FAILURE", "METRIC_ANOMALY"})


@dataclass(frozen=True, slots=True)
class Driven:
    """A ticket that the executor has to do with."""

    ticket: Ticket
    execution: Execution | None
    progress: Progress | None


@dataclass(frozen=True, slots=True)
class Concurrency:
    """How many moves a broker and how many leaders a cluster may have under way."""

    per_broker: int
    per_cluster: int


def _kind(task: ExecutionTask) -> str:
    if task.move.added_brokers or task.move.changes_replication_factor:
        return _BETWEEN
    return _INSIDE if task.move.log_dir_moves else _LEADER


def executor_state(driven: Sequence[Driven]) -> str:
    """Return what Cruise Control would say that it does."""
    states = {each.ticket.state for each in driven}
    if not states:
        return IDLE
    if states & {TicketState.CANCELLING, TicketState.ROLLING_BACK}:
        return "STOPPING_EXECUTION"
    left = {
        _kind(task)
        for each in driven
        if each.execution is not None
        for task in each.execution.tasks
        if not task.state.is_over
    }
    for kind, name in _IN_PROGRESS.items():
        if kind in left:
            return name
    return "STARTING_EXECUTION"


def executor_document(
    driven: Sequence[Driven], concurrency: Concurrency, removed: Sequence[int], *, verbose: bool
) -> dict[str, Any]:
    """`removed` are the brokers with an exclusion."""
    state = executor_state(driven)
    answer: dict[str, Any] = {"state": state}
    if removed:
        answer["recentlyRemovedBrokers"] = list(removed)
    if state == IDLE:
        return answer
    first = min((each.ticket for each in driven), key=lambda ticket: ticket.created_at_ms)
    by_person = first.author is not Agent.HEALING
    own_id = task_id_of(first)
    answer |= {
        "triggeredUserTaskId": own_id if by_person else "",
        "triggeredSelfHealingTaskId": "" if by_person else own_id,
        "triggeredTaskReason": first.history[0].reason if first.history else "",
        "guardian": {
            "tickets": [
                {
                    "id": each.ticket.id,
                    "kind": each.ticket.kind,
                    "state": each.ticket.state.name,
                    "etaMs": each.progress.eta_ms if each.progress else None,
                    "note": each.execution.note if each.execution else "",
                }
                for each in driven
            ]
        },
    }
    tasks = [task for each in driven if each.execution is not None for task in each.execution.tasks]
    answer |= _between(tasks, driven, concurrency, verbose=verbose)
    answer |= _inside(tasks, verbose=verbose)
    answer |= _leaders(tasks, concurrency, verbose=verbose)
    return answer


def _of(tasks: Iterable[ExecutionTask], kind: str) -> dict[str, list[ExecutionTask]]:
    found: dict[str, list[ExecutionTask]] = {name: [] for name in _TASK_STATES.values()}
    for task in tasks:
        if _kind(task) == kind:
            found[_TASK_STATES[task.state]].append(task)
    return found


def _between(
    tasks: Sequence[ExecutionTask], driven: Sequence[Driven], concurrency: Concurrency, *, verbose: bool
) -> dict[str, Any]:
    found = _of(tasks, _BETWEEN)
    known = [each.progress for each in driven if each.progress is not None]
    answer: dict[str, Any] = {
        "numTotalPartitionMovements": sum(map(len, found.values())),
        "numPendingPartitionMovements": len(found["PENDING"]),
        "numInProgressPartitionMovements": len(found["IN_PROGRESS"]),
        "abortingPartitions": len(found["ABORTING"]),
        "numFinishedPartitionMovements": sum(len(found[state]) for state in _FINISHED),
        "finishedDataMovement": sum(progress.copied_bytes for progress in known) // MB,
        "totalDataToMove": sum(progress.total_bytes for progress in known) // MB,
        "maximumConcurrentPartitionMovementsPerBroker": concurrency.per_broker,
        "minimumConcurrentPartitionMovementsPerBroker": concurrency.per_broker,
        "averageConcurrentPartitionMovementsPerBroker": float(concurrency.per_broker),
    }
    if verbose:
        for state, name in (
            ("IN_PROGRESS", "inProgressPartitionMovement"),
            ("PENDING", "pendingPartitionMovement"),
            ("ABORTING", "abortingPartitionMovement"),
            ("ABORTED", "abortedPartitionMovement"),
            ("DEAD", "deadPartitionMovement"),
            ("COMPLETED", "completedPartitionMovement"),
        ):
            answer[name] = [_task(task) for task in found[state]]
    return answer


def _inside(tasks: Sequence[ExecutionTask], *, verbose: bool) -> dict[str, Any]:
    found = _of(tasks, _INSIDE)
    answer: dict[str, Any] = {
        "numTotalIntraBrokerPartitionMovements": sum(map(len, found.values())),
        "numPendingIntraBrokerPartitionMovements": len(found["PENDING"]),
        "numInProgressIntraBrokerPartitionMovements": len(found["IN_PROGRESS"]),
        "numAbortingIntraBrokerPartitionMovements": len(found["ABORTING"]),
        "numFinishedIntraBrokerPartitionMovements": sum(len(found[state]) for state in _FINISHED),
    }
    if verbose:
        answer["inProgressIntraBrokerPartitionMovement"] = [_task(task) for task in found["IN_PROGRESS"]]
        answer["pendingIntraBrokerPartitionMovement"] = [_task(task) for task in found["PENDING"]]
    return answer


def _leaders(tasks: Sequence[ExecutionTask], concurrency: Concurrency, *, verbose: bool) -> dict[str, Any]:
    found = _of(tasks, _LEADER)
    answer: dict[str, Any] = {
        "numTotalLeadershipMovements": sum(map(len, found.values())),
        "numPendingLeadershipMovements": len(found["PENDING"]) + len(found["IN_PROGRESS"]),
        "numFinishedLeadershipMovements": sum(len(found[state]) for state in _FINISHED),
        "clusterLeaderMovementConcurrency": concurrency.per_cluster,
    }
    if verbose:
        answer["pendingLeadershipMovement"] = [_task(task) for task in (*found["PENDING"], *found["IN_PROGRESS"])]
    return answer


def _task(task: ExecutionTask) -> dict[str, Any]:
    move = task.move
    return {
        "executionId": task.number,
        "type": _kind(task),
        "state": _TASK_STATES[task.state],
        "brokerId": move.target_brokers[0],
        "proposal": {
            "topicPartition": str(move.partition),
            "oldLeader": move.original_brokers[0] if move.original else -1,
            "oldReplicas": list(move.original_brokers),
            "newReplicas": list(move.target_brokers),
        },
        "guardian": {"detail": task.detail, "copiedBytes": task.copied_bytes},
    }


def monitor_document(partitions: int, rated: int, why_none: str, paused: str) -> dict[str, Any]:
    """`rated` partitions have rates in the newest window; `paused` is why nothing is sampled, empty: all is."""
    return {
        "state": "PAUSED" if paused else "RUNNING",
        "trained": False,
        "trainingPct": 0.0,
        "numMonitoredWindows": 1 if rated else 0,
        "monitoredWindows": {},
        "numValidPartitions": rated,
        "numTotalPartitions": partitions,
        "monitoringCoveragePct": 100.0 * rated / partitions if partitions else 100.0,
        "numFlawedPartitions": max(0, partitions - rated),
        "reasonOfLatestPauseOrResume": paused,
        **({"error": why_none} if why_none else {}),
    }


def analyzer_document(goals: Sequence[tuple[str, bool]], *, verbose: bool) -> dict[str, Any]:
    """`goals`: the name, and whether it is hard. All are ready: what samples lack, a plan's input says."""
    answer: dict[str, Any] = {"isProposalReady": True, "readyGoals": [name for name, _ in goals]}
    if verbose:
        answer["goalReadiness"] = [
            {
                "name": name,
                "modelCompleteRequirement": {
                    "requiredNumSnapshots": 0 if is_hard else 1,
                    "minMonitoredPartitionsPercentage": 0.0,
                    "includeAllTopics": False,
                },
                "status": "ready",
            }
            for name, is_hard in goals
        ]
    return answer


def anomaly_document(
    findings: insight_pb2.FindingsReport, healing: insight_pb2.HealingReport, balancedness: float
) -> dict[str, Any]:
    """Healing is on for what it heals where its mode is "act": `propose` makes drafts, which a person submits."""
    modes = {each.policy.mode for each in healing.clusters}
    acts = modes == {"act"}
    healed = sorted(_HEALED) if acts else []
    troubles = [trouble for each in healing.clusters for trouble in each.troubles]
    acted = {(trouble.kind, trouble.subject): trouble for trouble in troubles}
    answer: dict[str, Any] = {
        "selfHealingEnabled": healed,
        "selfHealingDisabled": sorted(set(_ANOMALIES) - set(healed)),
        "selfHealingEnabledRatio": {name: 1.0 if name in healed else 0.0 for name in _ANOMALIES},
        "balancednessScore": balancedness,
        "metrics": {
            "meanTimeBetweenAnomaliesMs": dict.fromkeys(_ANOMALIES, 0.0),
            "meanTimeToStartFixMs": 0.0,
            "numSelfHealingStarted": sum(bool(trouble.ticket_id) for trouble in troubles),
            "numSelfHealingFailedToStart": sum(trouble.phase == "person" for trouble in troubles),
            "ongoingAnomalyDurationMs": max(
                (each.last_seen_ms - each.since_ms for each in findings.findings), default=0
            ),
        },
    }
    for recent, kinds in _ANOMALIES.values():
        answer[recent] = [
            _anomaly(each, acted.get((each.kind, each.subject))) for each in findings.findings if each.kind in kinds
        ]
    return answer


def _anomaly(finding: insight_pb2.Finding, trouble: insight_pb2.HealingTrouble | None) -> dict[str, Any]:
    status = "DETECTED"
    if trouble is not None:
        status = "FIX_STARTED" if trouble.ticket_id else "CHECK_WITH_DELAY" if trouble.phase == "grace" else "IGNORED"
    return {
        "anomalyId": f"{insight_pb2.FindingKind.Name(finding.kind)}: {finding.subject}",
        "status": status,
        "detectionMs": finding.since_ms,
        "statusUpdateMs": finding.last_seen_ms,
        "description": finding.evidence,
    }


def state_text(document: Mapping[str, Any]) -> str:
    """Format a whole answer as Cruise Control writes them: a line for each part."""
    lines = [
        f"{name}: {_braced(document[name])}"
        for name in ("MonitorState", "ExecutorState", "AnalyzerState", "AnomalyDetectorState")
        if name in document
    ]
    return "\n".join(lines) + "\n"


def _braced(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_braced(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_braced, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.3f}" if isinstance(value, float) else str(value)
