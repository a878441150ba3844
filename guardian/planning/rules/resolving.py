"""Tell what an order means: look up what it only names. Pure."""

from __future__ import annotations

from dataclasses import replace

from guardian.model.directory import Directory
from guardian.model.federation import Topic
from guardian.model.tasks import ClientTraffic, MigrateIdc, Task
from guardian.planning.orders import CreateTopicOrder, IsolateOrder, MigrateIdcOrder, OrderedTask
from guardian.tickets.kinds.isolate_label import require_usable
from protos.guardian.v1 import insight_pb2

_LACKS = "What producers and consumers put on lines is not all in these numbers"


def resolved(ordered: OrderedTask, directory: Directory, cluster: str) -> Task:
    """Return the task for the cluster, by what people said of the federation, as far as whoever asks may see it.

    Raises InvalidInput, as for a policy that is not known.
    """
    match ordered:
        case IsolateOrder():
            entries = directory.of_cluster(cluster).topics
            require_usable(ordered.label, ordered.topics, ordered.tenant, entries, directory.tenants)
            return ordered.task(
                directory.free_machines() if ordered.from_pool else (),
                1 + max((broker.id for each in directory.clusters for broker in each.brokers), default=-1),
            )
        case MigrateIdcOrder():
            return ordered.task(directory.policy(ordered.policy))
        case CreateTopicOrder():
            return ordered.task(directory.topic(cluster, ordered.topic) or Topic(cluster, ordered.topic))
        case _:
            return ordered


def with_clients(task: MigrateIdc, report: insight_pb2.LinesReport) -> tuple[MigrateIdc, tuple[str, ...]]:
    """Return the migration with what clients move, and sentences on what is not known of them."""
    clients = tuple(
        ClientTraffic(each.topic, each.idc, each.produced_bytes_per_s, each.fetched_bytes_per_s)
        for each in report.clients
    )
    lacking = [f"{_LACKS}: {remark}" for remark in report.remarks]
    priced = any(line.HasField("price_gb") for line in report.lines)
    currency = [f"costs are in {report.currency}"] if priced and report.currency else []
    return replace(task, clients=clients), (*currency, *lacking)


def without_clients(error: Exception) -> tuple[str, ...]:
    """Return the sentences for a migration of which nobody could tell what clients move: it is worth planning."""
    return (f"{_LACKS}: {error}",)
