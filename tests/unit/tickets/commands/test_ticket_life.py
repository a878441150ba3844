"""What the CLI says of a ticket that runs, and of who may approve it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from guardian.client import GuardianClient
from guardian.errors import InvalidInput
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.tickets.progress import Progress
from guardian.model.topology import TopicPartition
from guardian.tickets.commands import broker_operations, ticket_changes, ticket_views
from guardian.tickets.commands.ticket_telling import progress
from tests.command_line import app
from tests.unit.member.member import Member, plan


def ticket(state: TicketState) -> Ticket:
    history = (TicketTransition(state, 1000, "executor", "starts 1 moves"),)
    return Ticket("t-1", "live", "balance", state, "ann", "h", 10**6, 0, 0, history, bytes_to_copy=10**7)


def execution(copied: int) -> Execution:
    move = PartitionMove(TopicPartition("t", 0), (ReplicaPlacement(1),), (ReplicaPlacement(2),), 10**7)
    return Execution("t-1", (ExecutionTask(1, move, TaskState.RUNNING, copied_bytes=copied),), note="copying")


def test_a_line_tells_what_is_left_and_when_it_may_be_over() -> None:
    running = ticket(TicketState.RUNNING)
    told = progress(running, execution(4 * 10**6), Progress(10**7, 4 * 10**6, 1e6, 6000, 4000, 9000))
    assert told == "RUNNING, 4.0 MB of 10.0 MB copied: copying; 6.0 MB left, 4 to 9 s, 1.0 MB/s so far"
    young = Progress(10**7, least_ms=60_000, most_ms=540_000)
    assert progress(running, execution(0), young).endswith("; 10.0 MB left, 1 to 9 min")
    still = progress(ticket(TicketState.PAUSED), execution(0), Progress(10**7))
    assert still == "PAUSED, 0 B of 10.0 MB copied: copying"
    assert progress(running, None) == "RUNNING: starts 1 moves"


def test_a_policy_is_checked_without_a_server(tmp_path: Path) -> None:
    file = tmp_path / "approvals.toml"
    file.write_text('[[rules]]\nname = "a"\napprovers = ["bob"]\nautomatic = true\nmax_bytes = "5GB"\nmax_moves = 7\n')
    shown = CliRunner().invoke(app, ["ticket", "approvals", "--check", str(file)])
    assert shown.exit_code == 0
    assert "itself or bob (not the author)" in shown.stdout
    assert "5.0 GB, 7 moves" in shown.stdout
    file.write_text("[[rules]]\nname = 'a'\n")
    with pytest.raises(InvalidInput, match=r"rules\[0\] lets nobody approve"):
        CliRunner().invoke(app, ["ticket", "approvals", "--check", str(file)], catch_exceptions=False)


@pytest.mark.parametrize("command", ["preview", "submit"])
def test_a_ticket_or_a_file_is_asked_for(command: str) -> None:
    for arguments in ([], ["t-1", "--plan", "x.json"]):
        with pytest.raises(InvalidInput, match=r"give either a .*id or --plan FILE"):
            CliRunner().invoke(app, ["ticket", command, *arguments], catch_exceptions=False)


class Guardian:
    """The client's part for a ticket of brokers that was amended three times."""

    def __init__(self, state: TicketState = TicketState.PENDING) -> None:
        ask = Ask(AskKind.REMOVE, (4, 5), shutdown=True, hook="systemd", revision=3)
        self.made = replace(ticket(state), plan_hash="", kind="remove-brokers", ask=ask)
        self.expected: list[int | None] = []
        self.expires_in_ms = 0
        self.asked: Ask | None = None

    def __enter__(self) -> Guardian:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def ticket(self, _ticket_id: str) -> tuple[Ticket, None]:
        return self.made, None

    def progress_of(self, _ticket: Ticket) -> None:
        """It is not driven."""

    def approve(self, _id: str, _actor: str, _reason: str, *, expected_ask_revision: int | None) -> Ticket:
        self.expected.append(expected_ask_revision)
        return replace(self.made, state=TicketState.APPROVED)

    def ask_for(self, _cluster: str, ask: Ask, *, expires_in_ms: int, **_: object) -> tuple[Ticket, None]:
        self.asked = ask
        self.expires_in_ms = expires_in_ms
        return self.made, None


def test_who_approves_is_told_what_for_and_approves_only_that(monkeypatch: pytest.MonkeyPatch) -> None:
    guardian = Guardian()
    for module in (ticket_changes, ticket_views):
        monkeypatch.setattr(module, "connect", lambda _: guardian)
    said = CliRunner().invoke(app, ["ticket", "approve", "t-1"]).stdout
    assert said == (
        "It asks for brokers 4, 5 (revision 3). Emptied, they are stopped by hook systemd ([hooks.systemd] of the "
        "members' configuration), then unregistered.\n"
        "Ticket t-1 is APPROVED. Next: guardian ticket watch t-1\n"
    )
    assert CliRunner().invoke(app, ["ticket", "approve", "t-1", "--revision", "2"]).exit_code == 0
    assert guardian.expected == [3, 2]
    assert "It asks for brokers 4, 5" in CliRunner().invoke(app, ["ticket", "show", "t-1"]).stdout
    guardian.made = replace(guardian.made, ask=None)
    with pytest.raises(InvalidInput, match="--revision is 2, but ticket t-1 carries a plan"):
        CliRunner().invoke(app, ["ticket", "approve", "t-1", "--revision", "2"], catch_exceptions=False)


def test_a_ticket_of_brokers_that_runs_already_is_not_said_to_need_approval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_operations, "connect", lambda *_: Guardian(TicketState.RUNNING))
    shown = CliRunner().invoke(app, ["broker", "offline", "--cluster", "live", "4"])
    assert shown.stdout == "Ticket t-1 is RUNNING.\n", shown.output


@pytest.mark.parametrize(
    ("command", "options", "named"),
    [
        ("submit", ["--throttle", "20MB"], "--throttle 20MB"),
        ("submit", ["--max-throttle", "20MB"], "--max-throttle 20MB"),
        ("submit", ["--expires", "12h"], "--expires 12h"),
        ("submit", ["--idempotency-key", "k"], "--idempotency-key k"),
        ("submit", ["--change-replication-factor"], "--change-replication-factor"),
        ("submit", ["--cluster", "live"], "--cluster live"),
        ("preview", ["--throttle", "none"], "--throttle none"),
        ("preview", ["--change-replication-factor"], "--change-replication-factor"),
    ],
)
def test_what_is_for_a_file_is_refused_of_a_ticket_that_exists(command: str, options: list[str], named: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{named} is for a file .*, and ticket t-1 is .*: leave it out"):
        CliRunner().invoke(app, ["ticket", command, "t-1", *options], catch_exceptions=False)


@pytest.mark.parametrize("verb", ["remove", "offline", "online", "restart"])
def test_a_ticket_of_brokers_expires_when_it_was_asked_to(monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    guardian = Guardian()
    monkeypatch.setattr(broker_operations, "connect", lambda *_: guardian)
    assert (
        CliRunner().invoke(app, ["broker", verb, "--cluster", "live", "4", "--hook", "h", "--expires", "12h"]).exit_code
        == 0
    )
    assert guardian.expires_in_ms == 12 * 3_600_000


def test_trouble_of_partitions_and_of_brokers_is_accepted_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    guardian = Guardian()
    monkeypatch.setattr(broker_operations, "connect", lambda *_: guardian)
    line = ["broker", "restart", "--cluster", "live", "4", "--hook", "h"]
    trouble = ["--accept-trouble", "orders-3", "--accept-trouble", "9", "--accept-trouble", "8"]
    assert CliRunner().invoke(app, [*line, *trouble]).exit_code == 0
    assert guardian.asked is not None
    assert guardian.asked.accepted_partitions == ("orders-3",)
    assert guardian.asked.accepted_brokers == (8, 9)
    with pytest.raises(InvalidInput, match="accepted_partitions has 'orders': use topic-number, such as orders-3"):
        CliRunner().invoke(app, [*line, "--accept-trouble", "orders"], catch_exceptions=False)


def test_a_plan_that_is_approved_and_does_not_begin_says_what_it_waits_for() -> None:
    member = Member()
    try:
        with GuardianClient([member.endpoint]) as client:
            made, _ = client.create_ticket(plan(3, 2), author="ann", submit=True)
            client.approve(made.id, "bob")
        line = ["ticket", "show", made.id, "--endpoints", member.endpoint]
        assert "it waits" not in CliRunner().invoke(app, line, catch_exceptions=False).stdout
        for broker in (1, 2, 3):
            member.kafka.cut_off(broker)
        reason = "no controller answers; which partitions are being reassigned is unknown until one does"
        shown = CliRunner().invoke(app, line, catch_exceptions=False)
        assert f"Now it waits: cluster fake: {reason}.\n" in shown.stdout
        told = json.loads(CliRunner().invoke(app, [*line, "-o", "json"], catch_exceptions=False).stdout)
        assert told["waits"].endswith(reason)
        asks = ["task balance", "moves partitions of t"]
        assert told["asks"] == asks
        assert "".join(f"Asks: {each}\n" for each in asks) in shown.stdout
    finally:
        member.stop()
