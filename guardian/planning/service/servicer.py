"""The Planning service: a plan for whoever waits for it. On the server's event loop, where a wait holds no thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import grpc.aio

from guardian.errors import Unavailable
from guardian.federation.store import directory_seen
from guardian.model.cluster_state import LiveFacts
from guardian.model.plan import Plan
from guardian.model.topology import Cluster
from guardian.model.wire.live_facts import live_facts_to_proto, parts_of_live_facts
from guardian.model.wire.orders import order_from_proto, parts_of_plan
from guardian.model.wire.plans import plan_to_proto
from guardian.planning.making import Known, make_plan
from guardian.planning.model import Lane
from guardian.planning.orders import PlanOrder
from guardian.planning.service.desk import Job
from guardian.planning.service.planning import LivePlanner
from guardian.replication.store.async_store import AsyncStore
from guardian.replication.store.state import Views
from guardian.serving.admins import registered
from guardian.serving.requests import person_of
from guardian.serving.sight import Sight
from guardian.serving.who_asks import who_asks
from protos.guardian.v1 import insight_pb2, planning_pb2_grpc
from protos.guardian.v1 import planning_pb2 as pb

_TELL_EVERY_S = 5.0  # of a step that lasts: a member that hangs tells nothing
_LOOK_S = 0.25
_GIVEN_UP = "nobody waits for this plan any more: ask again"

Lines = Callable[[Cluster, int], insight_pb2.LinesReport]


class PlanningServicer(planning_pb2_grpc.PlanningServicer):
    """`lines` tells from which IDCs a cluster's clients write and read, within the newest so many ms (0: as usual);
    `planner` is None where nothing plans."""

    def __init__(self, store: AsyncStore, planner: LivePlanner | None, lines: Lines) -> None:
        self._store = store
        self._planner = planner
        self._lines = lines

    async def MakePlan(
        self, request: pb.MakePlanRequest, context: grpc.aio.ServicerContext[pb.MakePlanRequest, pb.MakePlanReply]
    ) -> AsyncIterator[pb.MakePlanReply]:
        if self._planner is None:
            raise Unavailable("this member makes no plans: ask a member that `guardian server` runs")
        views = await self._store.read()
        cluster = registered(views.cluster, request.cluster)
        order = order_from_proto(request)
        job: Job[Plan] = self._planner.desk.submit(
            Lane.PEOPLE,
            person_of(context),
            f"{order.task.kind} of cluster {cluster.name}",
            self._work(self._planner, views, cluster, order),
        )
        try:
            async for progress in _progress(self._planner, job):
                yield pb.MakePlanReply(progress=progress)
            plan = job.future.result()
        finally:
            job.cancel(_GIVEN_UP)  # nothing, once it is done
        for part in await asyncio.to_thread(lambda: [*parts_of_plan(plan_to_proto(plan))]):
            yield pb.MakePlanReply(plan=part)

    async def GetLiveFacts(
        self, request: pb.LiveFactsRequest, context: grpc.aio.ServicerContext[pb.LiveFactsRequest, pb.LiveFactsReply]
    ) -> AsyncIterator[pb.LiveFactsReply]:
        planner = self._planner
        if planner is None:
            raise Unavailable("this member asks no clusters: ask a member that `guardian server` runs")
        views = await self._store.read()
        cluster = registered(views.cluster, request.cluster)
        job: Job[LiveFacts] = planner.desk.submit(
            Lane.LOOKUPS,
            person_of(context),
            f"what Kafka shows of cluster {cluster.name}",
            lambda job: _facts(planner, job, cluster.name),
        )
        try:
            async for progress in _progress(planner, job):
                yield pb.LiveFactsReply(progress=progress)
            facts = job.future.result()
        finally:
            job.cancel(_GIVEN_UP)  # nothing, once it is done
        for part in await asyncio.to_thread(lambda: [*parts_of_live_facts(live_facts_to_proto(facts))]):
            yield pb.LiveFactsReply(facts=part)

    def _work(
        self, planner: LivePlanner, views: Views, cluster: Cluster, order: PlanOrder
    ) -> Callable[[Job[Plan]], Plan]:
        known = Known(
            partial(directory_seen, views, Sight(who_asks(), lambda: views)),
            partial(self._lines, cluster, order.window_ms),
        )
        return lambda job: make_plan(planner, job, cluster.name, order, known)


def _facts(planner: LivePlanner, job: Job[LiveFacts], cluster: str) -> LiveFacts:
    job.step("LiveFacts", "Kafka is asked who lives, and where each replica is")
    return planner.facts(cluster)


async def _progress(planner: LivePlanner, job: Job[Any]) -> AsyncIterator[pb.PlanProgress]:
    """Yield what the job does, at each change of it and every few seconds, until it is done."""
    told, told_at = pb.PlanProgress(), 0.0
    clock = asyncio.get_running_loop().time
    while not job.future.done():
        own, others = planner.desk.before(job)
        step = job.steps()[-1]
        now = pb.PlanProgress(
            step=step.name,
            description=step.description,
            began_ms=step.began_ms,
            own_before=own,
            others_before=others,
        )
        if now != told or clock() - told_at >= _TELL_EVERY_S:
            told, told_at = now, clock()
            yield now
        await asyncio.sleep(_LOOK_S)
