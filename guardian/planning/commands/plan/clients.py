"""From where a cluster's clients write and read, for plans that Spark makes here of topics between IDCs."""

from __future__ import annotations

from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.model.tasks import MigrateIdc, Task
from guardian.planning.rules import resolving


def with_clients(
    client: GuardianClient, cluster: str, window: tuple[int, int], task: Task
) -> tuple[Task, tuple[str, ...]]:
    """A migration knows what clients move; and sentences on what it does not know of them. Other tasks stay."""
    if not isinstance(task, MigrateIdc):
        return task, ()
    try:
        return resolving.with_clients(task, client.lines(cluster, *window))
    except GuardianError as error:
        return task, resolving.without_clients(error)
