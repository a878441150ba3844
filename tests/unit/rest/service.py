"""The REST routes of a member in this process: real gRPC behind them, Kafka in memory, a planner that does as told."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

from fastapi import FastAPI
from fastapi.testclient import TestClient

from guardian.client import GuardianClient
from guardian.errors import GuardianError, NotFound
from guardian.model.identity import LOCAL, Identity
from guardian.model.plan import GoalResult, LoadSummary, PartitionMove, Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Task
from guardian.model.topology import TopicPartition
from guardian.rest.api import Api
from guardian.rest.cruise_control.routes import CruiseControl
from guardian.rest.cruise_control.state import Concurrency
from guardian.rest.parts import RestParts
from guardian.rest.rates import PartitionRate, Rates
from spark_analytics.readers.live import LiveFacts
from tests.unit.server.member import Member

MB = 1024 * 1024
T0 = TopicPartition("t", 0)
RATES = Rates({T0: PartitionRate(2048.0, 4096.0, 7.0)}, {1: 50.0, 2: 20.0, 3: 10.0}, {1: 4, 2: 4, 3: 4}, {1: 1e6})


@dataclass
class Planner:
    """Moves t-0 from brokers 1 and 2 to 1 and 3, unless it is told otherwise."""

    member: Member
    asked: list[tuple[Task, PlannerSettings]] = field(default_factory=list)
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

    def plan(self, cluster: str, task: Task, settings: PlannerSettings | None = None) -> Plan:
        self.asked.append((task, settings or self.settings))
        if self.failure is not None:
            raise self.failure
        return Plan(
            cluster,
            task.kind,
            self.moves,
            made_at_ms=1000,
            input="Kafka itself",
            loads=(LoadSummary(2, "", 40.0, 20.0, "cpu"),),
            goals=(GoalResult("rack", True, 0, 0, 0.0), GoalResult("disk-spread", False, 1.0, 0.1, 0.2)),
        )


class Service:
    """`web` speaks to the routes. `people` are who sends, by the header X-Who; without it, or security: LOCAL."""

    def __init__(self, people: Mapping[str, Identity] | None = None, block_s: float = 30.0) -> None:
        self._stack = ExitStack()
        self.member = Member(author_may_approve=True)
        self._stack.callback(self.member.stop)
        self.client = self._stack.enter_context(GuardianClient([self.member.endpoint]))
        self.planner = Planner(self.member)
        self.rates = RATES
        known = dict(people or {})
        self.parts = RestParts(
            lambda _: self.client,
            lambda request: known.get(request.headers.get("x-who", ""), LOCAL),
            self.planner,
            lambda _: self.member.kafka,
            lambda _: self.rates,
            lambda: self.member.now_ms,
        )
        cruise_control = CruiseControl(self.parts, Concurrency(10, 1250), block_s)
        self._stack.callback(cruise_control.close)
        app = FastAPI(openapi_url=None)
        app.include_router(cruise_control.router)
        app.include_router(Api(self.parts).router)
        self.web = self._stack.enter_context(TestClient(app))

    def stop(self) -> None:
        self._stack.close()
