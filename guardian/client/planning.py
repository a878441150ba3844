"""Plans that members make while somebody waits for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from guardian.client.calls import Calls
from guardian.model.cluster_state import LiveFacts
from guardian.model.plan import Plan
from guardian.model.wire.live_facts import live_facts_from_proto
from guardian.model.wire.orders import order_to_proto
from guardian.model.wire.plans import plan_from_proto
from guardian.planning.orders import PlanOrder
from protos.guardian.v1 import planning_pb2, tickets_pb2


class PlanningCalls:
    """Part of GuardianClient."""

    _calls: Calls

    def make_plan(
        self,
        cluster: str,
        order: PlanOrder,
        on_progress: Callable[[planning_pb2.PlanProgress], None] = lambda _: None,
    ) -> Plan:
        """Return a checked plan, which may have no moves, made by the leader where it answers; nothing is stored.

        `on_progress` is told what is being done, at least every few seconds. An exception that it raises gives the plan
        up. Raises NotFound, InvalidInput, ClusterUnavailable, Unavailable; Overloaded at once where too much waits.
        """

        def take(replies: Iterator[planning_pb2.MakePlanReply]) -> Plan:
            plan = tickets_pb2.Plan()
            for reply in replies:
                if reply.HasField("progress"):
                    on_progress(reply.progress)
                else:
                    plan.MergeFrom(reply.plan)
            return plan_from_proto(plan)

        request = order_to_proto(cluster, order)
        return self._calls.follow(lambda stubs: stubs.planning.MakePlan, request, take)

    def live_facts(self, cluster: str) -> LiveFacts:
        """Return what Kafka shows of the cluster now, as the leader reads it where that answers.

        Raises NotFound, ClusterUnavailable, Unavailable; Overloaded at once where too much waits.
        """

        def take(replies: Iterator[planning_pb2.LiveFactsReply]) -> LiveFacts:
            facts = planning_pb2.LiveFacts()
            for reply in replies:
                facts.MergeFrom(reply.facts)
            return live_facts_from_proto(facts)

        request = planning_pb2.LiveFactsRequest(cluster=cluster)
        return self._calls.follow(lambda stubs: stubs.planning.GetLiveFacts, request, take)
