"""A plan says what it was asked for, so that the same can be asked for again."""

from __future__ import annotations

import pytest

from guardian.errors import ClusterUnavailable, GuardianError, InvalidInput, Undecided
from guardian.executor.replanning import LiveReplanner, settings_of, task_of
from guardian.model.directory import Directory
from guardian.model.federation import IdcPolicy, Topic
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import (
    Add,
    Balance,
    ClientTraffic,
    CreateTopic,
    EmptyDisk,
    ExpandTopic,
    Heal,
    Isolate,
    Leaders,
    LogDir,
    MigrateIdc,
    Relieve,
    Remove,
    ReplicationFactor,
    Task,
)
from guardian.model.ticket import Ticket, TicketState
from spark_analytics.planners import planning

POLICY = IdcPolicy("both", (("shanghai", 2), ("suzhou", 1)))
LABELLED = Topic("live", "orders", label="gold", idc_policy="both", expected_bytes_in_per_s=9)
DIRECTORY = Directory(policies=(POLICY,), topics=(LABELLED, Topic("other", "logs", label="gold")))
TASKS = [
    Remove((4, 5), balance=True),
    Add((6,)),
    Balance(),
    Balance(("logs-*", "orders")),
    Leaders(away_from=(3,)),
    EmptyDisk((LogDir(1, "/a b"), LogDir(2, "/c"))),
    Heal(),
    Relieve(0.7, (3,)),
    ReplicationFactor(("orders",), 4),
    MigrateIdc(POLICY, ("orders",)),
    Isolate("gold", ("orders",), brokers=(1, 2), headroom=0.2),
    CreateTopic(LABELLED, 24, 3, 20_000, (("retention.ms", "1"), ("cleanup.policy", "compact,delete"))),
    CreateTopic(Topic("live", "logs"), 1, 2),
    ExpandTopic("orders", 36),
]
SETTINGS = [
    PlannerSettings(),
    PlannerSettings(target_spread=0.3, max_bytes=1e9, topic_spread=False, max_replicas=70, excluded_topics=("x", "y*")),
]


def plan_for(task: Task, settings: PlannerSettings) -> Plan:
    return Plan("live", task.kind, (), settings=planning._shown(task) + planning._shown(settings))


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: str(task)[:30])
def test_task_and_settings_are_read_back_from_the_plan(task: Task, settings: PlannerSettings) -> None:
    plan = plan_for(task, settings)
    assert task_of(plan, DIRECTORY) == task
    assert settings_of(plan) == settings


def test_what_clients_move_is_for_the_cost_alone_so_a_migration_is_made_anew_without_it() -> None:
    migration = MigrateIdc(POLICY, ("orders",), clients=(ClientTraffic("orders", "suzhou", 2e6, 1e6),))
    plan = plan_for(migration, PlannerSettings())
    assert dict(plan.settings)["clients"] == "orders from suzhou"
    assert task_of(plan, DIRECTORY) == MigrateIdc(POLICY, ("orders",))


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (Plan("live", "run-plan", ()), "a plan of kind run-plan can't be made anew"),
        (Plan("live", "remove-brokers", ()), "does not say all that it was asked for"),
        (Plan("live", "isolate-label", (), settings=(("label", "g"), ("machines", "h1"))), "machines of a plan"),
        (Plan("live", "migrate-idc", (), settings=(("policy", "gone"),)), "policy is 'gone'"),
        (plan_for(Heal(), PlannerSettings(weights=(("disk", 2.0),))), "weights of a plan is not kept in full"),
    ],
)
def test_what_a_plan_does_not_keep_in_full_is_said(plan: Plan, sentence: str) -> None:
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
    stale = plan_for(Heal(), PlannerSettings())
    assert replanner.replan(ticket, stale) is None
    assert planner.forgotten == []
    assert replanner.replan(ticket, stale) is made
    assert replanner.replan(ticket, stale) == "no room"
    assert planner.asked == [("stale/t-1", "live", Heal())] * 3
    assert planner.forgotten == ["stale/t-1"] * 2
    assert "can't be made anew" in str(replanner.replan(ticket, Plan("live", "run-plan", ())))


@pytest.mark.parametrize("kind", [ClusterUnavailable, Undecided])
def test_a_planner_that_could_not_see_the_cluster_has_decided_nothing(kind: type[ClusterUnavailable]) -> None:
    ticket = Ticket("t-1", "live", "heal", TicketState.APPROVED, "ann", "hash", 1, 0, 0)
    unseen = kind("no controller answers")
    planner = Planner(unseen)
    assert LiveReplanner(planner, lambda: DIRECTORY).replan(ticket, plan_for(Heal(), PlannerSettings())) is unseen
    assert planner.forgotten == ["stale/t-1"], "the next question begins anew"
