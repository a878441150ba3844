"""What the REST routes are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from fastapi import Request

from guardian.client import GuardianClient
from guardian.errors import NotAllowed
from guardian.kafka.admin import KafkaAdmin
from guardian.model.identity import Identity, Role
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Task
from guardian.rest.rates import Rates
from spark_analytics.readers.live import LiveFacts


class Planner(Protocol):
    """As guardian.executor.planning.LivePlanner: both calls wait, and raise GuardianError."""

    @property
    def settings(self) -> PlannerSettings:
        """What holds where nobody gives others."""

    def facts(self, cluster: str) -> LiveFacts:
        """What Kafka shows now."""

    def plan(self, cluster: str, task: Task, settings: PlannerSettings | None = None) -> Plan:
        """A checked plan, which may have no moves."""


@dataclass(frozen=True, slots=True)
class RestParts:
    """`client_for` is a client that acts for somebody and stays open, `user_of` tells who sends a request, `admin_for`
    opens a connection to a cluster, which its caller closes; `rates` are what the lake says of a cluster. The bare path
    of Cruise Control's API is that of `default_cluster`; empty: of the only cluster that is registered."""

    client_for: Callable[[Identity], GuardianClient]
    user_of: Callable[[Request], Identity]
    planner: Planner
    admin_for: Callable[[str], KafkaAdmin]
    rates: Callable[[str], Rates]
    now_ms: Callable[[], int]
    default_cluster: str = ""


def require_role(user: Identity, role: Role, cluster: str) -> None:
    """For what is done beside gRPC, which asks by itself. Raises NotAllowed."""
    if not user.may(role, cluster):
        raise NotAllowed(f"{user.name} is no {role.value} of cluster {cluster}: ask whoever keeps the roles file")
