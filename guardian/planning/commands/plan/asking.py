"""Plans that a member makes for a command, which says on stderr what it waits for."""

from __future__ import annotations

from guardian.cli.printing import echo
from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.model.plan import Plan
from guardian.planning.orders import PlanOrder
from protos.guardian.v1.planning_pb2 import PlanProgress


def asked_for(client: GuardianClient, cluster: str, order: PlanOrder) -> Plan | GuardianError:
    """Return the plan, or why there is none."""
    try:
        return client.make_plan(cluster, order, _Told(cluster).tell)
    except GuardianError as error:
        return error


class _Told:
    """Say each thing once: a member repeats what lasts."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._last = ""

    def tell(self, progress: PlanProgress) -> None:
        line = f"Cluster {self._cluster}: {progress.description}{_before(progress)}..."
        if line != self._last:
            self._last = line
            echo(line, err=True)


def _before(progress: PlanProgress) -> str:
    waiting = [
        f"{count} {whose}"
        for count, whose in ((progress.own_before, "of yours come first"), (progress.others_before, "of others wait"))
        if count
    ]
    return f" ({', '.join(waiting)})" if waiting else ""
