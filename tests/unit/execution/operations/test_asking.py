"""What a ticket of brokers asks for, as who approves it reads it: nothing that it may do is left out."""

from __future__ import annotations

import pytest

from guardian.execution.operations.asking import describe_ask
from guardian.model.operation import Ask, AskKind

HOOK = "hook sd ([hooks.sd] of the members' configuration)"


@pytest.mark.parametrize(
    ("ask", "sentences"),
    [
        (
            Ask(AskKind.REMOVE, (4,), shutdown=True, hook="sd"),
            f"Emptied, they are stopped by {HOOK}, then unregistered.",
        ),
        (Ask(AskKind.REMOVE, (4,)), "Emptied, they stay up, excluded from new replicas until somebody lifts that."),
        (
            Ask(AskKind.OFFLINE, (4,), shutdown=True, accept_unavailable=True),
            "Once they lead nothing, they are stopped by a person, who is waited for. Partitions that can't do without "
            "them may be unavailable meanwhile.",
        ),
        (Ask(AskKind.OFFLINE, (4,)), "They lead nothing then, and stay up."),
        (
            Ask(AskKind.ONLINE, (4,), hook="sd", back_within_ms=1_200_000),
            f"They are started by {HOOK}, and lead what they led before. Each must be back within 20 min.",
        ),
        (
            Ask(AskKind.RESTART, (4,), hook="sd"),
            f"They are restarted by {HOOK}, as many as ISR and racks allow at once.",
        ),
        (
            Ask(
                AskKind.RESTART, (4,), hook="sd", accepted_partitions=("orders-3", "orders-7"), accepted_brokers=(9, 8)
            ),
            f"They are restarted by {HOOK}, as many as ISR and racks allow at once. It does not wait for what is wrong "
            "with orders-3, orders-7, brokers 8, 9.",
        ),
        (
            Ask(AskKind.RESTART, (4,), hook="sd", batch_limit=2, finalize=True, metadata_version=25),
            f"They are restarted by {HOOK}, at most 2 at once. At its end metadata.version is raised to 25, which "
            "can't be taken back.",
        ),
    ],
)
def test_all_that_is_let_happen_is_said(ask: Ask, sentences: str) -> None:
    assert describe_ask(ask) == f"It asks for broker 4 (revision 0). {sentences}"


def test_controllers_are_named_beside_brokers() -> None:
    ask = Ask(AskKind.RESTART, (1, 2), controllers=(100,), hook="sd", revision=3)
    assert describe_ask(ask).startswith("It asks for brokers 1, 2 and controller 100 (revision 3).")
