"""Plans made at once: the worker process, on a fake cluster."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from guardian.errors import ClusterUnavailable, GuardianError, InvalidInput, Overloaded, Unavailable
from guardian.kafka.fake import FakeKafka
from guardian.model.cluster_state import LiveFacts
from guardian.model.directory import Directory
from guardian.model.federation import Exclusion
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import ExpandTopic, Heal, Remove, Task
from guardian.model.topology import TopicPartition
from guardian.planning.model import Lane, PlansConfig
from guardian.planning.rules.mid_move import notes_on_moves
from guardian.planning.service.planning import LivePlanner
from guardian.planning.service.planning_worker import Question, plan_to_bytes_of, require_complete
from tests.patience import PATIENCE_S, until

BROKERS = (1, 2, 3, 4, 5)


def cluster() -> FakeKafka:
    fake = FakeKafka({broker: f"rack{broker % 3}" for broker in BROKERS}, dict.fromkeys(BROKERS, ("/a", "/b")))
    fake.create_topic("orders", {n: [1 + n % 5, 1 + (n + 1) % 5, 1 + (n + 2) % 5] for n in range(10)}, 1_000_000)
    return fake


class Stage:
    """What the planner is told of, and the planner: one worker process for all tests, since it imports for seconds."""

    def __init__(self, deadline_s: float = PATIENCE_S) -> None:
        self.fake = cluster()
        self.directory = Directory()
        self.live = LivePlanner(
            lambda _: self.fake,
            lambda: self.directory,
            "",
            PlannerSettings(),
            lambda: 1_000_000,
            PlansConfig(deadline_s=deadline_s),
        )

    def plan(self, task: Task) -> Plan:
        return self.live.plan_for("ann", lambda: True, "live", task)


@pytest.fixture(scope="module")
def shared() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.live.close()


@pytest.fixture
def stage(shared: Stage) -> Stage:
    shared.fake, shared.directory = cluster(), Directory()
    shared.live.forget("t-1")
    return shared


@pytest.mark.slow
def test_a_removal_empties_its_brokers_and_nothing_lands_on_excluded_ones(stage: Stage) -> None:
    stage.directory = Directory(exclusions=(Exclusion("live", 4, "ann", "a new rack"),))
    live, fake = stage.live, stage.fake
    made = stage.plan(Remove((5,)))
    assert live.has_made(made)
    assert not live.has_made(replace(made, moves=made.moves[1:]))
    before = fake.describe_partitions()
    concerned = {tp for tp, state in before.items() if 5 in state.replicas}
    assert {move.partition for move in made.moves} == concerned
    assert not any(5 in move.target_brokers or 4 in move.added_brokers for move in made.moves)
    assert made.unmet == ()
    assert "10 partitions on 5 live brokers" in made.input
    with pytest.raises(InvalidInput, match="broker 9 is not in the model of cluster live"):
        stage.plan(Remove((9,)))


@pytest.mark.slow
def test_a_topic_in_mid_move_is_expanded_by_its_replicas_at_rest_and_the_move_is_named(stage: Stage) -> None:
    moved, new = TopicPartition("orders", 0), TopicPartition("orders", 10)
    stage.fake.bytes_per_call = 1
    assert stage.fake.alter_reassignments({moved: (4, 5, 1)}) == {}
    made = stage.plan(ExpandTopic("orders", 11))
    assert [(move.partition, len(move.target)) for move in made.moves] == [(new, 3)]
    assert made.notes == (
        "orders-0 is being moved: Guardian's own moves of topic orders are cancelled, and made again after it "
        "has grown; those of other tools have to end first",
    )
    assert notes_on_moves(Remove((5,)), [moved]) == ()


@pytest.mark.slow
def test_an_answer_is_awaited_without_waiting_and_kept_until_it_is_forgotten(stage: Stage) -> None:
    live, fake = stage.live, stage.fake
    fake.kill_broker(5)
    assert live.ask("t-1", "live", Heal()) is None
    made = until(lambda: live.ask("t-1", "live", Heal()))
    assert isinstance(made, Plan)
    assert made.moves
    assert not any(5 in move.target_brokers for move in made.moves)
    assert "broker 5 is dead" in made.input
    assert live.ask("t-1", "live", Heal()) is made
    live.forget("t-1")
    fake.reachable = False
    refused = until(lambda: live.ask("t-1", "live", Heal()))
    assert isinstance(refused, ClusterUnavailable)


@pytest.mark.slow
def test_what_nobody_expected_is_an_answer_too(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    live, fake = stage.live, stage.fake

    def broken() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(fake, "list_reassignments", broken)
    answer = until(lambda: live.ask("t-1", "live", Heal()))
    assert str(answer) == "the plan for cluster live could not be made: ZeroDivisionError()"
    assert isinstance(answer, ClusterUnavailable)


def test_a_worker_that_takes_too_long_is_ended() -> None:
    stage = Stage(deadline_s=0.01)
    live = stage.live
    with pytest.raises(GuardianError, match=r"was not made within 0\.01 s: ask again"):
        stage.plan(Heal())
    live.close()
    assert live.ask("t-1", "live", Heal()) is None


def test_a_lake_that_knows_only_some_of_the_brokers_is_not_enough() -> None:
    facts = LiveFacts("live", 0, cluster().describe_cluster().brokers, {}, {}, ())
    require_complete(facts, frozenset(BROKERS))
    require_complete(facts, frozenset())  # nothing is collected at all: planned by bytes, as the plan says
    with pytest.raises(InvalidInput, match=r"metrics of broker 2, 4 of cluster live are missing, .* of 3 of 5"):
        require_complete(facts, frozenset({1, 3, 5}))


@pytest.mark.slow
def test_healing_and_tickets_have_plans_made_while_people_have_taken_all_their_places(stage: Stage) -> None:
    live, held = stage.live, threading.Event()
    limits = PlansConfig()
    taken = [
        live.desk.submit(Lane.PEOPLE, person, "held", lambda _: held.wait(PATIENCE_S))
        for person in map(str, range(limits.people + limits.waiting))
    ]
    with pytest.raises(Overloaded, match="requests of all: 2 under way, 20 wait"):
        stage.plan(Heal())
    stage.fake.kill_broker(5)
    try:
        for key, lane in (("h-1", Lane.HEALING), ("t-2", Lane.TICKETS)):
            deadline = time.monotonic() + PATIENCE_S
            while (made := live.ask(key, "live", Heal(), lane=lane)) is None:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            assert isinstance(made, Plan)
            assert made.moves
            live.forget(key)
        assert not any(job.future.done() for job in taken)
    finally:
        held.set()
        for job in taken:
            job.future.result(PATIENCE_S)


def test_a_plan_that_nobody_awaits_any_more_has_its_process_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, workers = Stage(), []
    made = subprocess.Popen

    def never_answers(command: list[str], **settings: object) -> object:
        assert command[-1] == "guardian.planning.service.planning_worker"
        worker = made(["sleep", "600"], **settings)  # type: ignore[call-overload]
        workers.append(worker)
        return worker

    monkeypatch.setattr(subprocess, "Popen", never_answers)
    with pytest.raises(Unavailable, match="nobody waits for this plan any more"):
        stage.live.plan_for("ann", lambda: not workers, "live", Heal())
    assert [worker.returncode for worker in workers] == [-signal.SIGKILL]
    assert stage.live.ask("t-1", "live", Heal()) is None
    deadline = time.monotonic() + PATIENCE_S
    while len(workers) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    stage.live.close()
    assert workers[1].returncode == -signal.SIGKILL
    assert stage.live.ask("t-1", "live", Heal()) is None


def test_a_window_that_cannot_be_read_is_refused_where_somebody_asked_for_it() -> None:
    facts = LiveFacts("live", 0, cluster().describe_cluster().brokers, {}, {}, ())
    question = Question(facts, Directory(), "", Heal(), PlannerSettings(), window_ms=60_000)
    with pytest.raises(InvalidInput, match=r"window: this member has no lake; .* plan with Spark"):
        plan_to_bytes_of(question)
