"""Which brokers get a label, or lose it, when a ticket that isolates one has succeeded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.errors import InvalidInput
from guardian.execution.rules.labelling import emptied_by, leaving, owned, remarks, takes_back, to_say
from guardian.model.directory import Directory
from guardian.model.effects import ConfigChange, ConfigKey
from guardian.model.execution import DirectoryIntent, Subject
from guardian.model.federation import IdcPolicy, Machine, Tenant, Topic
from guardian.model.plan import LoadSummary, PartitionMove, Plan, ReplicaPlacement
from guardian.model.tasks import Balance, Isolate, MigrateIdc, PlanTask
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import Broker, Cluster, TopicPartition
from guardian.settings.rules import applied, restored
from guardian.tickets.kinds.isolate_label import labels_after, require_usable, topics_after


def move(number: int, before: tuple[int, ...], after: tuple[int, ...]) -> PartitionMove:
    original, target = (tuple(map(ReplicaPlacement, brokers)) for brokers in (before, after))
    return PartitionMove(TopicPartition("t", number), original, target)


TWO_CITIES = IdcPolicy("two-cities", (("shanghai", 1), ("suzhou", 1)))
DROPPED = IdcPolicy("dropped", (("shanghai", 2),))
GROW = Isolate("gold", brokers=(7, 8, 9))
SHRINK = Isolate("gold", release=2)


def test_offered_brokers_that_are_used_get_the_label() -> None:
    moves = [move(0, (1, 2), (7, 8)), move(1, (9, 1), (2, 1))]
    assert labels_after(GROW, moves, {9}) == {7: "gold", 8: "gold"}
    assert emptied_by(GROW, moves) == frozenset()


def test_emptied_brokers_lose_it_once_they_are_empty() -> None:
    moves = [move(0, (7, 8), (9, 6)), move(1, (8, 6), (9, 6))]
    assert emptied_by(SHRINK, moves) == {7, 8}
    assert labels_after(SHRINK, moves, {8}) == {8: ""}


def directory(*brokers: Broker, topics: tuple[Topic, ...] = (), machines: tuple[Machine, ...] = ()) -> Directory:
    return Directory((Cluster("live", "h:9092", brokers=brokers),), machines, (), topics, (TWO_CITIES,))


def plan(task: PlanTask) -> Plan:
    return Plan("live", task.kind, (), task=task)


def test_what_it_says_comes_with_what_it_replaces_and_what_is_so_already_is_not_said() -> None:
    topics = (Topic("live", "pay", label="red"), Topic("live", "logs", label="gold"))
    machines = (Machine("m8", cluster="live", broker_id=8, label="red"),)
    known = directory(Broker(7), Broker(8, label="gold"), topics=topics, machines=machines)
    factors = {"pay": 2, "logs": 2, "new": 2}
    moves = [move(0, (1, 2), (7, 8)), move(1, (1, 2), (7, 9))]
    assert to_say(plan(replace(GROW, topics=("pay", "logs", "new"))), moves, known, factors, ()) == (
        DirectoryIntent(Subject.BROKER, "label", ("7",), "gold", ""),
        DirectoryIntent(Subject.MACHINE, "label", ("m8",), "gold", "red"),
        DirectoryIntent(Subject.TOPIC, "label", ("new",), "gold", ""),
        DirectoryIntent(Subject.TOPIC, "label", ("pay",), "gold", "red"),
    )


def test_only_the_label_itself_is_taken_off_brokers_and_machines_that_are_empty() -> None:
    machines = tuple(
        Machine(f"m{each}", cluster="live", broker_id=each, label=label)
        for each, label in ((6, "gold"), (7, "red"), (8, "gold"))
    )
    known = directory(Broker(6, label="gold"), Broker(7, label="red"), Broker(8), machines=machines)
    moves = [move(0, (6, 7), (4, 5)), move(1, (8, 7), (4, 5))]
    assert to_say(plan(SHRINK), moves, known, {}, {6, 7, 8}) == (
        DirectoryIntent(Subject.BROKER, "label", ("6",), "", "gold"),
        DirectoryIntent(Subject.MACHINE, "label", ("m6", "m8"), "", "gold"),
    )


def test_topics_that_were_migrated_get_the_policy_and_those_it_was_never_for_do_not() -> None:
    topics = (Topic("live", "pay", idc_policy="home", tenant="ann"), Topic("live", "logs", idc_policy="two-cities"))
    factors = {"pay": 2, "logs": 2, "new": 2, "made-since": 3}
    known = directory(topics=topics)

    def said(asked: MigrateIdc) -> dict[str, str]:
        found = to_say(plan(asked), [], known, factors, ())
        assert all((each.subject, each.field) == (Subject.TOPIC, "idc_policy") for each in found)
        return {name: each.replaced for each in found for name in each.names if each.value == "two-cities"}

    assert said(MigrateIdc(TWO_CITIES)) == {"new": "", "pay": "home"}, "no topics: the whole cluster"
    assert said(MigrateIdc(TWO_CITIES, ("n*", "made-since"))) == {"new": ""}
    assert said(MigrateIdc(TWO_CITIES, tenant="ann")) == {"pay": "home"}
    assert said(MigrateIdc(DROPPED)) == {}
    assert remarks(plan(MigrateIdc(DROPPED)), (), {}, known) == [
        "policy 'dropped' is not in the directory (any more), so no topic has it from now on"
    ]
    assert remarks(plan(MigrateIdc(TWO_CITIES)), (), {}, known) == []
    assert to_say(plan(Balance()), [], known, factors, ()) == ()


def test_what_was_replaced_is_restored() -> None:
    said = (DirectoryIntent(Subject.TOPIC, "label", ("pay",), "gold", "red"),)
    key = ConfigKey("topic", "pay", "label")
    assert applied(owned(said)) == {key: ConfigChange("red", "gold")}
    assert restored(owned(said)) == {key: ConfigChange("gold", "red")}


@pytest.mark.parametrize(
    ("before", "state", "back"),
    [
        ((TicketState.RUNNING,), TicketState.SUCCEEDED, False),
        ((TicketState.RUNNING, TicketState.CANCELLING), TicketState.CANCELLED, True),
        ((TicketState.RUNNING,), TicketState.FAILED, True),
        ((TicketState.SUCCEEDED, TicketState.ROLLING_BACK), TicketState.ROLLED_BACK, True),
        ((TicketState.SUCCEEDED, TicketState.ROLLING_BACK, TicketState.CANCELLING), TicketState.CANCELLED, False),
    ],
)
def test_a_ticket_says_nothing_unless_it_has_succeeded(
    before: tuple[TicketState, ...], state: TicketState, back: bool
) -> None:
    history = tuple(TicketTransition(each, 0, "ann", "") for each in before)
    ticket = Ticket("t-1", "live", Isolate.kind, before[-1], "ann", "h", 0, 0, 0, history)
    assert takes_back(ticket, state) is back


def test_a_broker_that_was_to_be_emptied_and_is_not_is_named_with_what_it_holds() -> None:
    moves = [move(0, (7, 8), (9, 6)), move(1, (8, 6), (9, 6))]
    shrink = plan(SHRINK)
    assert leaving(shrink, moves) == {7, 8}
    gone = (LoadSummary(7, "", 1.0, 0.0, is_leaving=True), LoadSummary(7, "/d", 1.0, 0.0, is_leaving=True))
    loads = (*gone, LoadSummary(8, "", 2.0, 1.0))
    marked = replace(shrink, loads=loads)
    assert leaving(marked, moves) == {7}, "8 only lost some on the way"
    said = (DirectoryIntent(Subject.BROKER, "label", ("8",), "", "gold"),)
    held = {7: [TopicPartition("stray", each) for each in range(5)], 8: ()}
    assert remarks(shrink, said, held, directory()) == [
        "broker 7 is not empty and keeps its label: it holds stray-0, stray-1, stray-2 and 2 more"
    ]


def test_topics_are_named_by_themselves_by_a_beginning_or_by_their_tenant() -> None:
    existing = ["orders", "orders-dead", "pay", "logs"]
    entries = [Topic("live", "pay", tenant="ann"), Topic("live", "gone", tenant="ann", label="gold")]
    asked = Isolate("gold", ("orders*", "logs"), tenant="ann")
    assert topics_after(asked, existing, entries) == dict.fromkeys(("logs", "orders", "orders-dead", "pay"), "gold")
    assert topics_after(Isolate("gold"), existing, entries) == {}


def test_a_tenants_topics_get_only_a_label_that_it_may_use() -> None:
    entries = [Topic("live", "pay", tenant="ann"), Topic("live", "logs")]
    tenants = [Tenant("ann", labels=("red", "green")), Tenant("bob", labels=("red",))]
    require_usable("gold", ["logs", "new"], "bob", entries, tenants)
    require_usable("red", ["p*"], "ann", entries, tenants)
    for names, tenant in ((["p*"], ""), ([], "ann")):
        with pytest.raises(InvalidInput, match=r"'gold', and topic pay is of tenant ann, which may use green, red: "):
            require_usable("gold", names, tenant, entries, tenants)
