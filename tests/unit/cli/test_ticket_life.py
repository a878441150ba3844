"""What the CLI says of a ticket that runs, and of who may approve it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from guardian.cli.main import app
from guardian.cli.ticket import progress
from guardian.errors import InvalidInput
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import TopicPartition


def ticket(state: TicketState) -> Ticket:
    history = (TicketTransition(state, 1000, "executor", "starts 1 moves"),)
    return Ticket("t-1", "live", "balance", state, "ann", "h", 10**6, 0, 0, history, bytes_to_copy=10**7)


def execution(copied: int) -> Execution:
    move = PartitionMove(TopicPartition("t", 0), (ReplicaPlacement(1),), (ReplicaPlacement(2),), 10**7)
    return Execution("t-1", (ExecutionTask(1, move, TaskState.RUNNING, copied_bytes=copied),), note="copying")


def test_a_line_tells_what_is_left_and_when_it_may_be_over() -> None:
    running = ticket(TicketState.RUNNING)
    assert progress(running, execution(4 * 10**6), 5000) == (
        "RUNNING, 4.0 MB of 10.0 MB copied: copying; 6.0 MB left, 6 s at 1.0 MB/s"
    )
    assert progress(running, execution(0), 5000).endswith("; 10.0 MB left, 10 s at least")
    assert progress(ticket(TicketState.PAUSED), execution(0), 5000) == "PAUSED, 0 B of 10.0 MB copied: copying"
    assert progress(running, None, 5000) == "RUNNING: starts 1 moves"


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
