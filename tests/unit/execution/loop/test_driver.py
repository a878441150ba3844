"""The thin edge: what is sent only after it is confirmed, and clusters that don't wait for each other."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import replace

import pytest

from guardian.errors import Conflict, NotFound, Unavailable
from guardian.execution.loop import driver as driver_module
from guardian.execution.loop import ticket_driver
from guardian.execution.loop.driver import Driver
from guardian.execution.loop.ports import DriverClocks, DriverPorts
from guardian.execution.loop.sending import send
from guardian.execution.rules.slots import ExecutionLimits
from guardian.kafka.admin import BROKER, KafkaAdmin
from guardian.kafka.fake import FakeKafka
from guardian.model.cluster_state import Reassignment
from guardian.model.effects import AlterConfigs, AlterReplicaLogDirs, ConfigChange, ConfigKey
from guardian.model.execution import TaskState
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from guardian.throttle.rules.adapting import Around, ThrottleSettings
from guardian.tickets.rules.ticketing import cancel
from tests.memory_execution import MemoryExecutionStore
from tests.patience import PATIENCE_S
from tests.simulation.world import MB, InThisThread, World, move

T0 = TopicPartition("t", 0)
RATE = "leader.replication.throttled.rate"


def cluster() -> FakeKafka:
    kafka = FakeKafka({1: "a", 2: "b"}, {1: ("/d0", "/d1"), 2: ("/d0", "/d1")})
    kafka.create_topic("t", {0: [1]}, 10)
    return kafka


def store_with(*clusters: str, size_bytes: int = 0) -> MemoryExecutionStore:
    store = MemoryExecutionStore()
    for name in clusters:
        moves = (PartitionMove(T0, (ReplicaPlacement(1),), (ReplicaPlacement(2),), size_bytes=size_bytes),)
        ticket = Ticket(f"t-{name}", name, "balance", TicketState.APPROVED, "ann", name, 0, 0, 0)
        store.put(ticket, Plan(name, "balance", moves))
    return store


def test_a_cluster_that_hangs_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "PATIENCE_S", 0.05)
    answers = threading.Event()
    kafka = cluster()

    def admin_for(name: str) -> KafkaAdmin:
        if name == "hangs":
            answers.wait(2 * PATIENCE_S)
        return kafka

    store = store_with("hangs", "works")
    driver = Driver(DriverPorts(store, admin_for), DriverClocks(lambda: 0))
    deadline = time.monotonic() + PATIENCE_S
    try:
        said = driver.tick()
        while store.ticket("t-works").state is not TicketState.SUCCEEDED and time.monotonic() < deadline:
            said = driver.tick()
        assert store.ticket("t-works").state is TicketState.SUCCEEDED
        assert store.ticket("t-hangs").state is TicketState.APPROVED
        assert "cluster hangs has not answered yet: its tickets wait" in said
    finally:
        answers.set()
        driver.close()


def test_a_tick_leaves_the_clusters_that_it_does_not_come_to_for_the_next_one() -> None:
    names = [f"c{number:02}" for number in range(40)]
    asked: list[str] = []
    now_s = 0.0

    def admin_for(name: str) -> KafkaAdmin:
        nonlocal now_s
        asked.append(name)
        now_s += 2 * driver_module.ROUND_S
        raise NotFound(f"cluster {name} is not registered")

    driver = Driver(DriverPorts(store_with(*names), admin_for), DriverClocks(lambda: 0, elapsed_s=lambda: now_s))
    driver.tick()
    first = list(asked)
    assert 0 < len(first) < len(names)
    assert driver.has_more()
    rounds = 1
    while len(set(asked)) < len(names):
        assert rounds < len(names)
        said = driver.tick()
        rounds += 1
    assert sorted(asked[: len(names)]) == names  # nobody has a second turn before all had one
    assert said == [f"ticket t-{name} waits: cluster {name} is not registered" for name in names]
    driver.close()


def test_nothing_is_left_behind_once_there_are_no_tickets() -> None:
    clock = itertools.count(0.0, 2 * driver_module.ROUND_S)
    store = store_with("a", "b")
    driver = Driver(
        DriverPorts(store, lambda _: cluster()),
        DriverClocks(lambda: 0, elapsed_s=lambda: next(clock)),
        pool=InThisThread(),
    )
    driver.tick()
    assert driver.has_more()
    for name in ("a", "b"):
        ticket = replace(store.ticket(f"t-{name}"), state=TicketState.CANCELLED)
        store.put(ticket, store.plan(ticket.plan_hash))
    driver.tick()
    assert not driver.has_more()
    driver.close()


def test_a_tick_comes_to_one_cluster_however_short_its_time_is() -> None:
    asked: list[str] = []
    clock = itertools.count(0.0, 10 * driver_module.ROUND_S)

    def admin_for(name: str) -> KafkaAdmin:
        asked.append(name)
        raise NotFound(f"cluster {name} is not registered")

    driver = Driver(
        DriverPorts(store_with("a", "b"), admin_for), DriverClocks(lambda: 0, elapsed_s=lambda: next(clock))
    )
    for _ in range(4):
        driver.tick()
    assert asked == ["a", "b", "a", "b"]
    driver.close()


@pytest.mark.parametrize(("age_ms", "soon"), [(900, True), (1_000, False)])
def test_the_next_look_comes_soon_while_a_small_move_is_young(age_ms: int, soon: bool) -> None:
    kafka, now_ms = cluster(), 0
    kafka.create_topic("t", {0: [1]}, MB)
    kafka.bytes_per_call = 1
    store = store_with("c")
    driver = Driver(DriverPorts(store, lambda _: kafka), DriverClocks(lambda: now_ms))
    for _ in range(10):
        driver.tick()
    execution = store.execution("t-c")
    assert execution is not None
    assert [task.state for task in execution.tasks] == [TaskState.RUNNING]
    now_ms = age_ms
    driver.tick()
    assert store.execution("t-c") == execution
    assert driver.has_more() == soon
    driver.close()


def test_how_much_is_copied_does_not_make_the_next_look_come_sooner() -> None:
    kafka, now_ms = cluster(), 0
    kafka.create_topic("t", {0: [1]}, 100 * MB)
    kafka.bytes_per_call = MB
    store = store_with("c", size_bytes=100 * MB)
    driver = Driver(DriverPorts(store, lambda _: kafka), DriverClocks(lambda: now_ms))
    for _ in range(5):
        driver.tick()
    before = store.execution("t-c")
    now_ms, kafka.bytes_per_call = 2_000, 20 * MB
    driver.tick()
    after = store.execution("t-c")
    assert before is not None
    assert after is not None
    assert before.tasks[0].copied_bytes < after.tasks[0].copied_bytes
    assert after.tasks[0].state is TaskState.RUNNING
    assert not driver.has_more()
    driver.close()


def test_a_cluster_that_is_not_registered_makes_its_tickets_wait() -> None:
    def admin_for(name: str) -> KafkaAdmin:
        raise NotFound(f"cluster {name} is not registered")

    driver = Driver(DriverPorts(store_with("gone"), admin_for), DriverClocks(lambda: 0))
    assert driver.tick() == ["ticket t-gone waits: cluster gone is not registered"]
    driver.close()


def test_a_cluster_whose_thread_fails_stops_no_other() -> None:
    kafka = cluster()

    def admin_for(name: str) -> KafkaAdmin:
        if name == "a-bug":
            raise ZeroDivisionError
        return kafka

    store = store_with("a-bug", "works")
    driver = Driver(DriverPorts(store, admin_for), DriverClocks(lambda: 0))
    for _ in range(500):
        with pytest.raises(ZeroDivisionError):
            driver.tick()
        if store.ticket("t-works").state is TicketState.SUCCEEDED:
            break
    assert store.ticket("t-works").state is TicketState.SUCCEEDED
    driver.close()


def test_a_ticket_that_fails_in_a_way_nobody_foresaw_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(brokers=4)
    world.kafka.create_topic("t", {0: [1, 2], 1: [3, 4]}, 10)
    world.ticket(move("t-0", 2, 1)).ticket(move("t-1", 4, 3), ticket_id="t-2").tick()
    advance = world.store.advance

    def fail(ticket_id: str, *rest: object) -> None:
        if ticket_id == "t-1":
            raise ZeroDivisionError("a bug")
        advance(ticket_id, *rest)  # type: ignore[arg-type]

    world.store.advance = fail  # type: ignore[method-assign, assignment]
    logged: list[str] = []
    monkeypatch.setattr(ticket_driver._log, "exception", lambda _, ticket: logged.append(ticket), raising=False)
    for _ in range(20):
        said = world.driver.tick()
    assert "ticket t-1 failed in a way nobody foresaw: ZeroDivisionError('a bug')" in said
    assert world.state("t-2") is TicketState.SUCCEEDED
    assert logged == ["t-1"], "once"


def test_other_tools_that_end_something_at_each_tick_hold_up_nothing() -> None:
    world = World(brokers=4)
    world.kafka.create_topic("t", {0: [1, 2]}, 10)
    world.ticket(move("t-0", 3, 2)).tick()
    ours = world.kafka.list_reassignments
    theirs = {TopicPartition("theirs", number): Reassignment((4, 1, 2), (4,), (1,)) for number in range(50)}

    def one_less_each_time() -> dict[TopicPartition, Reassignment]:
        theirs.popitem()
        return ours() | theirs

    world.kafka.list_reassignments = one_less_each_time  # type: ignore[method-assign]
    world.tick()
    assert world.state() is TicketState.PAUSED
    world.resume().run()
    assert world.state() is TicketState.SUCCEEDED
    assert len(theirs) > 10


def test_nothing_is_sent_when_the_intent_was_not_stored() -> None:
    world = World()
    world.kafka.create_topic("t", {0: [1, 2]}, 10)
    world.ticket(move("t-0", 3, 2)).tick()

    def refuse(*_: object) -> None:
        raise Conflict("somebody else was first")

    world.store.advance = refuse  # type: ignore[method-assign, assignment]
    world.tick(3)
    assert world.said == ["ticket t-1 waits: somebody else was first"]
    world.leaves_nothing()


def test_nothing_is_sent_when_leadership_is_not_confirmed() -> None:
    """The throttles are set and the tick that would start the copy finds that another member leads."""
    world = World()
    world.kafka.create_topic("t", {0: [1, 2]}, 10)
    world.ticket(move("t-0", 3, 2)).tick(2)

    def refuse(*_: object) -> None:
        raise Unavailable("no majority answered")

    world.store.confirm = refuse  # type: ignore[method-assign, assignment]
    sent: list[object] = []
    world.kafka.alter_reassignments = lambda targets: sent.append(targets) or {}  # type: ignore[method-assign, func-returns-value, assignment, misc]
    world.tick(4)
    assert len(sent) == 1, "one send follows the commit of the new detail; repeats need a confirmation"
    assert world.said == ["ticket t-1 waits: no majority answered"]


def test_nothing_is_sent_when_leadership_went_away_and_came_back_within_a_tick() -> None:
    """The member leads again, but another one has driven the ticket on: what was decided is out of date."""
    world = World()
    world.kafka.create_topic("t", {0: [1, 2]}, 10)
    world.ticket(move("t-0", 3, 2)).tick(2)
    confirm = world.store.confirm

    def after_another_leader_drove_it(ticket_id: str, state: TicketState, revision: int) -> None:
        execution = world.store.execution(ticket_id)
        assert execution is not None
        world.store.advance(ticket_id, state, None, execution, execution.revision)
        confirm(ticket_id, state, revision)

    world.store.confirm = after_another_leader_drove_it  # type: ignore[method-assign, assignment]
    sent: list[object] = []
    world.kafka.alter_reassignments = lambda targets: sent.append(targets) or {}  # type: ignore[method-assign, func-returns-value, assignment, misc]
    world.tick(4)
    assert len(sent) == 1, "one send follows the commit of the new detail"
    assert "look again" in world.said[0]


def test_a_ticket_that_was_cancelled_meanwhile_is_looked_at_again() -> None:
    world = World()
    world.kafka.create_topic("t", {0: [1, 2]}, 10)
    world.ticket(move("t-0", 3, 2)).tick()
    stale = world.store.driven_tickets()
    ticket = world.store.ticket("t-1")
    world.store.advance("t-1", ticket.state, cancel(ticket, "ann", "", 0), None, 1)
    world.store.driven_tickets = lambda: stale  # type: ignore[method-assign]
    world.tick()
    assert "ticket t-1 is CANCELLING at revision 1, expected was RUNNING at 1" in world.said[0]
    assert not world.kafka.peek().reassignments


def test_a_configuration_is_changed_only_from_the_expected_value() -> None:
    kafka = cluster()
    kafka.set_config((BROKER, "1"), RATE, "42")
    keys = {broker: ConfigKey(BROKER, broker, RATE) for broker in ("1", "2", "9")}
    changes = {key: ConfigChange(None, "5") for key in keys.values()}
    outcome = send(kafka, AlterConfigs(changes))
    configs = kafka.peek().configs
    assert (configs[BROKER, "1"], configs[BROKER, "2"]) == ({RATE: "42"}, {RATE: "5"})
    assert outcome.notes == (
        f"{RATE} of broker 1 changed meanwhile and is looked at again",
        f"{RATE} of broker 9 changed meanwhile and is looked at again",
    )


def test_the_refusal_of_a_log_dir_that_is_told_ahead_is_expected() -> None:
    kafka = cluster()
    assert send(kafka, AlterReplicaLogDirs({(T0, 2): "/d1"}, ahead=True)).refusals == {}
    assert send(kafka, AlterReplicaLogDirs({(T0, 2): "/d1"})).refusals == {T0: "broker 2 has no replica of t-0"}


def test_tickets_of_a_cluster_share_its_slots() -> None:
    world = World(brokers=6, limits=ExecutionLimits(per_cluster=2), bytes_per_call=MB // 4)
    world.kafka.create_topic("t", {0: [1, 2], 1: [2, 1], 2: [4, 5], 3: [5, 4]}, 2 * MB)
    world.ticket(move("t-0", 3, 2), move("t-1", 3, 1)).ticket(move("t-2", 6, 5), move("t-3", 6, 4), ticket_id="t-2")
    most = 0
    while world.store.driven_tickets():
        world.tick()
        executions = [each for name in ("t-1", "t-2") if (each := world.store.execution(name))]
        most = max(most, sum(task.state is TaskState.RUNNING for each in executions for task in each.tasks))
    assert most == 2
    assert world.state("t-1") is world.state("t-2") is TicketState.SUCCEEDED


class Surroundings:
    """Brokers 1 to 3 and 4 to 6 are at both ends of a line, which has ten megabytes a second left."""

    def ask(self, _cluster: str, _brokers: Collection[int]) -> Callable[[], Around]:
        idcs = {broker: "a" if broker % 3 else "b" for broker in range(1, 7)}
        return lambda: Around(ThrottleSettings(), idcs=idcs, lines={("a", "b"): 10.0 * MB})


def test_tickets_of_a_cluster_share_its_lines() -> None:
    world = World(brokers=6, bytes_per_call=MB // 8)
    world.kafka.create_topic("t", {0: [1, 2], 1: [4, 5]}, 4 * MB)
    world.ticket(move("t-0", 3, 2), throttle=50 * MB).ticket(move("t-1", 6, 5), ticket_id="t-2", throttle=50 * MB)
    driver = Driver(
        DriverPorts(world.store, lambda _: world.kafka, surroundings=Surroundings()),
        DriverClocks(lambda: world.kafka.now_ms),
        pool=InThisThread(),
    )
    for _ in range(3):
        driver.tick()
    lines = {r.line: r.rate for name in ("t-1", "t-2") for r in world.execution(name).rates if r.line}
    assert lines == {("a", "b"): 5 * MB}
    assert sum(r.rate for name in ("t-1", "t-2") for r in world.execution(name).rates if r.line) == 10 * MB
