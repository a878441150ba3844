"""Asks and operations: protobuf <-> model."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

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
from protos.guardian.v1 import operations_pb2 as pb

_Known = TypeVar("_Known", bound=Enum)


def ask_to_proto(ask: Ask) -> pb.Ask:
    return pb.Ask(
        kind=ask.kind.value,
        brokers=ask.brokers,
        controllers=ask.controllers,
        shutdown=ask.shutdown,
        hook=ask.hook,
        batch_limit=ask.batch_limit,
        accept_unavailable=ask.accept_unavailable,
        back_within_ms=ask.back_within_ms,
        revision=ask.revision,
        finalize=ask.finalize,
        metadata_version=ask.metadata_version,
    )


def ask_from_proto(message: pb.Ask) -> Ask:
    """Raises InvalidInput when a field is wrong."""
    return Ask(
        kind=_known(AskKind, "kind of the ask", message.kind),
        brokers=tuple(message.brokers),
        controllers=tuple(message.controllers),
        shutdown=message.shutdown,
        hook=message.hook,
        batch_limit=message.batch_limit,
        accept_unavailable=message.accept_unavailable,
        back_within_ms=message.back_within_ms,
        revision=message.revision,
        finalize=message.finalize,
        metadata_version=message.metadata_version,
    )


def operation_to_proto(operation: Operation) -> pb.Operation:
    return pb.Operation(
        phase=f"PHASE_{operation.phase.name}",
        since_ms=operation.since_ms,
        brokers=[_work_to_proto(work) for work in operation.brokers],
        batch=operation.batch,
        first_task=operation.first_task,
        plan_round=operation.plan_round,
        retry_at_ms=operation.retry_at_ms,
        harm=operation.harm,
        harm_since_ms=operation.harm_since_ms,
        well_since_ms=operation.well_since_ms,
        ask_revision=operation.ask_revision,
        detail=operation.detail,
        metadata_version_from=operation.metadata_version_from,
        metadata_version_to=operation.metadata_version_to,
    )


def operation_from_proto(message: pb.Operation) -> Operation:
    """Raises InvalidInput when a field is wrong."""
    return Operation(
        phase=_known(OperationPhase, "phase of the operation", message.phase),
        since_ms=message.since_ms,
        brokers=tuple(_work_from_proto(work) for work in message.brokers),
        batch=tuple(message.batch),
        first_task=message.first_task,
        plan_round=message.plan_round,
        retry_at_ms=message.retry_at_ms,
        harm=message.harm,
        harm_since_ms=message.harm_since_ms,
        well_since_ms=message.well_since_ms,
        ask_revision=message.ask_revision,
        detail=message.detail,
        metadata_version_from=message.metadata_version_from,
        metadata_version_to=message.metadata_version_to,
    )


def _work_to_proto(work: BrokerWork) -> pb.BrokerWork:
    return pb.BrokerWork(
        node=work.node,
        is_controller=work.is_controller,
        standing=f"STANDING_{work.standing.name}",
        is_excluded=work.is_excluded,
        state_before=work.state_before.value,
        hook=_hook_to_proto(work.hook) if work.hook is not None else None,
        down_since_ms=work.down_since_ms,
        was_down=work.was_down,
        detail=work.detail,
    )


def _work_from_proto(message: pb.BrokerWork) -> BrokerWork:
    return BrokerWork(
        node=message.node,
        is_controller=message.is_controller,
        standing=_known(Standing, "standing of a broker", message.standing),
        is_excluded=message.is_excluded,
        state_before=_known(BrokerState, "state_before of a broker", message.state_before),
        hook=_hook_from_proto(message.hook) if message.HasField("hook") else None,
        down_since_ms=message.down_since_ms,
        was_down=message.was_down,
        detail=message.detail,
    )


def _hook_to_proto(run: HookRun) -> pb.HookRun:
    return pb.HookRun(
        action=run.action.value,
        attempt=run.attempt,
        asked_at_ms=run.asked_at_ms,
        ended_at_ms=run.ended_at_ms,
        is_ok=run.is_ok,
        output=run.output,
    )


def _hook_from_proto(message: pb.HookRun) -> HookRun:
    return HookRun(
        action=_known(HookAction, "action of a hook", message.action),
        attempt=message.attempt,
        asked_at_ms=message.asked_at_ms,
        ended_at_ms=message.ended_at_ms,
        is_ok=message.is_ok,
        output=message.output,
    )


def _known(kind: type[_Known], name: str, value: int | str) -> _Known:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(str(each.value) for each in kind)
        raise InvalidInput(f"{name} is {value!r}: this version of Guardian knows {known}") from None
