"""From where a cluster's clients write and read, for plans that move topics between IDCs."""

from __future__ import annotations

from dataclasses import replace

from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.model.tasks import ClientTraffic, MigrateIdc, Task

_LACKS = "What producers and consumers put on lines is not all in these numbers"


def with_clients(
    client: GuardianClient, cluster: str, window: tuple[int, int], task: Task
) -> tuple[Task, tuple[str, ...]]:
    """A migration knows what clients move; and sentences on what it does not know of them. Other tasks stay."""
    if not isinstance(task, MigrateIdc):
        return task, ()
    try:
        report = client.lines(cluster, *window)
    except GuardianError as error:  # the migration is worth planning without them
        return task, (f"{_LACKS}: {error}",)
    clients = tuple(
        ClientTraffic(each.topic, each.idc, each.produced_bytes_per_s, each.fetched_bytes_per_s)
        for each in report.clients
    )
    lacking = [f"{_LACKS}: {remark}" for remark in report.remarks]
    priced = any(line.HasField("price_gb") for line in report.lines)
    currency = [f"costs are in {report.currency}"] if priced and report.currency else []
    return replace(task, clients=clients), (*currency, *lacking)
