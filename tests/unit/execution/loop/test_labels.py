"""What a ticket says of brokers and topics is said before it has succeeded, whatever fails, and taken back with it."""

from __future__ import annotations

import pytest

from guardian.errors import Conflict
from guardian.execution.loop.driver import Driver
from guardian.execution.loop.ports import DriverClocks, DriverPorts
from guardian.kafka.fake import FakeKafka
from guardian.model.execution import Execution
from guardian.model.federation import IdcPolicy, Topic
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.tasks import Balance, Isolate, MigrateIdc, PlanTask
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import Broker, TopicPartition
from tests.memory_execution import MemoryExecutionStore
from tests.simulation.directory import MemoryDirectory

T0 = TopicPartition("t", 0)
HOME, TWO_CITIES, DROPPED = (
    IdcPolicy(name, (("shanghai", 1), ("suzhou", 1))) for name in ("home", "two-cities", "dropped")
)


def directory(*topics: Topic, of_1: str = "", of_7: str = "") -> MemoryDirectory:
    return MemoryDirectory((Broker(1, label=of_1), Broker(2), Broker(7, label=of_7)), topics, [HOME, TWO_CITIES])


class Story:
    """One ticket that moves t-0 from brokers 1, 2 to 7, 2."""

    def __init__(self, labels: MemoryDirectory, task: PlanTask | None) -> None:
        self.labels = labels
        self.kafka = FakeKafka(dict.fromkeys((1, 2, 7), "rack"), {b: (f"/b{b}",) for b in (1, 2, 7)})
        self.kafka.create_topic("t", {0: [1, 2]}, 1000)
        self.kafka.create_topic("other", {0: [2]}, 1000)
        move = PartitionMove(T0, tuple(map(ReplicaPlacement, (1, 2))), tuple(map(ReplicaPlacement, (7, 2))))
        self.store = MemoryExecutionStore()
        kind = task.kind if task is not None else "run-plan"
        ticket = Ticket("t-1", "live", kind, TicketState.APPROVED, "ann", "h", 0, 0, 0)
        self.store.put(ticket, Plan("live", kind, (move,), task=task))
        self.driver = Driver(
            DriverPorts(self.store, lambda _: self.kafka, labels=labels), DriverClocks(lambda: self.kafka.now_ms)
        )

    def until(self, end: TicketState) -> Story:
        for _ in range(40):
            if self.state is end:
                return self
            before = self.state
            self.driver.tick()
            if self.state is TicketState.SUCCEEDED is not before:
                assert self.labels.failures == 0, "it has not succeeded before all is said"
        raise AssertionError(self.store.ticket("t-1"))

    def until_about_to_say(self) -> Story:
        for _ in range(40):
            if self.execution.directory:
                return self
            self.driver.tick()
        raise AssertionError(self.store.ticket("t-1"))

    def told(self, state: TicketState) -> Story:
        transition = TicketTransition(state, 0, "ann", "")
        self.store.advance("t-1", self.state, transition, None, self.execution.revision)
        return self

    def and_back(self) -> Story:
        return self.told(TicketState.ROLLING_BACK).until(TicketState.ROLLED_BACK)

    @property
    def state(self) -> TicketState:
        return self.store.ticket("t-1").state

    @property
    def execution(self) -> Execution:
        return self.store.execution("t-1") or Execution("t-1", ())

    @property
    def reason(self) -> str:
        return self.store.ticket("t-1").history[-1].reason


def run(labels: MemoryDirectory, task: PlanTask | None) -> Story:
    return Story(labels, task).until(TicketState.SUCCEEDED)


def test_a_broker_that_was_offered_and_is_used_gets_the_label() -> None:
    labels = directory(Topic("live", "t", label="gold"))
    run(labels, Isolate("gold", brokers=(7, 8)))
    assert labels.labels() == {1: "", 2: "", 7: "gold"}


def test_a_broker_that_is_empty_by_now_loses_it() -> None:
    labels = directory(of_1="gold")
    story = run(labels, Isolate("gold", release=1))
    assert labels.labels() == {1: "", 2: "", 7: ""}
    assert story.reason == "all 1 moves were seen in Kafka"


def test_a_broker_that_is_not_empty_by_now_keeps_it_and_the_end_says_so() -> None:
    labels = directory(of_1="gold")
    story = Story(labels, Isolate("gold", release=1))
    story.kafka.create_topic("unknown", {0: [1], 1: [1, 2]}, 1000)
    assert story.until(TicketState.SUCCEEDED).reason == (
        "all 1 moves were seen in Kafka; broker 1 is not empty and keeps its label: it holds unknown-0, unknown-1"
    )
    assert labels.labels() == {1: "gold", 2: "", 7: ""}


def test_what_it_is_about_to_say_is_stored_with_what_that_replaces_before_it_is_said() -> None:
    labels = directory(Topic("live", "t", label="red"))
    story = Story(labels, Isolate("gold", ("t",), brokers=(7,))).until_about_to_say()
    assert labels.said == []
    assert story.state is TicketState.RUNNING
    assert story.execution.note == (
        "says in the directory: label gold instead of none of broker 7; label gold instead of red of topic t"
    )


def test_the_ticket_has_not_succeeded_before_the_labels_are_put() -> None:
    labels = directory(Topic("live", "t", label="gold"))
    labels.failures = 2
    run(labels, Isolate("gold", brokers=(7,)))
    assert labels.failures == 0
    assert labels.labels()[7] == "gold"


@pytest.mark.parametrize("task", [Balance(("t",)), None])
def test_other_tasks_change_no_label(task: PlanTask | None) -> None:
    labels = directory()
    run(labels, task)
    assert labels.said == []


def test_the_topics_that_a_plan_names_get_the_label_and_others_keep_theirs() -> None:
    labels = directory(Topic("live", "t", owner="ann"), Topic("live", "other", label="green"))
    run(labels, Isolate("gold", ("t",), brokers=(7,)))
    assert labels.of_topics["t"] == Topic("live", "t", owner="ann", label="gold")
    assert labels.of_topics["other"].label == "green"


def test_topics_that_were_migrated_have_the_policy_from_then_on() -> None:
    labels = directory(Topic("live", "t", owner="ann", idc_policy="home"))
    story = run(labels, MigrateIdc(TWO_CITIES))
    assert labels.of_topics == {"t": Topic("live", "t", owner="ann", idc_policy="two-cities")}, "other has one replica"
    story.and_back()
    assert labels.of_topics == {"t": Topic("live", "t", owner="ann", idc_policy="home")}


def test_a_policy_that_was_dropped_meanwhile_ends_no_ticket_in_waiting() -> None:
    labels = directory()
    story = run(labels, MigrateIdc(DROPPED, ("t",)))
    assert story.reason.endswith(
        "; policy 'dropped' is not in the directory (any more), so no topic has it from now on"
    )


@pytest.mark.parametrize("of_topic", ["", "red", "gold"])
@pytest.mark.parametrize("how", [Isolate("gold", ("t",), brokers=(7,)), Isolate("gold", ("t",), release=1)])
def test_rolled_back_all_is_as_before(how: Isolate, of_topic: str) -> None:
    mine = "gold" if how.release else ""
    labels = directory(Topic("live", "t", label=of_topic), of_1=mine, of_7=mine)
    before = labels.labels()
    story = run(labels, how)
    assert labels.labels() != before
    assert labels.of_topics["t"].label == "gold"
    story.and_back()
    assert labels.labels() == before
    assert labels.of_topics["t"].label == of_topic
    assert story.execution.directory == ()


def test_what_somebody_said_since_stays_when_the_ticket_is_rolled_back() -> None:
    labels = directory(Topic("live", "t"))
    story = run(labels, Isolate("gold", ("t",), brokers=(7,)))
    labels.put_label(7, "green")
    story.and_back()
    assert labels.labels()[7] == "green"
    assert labels.of_topics["t"].label == ""


@pytest.mark.parametrize("is_said", [False, True])
def test_a_ticket_that_is_cancelled_at_the_last_moment_leaves_no_label(
    is_said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = directory(Topic("live", "t", label="red"))
    story = Story(labels, Isolate("gold", ("t",), brokers=(7,))).until_about_to_say()
    if is_said:
        monkeypatch.setattr(story.store, "advance", refuse)
        story.driver.tick()
        monkeypatch.undo()
        assert labels.labels()[7] == "gold"
    story.told(TicketState.CANCELLING).until(TicketState.CANCELLED)
    assert labels.labels() == {1: "", 2: "", 7: ""}
    assert labels.of_topics["t"].label == "red"


def refuse(*_: object) -> None:
    raise Conflict("somebody was quicker")


def test_a_ticket_that_never_said_anything_takes_nothing_back() -> None:
    """Cancelled before its moves began, then rolled back: the topic had that label before."""
    labels = directory(Topic("live", "t", label="gold"))
    labels.put_label(7, "gold")
    story = Story(labels, Isolate("gold", ("t",), brokers=(7,)))
    story.driver.tick()
    story.told(TicketState.CANCELLING).until(TicketState.CANCELLED)
    story.and_back()
    assert labels.of_topics["t"].label == "gold"
    assert labels.labels()[7] == "gold"


def test_a_way_back_that_is_stopped_halfway_leaves_said_what_was_said() -> None:
    labels = directory(Topic("live", "t", label="gold"))
    story = run(labels, Isolate("gold", brokers=(7,)))
    story.told(TicketState.ROLLING_BACK).told(TicketState.CANCELLING).until(TicketState.CANCELLED)
    assert labels.labels()[7] == "gold"
    story.and_back()
    assert labels.labels()[7] == ""
