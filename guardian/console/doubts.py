"""What contradicts that a cluster is healthy, among the numbers of its own page or row. Pure.

Detectors wait before they tell of something, and look every now and then; numbers may be younger. A headline is never
better than the numbers below it.
"""

from __future__ import annotations

from collections.abc import Iterable

from guardian.console.health import Health
from guardian.model.text import some
from guardian.model.topology import BrokerState, Cluster
from guardian.web.observed import ClusterSeen
from protos.guardian.v1 import insight_pb2 as pb

_ORDER = ("ok", "none", "warn", "bad")
_LATER = 5  # the rank of what detectors did not tell yet: below each finding, above what is not known


def as_bad_as(told: Health, doubts: Iterable[Health]) -> Health:
    """Return the worst of them; what detectors told where none of the doubts is worse."""
    worst = max(doubts, key=_severity, default=told)
    return worst if _severity(worst) > _severity(told) else told


def doubts_of_collection(cluster: Cluster, seen: ClusterSeen | None) -> list[Health]:
    """Return what collected metrics contradict: log dirs that are offline, brokers that were not heard the last time.

    Brokers that are not to serve now, or are no part of the cluster, are left out.
    """
    serve = {each.id for each in cluster.brokers if each.state is BrokerState.ACTIVE}
    brokers = [each for each in seen.brokers.values() if each.broker in serve] if seen is not None else []
    found = []
    offline = sum(log_dir.offline for each in brokers for log_dir in each.log_dirs)
    if offline:
        found.append(Health("bad", f"{_counted(offline, 'log dir')} offline", _LATER + offline))
    unheard = sorted(each.broker for each in brokers if each.error)
    if unheard:
        found.append(Health("warn", f"broker {some(unheard)} not heard", _LATER + len(unheard)))
    return found


def doubts_of_durability(report: pb.DurabilityReport | None) -> list[Health]:
    """Return what the state of the partitions contradicts: those without a leader, and those that miss replicas."""
    if report is None:
        return []
    found = []
    offline, missing = (sum(getattr(each, of) for each in report.topics) for of in ("offline", "under_replicated"))
    if offline:
        found.append(Health("bad", f"{_counted(offline, 'partition')} offline", _LATER + offline))
    if missing:
        found.append(Health("warn", f"{_counted(missing, 'partition')} under-replicated", _LATER + missing))
    return found


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" + ("s" if count != 1 else "")


def _severity(health: Health) -> int:
    return _ORDER.index(health.kind)
