"""What may be asked of a ticket that is more than one plan, and what is said of the rest."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.model.operation import Ask, AskKind, BrokerWork, HookAction, Operation, OperationPhase, Standing


def test_brokers_and_controllers_are_kept_in_order() -> None:
    ask = Ask(AskKind.RESTART, (3, 1, 2), (9, 8), hook="systemd")
    assert (ask.brokers, ask.controllers) == ((1, 2, 3), (8, 9))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"brokers": ()}, "brokers of remove-brokers is empty: name at least one"),
        ({"brokers": (1, 1)}, r"brokers names one twice: \[1, 1\]"),
        ({"brokers": (-1,)}, "broker id is -1: use 0 to 2147483647"),
        ({"brokers": tuple(range(1001))}, "brokers has 1001: use up to 1000"),
        ({"controllers": (9,)}, r"controllers is \[9\]: only rolling-restart takes controllers"),
        ({"batch_limit": 2}, "batch_limit is 2: only rolling-restart has batches; leave it out"),
        (
            {"accepted_brokers": (9,)},
            r"accepted_brokers is \[9\]: only rolling-restart waits for trouble; leave it out",
        ),
        (
            {"kind": AskKind.RESTART, "hook": "h", "accepted_brokers": (9, 9)},
            r"accepted_brokers names one twice: \[9, 9\]",
        ),
        (
            {"accepted_partitions": ("t-0",)},
            r"accepted_partitions is \['t-0'\]: only rolling-restart waits for trouble; leave it out",
        ),
        (
            {"kind": AskKind.RESTART, "hook": "h", "accepted_partitions": ("orders",)},
            "accepted_partitions has 'orders': use topic-number, such as orders-3",
        ),
        ({"hook": "a\nb"}, "hook is 'a\\\\nb': use up to 100 printable characters"),
        ({"back_within_ms": -1}, "back_within_ms is -1: use 0 to 86400000, 0 for the usual"),
        (
            {"kind": AskKind.RESTART},
            r"hook of rolling-restart is empty: name the \[hooks.NAME\] that restarts a broker",
        ),
        (
            {"kind": AskKind.RESTART, "hook": "h", "controllers": (1,)},
            "node 1 is in brokers and in controllers: a combined node is a broker",
        ),
        (
            {"kind": AskKind.RESTART, "hook": "h", "batch_limit": 1001},
            "batch_limit is 1001: use 0 to 1000, 0 for what ISR allows",
        ),
        ({"finalize": True}, r"finalize of remove-brokers is set: only rolling-restart raises metadata\.version"),
        (
            {"kind": AskKind.RESTART, "hook": "h", "metadata_version": 25},
            "metadata_version is 25, but finalize is not set: without it nothing is raised",
        ),
        (
            {"kind": AskKind.RESTART, "hook": "h", "finalize": True, "metadata_version": -1},
            "metadata_version is -1: use a level such as 25, or 0 for the highest that all nodes support",
        ),
    ],
)
def test_a_wrong_ask_is_refused_in_one_sentence(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        Ask(**{"kind": AskKind.REMOVE, "brokers": (1,), **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("idle", "message"),
    [
        (
            {"kind": AskKind.REMOVE, "hook": "h"},
            "hook of remove-brokers is 'h', but shutdown is not set, so nothing is stopped: set shutdown, or leave "
            "hook out",
        ),
        (
            {"kind": AskKind.OFFLINE, "hook": "h"},
            "hook of offline-brokers is 'h', but shutdown is not set, so nothing is stopped: set shutdown, or leave "
            "hook out",
        ),
        (
            {"kind": AskKind.ONLINE, "shutdown": True},
            "shutdown of online-brokers is set: only remove-brokers and offline-brokers stop brokers for good; leave "
            "it out",
        ),
        (
            {"kind": AskKind.RESTART, "hook": "h", "shutdown": True},
            "shutdown of rolling-restart is set: only remove-brokers and offline-brokers stop brokers for good; leave "
            "it out",
        ),
        (
            {"kind": AskKind.REMOVE, "accept_unavailable": True},
            "accept_unavailable of remove-brokers is set: only offline-brokers and rolling-restart leave partitions "
            "without a broker; leave it out",
        ),
        (
            {"kind": AskKind.ONLINE, "accept_unavailable": True},
            "accept_unavailable of online-brokers is set: only offline-brokers and rolling-restart leave partitions "
            "without a broker; leave it out",
        ),
    ],
)
def test_a_field_without_effect_is_refused_of_a_new_ask_and_borne_in_a_stored_one(
    idle: dict[str, object], message: str
) -> None:
    ask = Ask(**{"brokers": (1,), **idle})  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        ask.require_no_idle_field()


@pytest.mark.parametrize(
    ("ask", "action"),
    [
        (Ask(AskKind.REMOVE, (1,), shutdown=True, hook="h"), HookAction.STOP),
        (Ask(AskKind.REMOVE, (1,)), None),
        (Ask(AskKind.OFFLINE, (1,), shutdown=True, hook="h", accept_unavailable=True), HookAction.STOP),
        (Ask(AskKind.ONLINE, (1,), hook="h"), HookAction.START),
        (Ask(AskKind.RESTART, (1,), hook="h", accept_unavailable=True), HookAction.RESTART),
    ],
)
def test_what_an_ask_needs_of_its_hook(ask: Ask, action: HookAction | None) -> None:
    ask.require_no_idle_field()
    assert ask.hook_action is action


def test_a_rolling_restart_may_be_of_controllers_alone() -> None:
    assert Ask(AskKind.RESTART, (), (8,), hook="systemd").controllers == (8,)


def test_a_broker_that_no_longer_has_to_be_done_is_over() -> None:
    assert {standing for standing in Standing if standing.is_over} == {Standing.DONE, Standing.GONE, Standing.ELSEWHERE}


def test_the_work_on_a_node_is_found_by_its_id() -> None:
    operation = Operation(OperationPhase.GATE, 0, (BrokerWork(4), BrokerWork(5)))
    assert operation.work(5) == BrokerWork(5)
    assert operation.work(6) is None
