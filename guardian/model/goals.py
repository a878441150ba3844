"""The goals of plans by name, Guardian's and Cruise Control's: what settings and files may say.

What each goal asks of a placement stands in spark_analytics/goals, under the same names and in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import entry_points

from guardian.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class GoalName:
    """`aliases` are Cruise Control's. A plan keeps a goal that is hard and comes as near as it can to others."""

    name: str
    aliases: tuple[str, ...] = ()
    is_hard: bool = False


GOALS = (
    GoalName("replication-factor", is_hard=True),
    GoalName("rack", ("RackAwareGoal", "RackAwareDistributionGoal", "KafkaAssignerEvenRackAwareGoal"), is_hard=True),
    GoalName("idc", is_hard=True),
    GoalName("label", ("BrokerSetAwareGoal",), is_hard=True),
    GoalName("exclusion", is_hard=True),
    GoalName("cpu-capacity", ("CpuCapacityGoal",), is_hard=True),
    GoalName("nw-in-capacity", ("NetworkInboundCapacityGoal",), is_hard=True),
    GoalName("nw-out-capacity", ("NetworkOutboundCapacityGoal",), is_hard=True),
    GoalName("disk-capacity", ("DiskCapacityGoal",), is_hard=True),
    GoalName("log-dir-capacity", ("IntraBrokerDiskCapacityGoal",), is_hard=True),
    GoalName("replica-capacity", ("ReplicaCapacityGoal",), is_hard=True),
    GoalName("leader-place", ("PreferredLeaderElectionGoal",), is_hard=True),
    GoalName("min-leaders", ("MinTopicLeadersPerBrokerGoal",), is_hard=True),
    GoalName("cpu-spread", ("CpuUsageDistributionGoal",)),
    GoalName("nw-in-spread", ("NetworkInboundUsageDistributionGoal",)),
    GoalName("nw-out-spread", ("NetworkOutboundUsageDistributionGoal",)),
    GoalName("disk-spread", ("DiskUsageDistributionGoal", "KafkaAssignerDiskUsageDistributionGoal")),
    GoalName("replica-spread", ("ReplicaDistributionGoal",)),
    GoalName("leader-spread", ("LeaderReplicaDistributionGoal",)),
    GoalName("leader-bytes-in-spread", ("LeaderBytesInDistributionGoal",)),
    GoalName("potential-nw-out", ("PotentialNwOutGoal",)),
    GoalName("topic-spread", ("TopicReplicaDistributionGoal",)),
    GoalName("log-dir-spread", ("IntraBrokerDiskUsageDistributionGoal",)),
    GoalName("log-dir-io-spread"),
)
"""In the order in which they are told: hard ones first."""

_BY_NAME = {name: each for each in GOALS for name in (each.name, *each.aliases)}
_BY_LOWER = {name.lower(): each for name, each in _BY_NAME.items()}


ADDED = "guardian.goals"
"""The group of entry points by which other packages add goals."""


def require_known(name: str) -> None:
    """Raise InvalidInput with near names unless a goal has this name: Guardian's, or of an installed package.

    No code of such a package is loaded: members only read settings.
    """
    if "/" not in name or not any(point.name == name for point in entry_points(group=ADDED)):
        goal_named(name)


def goal_named(name: str) -> GoalName:
    """Return the goal of Guardian's name or Cruise Control's, package or not. Raises InvalidInput with near names."""
    known = _BY_LOWER.get(name.rsplit(".", 1)[-1].strip().lower())
    if known is None:
        lower = get_close_matches(name.rsplit(".", 1)[-1].lower(), _BY_LOWER, n=3, cutoff=0.5)
        near = [each for each in _BY_NAME if each.lower() in lower] or [each.name for each in GOALS]
        raise InvalidInput(f"goal {name!r} is not known: use {', '.join(near)}")
    return known
