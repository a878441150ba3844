"""Approval policies, previews, progress and what a ticket's life adds to it: all come back as they were."""

from __future__ import annotations

from dataclasses import fields

import pytest

from guardian.health.model.finding import FindingKind
from guardian.model.execution import Execution, ExecutionTask, TaskReason, TaskState
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTrouble
from guardian.model.tickets.approval import ApprovalPolicy, ApprovalRule, everybody, parse_window
from guardian.model.tickets.preview import Preview, PreviewRequest, PreviewRound
from guardian.model.tickets.progress import Progress
from guardian.model.topology import TopicPartition
from guardian.model.wire.approvals import approvals_from_proto, approvals_to_proto
from guardian.model.wire.previews import preview_from_proto, preview_to_proto, progress_from_proto, progress_to_proto
from guardian.model.wire.tickets import execution_from_proto, execution_to_proto, ticket_from_proto, ticket_to_proto
from protos.guardian.v1 import tickets_pb2


def test_a_policy_comes_back_as_it_was() -> None:
    rule = ApprovalRule(
        "night",
        kinds=("balance",),
        clusters=("live-*",),
        authors=("ann",),
        approvers=("bob", "sre-*"),
        automatic=True,
        max_bytes=5 << 40,
        max_moves=7,
        windows=(parse_window("Mon-Fri 22:00-06:00"), parse_window("08:00-24:00")),
        timezone="Europe/Berlin",
        author_may_approve=True,
    )
    assert all(getattr(rule, field.name) != field.default for field in fields(rule)), "each field is told"
    policy = ApprovalPolicy((rule, ApprovalRule("other", automatic=True)), 12_345, "/etc/approvals.toml")
    back = approvals_from_proto(approvals_to_proto(policy))
    assert (back, back.file) == (policy, policy.file)
    assert approvals_from_proto(approvals_to_proto(everybody())) == everybody()


def test_a_preview_comes_back_as_it_was() -> None:
    rounds = (PreviewRound((PreviewRequest("ElectLeaders", "t-0", "why"),), "did"), PreviewRound((), "waits"))
    assert preview_from_proto(preview_to_proto(Preview(rounds, "the end", "it waits"))) == Preview(
        rounds, "the end", "it waits"
    )


@pytest.mark.parametrize("eta_ms", [None, 0, 5])
def test_progress_comes_back_as_it_was(eta_ms: int | None) -> None:
    progress = Progress(9, 4, 2.5, eta_ms, eta_ms, 7 if eta_ms is None else None)
    assert progress_from_proto(progress_to_proto("t-1", progress)) == progress


def test_expiry_and_copied_bytes_are_stored() -> None:
    ticket = Ticket("t-1", "live", "balance", TicketState.PENDING, "ann", "00ff", 5, 1, 2, expires_at_ms=99)
    assert ticket_from_proto(ticket_to_proto(ticket)) == ticket
    move = PartitionMove(TopicPartition("t", 0), (ReplicaPlacement(1),), (ReplicaPlacement(2),), 10)
    execution = Execution("t-1", (ExecutionTask(1, move, TaskState.RUNNING, copied_bytes=7),))
    assert execution_from_proto(execution_to_proto(execution)) == execution


UNKNOWN = 4711  # as a newer member may store it


def test_what_a_ticket_is_for_is_stored_also_what_this_version_does_not_know() -> None:
    troubles = (
        TicketTrouble(FindingKind.LOG_DIR_OFFLINE, "broker 4, log dir /d1", (4,), ("/d1",)),
        TicketTrouble(UNKNOWN, "broker 5", (5,)),
    )
    ticket = Ticket("t-1", "live", "heal", TicketState.PENDING, "ann", "00ff", 5, 1, 2, troubles=troubles)
    stored = ticket_to_proto(ticket).SerializeToString()
    assert ticket_from_proto(tickets_pb2.Ticket.FromString(stored)) == ticket


@pytest.mark.parametrize("reason", [*TaskReason, UNKNOWN])
def test_why_a_task_waits_is_stored_also_what_this_version_does_not_know(reason: int) -> None:
    move = PartitionMove(TopicPartition("t", 0), (ReplicaPlacement(1),), (ReplicaPlacement(2),), 10)
    execution = Execution("t-1", (ExecutionTask(1, move, TaskState.RUNNING, reason=reason),))
    stored = execution_to_proto(execution).SerializeToString()
    assert execution_from_proto(tickets_pb2.Execution.FromString(stored)) == execution
