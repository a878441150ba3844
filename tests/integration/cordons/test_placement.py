"""Excluded brokers and labels, on real brokers: controllers refuse, cordons keep off, and what strays is moved away.

One cluster whose controller asks Guardian (guardian.kafka.GuardianCreateTopicPolicy). There, topics outside Guardian
are refused unless their name begins with "free-".
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from deploy.local import federation
from deploy.local.answering import once_answered, register
from deploy.local.federation import Federation
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from guardian.client import GuardianClient
from guardian.kafka.admin import BROKER
from guardian.kafka.control import KafkaControl
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from protos.guardian.v1 import federation_pb2 as pb
from tests.patience import CALL_S, CONTROL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

Cli = Callable[..., subprocess.CompletedProcess[str]]

CLUSTER = "placed"
GOLD = 4  # the broker with a label


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    home = tmp_path_factory.mktemp("placement")
    try:
        yield federation.up(members=1, clusters=0, home=home)
    finally:
        federation.wipe(home)


@pytest.fixture(scope="module")
def kafka(members: Federation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    settings = {
        "guardian.endpoints": ",".join(members.endpoints),
        "create.topic.policy.class.name": "guardian.kafka.GuardianCreateTopicPolicy",
        "guardian.placement.poll.ms": "200",
        "guardian.placement.outside": "refuse",
        "guardian.placement.outside.allow": "__,free-",
    }
    spec = ClusterSpec(CLUSTER, brokers=4, log_dirs=1, heap_mb=256, settings=settings)
    with KafkaCluster.start(spec, tmp_path_factory.mktemp("kafka")) as kafka:
        with GuardianClient(members.endpoints, timeout_s=CALL_S) as client:
            register(client, kafka.to_cluster(), labels={GOLD: "gold"})
        yield kafka


@pytest.fixture
def client(members: Federation, kafka: KafkaCluster) -> Iterator[GuardianClient]:
    """Without exclusions at the end, and without what they left."""
    with GuardianClient(members.endpoints) as client:
        yield client
        drops = [
            pb.FederationChange(drop=pb.FederationKey(exclusion=pb.ExclusionKey(cluster=CLUSTER, broker_id=broker.id)))
            for broker in kafka.brokers
            if list(client.federation(pb.EXCLUSIONS, CLUSTER, str(broker.id)))
        ]
        if drops:
            client.change_federation(drops)


@pytest.fixture
def admin(kafka: KafkaCluster) -> Iterator[KafkaControl]:
    with closing(KafkaControl(kafka.to_cluster(), CONTROL_S)) as admin:
        yield admin


def refusal(kafka: KafkaCluster, topic: str, replicas: list[int] | None = None, *, make: bool = False) -> str:
    """Why the controller refuses the topic; empty: it would create it, or has with `make`."""
    asked = NewTopic(topic, 1, replica_assignment=[replicas]) if replicas else NewTopic(topic, 6, 2)
    wire = AdminClient({"bootstrap.servers": kafka.bootstrap})  # held: without it nobody completes the future
    try:
        wire.create_topics([asked], validate_only=not make)[topic].result(timeout=PATIENCE_S)
    except KafkaException as error:
        return str(error.args[0].str())
    return ""


def exclude(client: GuardianClient, broker: int, why: str) -> None:
    entry = pb.Exclusion(cluster=CLUSTER, broker_id=broker, who="anna", why=why)
    client.change_federation([pb.FederationChange(put=pb.FederationEntry(exclusion=entry))])


def lift(client: GuardianClient, broker: int) -> None:
    key = pb.FederationKey(exclusion=pb.ExclusionKey(cluster=CLUSTER, broker_id=broker))
    client.change_federation([pb.FederationChange(drop=key)])


def cordon_of(admin: KafkaControl, broker: int) -> str | None:
    return admin.describe_configs([(BROKER, str(broker))]).get((BROKER, str(broker)), {}).get("cordoned.log.dirs")


def replicas_of(admin: KafkaControl, topic: str) -> dict[int, tuple[int, ...]]:
    return {partition.partition: state.replicas for partition, state in admin.describe_partitions([topic]).items()}


def test_an_excluded_broker_gets_no_new_replicas_until_the_exclusion_is_lifted(
    kafka: KafkaCluster, client: GuardianClient, admin: KafkaControl
) -> None:
    wait_for("the controller knows the rules", lambda: "created by no ticket" in refusal(kafka, "known", [1]))
    assert refusal(kafka, "free-a", [1, 3]) == ""

    exclude(client, 3, "disk swap")
    sentence = "partition 0 of topic free-a names broker 3, which anna has excluded (disk swap): choose another one"
    wait_for("the exclusion reached the controller", lambda: sentence in refusal(kafka, "free-a", [1, 3]))
    assert refusal(kafka, "free-a", [1, 2]) == ""
    wait_for("broker 3 is cordoned", lambda: cordon_of(admin, 3) == "*")

    # Where Kafka chooses, it leaves out the cordoned broker. (The label's broker takes some: Kafka knows no labels.)
    def chosen_elsewhere() -> bool:
        topic = f"free-{time.monotonic_ns()}"
        assert refusal(kafka, topic, make=True) == ""
        wait_for("the topic is there", lambda: len(replicas_of(admin, topic)) == 6)
        return all(3 not in replicas for replicas in replicas_of(admin, topic).values())

    wait_for("Kafka chooses other brokers", chosen_elsewhere)

    lift(client, 3)
    wait_for("the cordon is gone", lambda: cordon_of(admin, 3) is None)
    wait_for("explicit assignments are taken again", lambda: refusal(kafka, "free-a", [1, 3]) == "")
    wait_for("nothing is kept", lambda: not client.cordons(CLUSTER))


def test_a_cordon_that_stood_before_is_shown_and_put_back(
    guardian: Cli, members: Federation, kafka: KafkaCluster, client: GuardianClient, admin: KafkaControl
) -> None:
    own = kafka.broker(2).log_dirs[0]
    assert admin.alter_configs({(BROKER, "2"): {"cordoned.log.dirs": own}}) == {}
    try:
        wait_for("it stands", lambda: cordon_of(admin, 2) == own)
        exclude(client, 2, "look at it")
        wait_for("broker 2 is cordoned", lambda: cordon_of(admin, 2) == "*")
        shown = guardian(members, "exclusion", "cordons", "--cluster", CLUSTER)
        assert own in shown.stdout, shown.stderr
        lift(client, 2)
        wait_for("what stood there is back", lambda: cordon_of(admin, 2) == own and not client.cordons(CLUSTER))
    finally:
        admin.alter_configs({(BROKER, "2"): {"cordoned.log.dirs": None}})


def test_labels_hold_for_explicit_assignments(kafka: KafkaCluster, client: GuardianClient) -> None:
    foreign = f"names broker {GOLD}, which is for the topics of label gold: choose another one"
    wait_for("the label reached the controller", lambda: foreign in refusal(kafka, "free-silver", [1, GOLD]))
    entry = pb.Topic(cluster=CLUSTER, name="free-gold", label="gold")
    client.change_federation([pb.FederationChange(put=pb.FederationEntry(topic=entry))])
    wait_for("the topic's label reached the controller", lambda: refusal(kafka, "free-gold", [GOLD]) == "")
    assert "which has no label while the topic's is gold" in refusal(kafka, "free-gold", [GOLD, 1])


def test_a_replica_that_strays_to_an_excluded_broker_is_moved_away_and_what_was_there_stays(
    kafka: KafkaCluster, client: GuardianClient, admin: KafkaControl
) -> None:
    old, stray = TopicPartition("free-old", 0), TopicPartition("free-stray", 0)
    for topic, replicas in ((old.topic, [1, 3]), (stray.topic, [1, 2])):
        assert refusal(kafka, topic, replicas, make=True) == ""
    wait_for("both are there", lambda: replicas_of(admin, old.topic) and replicas_of(admin, stray.topic))
    exclude(client, 3, "emptied by hand later")
    wait_for("broker 3 is cordoned", lambda: cordon_of(admin, 3) == "*")

    # Another tool moves a replica there: that is no creation, so neither policy nor cordon is asked (KAFKA.md 7, 25).
    known = {ticket.id for ticket in client.tickets(CLUSTER)}  # topics of other tests may have strayed, too

    def made() -> list[Ticket]:
        return [each for each in client.tickets(CLUSTER) if each.kind == "stray-replicas" and each.id not in known]

    assert admin.alter_reassignments({stray: (1, 3)}) == {}
    wait_for("a ticket is made", made)
    [ticket] = made()
    if ticket.state is TicketState.PENDING:
        wait_for("it is approved", lambda: client.ticket(ticket.id)[0].state is not TicketState.PENDING)
    wait_for("it is done", lambda: client.ticket(ticket.id)[0].state is TicketState.SUCCEEDED)
    moved = replicas_of(admin, stray.topic)[0]
    assert 3 not in moved
    assert GOLD not in moved
    assert replicas_of(admin, old.topic)[0] == (1, 3)


def test_what_a_ticket_creates_is_let_in_and_nothing_else(
    kafka: KafkaCluster, client: GuardianClient, admin: KafkaControl
) -> None:
    wait_for("the controller knows the rules", lambda: "created by no ticket" in refusal(kafka, "orders", [1, 2]))
    moves = tuple(
        PartitionMove(
            TopicPartition("orders", number),
            (),
            (ReplicaPlacement(1 + number), ReplicaPlacement(2 + number)),
            is_new=True,
        )
        for number in range(2)
    )
    ticket, _ = once_answered(
        lambda: client.create_ticket(Plan(CLUSTER, "create-topic", moves), author="anna", submit=True)
    )
    client.approve(ticket.id, "ben", "wanted")
    wait_for("it is done", lambda: client.ticket(ticket.id)[0].state is TicketState.SUCCEEDED)
    assert replicas_of(admin, "orders") == {0: (1, 2), 1: (2, 3)}
    assert "created by no ticket" in refusal(kafka, "orders-2", [1, 2])
