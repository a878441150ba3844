"""Plans over gRPC: what is ordered is planned, in turn, with progress, for who may see it, until he hangs up."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from guardian.client import GuardianClient
from guardian.client.bearing import bearer
from guardian.errors import ClusterUnavailable, GuardianError, InvalidInput, NotAllowed, NotFound, Overloaded
from guardian.model.cluster_state import BrokerNode, LiveFacts, PartitionState
from guardian.model.directory import Directory
from guardian.model.federation import IdcPolicy, Topic
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance, CreateTopic, Heal, Isolate, MigrateIdc, Task
from guardian.model.topology import Cluster, TopicPartition
from guardian.model.wire import parts as wire
from guardian.model.wire.federation import cluster_to_proto
from guardian.planning.model import PlansConfig
from guardian.planning.orders import CreateTopicOrder, IsolateOrder, MigrateIdcOrder, PlanOrder
from guardian.planning.service import servicer
from guardian.planning.service.planning import LivePlanner
from protos.guardian.v1 import federation_pb2 as pb
from protos.guardian.v1 import planning_pb2
from tests.patience import PATIENCE_S, until
from tests.unit.member.guarded import Guarded
from tests.unit.member.member import Member

SETTINGS = PlannerSettings(cpu_limit=0.5, excluded_topics=("a*",))
MOVES = tuple(
    PartitionMove(TopicPartition("t", number), (ReplicaPlacement(1),), (ReplicaPlacement(2),)) for number in range(30)
)


FACTS = LiveFacts(
    "live",
    7,
    {1: BrokerNode(1, "h", 9092, "r")},
    {TopicPartition("t", number): PartitionState(1, (1,), (1,)) for number in range(30)},
    {},
    (),
)


class Played(LivePlanner):
    """Its search is played: it answers when it is let go, and remembers what it was asked."""

    def __init__(self, limits: PlansConfig | None = None) -> None:
        super().__init__(lambda _: pytest.fail("asks Kafka"), Directory, "", SETTINGS, lambda: 1000, limits)
        self.asked: list[tuple[str, Task, PlannerSettings | None, int]] = []
        self.go, self.given_up = threading.Event(), list[str]()
        self.go.set()

    def facts(self, cluster: str) -> LiveFacts:
        if cluster != "live":
            raise ClusterUnavailable(f"cluster {cluster} does not answer")
        return FACTS

    def plan(
        self,
        job: Any,
        cluster: str,
        task: Task,
        settings: PlannerSettings | None = None,
        *,
        complete_metrics: bool = False,  # noqa: ARG002
        window_ms: int = 0,
        notes: tuple[str, ...] = (),
    ) -> Plan:
        self.asked.append((cluster, task, settings, window_ms))
        with job.ending(self.go.set):
            assert self.go.wait(PATIENCE_S)
        try:
            job.require_wanted()
        except GuardianError as error:
            self.given_up.append(str(error))
            raise
        return Plan(cluster, task.kind, MOVES, task=task, notes=notes)


@pytest.fixture
def planner() -> Iterator[Played]:
    played = Played(PlansConfig(people=1, waiting_each=1))
    yield played
    played.go.set()
    played.close()


@pytest.fixture
def client(planner: Played) -> Iterator[GuardianClient]:
    member = Member(live_planner=planner)
    with GuardianClient([member.endpoint], 10.0) as client:
        yield client
    member.stop()


def put(client: GuardianClient, *entries: pb.FederationEntry) -> None:
    client.change_federation([pb.FederationChange(put=entry) for entry in entries])


def test_an_order_becomes_a_task_by_the_directory_and_settings_by_the_members_own(
    client: GuardianClient, planner: Played
) -> None:
    put(
        client,
        pb.FederationEntry(idc_policy=pb.IdcPolicy(name="two", replicas={"a": 2})),
        pb.FederationEntry(machine=pb.Machine(host="m1", idc="a")),
        pb.FederationEntry(topic=pb.Topic(cluster="live", name="new", label="gold")),
    )
    client.make_plan("live", PlanOrder(Balance(("t",)), {"cpu_limit": 0.9}, ("b",), 60_000))
    client.make_plan("live", PlanOrder(MigrateIdcOrder("two")))
    client.make_plan("live", PlanOrder(CreateTopicOrder("new", 3)))
    client.make_plan("live", PlanOrder(IsolateOrder("gold", from_pool=True)))

    tasks = [task for _, task, _, _ in planner.asked]
    assert planner.asked[0] == (
        "live",
        Balance(("t",)),
        replace(SETTINGS, cpu_limit=0.9, excluded_topics=("a*", "b")),
        60_000,
    )
    assert tasks[1] == MigrateIdc(IdcPolicy("two", (("a", 2),)))
    assert isinstance(tasks[2], CreateTopic)
    assert tasks[2].topic == Topic("live", "new", label="gold")
    assert isinstance(tasks[3], Isolate)
    assert [machine.host for machine in tasks[3].machines] == ["m1"]


def test_a_plan_larger_than_a_message_comes_whole(client: GuardianClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_PART_BYTES", 100)
    assert client.make_plan("live", PlanOrder(Heal())).moves == MOVES


def test_what_kafka_shows_comes_whole_for_who_may_see_it(
    tmp_path: Path, planner: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "MAX_PART_BYTES", 100)
    guarded = Guarded(tmp_path, live_planner=planner)
    guarded.member.store.put_cluster(cluster_to_proto(Cluster("other-1", "h:9092", "other")))

    def client_of(name: str) -> GuardianClient:
        return GuardianClient([guarded.member.endpoint], 10.0, bearing=bearer(guarded.token[name]))

    try:
        with client_of("vic") as vic:  # of all
            assert vic.live_facts("live") == FACTS
            with pytest.raises(ClusterUnavailable, match="cluster other-1 does not answer"):
                vic.live_facts("other-1")
            with pytest.raises(NotFound, match="'nope' is not registered"):
                vic.live_facts("nope")
        with client_of("olga") as olga, pytest.raises(NotAllowed, match="olga is not viewer on cluster live"):
            olga.live_facts("live")  # she is of others
    finally:
        guarded.stop()


def test_what_cannot_be_planned_is_told(client: GuardianClient) -> None:
    with pytest.raises(NotFound, match="cluster 'nope' is not registered"):
        client.make_plan("nope", PlanOrder(Heal()))
    with pytest.raises(InvalidInput, match="policy is 'nope', which is not known"):
        client.make_plan("live", PlanOrder(MigrateIdcOrder("nope")))
    with pytest.raises(InvalidInput, match="goals: goal 'fast' is not known"):
        client.make_plan("live", PlanOrder(Heal(), {"goals": ("fast",)}))


def test_progress_is_told_in_turn_again_and_again_and_one_too_many_is_refused_at_once(
    client: GuardianClient, planner: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servicer, "_TELL_EVERY_S", 0.1)
    planner.go.clear()
    heard: dict[str, list[planning_pb2.PlanProgress]] = {"first": [], "second": []}

    def ask(name: str) -> None:
        client.make_plan("live", PlanOrder(Heal()), heard[name].append)

    first, second = (threading.Thread(target=ask, args=(name,)) for name in heard)
    first.start()
    until(lambda: [each for each in heard["first"] if each.step == "OptimizationProposals"])
    second.start()
    until(lambda: len(heard["second"]) > 2)
    with pytest.raises(Overloaded, match="heal of cluster live under way, 1 wait"):
        client.make_plan("live", PlanOrder(Heal()))
    planner.go.set()
    for thread in (first, second):
        thread.join(PATIENCE_S)
    assert {each.step for each in heard["second"][:3]} == {"Pending"}
    assert (len(planner.asked), planner.given_up) == (2, [])


def test_a_plan_whose_client_hangs_up_is_given_up(client: GuardianClient, planner: Played) -> None:
    planner.go.clear()

    def hang_up(progress: planning_pb2.PlanProgress) -> None:
        if planner.asked:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client.make_plan("live", PlanOrder(Heal()), hang_up)
    until(lambda: planner.given_up)
    assert planner.given_up == ["nobody waits for this plan any more: ask again"]
    planner.go.set()
    assert client.make_plan("live", PlanOrder(Heal())).moves == MOVES


def test_a_member_that_falls_silent_is_given_up_and_another_attempt_is_made(
    client: GuardianClient, planner: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("guardian.client.calls._SILENT_S", 0.5)
    planner.go.clear()  # it is let go once the first attempt is given up
    assert client.make_plan("live", PlanOrder(Heal())).moves == MOVES
    assert (len(planner.asked), len(planner.given_up)) == (2, 1)


def test_who_sees_some_clusters_plans_for_them_with_what_he_sees(tmp_path: Path, planner: Played) -> None:
    guarded = Guarded(tmp_path, live_planner=planner)
    guarded.member.store.put_cluster(cluster_to_proto(Cluster("other-1", "h:9092", "other")))

    def client_of(name: str) -> GuardianClient:
        return GuardianClient([guarded.member.endpoint], 10.0, bearing=bearer(guarded.token[name]))

    try:
        with client_of("root") as root:
            put(
                root,
                pb.FederationEntry(idc_policy=pb.IdcPolicy(name="far", replicas={"elsewhere": 2})),
                pb.FederationEntry(machine=pb.Machine(host="m1", idc="elsewhere")),
            )
        with client_of("vic") as vic:  # of all
            vic.make_plan("other-1", PlanOrder(IsolateOrder("gold", from_pool=True)))
            vic.make_plan("other-1", PlanOrder(MigrateIdcOrder("far")))
        with client_of("olga") as olga:  # of others
            assert olga.make_plan("other-1", PlanOrder(IsolateOrder("gold", from_pool=True))).moves == MOVES
            with pytest.raises(InvalidInput, match="use one of none yet"):
                olga.make_plan("other-1", PlanOrder(MigrateIdcOrder("far")))
            for name in ("live", "nowhere"):
                with pytest.raises(NotAllowed, match=f"olga is not viewer on cluster {name}"):
                    olga.make_plan(name, PlanOrder(Heal()))
        whole, migration, cut = (task for _, task, _, _ in planner.asked)
        assert isinstance(whole, Isolate)
        assert [machine.host for machine in whole.machines] == ["m1"]
        assert migration == MigrateIdc(IdcPolicy("far", (("elsewhere", 2),)))
        assert cut == Isolate("gold")
    finally:
        guarded.stop()
