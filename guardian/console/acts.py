"""What may be asked for about what a page shows: links to forms that are filled already. Pure.

The forms are those of guardian.planning.pages.asking; a test holds each link against them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from guardian.console.urls import url
from protos.guardian.v1 import insight_pb2 as pb

_HEAL = (("Heal", "heal", ""),)
# By kind of finding: words, the form, and its field for the brokers that the finding is about.
_HELP: Mapping[int, tuple[tuple[str, str, str], ...]] = {
    pb.BROKER_DOWN: _HEAL,
    pb.LOG_DIR_OFFLINE: _HEAL,
    pb.REPLICAS_EMPTY: _HEAL,
    pb.UNDER_MIN_ISR: _HEAL,
    pb.AT_MIN_ISR: _HEAL,
    pb.SKEW: (("Balance", "balance", ""),),
    pb.DISK_FILLS: (("Relieve", "relieve", "brokers"),),
    pb.SLOW_DISK: (("Move leaders away", "leaders", "away_from"), ("Empty", "empty-brokers", "brokers")),
    pb.FENCED_SERVES: (("Restart", "rolling-restart", "brokers"),),
}


@dataclass(frozen=True, slots=True)
class Act:
    """A link: its words, and where it leads."""

    words: str
    where: str


def acts_of_cluster(cluster: str) -> tuple[Act, ...]:
    """Return what is asked for most about a whole cluster."""
    return (
        _act(cluster, "Balance", "balance"),
        _act(cluster, "Heal", "heal"),
        _act(cluster, "Relieve full disks", "relieve"),
        Act("Everything else", url("clusters", cluster, "ask")),
    )


def acts_of_broker(cluster: str, broker: int) -> tuple[Act, ...]:
    """Return what may be asked for about a broker."""
    return (
        _act(cluster, "Relieve", "relieve", brokers=broker),
        _act(cluster, "Empty", "empty-brokers", brokers=broker),
        _act(cluster, "Move its leaders", "leaders", away_from=broker),
        _act(cluster, "Restart", "rolling-restart", brokers=broker),
        _act(cluster, "Take offline", "offline-brokers", brokers=broker),
        _act(cluster, "Bring back", "online-brokers", brokers=broker),
        _act(cluster, "Remove", "remove-brokers", brokers=broker),
    )


def acts_of_log_dirs(cluster: str, broker: int, paths: Sequence[str]) -> tuple[Act, ...]:
    """Return what may be asked for about the log dirs of a broker, such as those on one disk."""
    if not paths:
        return ()
    named = " ".join(f"{broker}:{path}" for path in paths)
    return (
        _act(cluster, "Relieve", "relieve", log_dirs=named),
        _act(cluster, "Empty", "empty-disk", log_dirs=named),
    )


def acts_of_topic(cluster: str, topic: str) -> tuple[Act, ...]:
    """Return what may be asked for about a topic."""
    return (
        _act(cluster, "Balance", "balance", topics=topic),
        _act(cluster, "Move its leaders", "leaders", topics=topic),
        _act(cluster, "Move to other IDCs", "migrate-idc", topics=topic),
        _act(cluster, "More partitions", "expand-topic", topic=topic),
        _act(cluster, "More replicas, or fewer", "change-replication-factor", topics=topic),
    )


def acts_of_crossing(cluster: str, topic: str) -> tuple[Act, ...]:
    """Return what may be asked for about a topic whose bytes cross a line between IDCs."""
    return (
        _act(cluster, "Move to other IDCs", "migrate-idc", topics=topic),
        _act(cluster, "Move its leaders", "leaders", topics=topic),
        _act(cluster, "Isolate", "isolate-label", topics=topic),
    )


def acts_of_tenant(clusters: Sequence[str], tenant: str) -> tuple[Act, ...]:
    """Return what may be asked for about a tenant in each of the clusters."""
    return tuple(
        _act(cluster, f"{words} in {cluster}", form, tenant=tenant)
        for cluster in clusters
        for words, form in (("Move to other IDCs", "migrate-idc"), ("Isolate", "isolate-label"))
    )


def acts_of_finding(finding: pb.Finding) -> tuple[Act, ...]:
    """Return what helps against a finding where a plan or an operation does; a line leads to who crosses it."""
    if finding.kind == pb.LINE_NEAR_LIMIT:
        return (Act("See who crosses it", url("links")),)
    brokers = ", ".join(str(each) for each in finding.brokers)
    return tuple(
        _act(finding.cluster, words, form, **({field: brokers} if field else {}))
        for words, form, field in _HELP.get(finding.kind, ())
        if finding.cluster and (brokers or not field)
    )


def _act(cluster: str, words: str, form: str, **fields: object) -> Act:
    return Act(words, url("clusters", cluster, "ask", form, **fields))
