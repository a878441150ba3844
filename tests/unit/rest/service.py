"""The REST routes of a member in this process: real gRPC behind them, Kafka in memory, a planner that does as told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, cast

from fastapi import FastAPI
from fastapi.testclient import TestClient

from guardian.client import GuardianClient
from guardian.errors import GuardianError, NotFound
from guardian.lake.model.recent_rates import PartitionRate, Rates
from guardian.model.cluster_state import LiveFacts
from guardian.model.plan import GoalResult, LoadSummary, PartitionMove, Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Task
from guardian.model.topology import TopicPartition
from guardian.planning.model import Lane, PlansConfig
from guardian.planning.service.desk import Desk
from guardian.planning.service.planning import LivePlanner
from guardian.planning.store import ReplicatedUserTasks
from guardian.replication.store.store import ReplicatedStore
from guardian.rest.api import Api
from guardian.rest.cruise_control.routes import CruiseControl
from guardian.rest.cruise_control.state import Concurrency
from guardian.rest.parts import RestParts
from guardian.security.model.identity import LOCAL, Identity
from tests.unit.member.member import Member

MB = 1024 * 1024
T0 = TopicPartition("t", 0)
RATES = Rates({T0: PartitionRate(2048.0, 4096.0, 7.0)}, {1: 50.0, 2: 20.0, 3: 10.0}, {1: 4, 2: 4, 3: 4}, {1: 1e6})


@dataclass
class Planner:
    """Moves t-0 from brokers 1 and 2 to 1 and 3, unless it is told otherwise."""

    member: Member
    asked: list[tuple[Task, PlannerSettings]] = field(default_factory=list)
    windows: list[int] = field(default_factory=list)
    failure: GuardianError | None = None
    moves: tuple[PartitionMove, ...] = (
        PartitionMove(
            T0,
            (ReplicaPlacement(1), ReplicaPlacement(2)),
            (ReplicaPlacement(1), ReplicaPlacement(3)),
            10 * MB,
            reason="less on 2",
        ),
    )

    def __post_init__(self) -> None:
        limits = PlansConfig()
        self.desk = Desk(limits.lanes, limits.wait_s, lambda: self.member.now_ms)

    @property
    def settings(self) -> PlannerSettings:
        return PlannerSettings()

    def facts(self, cluster: str) -> LiveFacts:
        if cluster != "live":
            raise NotFound(f"cluster {cluster!r} is not registered")
        kafka = self.member.kafka
        brokers = kafka.describe_cluster().brokers
        dirs = kafka.describe_log_dirs(sorted(brokers))
        return LiveFacts(cluster, 1000, brokers, kafka.describe_partitions(), kafka.list_reassignments(), tuple(dirs))

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
        assert not job.future.done(), "it is made while it is this person's turn"
        self.asked.append((task, settings or self.settings))
        self.windows.append(window_ms)
        if self.failure is not None:
            raise self.failure
        return Plan(
            cluster,
            task.kind,
            self.moves,
            made_at_ms=1000,
            input="Kafka itself",
            throttle=round((settings or self.settings).throttle),
            notes=notes,
            loads=(LoadSummary(2, "", 40.0, 20.0, "cpu"),),
            goals=(GoalResult("rack", True, 0, 0, 0.0), GoalResult("disk-spread", False, 1.0, 0.1, 0.2)),
        )


class _Within:
    """The same planner as the member has it, which is asked over gRPC."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def has_made(self, _: Plan) -> bool:
        return False

    def plan_for(
        self,
        person: str,
        is_awaited: Callable[[], bool],
        cluster: str,
        task: Task,
        *,
        complete_metrics: bool = False,
    ) -> Plan:
        assert (person, is_awaited(), complete_metrics) == ("127.0.0.1", True, True)
        planner = self._service.planner
        job = planner.desk.submit(Lane.PEOPLE, person, task.kind, lambda job: planner.plan(job, cluster, task))
        return job.future.result()


class Tasks(ReplicatedUserTasks):
    """User tasks of a group whose members share one store."""

    def __init__(self, store: ReplicatedStore, member: str = "g1") -> None:
        super().__init__(store, member)
        self.store = store

    def join(self, others: Tasks) -> None:
        """Be another run of the member, in the group of the others."""
        self.__init__(others.store)  # type: ignore[misc]


class Service:
    """`web` speaks to the routes of `app`. `people` are who sends, by the header X-Who; without it, or security:
    LOCAL."""

    def __init__(self, people: Mapping[str, Identity] | None = None, block_s: float = 30.0) -> None:
        self._stack = ExitStack()
        self.member = Member(author_may_approve=True, live_planner=cast(LivePlanner, _Within(self)))
        self._stack.callback(self.member.stop)
        self.client = self._stack.enter_context(GuardianClient([self.member.endpoint]))
        self.planner = Planner(self.member)
        self.rates = RATES
        self.tasks = Tasks(self.member.store)
        known = dict(people or {})
        self.parts = RestParts(
            lambda _: self.client,
            lambda request: known.get(request.headers.get("x-who", ""), LOCAL),
            self.planner,
            lambda _: self.member.kafka,
            lambda _: self.rates,
            self.tasks,
            lambda: self.member.now_ms,
        )
        cruise_control = CruiseControl(self.parts, Concurrency(10, 1250), block_s)
        self._stack.callback(self.planner.desk.close)
        self._stack.callback(cruise_control.close)
        app = FastAPI(openapi_url=None)
        app.include_router(cruise_control.router)
        app.include_router(Api(self.parts).router)
        self.app = app
        self.web = self._stack.enter_context(TestClient(app))

    def stop(self) -> None:
        self._stack.close()
