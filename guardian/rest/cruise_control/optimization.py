"""A plan as Cruise Control tells one: what moves, how goals stand, what brokers carry before and after. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guardian.model.plan import GoalResult, PartitionMove, Plan
from guardian.rest.cruise_control.loads import load_document, load_text
from guardian.rest.cruise_control.placing import MB, BrokerLoad

_ADDED_UP = (
    "numReplicaMovements",
    "dataToMoveMB",
    "numIntraBrokerReplicaMovements",
    "intraBrokerDataToMoveMB",
    "numLeaderMovements",
)
_STATISTICS = ("AVG", "MAX", "MIN", "STD")


@dataclass(frozen=True, slots=True)
class Proposed:
    """A plan with what is told of it. `coverage` is the share of partitions whose rates are known, in percent;
    `aliases` are Cruise Control's names of goals. `leaders` says who leads what moves."""

    plan: Plan
    before: tuple[BrokerLoad, ...]
    after: tuple[BrokerLoad, ...]
    leaders: Mapping[str, int]
    topics: int
    coverage: float
    excluded_topics: tuple[str, ...] = ()
    excluded_brokers: tuple[int, ...] = ()
    aliases: Mapping[str, str] | None = None
    took_ms: int = 0


@dataclass(frozen=True, slots=True)
class _Counted:
    """How much a plan moves, in replicas and bytes."""

    between: int
    between_bytes: int
    inside: int
    inside_bytes: int
    leaders: int


def _counted(proposed: Proposed) -> _Counted:
    moves = proposed.plan.moves
    return _Counted(
        sum(len(move.added_brokers) for move in moves),
        sum(move.size_bytes * len(move.added_brokers) for move in moves if not move.is_new),
        sum(len(move.log_dir_moves) for move in moves),
        sum(move.size_bytes * len(move.log_dir_moves) for move in moves),
        sum(_old_leader(proposed, move) != move.target_brokers[0] for move in moves if not move.is_new),
    )


def _old_leader(proposed: Proposed, move: PartitionMove) -> int:
    return proposed.leaders.get(str(move.partition), move.original_brokers[0] if move.original else -1)


def document(proposed: Proposed, guardian: Mapping[str, Any], *, verbose: bool = False) -> dict[str, Any]:
    """OptimizationResult; `guardian` is what there is to say beside it."""
    goals = proposed.plan.goals
    answer: dict[str, Any] = {
        "summary": _summary(proposed),
        "goalSummary": [
            {
                "goal": _name(proposed, goal),
                "status": _status(goal),
                "clusterModelStats": _model_stats(proposed),
                "optimizationTimeMs": proposed.took_ms // max(1, len(goals)),
            }
            for goal in goals
        ],
        "loadAfterOptimization": load_document(proposed.after),
        "version": 1,
        "guardian": dict(guardian),
    }
    if verbose:
        answer["proposals"] = [
            {
                "topicPartition": str(move.partition),
                "oldLeader": _old_leader(proposed, move),
                "oldReplicas": list(move.original_brokers),
                "newReplicas": list(move.target_brokers),
            }
            for move in proposed.plan.moves
        ]
        answer["loadBeforeOptimization"] = load_document(proposed.before)
    return answer


def joined(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one answer of those of several plans, each of other topics: what they move is added up.

    The load afterwards is that of the last one, which knows nothing of the others.
    """
    first, last = documents[0], documents[-1]
    summaries = [document["summary"] for document in documents]
    unmet = " ".join(filter(None, (summary["provisionRecommendation"] for summary in summaries)))
    answer: dict[str, Any] = {
        **last,
        "summary": {
            **first["summary"],
            **{name: sum(summary[name] for summary in summaries) for name in _ADDED_UP},
            "onDemandBalancednessScoreAfter": last["summary"]["onDemandBalancednessScoreAfter"],
            "provisionStatus": "UNDER_PROVISIONED" if unmet else first["summary"]["provisionStatus"],
            "provisionRecommendation": unmet,
        },
        "goalSummary": [goal for document in documents for goal in document["goalSummary"]],
        "guardian": {**first["guardian"], "parts": [document["guardian"] for document in documents]},
    }
    if "proposals" in first:
        answer["proposals"] = [move for document in documents for move in document["proposals"]]
        answer["loadBeforeOptimization"] = first["loadBeforeOptimization"]
    return answer


def text(proposed: Proposed, pretext: str, *, verbose: bool = False) -> str:
    counted, summary = _counted(proposed), _summary(proposed)
    stats = _model_stats(proposed)["metadata"]
    parts = []
    if verbose:
        parts += [
            f"{{{move.partition}, oldLeader: {_old_leader(proposed, move)}, {list(move.original_brokers)} -> "
            f"{list(move.target_brokers)}}}"
            for move in proposed.plan.moves
        ]
    recommendation = summary["provisionRecommendation"]
    parts += [
        "",
        f"Optimization has {counted.between} inter-broker replica({counted.between_bytes // MB} MB) moves, "
        f"{counted.inside} intra-broker replica({counted.inside_bytes // MB} MB) moves and {counted.leaders} "
        f"leadership moves with a cluster model of {summary['recentWindows']} recent windows and "
        f"{proposed.coverage:.3f}% of the partitions covered.",
        f"Excluded Topics: {list(proposed.excluded_topics)}.",
        "Excluded Brokers For Leadership: [].",
        f"Excluded Brokers For Replica Move: {list(proposed.excluded_brokers)}.",
        f"Counts: {stats['brokers']} brokers {stats['replicas']} replicas {stats['topics']} topics.",
        f"On-demand Balancedness Score Before ({summary['onDemandBalancednessScoreBefore']:.3f}) "
        f"After({summary['onDemandBalancednessScoreAfter']:.3f}).",
        f"Provision Status: {summary['provisionStatus']}.",
        *([f"Provision Recommendation: {recommendation}"] if recommendation else []),
        *(
            f"[{proposed.took_ms // max(1, len(proposed.plan.goals)):>6} ms] Stats for {_name(proposed, goal)}"
            f"({_status(goal)}): {goal.before:.4g} before, {goal.after:.4g} after"
            for goal in proposed.plan.goals
        ),
    ]
    if verbose:
        parts.append(f"\nCurrent load:{load_text(proposed.before)}")
    return "\n".join(parts) + f"\n\n{pretext}{load_text(proposed.after)}"


def _summary(proposed: Proposed) -> dict[str, Any]:
    counted = _counted(proposed)
    unmet = " ".join(proposed.plan.unmet)
    return {
        "numReplicaMovements": counted.between,
        "dataToMoveMB": counted.between_bytes // MB,
        "numIntraBrokerReplicaMovements": counted.inside,
        "intraBrokerDataToMoveMB": counted.inside_bytes // MB,
        "numLeaderMovements": counted.leaders,
        "recentWindows": 1 if proposed.coverage else 0,
        "monitoredPartitionsPercentage": proposed.coverage,
        "excludedTopics": list(proposed.excluded_topics),
        "excludedBrokersForLeadership": [],
        "excludedBrokersForReplicaMove": list(proposed.excluded_brokers),
        "onDemandBalancednessScoreBefore": _score(proposed.plan.goals, is_after=False),
        "onDemandBalancednessScoreAfter": _score(proposed.plan.goals, is_after=True),
        "provisionStatus": "UNDER_PROVISIONED" if unmet else "UNDECIDED",
        "provisionRecommendation": unmet,
    }


def _score(goals: Sequence[GoalResult], *, is_after: bool) -> float:
    """100 when every goal is met. A hard goal weighs as much as ten soft ones; what is beyond its target by half of it
    counts half."""
    weights = [10.0 if goal.is_hard else 1.0 for goal in goals]
    if not weights:
        return 100.0
    kept = [weight * _share(goal, is_after=is_after) for goal, weight in zip(goals, weights, strict=True)]
    return 100.0 * sum(kept) / sum(weights)


def _share(goal: GoalResult, *, is_after: bool) -> float:
    measured = goal.after if is_after else goal.before
    if is_after and goal.is_met:
        return 1.0
    if measured <= goal.target:
        return 1.0
    return 0.0 if goal.target <= 0 else goal.target / measured


def _name(proposed: Proposed, goal: GoalResult) -> str:
    return (proposed.aliases or {}).get(goal.goal, goal.goal)


def _status(goal: GoalResult) -> str:
    if not goal.is_met:
        return "VIOLATED"
    return "NO-ACTION" if goal.before == goal.after else "FIXED"


def _model_stats(proposed: Proposed) -> dict[str, Any]:
    """Compute the statistics of the brokers after the plan."""
    loads = proposed.after
    columns: dict[str, list[float]] = {
        "cpu": [load.cpu_percent for load in loads],
        "networkInbound": [load.leader_in_kb + load.follower_in_kb for load in loads],
        "networkOutbound": [load.out_kb for load in loads],
        "disk": [load.disk_mb for load in loads],
        "potentialNwOut": [load.potential_out_kb for load in loads],
        "replicas": [float(load.replicas) for load in loads],
        "leaderReplicas": [float(load.leaders) for load in loads],
        "topicReplicas": [load.replicas / max(1, proposed.topics) for load in loads],
    }
    measured = {name: _four(values) for name, values in columns.items()}
    return {
        "metadata": {
            "brokers": len(loads),
            "replicas": sum(load.replicas for load in loads),
            "topics": proposed.topics,
        },
        "statistics": {
            which: {name: four[number] for name, four in measured.items()} for number, which in enumerate(_STATISTICS)
        },
    }


def _four(values: Sequence[float]) -> tuple[float, float, float, float]:
    if not values:
        return 0.0, 0.0, 0.0, 0.0
    return statistics.fmean(values), max(values), min(values), statistics.pstdev(values)
