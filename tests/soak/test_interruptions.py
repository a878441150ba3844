"""The interruption sweep on real brokers: a leader dies (kill -9), or sleeps on after its fail-over (SIGSTOP), at each
moment of a ticket's life.

Five brokers in two data centres, three members, and a producer that writes to what is moved. Balance, migration,
removal and rolling restart go right through; each is also given up on the way. Whatever a killed leader had begun, the
ticket ends where it should: no replica is lost, every record is at its offset, and no throttle, quota, reassignment,
cordon or exclusion is left.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import cast

import pytest
from confluent_kafka import TopicPartition as WirePartition

from deploy.local import broker_hook, leftovers
from deploy.local.answering import register
from deploy.local.kafka_cluster import ClusterSpec
from deploy.local.members import PLANNER
from guardian.client import GuardianClient
from guardian.kafka import data
from guardian.kafka.admin import BROKER
from guardian.kafka.control import KafkaControl
from guardian.model.directory import Directory
from guardian.model.federation import IdcPolicy
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance, MigrateIdc, Task
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import BrokerState, Cluster, TopicPartition
from guardian.planning.model import PlansConfig
from guardian.planning.service.planning import LivePlanner
from guardian.replication.store.store import now_ms
from protos.guardian.v1 import federation_pb2
from tests.patience import CONTROL_S, PATIENCE_S, wait_for
from tests.soak.sweeping import HOOK, Act, Interrupt, Stage, Story, carried_out, staged

pytestmark = [pytest.mark.soak, pytest.mark.integration, pytest.mark.timeout(2400)]

RACKS = ("shanghai-a", "shanghai-b", "suzhou-a", "suzhou-b")  # the fifth broker stands in the first
SHANGHAI, SUZHOU = frozenset({1, 2, 5}), frozenset({3, 4})
BROKERS = (1, 2, 3, 4, 5)
LEAVING = 5
SETTINGS = {
    "min.insync.replicas": "2",
    # Else Kafka would let ten seconds' worth of a throttle pass at once, and small copies would be over within a look.
    "replication.quota.window.num": "2",
}
RELEASE = "4.1"  # of the cluster's feature levels: its brokers know higher ones
POLICY = IdcPolicy("mostly-suzhou", (("shanghai", 1), ("suzhou", 2)), preferred_leader_idc="suzhou")

REPETITIONS = 6
PARTITIONS = 6
RECORD_BYTES = 10_000
RECORDS = 100  # in the smallest partition, and as many more in each further one: so that they arrive one by one
THROTTLE = 400_000
PAUSE_S = 0.3  # between two records of a partition while the ticket is carried out

BEFORE = frozenset({"PENDING", "APPROVED"})
MOVES = ("begun", "copying", "some moved", "throttles left")
PLAN = BEFORE | {"RUNNING not begun", "SUCCEEDED", *(f"RUNNING {how}" for how in MOVES)}
# Each of its moves ends with a new leader, and what throttled the last copy is lifted while that one begins to lead.
MIGRATION = PLAN - {"RUNNING throttles left"} | {"RUNNING leading last"}
TAKEN_BACK = frozenset({"CANCELLING asked for", "CANCELLING going back", "CANCELLED"})
ROLLED_BACK = frozenset({"ROLLING_BACK nothing under way", "ROLLING_BACK going back", "ROLLED_BACK"})
REMOVAL = BEFORE | {
    *(f"RUNNING {phase}" for phase in ("VALIDATE", "EXCLUDE", "PLAN")),
    *(f"RUNNING EXECUTE {how}" for how in MOVES),
    # The moves are those of the round before.
    *(f"RUNNING {phase} all moved" for phase in ("SHUT_DOWN", "CLEAN_UP")),
    "SUCCEEDED",
}
RESTART = BEFORE | {
    *(f"RUNNING {phase}" for phase in ("VALIDATE", "GATE", "LEADERS_AWAY", "RESTART", "IN_SYNC", "LEADERS_BACK")),
    "RUNNING FINALIZE",
    "SUCCEEDED",
}

Placement = dict[TopicPartition, tuple[int, ...]]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    spec = ClusterSpec(
        "live", brokers=5, log_dirs=1, heap_mb=256, racks=RACKS, plugin=False, settings=SETTINGS, release=RELEASE
    )
    with staged(spec, tmp_path_factory.mktemp("interruptions")) as stage:
        yield stage


@pytest.fixture
def client(stage: Stage) -> Iterator[GuardianClient]:
    with GuardianClient(stage.endpoints, timeout_s=90.0) as client:
        yield client


@pytest.fixture
def admin(stage: Stage) -> Iterator[KafkaControl]:
    with closing(KafkaControl(stage.cluster, CONTROL_S)) as admin:
        yield admin


class Writer:
    """Writes the numbers from 0 on into each partition, so that a record's number is its offset, until it is ended."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        # Its number would be lost with a record that is given up: it is tried for as long as the ticket has.
        self._producer = data.producer(cluster, acks="all", enable_idempotence=True, linger_ms=5, message_timeout_ms=0)
        self._cluster = cluster
        self._topic = topic
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.written = dict.fromkeys((TopicPartition(topic, number) for number in range(PARTITIONS)), 0)
        self.failed: list[str] = []

    def __enter__(self) -> Writer:
        filling = data.producer(self._cluster, acks="all", linger_ms=5)
        for number, partition in enumerate(self.written, start=1):
            for _ in range(RECORDS * number):
                self._write(filling, partition)
        assert filling.flush(PATIENCE_S) == 0
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(PATIENCE_S)
        assert self._producer.flush(PATIENCE_S) == 0
        assert self.failed == []

    def _run(self) -> None:
        while not self._stop.wait(PAUSE_S):
            for partition in self.written:
                self._write(self._producer, partition)

    def _write(self, producer: data.Producer, partition: TopicPartition) -> None:
        value = self.written[partition].to_bytes(RECORD_BYTES, "big")
        producer.produce(self._topic, value, partition=partition.partition, on_delivery=self._note)
        self.written[partition] += 1
        producer.poll(0)

    def _note(self, error: object, _message: object) -> None:
        if error is not None:
            self.failed.append(str(error))


@dataclass(frozen=True)
class Scene:
    """A topic that is written to, and where its replicas were."""

    topic: str
    before: Placement


# What a story asks for: (client, scene) -> the id of a ticket that is PENDING.
Asking = Callable[[GuardianClient, Scene], str]
Goal = Callable[[Scene, Placement], bool]


@dataclass
class Sweep:
    """One story, told until each of its moments had its kill."""

    stage: Stage
    client: GuardianClient
    admin: KafkaControl
    new_topic: Callable[[], str]

    def run(self, story: Story, replicas: Mapping[int, tuple[int, ...]], ask: Asking, goal: Goal) -> None:
        killed: set[str] = set()
        for _ in range(REPETITIONS):
            self._once(story, replicas, ask, goal, killed)
            if story.moments <= killed:
                break
        assert story.moments - killed == set(), f"never seen, so nobody was killed there; {sorted(killed)}"

    def _once(
        self, story: Story, replicas: Mapping[int, tuple[int, ...]], ask: Asking, goal: Goal, killed: set[str]
    ) -> None:
        topic = self.new_topic()
        data.create_topics(self.stage.cluster, {topic: dict(replicas)}, {}, PATIENCE_S)
        configs, quotas = leftovers.dynamic_configs(self.admin), self.admin.describe_client_quotas()
        with Writer(self.stage.cluster, topic) as writer:
            scene = Scene(topic, placement(self.admin, topic))
            ticket = carried_out(self.stage, ask(self.client, scene), story, killed)
        if story.end is TicketState.SUCCEEDED and ticket.kind == AskKind.REMOVE:
            self._require_gone(configs)
            self._bring_back()
        wait_for("all replicas are in sync", lambda: is_in_sync(self.admin, topic))
        after = placement(self.admin, topic)
        assert {partition: len(brokers) for partition, brokers in after.items()} == {
            partition: len(brokers) for partition, brokers in scene.before.items()
        }
        assert goal(scene, after), (scene.before, after)
        self._require_nothing_left(configs)
        require_whole(self.stage.cluster, writer.written)
        assert self.admin.describe_client_quotas() == quotas
        self._require_same_everywhere(ticket)
        data.delete_topics(self.stage.cluster, [topic], PATIENCE_S)

    def _require_gone(self, configs: leftovers.Configs) -> None:
        assert self.admin.registered_brokers() == dict.fromkeys(set(BROKERS) - {LEAVING}, False)
        assert self.stage.now.broker(LEAVING).pid is None
        assert {broker.id for broker in self.client.list_clusters()[0].brokers} == set(BROKERS) - {LEAVING}
        assert exclusions(self.client) == []
        partitions = self.admin.describe_partitions()
        assert [partition for partition, state in partitions.items() if LEAVING in state.replicas] == []
        others = {key: values for key, values in configs.items() if key != (BROKER, str(LEAVING))}
        assert leftovers.of_cluster(self.admin, others) == []

    def _bring_back(self) -> None:
        """Kafka keeps a broker's dynamic configuration when the broker is taken out: what was left would show again."""
        broker_hook.act(self.stage.hooks, "start", LEAVING)
        wait_for("it is back", lambda: self.admin.registered_brokers() == dict.fromkeys(BROKERS, False))
        register(self.client, self.stage.cluster)

    def _require_nothing_left(self, configs: leftovers.Configs) -> None:
        assert exclusions(self.client) == []
        (cluster,) = self.client.list_clusters()
        assert {broker.id: broker.state for broker in cluster.brokers} == dict.fromkeys(BROKERS, BrokerState.ACTIVE)
        # The loop that lifts cordons comes by when it comes by.
        wait_for("cordons are lifted", lambda: not self.client.cordons("live"))
        assert leftovers.of_cluster(self.admin, configs) == []

    def _require_same_everywhere(self, ticket: Ticket) -> None:
        views = []
        for endpoint in self.stage.endpoints:
            with GuardianClient([endpoint]) as member:
                views.append(member.ticket(ticket.id))
        assert [view[0] for view in views] == [ticket] * len(views)
        assert all(view == views[0] for view in views)
        execution = views[0][1]
        assert execution is not None
        assert execution.throttles == ()


@pytest.fixture
def sweep(stage: Stage, client: GuardianClient, admin: KafkaControl, new_topic: Callable[[], str]) -> Sweep:
    return Sweep(stage, client, admin, new_topic)


def placement(admin: KafkaControl, topic: str) -> Placement:
    return {partition: state.replicas for partition, state in admin.describe_partitions([topic]).items()}


def is_in_sync(admin: KafkaControl, topic: str) -> bool:
    return all(set(state.isr) == set(state.replicas) for state in admin.describe_partitions([topic]).values())


def exclusions(client: GuardianClient) -> list[int]:
    return [entry.exclusion.broker_id for entry in client.federation(federation_pb2.EXCLUSIONS)]


def require_whole(cluster: Cluster, written: Mapping[TopicPartition, int]) -> None:
    """Each record is there, once, at the offset that it got."""
    topics = {partition.topic for partition in written}
    assert data.end_offsets(cluster, topics, PATIENCE_S) == written
    assert set(data.start_offsets(cluster, topics, PATIENCE_S).values()) == {0}
    at = dict.fromkeys(written, 0)
    settings: dict[str, str | int | bool] = {"auto_offset_reset": "error", "enable_auto_commit": False}
    with closing(data.consumer(cluster, "require-whole", **settings)) as consumer:
        consumer.assign([WirePartition(topic, number, 0) for topic, number in written])
        deadline = time.monotonic() + PATIENCE_S
        while at != written:
            assert time.monotonic() < deadline, f"{at} were read of {written}"
            for message in consumer.consume(500, timeout=1.0):
                assert message.error() is None, message.error()
                topic, number, value = message.topic(), message.partition(), message.value()
                assert topic is not None
                assert number is not None
                assert value is not None
                partition = TopicPartition(topic, number)
                assert (message.offset(), int.from_bytes(value, "big")) == (at[partition], at[partition])
                at[partition] += 1


def approve(client: GuardianClient, ticket_id: str) -> object:
    return client.approve(ticket_id, "bob", "planned")


def pause(client: GuardianClient, ticket_id: str) -> object:
    return client.pause(ticket_id, "bob", "the evening peak")


def resume(client: GuardianClient, ticket_id: str) -> object:
    return client.resume(ticket_id, "bob", "it is over")


def cancel(client: GuardianClient, ticket_id: str) -> object:
    return client.cancel(ticket_id, "bob", "consumers lag")


def roll_back(client: GuardianClient, ticket_id: str) -> object:
    return client.roll_back(ticket_id, "bob", "it was better before")


APPROVED: dict[str, Act] = {"PENDING": approve}


def planned(stage: Stage, client: GuardianClient, task: Task) -> Plan:
    """As the leader makes urgent plans: from what Kafka shows now."""
    directory = Directory(clusters=client.list_clusters(), policies=(POLICY,))
    planner = LivePlanner(
        lambda _: KafkaControl(stage.cluster, CONTROL_S),
        lambda: directory,
        "",
        PlannerSettings.of(PLANNER),
        now_ms,
        PlansConfig(deadline_s=PATIENCE_S),
    )
    with closing(planner):
        plan = planner.plan_for("ann", lambda: True, "live", task)
    assert plan.bytes_to_copy > 0, plan
    return plan


def ticket_of(client: GuardianClient, plan: Plan) -> str:
    ticket, _ = client.create_ticket(plan, author="ann", throttle=THROTTLE, submit=True, reason="a sweep")
    return ticket.id


def asked(client: GuardianClient, ask: Ask) -> str:
    ticket, _ = client.ask_for("live", ask, author="ann", throttle=THROTTLE, submit=True, reason="a sweep")
    return ticket.id


def crowded() -> dict[int, tuple[int, ...]]:
    """Brokers 4 and 5 hold nothing."""
    orders = ((1, 2, 3), (2, 3, 1), (3, 1, 2))
    return {number: orders[number % 3] for number in range(PARTITIONS)}


def spread() -> dict[int, tuple[int, ...]]:
    """In three racks each; all brokers lead, and hold some."""
    orders = ((5, 2, 3), (2, 3, 5), (3, 4, 1), (4, 1, 2), (1, 3, 4), (5, 4, 2))
    return {number: orders[number % len(orders)] for number in range(PARTITIONS)}


class Balanced:
    """Asks for a plan that evens the brokers out; then the replicas are where it says, or where they were."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._plan: Plan | None = None

    def ask(self, client: GuardianClient, scene: Scene) -> str:
        self._plan = planned(self._stage, client, Balance((scene.topic,)))
        return ticket_of(client, self._plan)

    def is_reached(self, scene: Scene, after: Placement) -> bool:
        assert self._plan is not None
        return after == {**scene.before, **{move.partition: move.target_brokers for move in self._plan.moves}}


def is_as_before(scene: Scene, after: Placement) -> bool:
    return after == scene.before


@pytest.fixture(params=[Stage.kill_leader, Stage.freeze_leader], ids=["killed", "frozen"])
def interrupt(request: pytest.FixtureRequest) -> Interrupt:
    return cast("Interrupt", request.param)


def test_a_balance_ends_balanced(sweep: Sweep, stage: Stage, interrupt: Interrupt) -> None:
    balanced = Balanced(stage)
    story = Story("balance", PLAN, acts=APPROVED, interrupt=interrupt)
    sweep.run(story, crowded(), balanced.ask, balanced.is_reached)


def test_a_balance_that_is_paused_cancelled_and_rolled_back_ends_where_it_began(sweep: Sweep, stage: Stage) -> None:
    story = Story(
        "balance, rolled back",
        frozenset({"PAUSED"}) | TAKEN_BACK | ROLLED_BACK,
        TicketState.ROLLED_BACK,
        spared=PLAN,
        acts={
            **APPROVED,
            "RUNNING begun": pause,
            "PAUSED": resume,
            "RUNNING some moved": cancel,
            "CANCELLED": roll_back,
        },
    )
    sweep.run(story, crowded(), Balanced(stage).ask, is_as_before)


def test_a_migration_ends_in_the_other_data_centre(sweep: Sweep, stage: Stage) -> None:
    def ask(client: GuardianClient, scene: Scene) -> str:
        plan = planned(stage, client, MigrateIdc(POLICY, (scene.topic,)))
        assert plan.unmet == ()
        return ticket_of(client, plan)

    def is_reached(_: Scene, after: Placement) -> bool:
        return all(set(brokers) > SUZHOU and brokers[0] in SUZHOU for brokers in after.values())

    sweep.run(Story("migrate-idc", MIGRATION, acts=APPROVED), crowded(), ask, is_reached)


def test_a_removal_ends_with_the_broker_gone(sweep: Sweep, interrupt: Interrupt) -> None:
    def ask(client: GuardianClient, _: Scene) -> str:
        return asked(client, Ask(AskKind.REMOVE, (LEAVING,), shutdown=True, hook=HOOK))

    def is_reached(_: Scene, after: Placement) -> bool:
        return all(LEAVING not in brokers for brokers in after.values())

    sweep.run(Story("remove-brokers", REMOVAL, acts=APPROVED, interrupt=interrupt), spread(), ask, is_reached)


def test_a_removal_that_is_cancelled_excludes_nobody(sweep: Sweep) -> None:
    def ask(client: GuardianClient, _: Scene) -> str:
        return asked(client, Ask(AskKind.REMOVE, (LEAVING,), shutdown=True, hook=HOOK))

    def is_reached(scene: Scene, after: Placement) -> bool:
        """What had arrived stays where it is."""
        return all(brokers == scene.before[partition] or LEAVING not in brokers for partition, brokers in after.items())

    # Consumers' offsets, where an earlier story's consumer left some, have moved before anything is seen to copy.
    acts = {**APPROVED, "RUNNING EXECUTE copying": cancel, "RUNNING EXECUTE some moved": cancel}
    story = Story("remove-brokers, cancelled", TAKEN_BACK, TicketState.CANCELLED, spared=REMOVAL, acts=acts)
    sweep.run(story, spread(), ask, is_reached)


def test_a_rolling_restart_ends_finalized_with_the_leaders_as_before(
    sweep: Sweep, stage: Stage, admin: KafkaControl
) -> None:
    """Its first telling raises `metadata.version`, once for the cluster; later ones find nothing to raise."""
    began: dict[int, int | None] = {}
    version = admin.metadata_version()
    assert version.level < version.highest

    def ask(client: GuardianClient, _: Scene) -> str:
        began.update({broker.id: broker.pid for broker in stage.now.brokers})
        return asked(client, Ask(AskKind.RESTART, (1, 2, 3), hook=HOOK, finalize=True))

    def is_reached(scene: Scene, after: Placement) -> bool:
        pids = {broker.id: broker.pid for broker in stage.now.brokers}
        assert None not in pids.values()
        assert {broker for broker, pid in pids.items() if pid != began[broker]} == {1, 2, 3}
        wait_for("brokers hear of the level", lambda: admin.metadata_version().level == version.highest)
        return after == scene.before and leads_first(admin, scene.topic)

    sweep.run(Story("rolling-restart", RESTART, acts=APPROVED), spread(), ask, is_reached)


def test_a_rolling_restart_that_is_cancelled_gives_the_leaders_back(sweep: Sweep, admin: KafkaControl) -> None:
    def ask(client: GuardianClient, _: Scene) -> str:
        return asked(client, Ask(AskKind.RESTART, (1, 2, 3), hook=HOOK))

    def is_reached(scene: Scene, after: Placement) -> bool:
        return after == scene.before and leads_first(admin, scene.topic)

    story = Story(
        "rolling-restart, cancelled",
        frozenset({"CANCELLING", "CANCELLED"}),
        TicketState.CANCELLED,
        spared=RESTART,
        acts={**APPROVED, "RUNNING RESTART": cancel},
    )
    sweep.run(story, spread(), ask, is_reached)


def leads_first(admin: KafkaControl, topic: str) -> bool:
    return all(state.leader == state.replicas[0] for state in admin.describe_partitions([topic]).values())
