"""What a planning command asks a member, or Spark, for, and what becomes of the plan; both are played."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from typer.testing import CliRunner, Result

from guardian.config import planner_settings
from guardian.errors import ClusterUnavailable, Conflict, GuardianError, InvalidInput, Unavailable
from guardian.lake.model.window import Window
from guardian.model.cluster_state import LiveFacts
from guardian.model.directory import Directory
from guardian.model.federation import IdcPolicy, Machine, Topic
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
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
from guardian.model.topology import Broker, Cluster, TopicPartition
from guardian.model.wire.orders import order_from_proto, order_to_proto
from guardian.planning.commands.plan import carrying_out
from guardian.planning.orders import PlanOrder
from guardian.planning.rules.resolving import resolved
from guardian.planning.wire import planner_from_proto, planner_to_proto
from protos.guardian.v1 import insight_pb2 as pb
from protos.guardian.v1.planning_pb2 import PlanProgress
from spark_analytics.jobs import plans
from tests.command_line import app

MOVE = PartitionMove(
    TopicPartition("orders", 0), (ReplicaPlacement(1, "/d"),), (ReplicaPlacement(2, "/d"),), size_bytes=5_000_000
)
POLICY = IdcPolicy("two", (("shanghai", 2), ("suzhou", 1)), "shanghai")
ORDERS = Topic("live", "orders", tenant="pay", label="gold")
FREE, TAKEN = Machine("m1"), Machine("m2", cluster="live", broker_id=3)
LIVE = Cluster("live", "h:9092", brokers=(Broker(1), Broker(2), Broker(41)))
OTHERS = tuple(Cluster(name, "h:9092") for name in ("a", "broken", "bulk"))
DIRECTORY = Directory(clusters=(LIVE, *OTHERS), machines=(FREE, TAKEN), topics=(ORDERS,), policies=(POLICY,))
AT_MS = {"live": 9_000_000, "a": 9_000_100, "broken": 9_000_000, "bulk": 9_000_000}
NO_PLAN = InvalidInput("cluster broken has no samples: take a window that has some")


@dataclass
class World:
    """The member, the lake and the planner: remembers what it was asked, and has one plan for every cluster."""

    is_spark: bool = False
    moves: tuple[PartitionMove, ...] = (MOVE,)
    tasks: dict[str, Task] = field(default_factory=dict)
    orders: list[PlanOrder] = field(default_factory=list)
    settings: PlannerSettings | None = None
    drafts: list[dict[str, Any]] = field(default_factory=list)
    lake_url: str = "/lake"
    planner: Struct = field(default_factory=Struct)
    refused: dict[str, GuardianError] = field(default_factory=dict)
    away: dict[str, GuardianError] = field(default_factory=dict)
    window: Window | None = None
    lines_of: dict[str, pb.LinesReport | GuardianError] = field(default_factory=dict)

    def member(self) -> World:
        return self

    def lines(self, cluster: str, *_window: int) -> pb.LinesReport:
        found = self.lines_of.get(cluster, pb.LinesReport())
        if isinstance(found, GuardianError):
            raise found
        return found

    def make_plan(self, cluster: str, order: PlanOrder, on_progress: Callable[[PlanProgress], None]) -> Plan:
        """Over the wire, as the member that makes it."""
        request = order_to_proto(cluster, order)
        received = order_from_proto(request)
        task = resolved(received.task, DIRECTORY, request.cluster)
        self.orders.append(received)
        self.tasks[cluster] = task
        self.settings = received.settings(planner_settings(planner_from_proto(self.planner)))
        for before in (2, 2, 0):
            on_progress(PlanProgress(description="it waits", others_before=before))
        if cluster == "broken":
            raise NO_PLAN
        return Plan(cluster, task.kind, self.moves, input="7 samples")

    def live_facts(self, cluster: str) -> LiveFacts:
        if cluster in self.away:
            raise self.away[cluster]
        return LiveFacts(cluster, AT_MS[cluster], {}, {}, {}, ())

    def create_ticket(self, plan: Plan, **more: Any) -> tuple[Ticket, Plan]:
        if plan.cluster in self.refused:
            raise self.refused[plan.cluster]
        self.drafts.append({"cluster": plan.cluster, **more})
        return Ticket("17", plan.cluster, plan.kind, TicketState.DRAFT, "ann", "", 1, 1, 1), plan

    def outcomes(
        self,
        _spark: None,
        lake: str,
        tasks: Mapping[str, Task],
        window: Window,
        settings: PlannerSettings,
        _: Directory,
        present: Mapping[str, LiveFacts],
    ) -> dict[str, Plan | GuardianError]:
        assert lake == self.lake_url
        assert present.keys() == tasks.keys()
        self.window = window
        self.tasks, self.settings = dict(tasks), settings
        return {
            cluster: NO_PLAN if cluster == "broken" else Plan(cluster, task.kind, self.moves, input="7 samples")
            for cluster, task in tasks.items()
        }


@pytest.fixture(params=["member", "spark"])
def world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(request.param == "spark")
    if made.is_spark:
        monkeypatch.setenv("PLAN_WITH", "--spark")
    monkeypatch.setattr(carrying_out, "connect", lambda _: contextlib.nullcontext(made))
    monkeypatch.setattr(carrying_out, "read_directory", lambda _: DIRECTORY)
    monkeypatch.setattr(
        carrying_out, "analysing", lambda _, __, span, *___: contextlib.nullcontext((None, Window(*span)))
    )
    monkeypatch.setattr(carrying_out, "actor", lambda: "ann")
    monkeypatch.setattr(plans, "outcomes", made.outcomes)
    return made


def run(*arguments: str) -> Result:
    spark = [os.environ["PLAN_WITH"]] if "PLAN_WITH" in os.environ else []
    return CliRunner().invoke(app, ["plan", *arguments, *spark], catch_exceptions=False)


@pytest.mark.parametrize(
    ("arguments", "task"),
    [
        (["balance", "--topic", "a*", "--topic", "b"], Balance(("a*", "b"))),
        (["leaders", "--away-from", "7"], Leaders((), (7,))),
        (["isolate", "--label", "gold", "--from-pool"], Isolate("gold", machines=(FREE,), first_id=42)),
        (["isolate", "--label", "gold", "--release", "1"], Isolate("gold", release=1, first_id=42)),
        (
            ["isolate", "--label", "gold", "--tenant", "pay", "--broker", "3", "--headroom", "0.2"],
            Isolate("gold", tenant="pay", brokers=(3,), headroom=0.2, first_id=42),
        ),
        (["migrate-idc", "--policy", "two", "--tenant", "pay"], MigrateIdc(POLICY, tenant="pay")),
        (["remove", "--broker", "7", "--broker", "8", "--balance"], Remove((7, 8), True)),
        (["add", "--broker", "11"], Add((11,))),
        (
            ["preallocate", "--topic", "orders", "--partitions", "6", "--expected-size", "20GB"],
            CreateTopic(ORDERS, 6, 3, 20_000_000_000),
        ),
        (["preallocate", "--topic", "new", "--partitions", "6"], CreateTopic(Topic("live", "new"), 6, 3)),
        (["preallocate", "--topic", "orders", "--partitions", "9", "--expand"], ExpandTopic("orders", 9)),
        (["replication-factor", "--topic", "orders", "--to", "2"], ReplicationFactor(("orders",), 2)),
        (["empty-disk", "--log-dir", "7:/data/d3"], EmptyDisk((LogDir(7, "/data/d3"),))),
        (["relieve", "--below", "0.7", "--log-dir", "7:/d"], Relieve(0.7, (), (LogDir(7, "/d"),))),
        (["heal"], Heal()),
    ],
)
def test_what_is_typed_becomes_a_task(world: World, arguments: list[str], task: Task) -> None:
    assert run(*arguments, "--cluster", "live", "--dry-run").exit_code == 0
    assert world.tasks == {"live": task}


def test_a_draft_gets_the_expiry_and_the_key_that_were_asked_for(world: World) -> None:
    assert run("balance", "--cluster", "live", "--expires", "12h", "--idempotency-key", "k").exit_code == 0
    assert run("balance", "--cluster", "live", "--expires", "never").exit_code == 0
    asked = [(draft["expires_in_ms"], draft["idempotency_key"]) for draft in world.drafts]
    assert asked == [(12 * 3_600_000, "k"), (-1, "")]
    with pytest.raises(InvalidInput, match="--idempotency-key is 'k', and it makes one ticket: give one --cluster"):
        run("balance", "--cluster", "live", "--cluster", "bulk", "--idempotency-key", "k")


def test_a_dry_run_stores_nothing(world: World) -> None:
    assert "orders-0" in run("balance", "--cluster", "live", "--dry-run").stdout
    assert world.drafts == []


def test_each_plan_becomes_a_draft_with_the_throttle_asked_for(world: World) -> None:
    result = run("balance", "--cluster", "live", "--cluster", "bulk", "--cluster", "live", "--throttle", "10MB")

    assert [(draft["cluster"], draft["throttle"], draft["author"]) for draft in world.drafts] == [
        ("live", 10_000_000, "ann"),
        ("bulk", 10_000_000, "ann"),
    ]
    assert "Draft ticket 17 for cluster live. Next: guardian ticket submit 17" in result.stdout


def test_a_plan_of_nothing_becomes_no_ticket(world: World) -> None:
    world.moves = ()

    assert "nothing to move" in run("heal", "--cluster", "live").stdout
    assert world.drafts == []


def test_a_cluster_without_a_plan_hides_no_other_and_the_exit_code_says_so(world: World) -> None:
    result = run("balance", "--cluster", "broken", "--cluster", "live")

    assert result.exit_code == 1
    assert "Cluster live: balance, 1 move" in result.stdout
    assert f"Cluster broken has no plan: {NO_PLAN}" in result.stderr
    assert [draft["cluster"] for draft in world.drafts] == ["live"]

    told = json.loads(run("balance", "--cluster", "broken", "--cluster", "live", "--dry-run", "-o", "json").stdout)
    assert told[0] == {"cluster": "broken", "error": str(NO_PLAN)}
    assert told[1]["cluster"] == "live"


def test_no_plan_at_all_is_an_error(world: World) -> None:
    with pytest.raises(InvalidInput, match="cluster broken has no samples"):
        run("balance", "--cluster", "broken")


def test_a_ticket_that_is_refused_hides_no_other(world: World) -> None:
    world.refused = {"live": Conflict("the plan is stale")}

    result = run("balance", "--cluster", "live", "--cluster", "bulk")

    assert result.exit_code == 1
    assert "Cluster live has no ticket: the plan is stale" in result.stderr
    assert [draft["cluster"] for draft in world.drafts] == ["bulk"]
    with pytest.raises(Conflict, match="the plan is stale"):
        run("balance", "--cluster", "live")


def new_partition(number: int, *brokers: int) -> PartitionMove:
    places = tuple(ReplicaPlacement(broker, "/d") for broker in brokers)
    return PartitionMove(TopicPartition("orders", number), (), places, is_new=True)


@pytest.mark.parametrize(
    ("arguments", "moves", "sentences"),
    [
        (
            ["isolate", "--label", "gold", "--from-pool"],
            (PartitionMove(TopicPartition("orders", 0), MOVE.original, (ReplicaPlacement(42),)),),
            [
                "A plan that takes machines of the pool can't become a ticket before they have joined the cluster.",
                "It can't become a ticket before broker 42 joined cluster live: start the machines as its notes say",
                "and plan again without --from-pool.",
            ],
        ),
    ],
)
def test_a_plan_that_can_be_no_ticket_says_what_to_do_instead(
    world: World, arguments: list[str], moves: tuple[PartitionMove, ...], sentences: list[str]
) -> None:
    world.moves = moves

    result = run(*arguments, "--cluster", "live")

    assert result.exit_code == 1
    for sentence in sentences:
        assert sentence in result.output
    assert world.drafts == []
    dry = run(*arguments, "--cluster", "live", "--dry-run")
    assert dry.exit_code == 0
    assert sentences[-1] in dry.stdout
    assert sentences[-1] not in run(*arguments, "--cluster", "live", "--dry-run", "-o", "json").stdout


@pytest.mark.parametrize(
    ("arguments", "moves"),
    [
        (["preallocate", "--topic", "orders", "--partitions", "2"], (new_partition(0, 1, 2), new_partition(1, 2, 1))),
        (["preallocate", "--topic", "orders", "--partitions", "3", "--expand"], (new_partition(2, 1, 2),)),
        (
            ["replication-factor", "--topic", "orders", "--to", "2"],
            (PartitionMove(TopicPartition("orders", 0), MOVE.original, (*MOVE.original, ReplicaPlacement(2))),),
        ),
    ],
    ids=["create", "expand", "replication factor"],
)
def test_plans_that_create_and_resize_become_drafts(
    world: World, arguments: list[str], moves: tuple[PartitionMove, ...]
) -> None:
    world.moves = moves

    result = run(*arguments, "--cluster", "live")

    assert result.exit_code == 0, result.output
    assert [draft["cluster"] for draft in world.drafts] == ["live"]


def test_the_configuration_of_a_new_topic_goes_along(world: World) -> None:
    arguments = ("preallocate", "--topic", "orders", "--partitions", "2", "--cluster", "live", "--dry-run")
    run(*arguments, "--config", "retention.ms=5", "--config", "cleanup.policy=compact,delete")

    task = world.tasks["live"]
    assert isinstance(task, CreateTopic)
    assert task.configs == (("cleanup.policy", "compact,delete"), ("retention.ms", "5"))
    with pytest.raises(InvalidInput, match="config is 'retention': use KEY=VALUE"):
        run(*arguments, "--config", "retention")
    with pytest.raises(InvalidInput, match="--config is for a new topic"):
        run(*arguments, "--expand", "--config", "retention.ms=5")


def test_a_migration_knows_what_clients_move_and_says_what_is_not_known(world: World) -> None:
    world.lines_of["live"] = pb.LinesReport(
        clients=[pb.ClientPlace(topic="orders", idc="suzhou", produced_bytes_per_s=5.0, fetched_bytes_per_s=7.0)],
        lines=[pb.Line(one="shanghai", other="suzhou", price_gb=0.02)],
        currency="EUR",
        remarks=["nobody has told who moves 3 B/s of live's topics: these are not in it"],
    )
    world.lines_of["bulk"] = Unavailable("no member answered")

    if not world.is_spark:
        pytest.skip("the member looks by itself")
    result = run("migrate-idc", "--policy", "two", "--cluster", "live", "--cluster", "bulk", "--dry-run")

    assert world.tasks == {
        "live": MigrateIdc(POLICY, clients=(ClientTraffic("orders", "suzhou", 5.0, 7.0),)),
        "bulk": MigrateIdc(POLICY),
    }
    lacks = "Note: What producers and consumers put on lines is not all in these numbers: "
    assert f"{lacks}nobody has told who moves 3 B/s" in result.stdout
    assert f"{lacks}no member answered" in result.stdout
    assert "Note: costs are in EUR" in result.stdout


def test_json_is_all_that_stdout_gets(world: World) -> None:
    result = run("balance", "--cluster", "live", "-o", "json")

    (plan,) = json.loads(result.stdout)
    assert plan["moves"][0]["topic"] == "orders"
    assert "Draft ticket 17" in result.stderr


def test_files_hold_the_plan_and_its_way_back(world: World, tmp_path: Path) -> None:
    out, back, page = (tmp_path / name for name in ("out.json", "back.json", "plan.html"))

    run("heal", "--cluster", "live", "--dry-run", f"--out={out}", f"--rollback={back}", f"--picture={page}")

    assert [json.loads(path.read_text())["partitions"][0]["replicas"] for path in (out, back)] == [[2], [1]]
    assert "orders" in page.read_text()


def test_settings_are_the_members_a_files_and_then_the_options(world: World, tmp_path: Path) -> None:
    world.planner = planner_to_proto({"disk_limit": 0.6, "cpu_limit": 0.5, "max_seconds": 60, "throttle": 10e6})
    file = tmp_path / "planner.toml"
    file.write_text("[planner]\ncpu_limit = 0.4\n")

    run("balance", "--cluster", "live", "--max-time", "2h", "--exclude-topic", "a*", f"--settings={file}")

    assert world.settings == PlannerSettings(
        disk_limit=0.6, cpu_limit=0.4, max_seconds=7200.0, excluded_topics=("a*",), throttle=10e6
    )
    assert [draft["throttle"] for draft in world.drafts] == [10_000_000]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["balance", "--cluster", "a", "--cluster", "b", "--out", "x"], "give one --cluster"),
        (["balance", "--cluster", "a", "--window", "soon"], "window is 'soon'"),
        (["remove", "--cluster", "a"], "brokers is empty: name those to remove"),
        (["empty-disk", "--cluster", "a", "--log-dir", "7"], "log-dir is '7': use BROKER:/PATH"),
        (["empty-disk", "--cluster", "a", "--log-dir", "7:data"], "use an absolute path"),
        (["migrate-idc", "--cluster", "a", "--policy", "nope"], "policy is 'nope'"),
        (["preallocate", "--cluster", "a", "--topic", "t", "--partitions", "0"], "partitions is 0: use 1 to"),
        (["heal", "--cluster", "a", "--out", "/nowhere/x.json"], "/nowhere/x.json can't be written"),
    ],
)
def test_wrong_input_is_refused_before_anything_is_stored(world: World, arguments: list[str], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        run(*arguments)
    assert world.drafts == []


def test_whoever_waits_for_the_first_plan_of_a_machine_is_told_why(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert ("compiles the search" in run("heal", "--cluster", "live", "--dry-run").stderr) is world.is_spark

    (tmp_path / "search_1").mkdir()
    (tmp_path / "search_1" / "kernels.settle-1.py311.nbi").touch()
    assert "compiles the search" not in run("heal", "--cluster", "live", "--dry-run").stderr


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([], ""),
        (["--window", "6h"], ""),
        (["--spark"], "--spark was given"),
        (["--lake", "/lake"], "--lake was given"),
        (["--master", "local[1]"], "--master was given"),
        (["--window", "24h"], "--window is 1 d, and a member looks at 6 h at most"),
    ],
)
def test_spark_plans_where_it_is_asked_for_or_a_member_cannot(
    world: World, monkeypatch: pytest.MonkeyPatch, options: list[str], why: str
) -> None:
    monkeypatch.delenv("PLAN_WITH", raising=False)
    result = run("heal", "--cluster", "live", "--dry-run", *options)
    assert bool(world.orders) is not bool(why)
    assert world.tasks == {"live": Heal()}
    assert (f"Spark plans on this machine: {why}." in result.stderr) is bool(why)


def test_what_a_member_waits_for_is_said_once_on_stderr(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLAN_WITH", raising=False)
    result = run("heal", "--cluster", "live", "--dry-run", "-o", "json")
    lines = ["Cluster live: it waits (2 of others wait)...", "Cluster live: it waits..."]
    assert result.stderr.splitlines() == lines
    assert json.loads(result.stdout)[0]["cluster"] == "live"


def test_spark_looks_at_the_window_of_a_member_which_ends_when_kafka_was_asked(world: World) -> None:
    def span(*options: str, clusters: Sequence[str] = ("live",)) -> tuple[int, int]:
        named = [part for name in clusters for part in ("--cluster", name)]
        assert run("heal", *named, "--dry-run", "--spark", *options).exit_code == 0
        assert world.window is not None
        return world.window.from_ms, world.window.to_ms

    assert span() == (9_000_000 - 900_000, 9_000_001)
    assert span("--window", "2h") == (9_000_000 - 7_200_000, 9_000_001)
    assert span(clusters=("live", "a")) == (9_000_100 - 900_000, 9_000_101)  # as far as the last one's


def test_spark_makes_no_plan_where_nobody_says_who_lives(world: World) -> None:
    world.away["a"] = ClusterUnavailable("cluster a does not answer: start it")
    result = run("heal", "--cluster", "a", "--cluster", "live", "--dry-run", "--spark")
    assert result.exit_code == 1
    assert "Cluster a has no plan: cluster a does not answer: start it" in result.stderr
    assert world.tasks == {"live": Heal()}
    world.tasks.clear()
    with pytest.raises(ClusterUnavailable, match="cluster a does not answer"):
        run("heal", "--cluster", "a", "--dry-run", "--spark")
    assert world.tasks == {}
