"""Every kind of ticket has a story here, in which a driver dies at every moment that the ticket goes through.

The kinds are read from the code, so that one which is new and has no story fails. Other files of this folder tell
longer stories; here each kind is carried out, and cancelled or rolled back where it can be, under its own name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from guardian.execution.loop.request_facts import Uses
from guardian.execution.operations.registry import OPERATIONS
from guardian.healing.rules import straying
from guardian.model import tasks
from guardian.model.execution import TaskState
from guardian.model.operation import Ask, AskKind, OperationPhase
from guardian.model.plan import RUN_PLAN, PartitionMove
from guardian.model.tasks import PlanTask, ReplicationFactor
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import BrokerState
from guardian.tickets.kinds import delete_topic, throttle_override, topic_config
from guardian.tickets.kinds.acl_repair import AclRepair
from guardian.tickets.kinds.delete_topic import DeleteTopic, Replicas, SavedTopic
from guardian.tickets.kinds.registry import KINDS
from guardian.tickets.kinds.requested import RequestKind, TopicUse
from guardian.tickets.kinds.throttle_override import ThrottleOverride
from guardian.tickets.kinds.topic_config import TopicConfig, TopicSetting
from tests.simulation import test_kind_crashes as kinds
from tests.simulation import test_operation_crashes as operations
from tests.simulation.operations import OperationsWorld
from tests.simulation.sweeping import DEATHS, Swept, sweep, tick_until
from tests.simulation.world import CLUSTER, MB, World, move

pytestmark = pytest.mark.slow

ISOLATE_LABEL = tasks.Isolate.kind
FEW = 10**6  # so many calls no story has: one death for each moment


_ON_THE_WAY_TO = {
    TicketState.SUCCEEDED: TicketState.RUNNING,
    TicketState.CANCELLED: TicketState.CANCELLING,
    TicketState.ROLLED_BACK: TicketState.ROLLING_BACK,
}


@dataclass(frozen=True)
class Story:
    """Of a ticket of this kind, `ticket_id`, that ends with `end`, whoever dies. After a death it may be over before
    somebody comes to cancel it: it has succeeded then."""

    kind: str
    name: str
    make: Callable[[], Any]
    tell: Callable[[Any], None]
    check: Callable[[Any], None]
    end: TicketState = TicketState.SUCCEEDED
    ticket_id: str = "t-1"

    def sweep(self, after: bool, late: int, every: int) -> Swept:
        deaths = sweep(self.make, self.tell, self.ends, after, late, every, lambda world: world.state(self.ticket_id))
        assert self.end in deaths.ends
        return deaths

    def ends(self, world: Any) -> None:
        ticket = world.store.ticket(self.ticket_id)
        is_told = any(each.state is _ON_THE_WAY_TO[self.end] for each in ticket.history)
        end = self.end if is_told else TicketState.SUCCEEDED
        assert ticket.state is end, f"{ticket.state.name} and not {end.name}: {world.reason(self.ticket_id)}"
        self.check(world)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".replace(" ", "-")


def run(world: Any) -> None:
    world.run()


# What moves replicas.


def moves_of(kind: str) -> tuple[PartitionMove, ...]:
    """As a plan of that kind has them: between brokers, between log dirs, or of leaders only."""
    if kind == tasks.Leaders.kind:
        return (move("t-0", 2, 1), move("t-1", 3, 2))
    if kind == tasks.EmptyDisk.kind:
        return (move("t-0", "1:/b1/d1", 2), move("t-2", "1:/b1/d0", 3))
    if kind == tasks.MigrateIdc.kind:
        return (move("t-0", 3, 4), move("t-1", 4, 3))
    if kind == tasks.Heal.kind:
        return (move("t-0", 1, 4), move("t-1", 4, 3))
    return (move("t-0", 4, 2), move("t-1", 2, "4:/b4/d1"), move("t-2", 3, 1))


def moves_world(kind: str) -> World:
    """Broker 4 holds nothing; of a `heal`, broker 2 is dead."""
    world = World(brokers=4)
    world.kafka.create_topic("t", {0: [1, 2], 1: [2, 3], 2: [1, 3]}, MB, write_rate=20_000)
    world.kafka.set_config(("BROKER", "1"), "leader.replication.throttled.rate", "777000000")
    if kind == tasks.Heal.kind:
        world.kafka.kill_broker(2)
    return world.ticket(*moves_of(kind), throttle=MB, kind=kind)


def is_moved(world: World) -> None:
    """To the end, or back to where it was."""
    state = world.state()
    assert state in (TicketState.SUCCEEDED, TicketState.CANCELLED, TicketState.ROLLED_BACK), world.reason()
    for task in world.execution().tasks:
        assert task.state in (TaskState.DONE, TaskState.REVERTED), task
        assert state is not TicketState.SUCCEEDED or task.state is TaskState.DONE, task
        assert state is not TicketState.ROLLED_BACK or task.state is TaskState.REVERTED, task
        is_created = task.move.is_new and task.state is TaskState.REVERTED
        where = task.move.target if task.state is TaskState.DONE else task.move.original
        if is_created:
            assert task.move.partition not in world.kafka.peek().partitions
        elif where[0].broker in world.kafka.peek().brokers:
            assert world.is_at(task.move, where), (task, world.kafka.peek().partitions[task.move.partition])
        else:  # it goes back to a broker that was dead before
            assert world.kafka.peek().partitions[task.move.partition].replicas == tuple(p.broker for p in where)
    world.leaves_nothing()


def cancel_in_mid_move(world: World) -> None:
    tick_until(world, lambda: world.state() is not TicketState.APPROVED and world.store.execution("t-1") is not None)
    tick_until(world, lambda: _has_begun(world) or world.state().is_over)
    if world.state() is TicketState.RUNNING:
        world.cancel()
    world.run()


def _has_begun(world: World) -> bool:
    return any(task.state is not TaskState.PENDING for task in world.execution().tasks)


def roll_back(world: Any) -> None:
    world.run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    if isinstance(world, World):
        world._told(TicketState.ROLLING_BACK, None, "t-1")
    else:
        world.advance(TicketState.ROLLING_BACK)
    world.run()


MOVING = (
    tasks.Balance.kind,
    tasks.Leaders.kind,
    tasks.MigrateIdc.kind,
    tasks.Add.kind,
    tasks.EmptyDisk.kind,
    tasks.Relieve.kind,
    tasks.Heal.kind,
    straying.KIND,
    RUN_PLAN,
    # Its moves; what they make of its label's machines is a story of its own.
    ISOLATE_LABEL,
)


def stories_of_moves() -> Iterator[Story]:
    for kind in MOVING:

        def make(kind: str = kind) -> World:
            return moves_world(kind)

        yield Story(kind, "to the end", make, run, is_moved)
        yield Story(kind, "cancelled", make, cancel_in_mid_move, is_moved, TicketState.CANCELLED)
    yield Story(
        tasks.Balance.kind, "rolled back", lambda: moves_world("balance"), roll_back, is_moved, TicketState.ROLLED_BACK
    )


def is_made(world: World) -> None:
    """All of the topic or nothing, and none of it is left under way."""
    now = world.kafka.peek()
    there = {tp.partition for tp in now.partitions if tp.topic == "new"}
    states = {task.state for task in world.execution().tasks}
    assert (there, states) in [(set(), {TaskState.REVERTED}), ({0, 1, 2}, {TaskState.DONE})]
    if world.state() is TicketState.SUCCEEDED:
        kinds.is_made(world)
    else:
        assert world.state() is TicketState.CANCELLED, world.reason()
    leaves_nothing_but(world, {"new"} if there else set())


def is_expanded(world: World) -> None:
    """By all of the partitions or none: Kafka takes none away."""
    now = world.kafka.peek()
    there = {tp.partition for tp in now.partitions if tp.topic == "t"}
    states = {task.state for task in world.execution().tasks}
    if world.state() is TicketState.SUCCEEDED:
        assert there == {0, 1, 2, 3}
        kinds.is_at_target(world)
    else:
        assert world.state() is TicketState.CANCELLED, world.reason()
        assert (there, states) in [({0, 1}, {TaskState.REVERTED}), ({0, 1, 2, 3}, {TaskState.DONE})]
    leaves_nothing_but(world, set())


def leaves_nothing_but(world: World, topics: set[str]) -> None:
    """As `World.leaves_nothing`; these topics are new, and have of configuration what their ticket asked for."""
    now = world.kafka.peek()
    new = {("TOPIC", topic): {"retention.ms": "3600000"} for topic in topics}
    assert now.configs == {**world.configs, **new}
    assert not now.reassignments
    assert not any(log_dir.future_replicas for log_dir in now.log_dirs)


def cancel_when_it_runs(world: World) -> None:
    tick_until(world, lambda: world.state() is not TicketState.APPROVED)
    if world.state() is TicketState.RUNNING:
        world.cancel()
    world.run()


def stories_of_topics() -> Iterator[Story]:
    create, expand = tasks.CreateTopic.kind, tasks.ExpandTopic.kind
    yield Story(create, "to the end", kinds.making_world, run, is_made)
    yield Story(create, "cancelled", kinds.making_world, cancel_when_it_runs, is_made, TicketState.CANCELLED)
    yield Story(expand, "to the end", kinds.growing_world, run, is_expanded)
    yield Story(expand, "cancelled", kinds.growing_world, cancel_when_it_runs, is_expanded, TicketState.CANCELLED)
    factor = ReplicationFactor.kind
    yield Story(factor, "to the end", kinds.resizing_world, run, is_moved)
    yield Story(factor, "cancelled", kinds.resizing_world, cancel_in_mid_move, is_moved, TicketState.CANCELLED)


# What stands for a rate, and access rules.

RATE = "follower.replication.throttled.rate"
UNTIL_MS = 6_000


def standing_world(until_ms: int) -> World:
    """A copy onto broker 3 at 5 MB/s, and an approved standing rate of 2 MB/s there."""
    world = World(brokers=4)
    world.kafka.create_topic("t", {0: [1, 2]}, 30 * MB)
    world.ticket(move("t-0", 3, 2), throttle=5 * MB)
    plan = throttle_override.KIND.plan(CLUSTER, ThrottleOverride(3, 2 * MB, until_ms))
    kind = ThrottleOverride.kind
    world.store.put(Ticket("t-2", CLUSTER, kind, TicketState.APPROVED, "ann", "t-2", 0, 1, 0), plan)
    return world


def cancel_the_rate(world: World) -> None:
    tick_until(world, lambda: world.config("BROKER", 3, RATE) == str(2 * MB))
    world.cancel("t-2")
    tick_until(world, lambda: world.config("BROKER", 3, RATE) == str(5 * MB))
    world.run()


def let_the_rate_end(world: World) -> None:
    tick_until(world, lambda: world.config("BROKER", 3, RATE) == str(2 * MB))
    tick_until(world, lambda: world.config("BROKER", 3, RATE) == str(5 * MB))
    assert world.kafka.now_ms >= UNTIL_MS
    world.run()


def no_rate_stands(world: World) -> None:
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    assert world.state("t-2") in (TicketState.SUCCEEDED, TicketState.CANCELLED)
    is_moved(world)


def are_as_asked_for(world: World) -> None:
    """Those of before or those asked for, by what the ticket says."""
    rules = set(world.kafka.describe_acls())
    rule = kinds.rule
    if world.state() is TicketState.SUCCEEDED:
        assert rules == {rule("there"), rule("other"), rule("missing"), rule("missing", "User:bob")}
    else:
        assert world.state() is TicketState.CANCELLED, world.reason()
        assert rules == {rule("there"), rule("unused"), rule("other")}


def cancel_between_the_rules(world: World) -> None:
    """What was missing is there already, what is unused is not gone yet."""
    missing = kinds.rule("missing")
    tick_until(world, lambda: missing in world.kafka._rules() or world.state().is_over)
    if world.state() is TicketState.RUNNING:
        world.cancel()
    world.run()


RETENTION = "retention.ms"


def config_world() -> World:
    """Two configurations to be set, one of which replaces another value, and one to be deleted."""
    world = World(brokers=3)
    world.kafka.create_topic("t", {0: [1, 2]}, MB)
    for key, value in ((RETENTION, "1000"), ("segment.bytes", "77"), ("max.message.bytes", "9")):
        world.kafka.set_config(("TOPIC", "t"), key, value)
    world.remember()
    settings = (
        TopicSetting("t", RETENTION, "2000", "1000"),
        TopicSetting("t", "retention.bytes", "5", None),
        TopicSetting("t", "segment.bytes", None, "77"),
    )
    return with_request(world, topic_config.KIND, TopicConfig(settings))


def with_request(world: World, kind: RequestKind[Any], task: PlanTask) -> World:
    """The world with an approved ticket of the request."""
    ticket = Ticket("t-1", CLUSTER, kind.name, TicketState.APPROVED, "ann", "t-1", 0, 1, 0)
    world.store.put(ticket, kind.plan(CLUSTER, task))
    return world


def cancel_when_one_is_set(world: World) -> None:
    tick_until(world, lambda: world.config("TOPIC", "t", RETENTION) == "2000" or world.state().is_over)
    if world.state() is TicketState.RUNNING:
        world.cancel()
    world.run()


def is_configured(world: World) -> None:
    """As asked for, or as before, by what the ticket says; what nobody asked for is as it was."""
    configs = world.kafka.peek().configs["TOPIC", "t"]
    if world.state() is TicketState.SUCCEEDED:
        assert configs == {RETENTION: "2000", "retention.bytes": "5", "max.message.bytes": "9"}
    else:
        assert world.state() in (TicketState.CANCELLED, TicketState.ROLLED_BACK), world.reason()
        world.leaves_nothing()


def stories_of_configs() -> Iterator[Story]:
    kind = TopicConfig.kind
    yield Story(kind, "to the end", config_world, run, is_configured)
    yield Story(kind, "cancelled", config_world, cancel_when_one_is_set, is_configured, TicketState.CANCELLED)
    yield Story(kind, "rolled back", config_world, roll_back, is_configured, TicketState.ROLLED_BACK)


def unused(_cluster: str, topics: Collection[str], *_: object) -> Uses:
    return Uses({topic: TopicUse() for topic in topics}, until_ms=10**15)


def deleting_world() -> World:
    """Topics a and b, unused and to be deleted after a hold; c stays."""
    world = World(brokers=3, uses=unused)
    world.kafka.set_acls(kinds.rule("a"), kinds.rule("c"))
    for name in ("a", "b", "c"):
        world.kafka.create_topic(name, {0: [1, 2], 1: [2, 3]}, MB)
    world.kafka.set_config(("TOPIC", "a"), RETENTION, "1000")
    ids = world.kafka.topic_ids(["a", "b"])
    partitions = (Replicas((1, 2)), Replicas((2, 3)))
    saved = (
        SavedTopic("a", ids["a"].hex(), partitions, ((RETENTION, "1000"),), (kinds.rule("a"),)),
        SavedTopic("b", ids["b"].hex(), partitions),
    )
    return with_request(world, delete_topic.KIND, DeleteTopic(saved, 60_000, hold_ms=1_000))


def cancel_in_the_hold(world: World) -> None:
    tick_until(world, lambda: world.state() is not TicketState.APPROVED)
    if world.state() is TicketState.RUNNING:
        world.cancel()
    world.run()


def is_deleted(world: World) -> None:
    """Both topics or none; made anew, they have the form of before."""
    now = world.kafka.peek()
    there = {tp.topic for tp in now.partitions}
    if world.state() is TicketState.SUCCEEDED:
        assert there == {"c"}
        return
    assert world.state() in (TicketState.CANCELLED, TicketState.ROLLED_BACK), world.reason()
    assert there == {"a", "b", "c"}
    assert now.configs["TOPIC", "a"] == {RETENTION: "1000"}
    assert {tp.partition: state.replicas for tp, state in now.partitions.items() if tp.topic == "a"} == {
        0: (1, 2),
        1: (2, 3),
    }
    assert set(world.kafka.describe_acls()) == {kinds.rule("a"), kinds.rule("c")}


def stories_of_deletions() -> Iterator[Story]:
    kind = DeleteTopic.kind
    yield Story(kind, "to the end", deleting_world, run, is_deleted)
    yield Story(kind, "cancelled", deleting_world, cancel_in_the_hold, is_deleted, TicketState.CANCELLED)
    yield Story(kind, "rolled back", deleting_world, roll_back, is_deleted, TicketState.ROLLED_BACK)


def stories_without_moves() -> Iterator[Story]:
    rate, rules = ThrottleOverride.kind, AclRepair.kind
    forever = 10**15
    yield Story(rate, "to the end", lambda: standing_world(UNTIL_MS), let_the_rate_end, no_rate_stands, ticket_id="t-2")
    yield Story(
        rate,
        "cancelled",
        lambda: standing_world(forever),
        cancel_the_rate,
        no_rate_stands,
        TicketState.CANCELLED,
        "t-2",
    )
    yield from stories_of_configs()
    yield from stories_of_deletions()
    yield Story(rules, "to the end", kinds.repairing_world, run, are_as_asked_for)
    yield Story(rules, "cancelled", kinds.repairing_world, cancel_when_it_runs, are_as_asked_for, TicketState.CANCELLED)
    yield Story(
        rules,
        "cancelled half way",
        kinds.repairing_world,
        cancel_between_the_rules,
        are_as_asked_for,
        TicketState.CANCELLED,
    )


# What brokers go through.

ALL = (1, 2, 3, 4, 5, 6)


def slow(world: OperationsWorld) -> OperationsWorld:
    """What a broker missed takes a while, so that it is seen to catch up."""
    world.kafka.bytes_per_call = 15_000
    return world


def restart_world() -> OperationsWorld:
    world = OperationsWorld(6, min_isr=2, racks=3)
    orders = {0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5], 3: [4, 5, 6], 4: [5, 6, 1], 5: [6, 1, 2]}
    world.topic("t", orders, MB, 100_000)
    return slow(world).ask(Ask(AskKind.RESTART, ALL, hook="systemd"))


def upgrade_world() -> OperationsWorld:
    """The cluster is at an older level, and one that all support is asked for."""
    world = OperationsWorld(6, min_isr=2, racks=3)
    world.topic("t", {0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5], 3: [4, 5, 6], 4: [5, 6, 1], 5: [6, 1, 2]}, MB, 100_000)
    world.kafka.level, world.kafka.supported[6] = 25, 28
    return slow(world).ask(Ask(AskKind.RESTART, ALL, hook="systemd", finalize=True))


def is_finalized(world: OperationsWorld) -> None:
    """By a ticket that ended, and by no other."""
    is_as_before(upgrade_world)(world)
    operation = world.operation()
    if world.state() is TicketState.CANCELLED and not operation.metadata_version_to:
        assert world.kafka.level == 25
        assert world.reason().endswith("; metadata.version was not raised")
        return
    assert (operation.metadata_version_from, operation.metadata_version_to, world.kafka.level) == (25, 28, 28)
    said = "raised" if world.state() is TicketState.SUCCEEDED else "was raised"
    assert f"; metadata.version {said} from 25 to 28" in world.reason()


def absence_world(shutdown: bool = True) -> OperationsWorld:
    world = OperationsWorld(5)
    orders = {0: [4, 1, 2], 1: [5, 2, 4], 2: [1, 4, 5], 3: [2, 3, 5], 4: [3, 1, 4]}
    world.topic("t", orders, MB, 100_000)
    hook = "systemd" if shutdown else ""
    return slow(world).ask(Ask(AskKind.OFFLINE, (4, 5), shutdown=shutdown, hook=hook))


def is_as_before(make: Callable[[], OperationsWorld], ticket_id: str = "t-1") -> Callable[[OperationsWorld], None]:
    """The ticket is over, leaders and orders are those of before, and nothing is marked."""
    before = make().orders()

    def check(world: OperationsWorld) -> None:
        over = (TicketState.SUCCEEDED, TicketState.CANCELLED, TicketState.ROLLED_BACK)
        assert world.state(ticket_id) in over, world.reason(ticket_id)
        assert world.orders() == before
        assert world.federation.excluded == {}
        assert set(world.federation.states.values()) == {BrokerState.ACTIVE}
        world.leaves_no_throttle().is_whole()

    return check


def cancel_offline(world: OperationsWorld) -> None:
    operations.cancelled_at(OperationPhase.LEADERS_AWAY)(world)


def cancel_online(world: OperationsWorld) -> None:
    """Cancelled when its brokers are starting."""
    world.run()
    assert world.state() is TicketState.SUCCEEDED, world.reason()
    world.ask(Ask(AskKind.ONLINE, (4, 5), hook="systemd"), "t-2")
    tick_until(world, lambda: bool(world.store.execution("t-2")) and not world.machines.away)
    if world.state("t-2") is TicketState.RUNNING:
        world.advance(TicketState.CANCELLING, "t-2")
    world.run()
    for _ in range(200):  # they catch up, though nobody asks Kafka any more
        world.kafka.advance()


def is_still_away(world: OperationsWorld) -> None:
    """Brokers are up; that they are excluded and in maintenance is the offline ticket's, until it is rolled back."""
    if world.state("t-2") is TicketState.SUCCEEDED:
        is_as_before(absence_world, "t-2")(world)
        return
    assert world.state("t-2") is TicketState.CANCELLED, world.reason("t-2")
    operations.is_excluded_as_offline(world)
    assert world.machines.away == set()
    world.leaves_no_throttle().is_whole()


def drained_world() -> OperationsWorld:
    return operations.removal_world(shutdown=False)


def is_whole_and_unmarked(world: OperationsWorld) -> None:
    is_as_before(drained_world)(world)


def stories_of_brokers() -> Iterator[Story]:
    phases = OperationPhase
    remove, restart, offline, online = AskKind.REMOVE, AskKind.RESTART, AskKind.OFFLINE, AskKind.ONLINE
    cancelled_at = operations.cancelled_at
    over, back = TicketState.CANCELLED, TicketState.ROLLED_BACK
    yield Story(remove, "to the end", operations.removal_world, operations.run_while_topics_come, operations.is_removed)
    yield Story(
        remove, "cancelled", operations.removal_world, cancelled_at(phases.EXECUTE), operations.is_unmarked, over
    )
    yield Story(remove, "rolled back", drained_world, roll_back, is_whole_and_unmarked, back)
    restarted = is_as_before(restart_world)
    yield Story(restart, "to the end", upgrade_world, run, is_finalized)
    yield Story(
        restart, "cancelled before it finalizes", upgrade_world, cancelled_at(phases.RESTART), is_finalized, over
    )
    yield Story(
        restart, "cancelled while it finalizes", upgrade_world, cancelled_at(phases.FINALIZE), is_finalized, over
    )
    yield Story(restart, "without finalize", restart_world, run, restarted)
    yield Story(restart, "cancelled", restart_world, cancelled_at(phases.RESTART), restarted, over)
    yield Story(restart, "rolled back", restart_world, roll_back, restarted, back)
    yield Story(offline, "to the end", absence_world, run, operations.is_offline)

    def staying() -> OperationsWorld:
        return absence_world(shutdown=False)

    there = is_as_before(staying)
    yield Story(offline, "cancelled", staying, cancel_offline, there, over)
    yield Story(offline, "rolled back", staying, roll_back, there, back)
    returned = is_as_before(absence_world, "t-2")
    yield Story(online, "to the end", absence_world, operations.away_and_back, returned, ticket_id="t-2")
    yield Story(online, "cancelled", absence_world, cancel_online, is_still_away, over, "t-2")


STORIES = (*stories_of_moves(), *stories_of_topics(), *stories_without_moves(), *stories_of_brokers())


# Which kinds there are.


def test_every_kind_of_ticket_has_a_story() -> None:
    assert {story.kind for story in STORIES} == KINDS.keys(), "tell a story of each in STORIES"


def test_a_death_that_changes_the_end_is_found() -> None:
    """Somebody cancels as soon as a driver died: the ticket is as it should be after a cancel, but nobody was to."""

    def tell(world: World) -> None:
        tick_until(world, lambda: bool(world.wire.died_at) or world.state().is_over)
        if world.state() is TicketState.RUNNING:
            world.cancel()
        world.run()

    story = Story(tasks.Balance.kind, "to the end", lambda: moves_world("balance"), tell, is_moved)
    with pytest.raises(AssertionError, match="CANCELLED and not SUCCEEDED"):
        story.sweep(after=False, late=0, every=FEW)


@pytest.mark.parametrize("kind", AskKind)
def test_a_driver_dies_in_every_phase_of_an_operation(kind: AskKind) -> None:
    """The phases are those that the operation has; each was stored when somebody died."""
    story = next(each for each in STORIES if each.kind == kind and each.name == "to the end")
    where = {moment.where for moment in story.sweep(after=False, late=0, every=FEW).moments if moment.kind == kind}
    phases = {word for each in where for word in each.split()}
    assert {phase.name for phase in OPERATIONS[kind].phases} <= phases, where


@pytest.mark.slow
@pytest.mark.parametrize("story", STORIES, ids=str)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_ticket_ends_as_it_should_though_a_driver_dies_at_each_of_its_moments(story: Story, after: bool) -> None:
    """At about six calls more than at these; at all of them in `make soak`."""
    rehearsal = story.make()
    story.tell(rehearsal)
    deaths = story.sweep(after, late=0, every=max(1, rehearsal.wire.calls // 6))
    states = {moment.where.split()[0] for moment in deaths.moments if moment.kind == story.kind}
    assert _ON_THE_WAY_TO[story.end].name in states


@pytest.mark.soak
@pytest.mark.parametrize("story", STORIES, ids=str)
@DEATHS
def test_there_is_no_call_of_any_kind_at_which_a_death_changes_the_end(story: Story, after: bool, late: int) -> None:
    story.sweep(after, late, every=1)
