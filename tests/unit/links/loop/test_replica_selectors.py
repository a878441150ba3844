"""Whether consumers read in their own data centre: as a finding, and beside a migration's ticket."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from guardian.client import GuardianClient
from guardian.health.model.finding import FindingKind
from guardian.links.model import IDC_AWARE, RackMapping
from guardian.model.federation import IdcPolicy
from guardian.model.plan import Plan
from guardian.model.tasks import MigrateIdc
from guardian.model.topology import Broker, Cluster
from guardian.model.wire.federation import cluster_to_proto
from tests.unit.member.member import Member, plan

BROKERS = (Broker(1, "a", "shanghai"), Broker(2, "b", "suzhou"), Broker(3, "c", "suzhou"))
GOOD = RackMapping("-", {"a": "shanghai", "b": "suzhou", "c": "suzhou"})
LOOK_MS = 600_000


def migrating(asked: Plan) -> Plan:
    task = MigrateIdc(IdcPolicy("two", (("shanghai", 1), ("suzhou", 1))))
    return replace(asked, kind=task.kind, task=task)


class Reporters:
    """Those of brokers with Guardian's selector, as the member asks them."""

    def __init__(self) -> None:
        self.mappings = dict.fromkeys((1, 2, 3), GOOD)
        self.asked: list[list[int]] = []

    def ask(self, brokers: Sequence[Broker]) -> dict[int, RackMapping]:
        self.asked.append([broker.id for broker in brokers])
        return {broker.id: self.mappings[broker.id] for broker in brokers if broker.id in self.mappings}


@pytest.fixture
def reporters() -> Reporters:
    return Reporters()


@pytest.fixture
def member(reporters: Reporters) -> Iterator[Member]:
    member = Member(ask_mappings=reporters.ask)
    member.store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "fake", brokers=BROKERS)))
    member.now_ms = LOOK_MS
    for broker in (1, 2, 3):
        member.kafka.set_config(("BROKER", str(broker)), "replica.selector.class", IDC_AWARE)
    yield member
    member.stop()


@pytest.fixture
def client(member: Member) -> Iterator[GuardianClient]:
    with GuardianClient([member.endpoint]) as client:
        yield client


def found(member: Member, client: GuardianClient) -> list[str]:
    """After two looks."""
    for _ in range(2):
        member.now_ms += LOOK_MS
        member.findings.tick()
    kind = FindingKind.READS_LEAVE_IDC.value
    return [f"{each.subject}: {each.evidence}" for each in client.findings("live").findings if each.kind == kind]


def test_brokers_that_all_know_the_racks_are_no_finding(
    member: Member, client: GuardianClient, reporters: Reporters
) -> None:
    assert found(member, client) == []
    assert reporters.asked == [[1, 2, 3]] * 2


def test_stock_brokers_across_data_centres_are_a_finding(
    member: Member, client: GuardianClient, reporters: Reporters
) -> None:
    member.kafka.set_config(("BROKER", "3"), "replica.selector.class", None)
    (sentence,) = found(member, client)
    assert sentence.startswith("brokers without a replica selector: broker 3 has no replica.selector.class")
    assert reporters.asked == [[1, 2]] * 2


def test_a_rack_that_a_broker_places_elsewhere_is_a_finding(
    member: Member, client: GuardianClient, reporters: Reporters
) -> None:
    reporters.mappings[1] = RackMapping("-", {"a": "shanghai", "b": "suzhou"})
    (sentence,) = found(member, client)
    assert sentence.startswith(
        "rack c, c for suzhou: rack c is in suzhou by the federation and in c by the replica selector of broker 1"
    )


def test_a_migration_says_what_keeps_consumers_from_reading_where_it_brings_replicas(
    member: Member, client: GuardianClient, reporters: Reporters
) -> None:
    member.kafka.set_config(("BROKER", "3"), "replica.selector.class", None)
    del reporters.mappings[2]
    moving = plan(3, 2)
    _, noted = client.create_ticket(migrating(moving), author="ann", throttle=1_000_000)
    missing, unknown = noted.notes
    assert missing.startswith("broker 3 has no replica.selector.class")
    assert unknown.startswith("whether consumers read in their own data centre is not known of broker 2")
    _, balanced = client.create_ticket(moving, author="ann", throttle=1_000_000)
    assert balanced.notes == ()


def test_a_migration_whose_consumers_will_read_there_says_nothing(member: Member, client: GuardianClient) -> None:
    _, noted = client.create_ticket(migrating(plan(3, 2)), author="ann", throttle=1_000_000)
    assert noted.notes == ()


def test_a_migration_that_makes_a_follower_the_leader_tells_of_clients_that_may_stay_behind(
    member: Member, client: GuardianClient
) -> None:
    _, noted = client.create_ticket(migrating(plan(2, 3)), author="ann", throttle=1_000_000)
    (note,) = noted.notes
    assert note.startswith("a follower becomes the leader of 1 partition: consumers with librdkafka (2.16.1)")
