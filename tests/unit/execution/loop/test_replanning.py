"""A plan says what it was asked for, so that the same can be asked for again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.errors import ClusterUnavailable, GuardianError, InvalidInput, Undecided
from guardian.execution.loop.replanning import LiveReplanner, task_of
from guardian.model.directory import Directory
from guardian.model.federation import IdcPolicy, Machine, Topic
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import CreateTopic, ExpandTopic, Heal, Isolate, MigrateIdc, PlanTask, Task
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from guardian.tickets.kinds.throttle_override import ThrottleOverride

POLICY = IdcPolicy("both", (("shanghai", 2), ("suzhou", 1)))
LABELLED = Topic("live", "orders", label="gold", idc_policy="both", expected_bytes_in_per_s=9)
DIRECTORY = Directory(
    machines=(Machine("h1"), Machine("h2", cluster="live", broker_id=9)),
    policies=(POLICY,),
    topics=(LABELLED, Topic("other", "logs", label="gold")),
)


def plan_for(task: PlanTask, settings: PlannerSettings | None = PlannerSettings()) -> Plan:  # noqa: B008  frozen
    return Plan("live", task.kind, (), settings=settings, task=task)


@pytest.mark.parametrize(
    ("stored", "now"),
    [
        (MigrateIdc(replace(POLICY, replicas=(("suzhou", 3),)), ("orders",)), MigrateIdc(POLICY, ("orders",))),
        (CreateTopic(Topic("live", "orders"), 24, 3), CreateTopic(LABELLED, 24, 3)),
        (CreateTopic(Topic("live", "logs", owner="ann"), 1, 2), CreateTopic(Topic("live", "logs", owner="ann"), 1, 2)),
        (Isolate("gold", machines=(Machine("h1"), Machine("h2"))), Isolate("gold", machines=(Machine("h1"),))),
    ],
)
def test_what_the_directory_says_is_read_as_it_is_now(stored: Task, now: Task) -> None:
    assert task_of(plan_for(stored), DIRECTORY) == now


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (Plan("live", "run-plan", ()), "a plan of kind run-plan can't be made anew"),
        (plan_for(ExpandTopic("orders", 36), None), "a plan of kind expand-topic can't be made anew"),
        (plan_for(ThrottleOverride(1, 10**6, 1)), "a plan of kind throttle-override can't be made anew"),
        (plan_for(MigrateIdc(replace(POLICY, name="gone"))), "policy is 'gone'"),
    ],
)
def test_what_no_planner_made_or_can_make_is_said(plan: Plan, sentence: str) -> None:
    ticket = Ticket("t-1", "live", plan.kind, TicketState.APPROVED, "ann", "hash", 1, 0, 0)
    assert sentence in str(LiveReplanner(Planner(), lambda: DIRECTORY).replan(ticket, plan))


class Planner:
    """Answers as it is told, and notes what it was asked."""

    def __init__(self, *answers: Plan | GuardianError | None) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str, Task]] = []
        self.forgotten: list[str] = []

    def ask(
        self, key: str, cluster: str, task: Task, settings: PlannerSettings | None = None
    ) -> Plan | GuardianError | None:
        assert settings is not None
        self.asked.append((key, cluster, task))
        return self.answers.pop(0)

    def forget(self, key: str) -> None:
        self.forgotten.append(key)


def test_an_answer_is_given_once() -> None:
    ticket = Ticket("t-1", "live", "heal", TicketState.APPROVED, "ann", "hash", 1, 0, 0)
    made = Plan("live", "heal", ())
    planner = Planner(None, made, InvalidInput("no room"))
    replanner = LiveReplanner(planner, lambda: DIRECTORY)
    stale = plan_for(Heal())
    assert replanner.replan(ticket, stale) is None
    assert planner.forgotten == []
    assert replanner.replan(ticket, stale) is made
    assert replanner.replan(ticket, stale) == "no room"
    assert planner.asked == [("stale/t-1", "live", Heal())] * 3
    assert planner.forgotten == ["stale/t-1"] * 2
    assert "can't be made anew" in str(replanner.replan(ticket, Plan("live", "run-plan", ())))


@pytest.mark.parametrize(
    ("tenants", "topic", "why"),
    [
        ((), "orders", ""),
        (("pay*",), "pay", ""),
        (("pay*",), "was", ""),  # it was approved with it
        (("pay*",), "orders", "it moves topic orders of tenant shop, and ann may move topics of pay*"),
        (("*shop",), "unknown", "it moves topic unknown of no tenant, and ann may move topics of *shop"),
    ],
)
def test_a_new_plan_moves_no_topics_of_other_tenants(tenants: tuple[str, ...], topic: str, why: str) -> None:
    known = Directory(topics=(Topic("live", "orders", tenant="shop"), Topic("live", "pay", tenant="payments")))
    ticket = Ticket("t-1", "live", "heal", TicketState.APPROVED, "ann", "hash", 1, 0, 0, tenants=tenants)
    moves = [PartitionMove(TopicPartition(each, 0), (), (ReplicaPlacement(1),)) for each in ("was", topic)]
    was, made = (replace(plan_for(Heal()), moves=tuple(some)) for some in (moves[:1], moves[topic == "was" :]))
    assert LiveReplanner(Planner(made), lambda: known).replan(ticket, was) == (why or made)


@pytest.mark.parametrize("kind", [ClusterUnavailable, Undecided])
def test_a_planner_that_could_not_see_the_cluster_has_decided_nothing(kind: type[ClusterUnavailable]) -> None:
    ticket = Ticket("t-1", "live", "heal", TicketState.APPROVED, "ann", "hash", 1, 0, 0)
    unseen = kind("no controller answers")
    planner = Planner(unseen)
    assert LiveReplanner(planner, lambda: DIRECTORY).replan(ticket, plan_for(Heal())) is unseen
    assert planner.forgotten == ["stale/t-1"], "the next question begins anew"
