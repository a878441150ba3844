"""Asks and operations: going out and coming back changes nothing."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.model.operation import (
    Ask,
    AskKind,
    BrokerWork,
    HookAction,
    HookRun,
    Operation,
    OperationPhase,
    Standing,
)
from guardian.model.topology import BrokerState
from guardian.model.wire.operations import ask_from_proto, ask_to_proto, operation_from_proto, operation_to_proto
from protos.guardian.v1 import operations_pb2 as pb

RESTART = Ask(AskKind.RESTART, (1, 2), (9,), hook="systemd", batch_limit=3, accept_unavailable=True, revision=4)
UPGRADE = Ask(
    AskKind.RESTART,
    (1,),
    hook="systemd",
    finalize=True,
    metadata_version=25,
    accepted_partitions=("t-0", "u.v-12"),
    accepted_brokers=(7, 9),
)
REMOVE = Ask(AskKind.REMOVE, (4,), shutdown=True, hook="systemd", back_within_ms=5)


@pytest.mark.parametrize("ask", [RESTART, UPGRADE, REMOVE])
def test_an_ask_comes_back_as_it_was(ask: Ask) -> None:
    assert ask_from_proto(pb.Ask.FromString(ask_to_proto(ask).SerializeToString())) == ask


@pytest.mark.parametrize("phase", OperationPhase)
@pytest.mark.parametrize("standing", Standing)
def test_an_operation_comes_back_as_it_was(phase: OperationPhase, standing: Standing) -> None:
    hook = HookRun(HookAction.STOP, 2, 10, 20, is_ok=True, output="stopped")
    works = (
        BrokerWork(4, False, standing, True, BrokerState.DRAINING, hook, 30, True, "is stopped"),
        BrokerWork(9, is_controller=True),
    )
    operation = Operation(phase, 1, works, (4,), 7, 3, 50, "broker 5 is down", 60, 70, 2, "waits", 25, 29)
    assert operation_from_proto(pb.Operation.FromString(operation_to_proto(operation).SerializeToString())) == operation


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (pb.Ask(kind="explode", brokers=[1]), "kind of Ask is 'explode': this version of Guardian knows remove-"),
        (pb.Ask(kind="remove-brokers"), "brokers of remove-brokers is empty"),
    ],
)
def test_an_ask_that_is_not_known_is_refused(message: pb.Ask, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        ask_from_proto(message)


def test_an_operation_of_a_later_version_is_refused() -> None:
    message = operation_to_proto(Operation(OperationPhase.PLAN, 1, (BrokerWork(1),)))
    message.phase = 77  # type: ignore[assignment]
    with pytest.raises(InvalidInput, match="phase of Operation is 77"):
        operation_from_proto(message)
    message.phase = pb.PHASE_PLAN
    message.brokers[0].standing = 77  # type: ignore[assignment]
    with pytest.raises(InvalidInput, match="standing of BrokerWork is 77"):
        operation_from_proto(message)


def test_an_ask_without_a_kind_is_refused() -> None:
    with pytest.raises(InvalidInput, match="kind of Ask is missing"):
        ask_from_proto(pb.Ask(brokers=[1]))
