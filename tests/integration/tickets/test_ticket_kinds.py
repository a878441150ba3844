"""Tickets of the kinds that make or resize topics, and other tools' work on the cluster, on real brokers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.local import federation
from deploy.local.answering import once_answered, register
from deploy.local.federation import Federation
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from guardian.client import GuardianClient
from guardian.errors import InvalidInput
from guardian.execution.loop.rehearsing import resolved_now
from guardian.execution.rules import foreign
from guardian.execution.rules.slots import ExecutionLimits
from guardian.kafka import data
from guardian.kafka.admin import BROKER, TOPIC, ConfigResource
from guardian.kafka.control import KafkaControl
from guardian.model.acl import AclBinding
from guardian.model.execution import Execution, TaskState
from guardian.model.federation import Topic
from guardian.model.plan import Plan, ReplicaPlacement
from guardian.model.tasks import CreateTopic, ReplicationFactor
from guardian.model.throttle import FOLLOWER_RATE
from guardian.model.ticket import TicketState, TicketTransition
from guardian.model.topology import Cluster, TopicPartition
from guardian.tickets.kinds.acl_repair import as_rule
from tests.integration.bench import SIZE_BYTES, Bench
from tests.patience import CALL_S, CONTROL_S, PATIENCE_S, until

pytestmark = pytest.mark.integration

BROKERS = (1, 2, 3)
FAST = 50_000_000


class Beside(Bench):
    """Another tool works on the same cluster."""

    def __init__(self, cluster: Cluster, control: KafkaControl, topic: str) -> None:
        super().__init__(cluster, control, topic)
        self.others: list[str] = []

    def told(self, execution: Execution, state: TicketState) -> None:
        """What a person says about other tools' work."""
        ticket = self.store.ticket("t-1")
        transition = TicketTransition(state, 0, "ann", "told so")
        self.store.advance("t-1", ticket.state, transition, execution, execution.revision)

    def under_way_by_another_tool(self, topic: str) -> TopicPartition:
        """A reassignment that crawls under a throttle of its tool, until the bench is closed."""
        mine, self.topic = self.topic, topic
        self.create_topic((1, 2), size_bytes=SIZE_BYTES)
        self.topic = mine
        self.others.append(topic)
        theirs = TopicPartition(topic, 0)
        listed: dict[ConfigResource, dict[str, str | None]] = {
            (TOPIC, topic): {"follower.replication.throttled.replicas": "0:3"},
            (BROKER, "3"): {FOLLOWER_RATE: "1000"},
        }
        self.control.alter_configs(listed)
        self.tick_until(lambda: self.control.describe_configs([(BROKER, "3")])[BROKER, "3"])
        assert self.control.alter_reassignments({theirs: (3, 2)}) == {}
        return theirs

    def is_done(self) -> None:
        assert self.state() is TicketState.SUCCEEDED, (self.reason(), self.said)
        for task in self.execution().tasks:
            assert task.state is TaskState.DONE
            assert self.ends_at(task.move.partition.partition, task.move.target), task
        self.leaves_nothing()


@pytest.fixture
def bench(kafka_cluster: KafkaCluster, new_topic: Callable[[], str]) -> Iterator[Beside]:
    with closing(KafkaControl(kafka_cluster.to_cluster(sasl=False), CONTROL_S)) as control:
        bench = Beside(kafka_cluster.to_cluster(sasl=False), control, new_topic())
        yield bench
        bench.driver.close()
        control.alter_configs({(BROKER, "3"): {FOLLOWER_RATE: None}})
        data.delete_topics(bench.cluster, [bench.topic, *bench.others], PATIENCE_S)


def creating(bench: Beside, *configs: tuple[str, str]) -> CreateTopic:
    return CreateTopic(Topic("shared", bench.topic), 3, 2, configs=configs)


def test_a_topic_is_created_where_its_plan_says_with_its_log_dirs_and_configuration(bench: Beside) -> None:
    bench.ticket(
        "create-topic",
        bench.move(0, ReplicaPlacement(3, bench.last_log_dir(3)), 1, is_new=True),
        bench.move(1, 2, ReplicaPlacement(3, bench.last_log_dir(3)), is_new=True),
        bench.move(2, ReplicaPlacement(1, bench.last_log_dir(1)), 2, is_new=True),
        task=CreateTopic(
            Topic("shared", bench.topic), 3, 2, configs=(("min.insync.replicas", "2"), ("retention.ms", "3600000"))
        ),
    )
    bench.tick_until(lambda: bench.state() is TicketState.RUNNING)
    assert bench.replicas() == {}
    bench.driver.close()  # the member dies between the intent and its effect; another one goes on
    bench.new_driver()
    bench.run()
    bench.is_done()
    assert bench.replicas() == {0: (3, 1), 1: (2, 3), 2: (1, 2)}
    configs = bench.control.describe_configs([(TOPIC, bench.topic)])[TOPIC, bench.topic]
    assert configs == {"retention.ms": "3600000", "min.insync.replicas": "2"}


def test_what_the_controller_would_not_create_is_refused_before_there_is_a_ticket(bench: Beside) -> None:
    with pytest.raises(InvalidInput, match=r"refuses creating topic .*no\.such\.key"):
        bench.ticket(
            "create-topic",
            bench.move(0, 1, is_new=True),
            task=creating(bench, ("no.such.key", "1")),
        )
    bench.create_topic((1, 2))
    with pytest.raises(InvalidInput, match="it has 1, so give 1"):
        bench.ticket("expand-topic", bench.move(2, 1, 2, is_new=True))
    assert bench.replicas() == {0: (1, 2)}


def test_a_topic_gets_more_partitions_where_its_plan_says(bench: Beside) -> None:
    bench.create_topic((1, 2), (2, 3))
    bench.ticket(
        "expand-topic",
        bench.move(2, ReplicaPlacement(3, bench.last_log_dir(3)), 1, is_new=True),
        bench.move(3, 2, ReplicaPlacement(1, bench.last_log_dir(1)), is_new=True),
    )
    bench.run()
    bench.is_done()
    assert bench.replicas() == {0: (1, 2), 1: (2, 3), 2: (3, 1), 3: (2, 1)}


def test_a_topic_grows_in_mid_move_and_its_move_is_made_again_under_the_same_ticket(bench: Beside) -> None:
    """Kafka itself refuses it in mid-move; the member dies between giving the move up and cancelling it."""
    bench.create_topic((1, 2), size_bytes=SIZE_BYTES)
    bench.ticket("balance", bench.move(0, 3, 2))
    bench.tick_until(lambda: bench.partition(0) in bench.control.list_reassignments())
    refused = bench.control.create_partitions({bench.partition(1): (3, 1)}, validate_only=True)
    assert "not consistent with previous partitions" in refused[bench.topic]
    asked = Plan(bench.cluster.name, "expand-topic", (bench.move(1, 3, 1, is_new=True),))
    plan = resolved_now(bench.control, asked, ours=bench.control.list_reassignments())
    moves = bench.store.ticket("t-1")
    grows = replace(moves, id="t-2", kind=plan.kind, state=TicketState.APPROVED, plan_hash="h2", history=())
    bench.store.put(grows, plan)
    told = f"ticket t-2 expands topic {bench.topic}, so {bench.partition(0)} to [3, 2] is cancelled and planned again"
    bench.tick_until(lambda: bench.reason().startswith(told))
    assert bench.partition(0) in bench.control.list_reassignments()
    bench.driver.close()
    bench.new_driver()
    bench.tick_until(lambda: bench.store.ticket("t-2").state.is_over)
    assert bench.store.ticket("t-2").state is TicketState.SUCCEEDED, bench.store.ticket("t-2").history
    bench.store.put(replace(bench.store.ticket("t-1"), throttle=FAST), bench.store.plan(moves.plan_hash))
    assert bench.run() is TicketState.SUCCEEDED, (bench.reason(), bench.said)
    assert [task.state for task in bench.execution().tasks] == [TaskState.REVERTED, TaskState.DONE]
    assert bench.replicas() == {0: (3, 2), 1: (3, 1)}
    bench.leaves_nothing()


def test_the_replication_factor_goes_up_and_down_as_its_plan_says(bench: Beside) -> None:
    bench.create_topic((1, 2), (2, 3), (3, 1), size_bytes=SIZE_BYTES)
    with pytest.raises(InvalidInput, match="would change the replication factor from 2 to 3"):
        bench.ticket("run-plan", bench.move(0, 1, 2, 3))
    bench.ticket(
        ReplicationFactor.kind,
        bench.move(0, 1, 2, ReplicaPlacement(3, bench.last_log_dir(3))),
        bench.move(1, 3),  # its leader goes
        bench.move(2, 2, 1, 3),
    )
    bench.tick_until(lambda: bench.partition(0) in bench.control.list_reassignments())
    bench.run()
    bench.is_done()
    assert bench.replicas() == {0: (1, 2, 3), 1: (3,), 2: (2, 1, 3)}


def test_a_cancelled_change_of_the_replication_factor_takes_the_new_replica_back(bench: Beside) -> None:
    bench.create_topic((1, 2), size_bytes=SIZE_BYTES)
    bench.ticket(ReplicationFactor.kind, bench.move(0, 3, 2, 1))
    bench.tick_until(lambda: bench.partition(0) in bench.control.list_reassignments())
    bench.cancel()
    bench.run()
    assert bench.state() is TicketState.CANCELLED
    assert bench.ends_at(0, bench.execution().tasks[0].move.original)
    assert bench.replicas() == {0: (1, 2)}
    bench.leaves_nothing()


def test_another_tools_reassignment_pauses_the_ticket_until_it_is_adopted(
    bench: Beside, new_topic: Callable[[], str]
) -> None:
    theirs = bench.under_way_by_another_tool(new_topic())
    bench.create_topic((1, 2))
    bench.ticket("run-plan", bench.move(0, 3, 2))
    bench.tick_until(lambda: bench.state() is TicketState.PAUSED)
    assert f"another tool moves {theirs} to [3, 2]" in bench.reason()
    assert bench.replicas() == {0: (1, 2)}
    bench.told(foreign.adopted(bench.store.ticket("t-1"), bench.execution(), 0), TicketState.RUNNING)
    assert [task.move.partition for task in bench.execution().tasks if task.is_adopted] == [theirs]
    bench.run()
    assert bench.state() is TicketState.SUCCEEDED, bench.reason()
    assert bench.control.describe_partitions([theirs.topic])[theirs].replicas == (3, 2)
    assert bench.replicas() == {0: (3, 2)}


def test_a_ticket_that_waits_for_another_tool_goes_on_by_itself(bench: Beside, new_topic: Callable[[], str]) -> None:
    theirs = bench.under_way_by_another_tool(new_topic())
    bench.create_topic((1, 2))
    bench.ticket("run-plan", bench.move(0, 3, 2))
    bench.tick_until(lambda: bench.state() is TicketState.PAUSED)
    bench.told(foreign.awaited(bench.store.ticket("t-1"), bench.execution()), TicketState.PAUSED)
    for _ in range(3):
        bench.driver.tick()
    assert bench.state() is TicketState.PAUSED
    bench.control.alter_reassignments({theirs: None})
    bench.run()
    assert bench.state() is TicketState.SUCCEEDED, bench.reason()
    assert set(bench.control.describe_partitions([theirs.topic])[theirs].replicas) == {1, 2}
    assert bench.replicas() == {0: (3, 2)}


def test_a_move_to_a_broker_that_dies_is_taken_back_in_its_old_order(
    bench: Beside, kafka_cluster: KafkaCluster
) -> None:
    bench.driver.close()
    bench.new_driver(ExecutionLimits(broker_patience_s=2.0))
    bench.create_topic((1, 2), size_bytes=SIZE_BYTES)
    bench.ticket("run-plan", bench.move(0, 3, 2))
    bench.tick_until(lambda: bench.partition(0) in bench.control.list_reassignments())
    kafka_cluster.kill_broker(3)
    bench.run()
    assert bench.state() is TicketState.FAILED
    assert "taken back: broker 3 was down while it copied" in bench.reason()
    assert bench.ends_at(0, bench.execution().tasks[0].move.original)
    kafka_cluster.start_broker(3)
    bench.tick_until(lambda: 3 in bench.control.describe_cluster().brokers and len(bench.log_dirs()) >= len(BROKERS))
    bench.leaves_nothing()


def test_the_replication_factor_never_goes_below_min_insync(bench: Beside) -> None:
    data.create_topics(bench.cluster, {bench.topic: {0: (1, 2, 3)}}, {"min.insync.replicas": "2"}, PATIENCE_S)
    with pytest.raises(InvalidInput, match=r"from 3 to 1, fewer than min.insync.replicas 2"):
        bench.ticket(ReplicationFactor.kind, bench.move(0, 1))
    bench.ticket(ReplicationFactor.kind, bench.move(0, 1, 2))
    bench.run()
    bench.is_done()


# The whole service.

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory, kafka_cluster: KafkaCluster) -> Iterator[Federation]:
    home = tmp_path_factory.mktemp("kinds")
    try:
        group = federation.up(members=1, clusters=0, home=home)
        with GuardianClient(group.endpoints, timeout_s=CALL_S) as client:
            register(client, kafka_cluster.to_cluster(sasl=False))
        yield group
    finally:
        federation.wipe(home)


def wait_for(client: GuardianClient, ticket_id: str, *states: TicketState) -> None:
    until(lambda: client.ticket(ticket_id)[0].state in states, story=lambda: client.ticket(ticket_id))


def said(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_line_makes_topics_resizes_them_and_adopts_what_others_move(
    guardian: Cli, members: Federation, bench: Beside, new_topic: Callable[[], str], tmp_path: Path
) -> None:
    with GuardianClient(members.endpoints) as client:
        plan = Plan("shared", "create-topic", (bench.move(0, 1, 2, is_new=True), bench.move(1, 2, 3, is_new=True)))
        ticket, _ = once_answered(lambda: client.create_ticket(plan, author="ann", submit=True))
        client.approve(ticket.id, "bob")
        wait_for(client, ticket.id, TicketState.SUCCEEDED, TicketState.FAILED)
        assert bench.replicas() == {0: (1, 2), 1: (2, 3)}

        rate = (
            "broker",
            "throttle",
            "--cluster",
            "shared",
            "3",
            "5MB",
            "--for",
            "8h",
            "--reason",
            "its disk is slow",
            "-o",
            "json",
        )
        standing = json.loads(said(guardian(members, *rate)))["ticket"]["id"]
        client.approve(standing, "bob")
        wait_for(client, standing, TicketState.RUNNING)
        client.cancel(standing, "ann")
        wait_for(client, standing, TicketState.CANCELLED)

        theirs = bench.under_way_by_another_tool(new_topic())
        file = tmp_path / "more.json"
        partitions = [{"topic": bench.topic, "partition": 0, "replicas": [1, 2, 3]}]
        file.write_text(json.dumps({"version": 1, "partitions": partitions}))
        asked = ("ticket", "submit", "--plan", str(file), "--cluster", "shared")
        refused = guardian(members, *asked)
        assert refused.returncode == 2
        assert "--change-replication-factor" in refused.stderr
        submitted = said(guardian(members, *asked, "--change-replication-factor", "--idempotency-key", "more"))
        ticket_id = submitted.split()[1]
        assert client.ticket(ticket_id)[0].kind == ReplicationFactor.kind
        assert "20" in said(guardian(members, "ticket", "throttle", ticket_id, "20MB", "--reason", "the evening"))
        assert client.ticket(ticket_id)[0].throttle == 20_000_000
        client.approve(ticket_id, "bob")
        wait_for(client, ticket_id, TicketState.PAUSED)
        assert f"another tool moves {theirs}" in said(guardian(members, "ticket", "show", ticket_id))
        assert "PAUSED" in said(guardian(members, "ticket", "wait", ticket_id))
        assert "RUNNING" in said(guardian(members, "ticket", "adopt", ticket_id))
        wait_for(client, ticket_id, TicketState.SUCCEEDED, TicketState.FAILED)
        assert client.ticket(ticket_id)[0].state is TicketState.SUCCEEDED
        assert bench.replicas() == {0: (1, 2, 3), 1: (2, 3)}
        assert bench.control.describe_partitions([theirs.topic])[theirs].replicas == (3, 2)


def test_access_rules_are_put_right_by_a_ticket(
    guardian: Cli, members: Federation, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    settings = {"authorizer.class.name": authorizer, "super.users": "User:ANONYMOUS"}
    spec = ClusterSpec("ruled", brokers=1, log_dirs=1, plugin=False, heap_mb=256, settings=settings)
    unused = AclBinding("TOPIC", "LITERAL", "orders", "User:bob", "*", "READ", "ALLOW")
    missing = AclBinding("GROUP", "PREFIXED", "pay", "User:ann", "*", "READ", "ALLOW")
    with (
        KafkaCluster.start(spec, tmp_path_factory.mktemp("ruled")) as running,
        closing(KafkaControl(running.to_cluster(), timeout_s=CALL_S)) as control,
        GuardianClient(members.endpoints, timeout_s=CALL_S) as client,
    ):
        control.create_acls([unused])
        register(client, running.to_cluster())
        rules = tmp_path / "rules.json"
        rules.write_text(json.dumps({"add": [as_rule(missing)], "remove": [as_rule(unused)]}))
        dry_run = said(guardian(members, "acl", "repair", "--cluster", "ruled", "--rules", str(rules), "--dry-run"))
        assert "adds ALLOW User:ann READ GROUP pay* from *" in dry_run
        assert control.describe_acls() == (unused,)
        submitted = json.loads(
            said(guardian(members, "acl", "repair", "--cluster", "ruled", "--rules", str(rules), "-o", "json"))
        )
        repair = submitted["plan"]["task"]["acl_repair"]
        assert [repair["add"][0]["principal"], repair["remove"][0]["principal"]] == ["User:ann", "User:bob"]
        client.approve(submitted["ticket"]["id"], "bob")
        wait_for(client, submitted["ticket"]["id"], TicketState.SUCCEEDED, TicketState.FAILED)
        assert control.describe_acls() == (missing,)
        again = guardian(members, "acl", "repair", "--cluster", "ruled", "--rules", str(rules))
        assert again.returncode == 2
        assert "nothing to do" in again.stderr
