"""What the REST routes are made of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from fastapi import Request

from guardian.client import GuardianClient
from guardian.errors import NotAllowed
from guardian.kafka.admin import KafkaAdmin
from guardian.lake.model.recent_rates import Rates
from guardian.model.cluster_state import LiveFacts
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Task
from guardian.planning.model import Lane, PlansConfig, Step, UserTaskAnswer, UserTaskRecord
from guardian.security.model.identity import LOCAL, Identity, Role


class Job(Protocol):
    """As guardian.planning.service.desk.Job: what somebody asked for, until it is done or given up."""

    @property
    def id(self) -> str:
        """Return which job it is."""

    @property
    def future(self) -> Future[Any]:
        """Return the future of what the job comes to."""

    def steps(self) -> tuple[Step, ...]:
        """Return what the job has done so far."""

    def step(self, name: str, description: str) -> None:
        """Raises GuardianError once it is given up."""

    def cancel(self, why: str) -> None:
        """Give it up."""


class Desk(Protocol):
    """As guardian.planning.service.desk.Desk."""

    def submit(self, lane: Lane, person: str, what: str, work: Callable[[Any], Any]) -> Job:
        """Never waits. Raises Overloaded."""

    def before(self, job: Any) -> tuple[int, int]:
        """Return how much waits before the job: of the same person, and of others."""


class TaskStore(Protocol):
    """As guardian.planning.store.ReplicatedUserTasks; each call waits, and raises GuardianError."""

    def put(self, record: UserTaskRecord, answers: tuple[UserTaskAnswer, ...] = ()) -> None:
        """Keep a task of this member, with the first of the answers that is small enough."""

    def tasks(self, cluster: str) -> tuple[UserTaskRecord, ...]:
        """Those of a cluster, whichever member was asked."""

    def answer(self, cluster: str, task_id: str) -> UserTaskAnswer | None:
        """Return what a user task was answered with; None: nothing is kept."""


class Planner(Protocol):
    """As guardian.planning.service.planning.LivePlanner: `facts` and `plan` wait, and raise GuardianError."""

    @property
    def desk(self) -> Desk:
        """Return the desk where plans are asked for."""

    @property
    def settings(self) -> PlannerSettings:
        """Return the settings that hold where nobody gives others."""

    def facts(self, cluster: str) -> LiveFacts:
        """Return what Kafka shows now."""

    def plan(
        self,
        job: Any,
        cluster: str,
        task: Task,
        settings: PlannerSettings | None = None,
        *,
        window_ms: int = 0,
        notes: tuple[str, ...] = (),
    ) -> Plan:
        """A checked plan, which may have no moves; within a job of the desk."""


@dataclass(frozen=True, slots=True)
class RestParts:
    """`client_for` is a client that acts for somebody and stays open, `user_of` tells who sends a request, `admin_for`
    opens a connection to a cluster, which its caller closes. `rates` are what the lake says of a cluster, `tasks` are
    what was asked for at any member. `plan_s` is how long a member may take for a plan, its turn included. The bare
    path of Cruise Control's API is that of `default_cluster`; empty: of the only cluster that is registered.
    """

    client_for: Callable[[Identity], GuardianClient]
    user_of: Callable[[Request], Identity]
    planner: Planner
    admin_for: Callable[[str], KafkaAdmin]
    rates: Callable[[str], Rates]
    tasks: TaskStore
    now_ms: Callable[[], int]
    default_cluster: str = ""
    plan_s: float = PlansConfig().longest_s


def person_of(user: Identity, host: str) -> str:
    """Return who asks, among whom a member shares out its work; while security is off a host stands for a person."""
    return user.name if user != LOCAL else host


def actor_of(user: Identity, said: str) -> str:
    """Return who acts. While security is off nobody is known, and who says who he is is believed."""
    return said if said and user == LOCAL else user.name


def host_of(request: Request) -> str:
    """Return the host that sent a request; empty where it is not known."""
    return request.client.host if request.client else ""


async def settled(job: Job, wait_s: float) -> bool:
    """Wait for the end of a job without a thread, and leave it alone when the time is up; return whether it ended."""
    done, loop = asyncio.Event(), asyncio.get_running_loop()

    def tell(_: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(done.set)

    job.future.add_done_callback(tell)
    try:
        await asyncio.wait_for(done.wait(), wait_s)
    except TimeoutError:
        return job.future.done()
    return True


def require_role(user: Identity, role: Role, cluster: str) -> None:
    """Require the role for what is done beside gRPC, which asks by itself. Raises NotAllowed."""
    if not user.may(role, cluster):
        raise NotAllowed(f"{user.name} is no {role.value} of cluster {cluster}: ask whoever keeps the roles file")
