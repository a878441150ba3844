"""`guardian analyze` with Spark and the members played by plain objects."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from threading import Event
from typing import Any
from unittest import mock

import pytest
from typer.testing import CliRunner

from guardian.errors import ClusterUnavailable, Conflict, GuardianError, InvalidInput, NotFound
from guardian.model.cluster_state import LiveFacts
from guardian.model.directory import Directory
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import Cluster, TopicPartition
from guardian.planning.commands import analyze as command
from spark_analytics.jobs import plans, session
from tests.command_line import app

SETTINGS = PlannerSettings(target_spread=0.3)
MOVE = PartitionMove(
    TopicPartition("orders", 0), (ReplicaPlacement(1, "/d"),), (ReplicaPlacement(2, "/d"),), size_bytes=5_000_000
)


def plan(cluster: str, *moves: PartitionMove) -> Plan:
    return Plan(cluster, "balance", moves, 1, "7 samples", ())


def ticket(state: TicketState, number: str = "17") -> Ticket:
    return Ticket(number, "live", "balance", state, "ann", "", 1, 1, 1)


@dataclass
class Member:
    """Answers what `analyze` asks, and remembers what it was told. One key is one draft, as a member has it."""

    held: tuple[Ticket, ...] = ()
    refuses: str = ""
    keys: list[str] = field(default_factory=list)
    away: dict[str, GuardianError] = field(default_factory=dict)
    lake_url: str = "/lake"

    def list_clusters(self) -> tuple[Cluster, ...]:
        return (Cluster("live", "h:1"), Cluster("bulk", "h:2"))

    def member(self) -> Member:
        return self

    def live_facts(self, cluster: str) -> LiveFacts:
        if cluster in self.away:
            raise self.away[cluster]
        return LiveFacts(cluster, 9_000_000, {}, {}, {}, ())

    def tickets(self, cluster: str, states: Collection[TicketState]) -> tuple[Ticket, ...]:
        return tuple(each for each in self.held if each.cluster == cluster and each.state in states)

    def create_ticket(self, plan: Plan, *, idempotency_key: str, **_: Any) -> tuple[Ticket, Plan]:
        self.keys.append(idempotency_key)
        if self.refuses:
            raise Conflict(self.refuses)
        drafts = list(dict.fromkeys(self.keys))
        return ticket(TicketState.DRAFT, str(18 + drafts.index(idempotency_key))), plan


@dataclass
class Story:
    """`outcomes` are those of the rounds, one after the other; SIGTERM comes in the last one."""

    member: Member
    outcomes: list[Any]
    asked: list[tuple[str, ...]] = field(default_factory=list)
    spark: mock.Mock = field(default_factory=mock.Mock)

    def planned(self, *arguments: Any) -> Any:
        _, lake, tasks, _, settings, _, present = arguments
        assert present.keys() == tasks.keys() - {
            name for name, why in self.member.away.items() if isinstance(why, NotFound)
        }
        assert lake == self.member.lake_url
        assert settings == SETTINGS
        self.asked.append(tuple(tasks))
        outcome = self.outcomes.pop(0)
        if not self.outcomes:
            cancelled = Event()
            self.spark.sparkContext.cancelAllJobs.side_effect = cancelled.set
            os.kill(os.getpid(), signal.SIGTERM)
            assert cancelled.wait(60)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def run(monkeypatch: pytest.MonkeyPatch, story: Story, *options: str, every: str = "1ms") -> list[str]:
    @contextlib.contextmanager
    def connected(endpoints: str) -> Iterator[Member]:
        yield story.member

    monkeypatch.setattr(command, "connect", connected)
    monkeypatch.setattr(command, "actor", lambda: "ann")
    monkeypatch.setattr(command, "read_directory", lambda _: Directory())
    monkeypatch.setattr(command, "planner_settings", lambda *_: SETTINGS)
    monkeypatch.setattr(session, "local_session", lambda *_, **__: story.spark)
    monkeypatch.setattr(plans, "outcomes", story.planned)
    result = CliRunner().invoke(app, ["analyze", "--every", every, *options], catch_exceptions=False)
    assert result.exit_code == 0
    return [line.partition(" ")[2].rpartition(" (")[0] for line in result.output.splitlines()]


def test_each_round_is_a_line_and_sigterm_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"bulk": plan("bulk"), "live": plan("live", MOVE)}
    story = Story(Member(), [made, made])
    line = "bulk: nothing to move; live: 1 moves, 5.0 MB to copy"
    assert run(monkeypatch, story) == [line, line]
    assert story.asked == [("bulk", "live")] * 2
    assert story.member.keys == []
    story.spark.sparkContext.cancelAllJobs.assert_called_with()
    story.spark.stop.assert_called_once_with()


def test_a_round_that_was_under_way_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(Member(), [InvalidInput("Job 3 cancelled")])
    assert run(monkeypatch, story) == ["given up, as this is to end"]


def test_a_round_that_fails_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(Member(), [InvalidInput("lake /lake has no samples"), {"live": InvalidInput("too few samples")}])
    first, second = run(monkeypatch, story, "--cluster", "live")
    assert first.endswith("lake /lake has no samples")
    assert second == "live: too few samples"


def test_drafts_are_made_of_plans_with_moves_once_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(Member(), [{"bulk": plan("bulk"), "live": plan("live", MOVE)}])
    assert run(monkeypatch, story, "--submit-drafts")[0].endswith("live: 1 moves, 5.0 MB to copy, draft 18")
    [key] = story.member.keys
    assert key.startswith("analyze-live-")


def test_two_that_ask_for_the_same_round_make_one_draft(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second looks before the first one's draft is there. Ten years: the clock does not turn in between."""
    member = Member()
    for _ in range(2):
        story = Story(member, [{"bulk": plan("bulk", MOVE), "live": plan("live", MOVE)}])
        said = run(monkeypatch, story, "--submit-drafts", every="3650d")[0]
        assert said == "bulk: 1 moves, 5.0 MB to copy, draft 18; live: 1 moves, 5.0 MB to copy, draft 19"


def test_rounds_are_the_same_by_their_window_and_by_when_they_are_due() -> None:
    def round_at(now_ms: int, every_ms: int = 300_000, window_ms: int = 86_400_000) -> str:
        return command.round_of(now_ms, every_ms, window_ms)

    assert round_at(600_000) == round_at(600_001) == round_at(899_999)
    assert len({round_at(600_000), round_at(900_000), round_at(600_000, 600_000), round_at(600_000, window_ms=1)}) == 4


@pytest.mark.parametrize("state", [TicketState.DRAFT, TicketState.PENDING, TicketState.APPROVED, TicketState.RUNNING])
def test_no_second_draft_is_made_while_a_ticket_is_in_hand(monkeypatch: pytest.MonkeyPatch, state: TicketState) -> None:
    story = Story(Member(held=(ticket(state),)), [{"live": plan("live", MOVE)}])
    assert run(monkeypatch, story, "--submit-drafts")[0].endswith("to copy, ticket 17 is in hand")
    assert story.member.keys == []


def test_a_ticket_that_is_over_is_not_in_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(Member(held=(ticket(TicketState.SUCCEEDED),)), [{"live": plan("live", MOVE)}])
    assert run(monkeypatch, story, "--submit-drafts")[0].endswith("draft 18")


def test_a_draft_that_is_refused_is_said_in_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(Member(refuses="broker 2 is away"), [{"live": plan("live", MOVE)}])
    assert run(monkeypatch, story, "--submit-drafts")[0].endswith("to copy, no draft: broker 2 is away")


def test_where_nobody_says_who_lives_the_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    member = Member(away={"bulk": ClusterUnavailable("cluster bulk does not answer"), "old": NotFound("no such")})
    story = Story(member, [{"live": plan("live"), "old": plan("old")}])
    clusters = [part for name in ("live", "bulk", "old") for part in ("--cluster", name)]
    assert run(monkeypatch, story, *clusters) == [
        "bulk: cluster bulk does not answer; old: not registered, so the lake alone tells who lives; "
        "old: nothing to move; live: nothing to move"
    ]
    assert story.asked == [("live", "old")]
