"""Tickets and executions: protobuf <-> model."""

from __future__ import annotations

from guardian.errors import InvalidInput
from guardian.model.execution import (
    AdaptedRate,
    Baseline,
    DirectoryIntent,
    Execution,
    ExecutionTask,
    ForeignWork,
    Subject,
    TaskState,
    ThrottleIntent,
)
from guardian.model.ticket import Ticket, TicketState, TicketTransition, TicketTrouble
from guardian.model.topology import TopicPartition
from guardian.wire.actors import agent_of, name_of
from guardian.wire.operations import ask_from_proto, ask_to_proto, operation_from_proto, operation_to_proto
from guardian.wire.plans import move_from_proto, move_to_proto
from protos.guardian.v1 import tickets_pb2 as pb


def ticket_to_proto(ticket: Ticket) -> pb.Ticket:
    return pb.Ticket(
        id=ticket.id,
        cluster=ticket.cluster,
        kind=ticket.kind,
        state=ticket.state.name,
        author=ticket.author,
        author_agent=agent_of(ticket.author),
        plan_hash=ticket.plan_hash,
        throttle=ticket.throttle,
        created_at_ms=ticket.created_at_ms,
        updated_at_ms=ticket.updated_at_ms,
        history=[transition_to_proto(transition) for transition in ticket.history],
        idempotency_key=ticket.idempotency_key,
        moves=ticket.moves,
        bytes=ticket.bytes_to_copy,
        ask=ask_to_proto(ticket.ask) if ticket.ask is not None else None,
        expires_at_ms=ticket.expires_at_ms,
        evidence=ticket.evidence,
        max_throttle=ticket.max_throttle,
        approved_throttle=ticket.approved_throttle,
        troubles=[_trouble_to_proto(trouble) for trouble in ticket.troubles],
    )


def ticket_from_proto(message: pb.Ticket) -> Ticket:
    """Raises InvalidInput when a field is wrong."""
    return Ticket(
        id=message.id,
        cluster=message.cluster,
        kind=message.kind,
        state=ticket_state_from_proto(message.state),
        author=name_of(message.author, message.author_agent),
        plan_hash=message.plan_hash,
        throttle=message.throttle,
        created_at_ms=message.created_at_ms,
        updated_at_ms=message.updated_at_ms,
        history=tuple(transition_from_proto(transition) for transition in message.history),
        idempotency_key=message.idempotency_key,
        moves=message.moves,
        bytes_to_copy=message.bytes,
        ask=ask_from_proto(message.ask) if message.HasField("ask") else None,
        expires_at_ms=message.expires_at_ms,
        evidence=message.evidence,
        max_throttle=message.max_throttle,
        approved_throttle=message.approved_throttle,
        troubles=tuple(_trouble_from_proto(trouble) for trouble in message.troubles),
    )


def _trouble_to_proto(trouble: TicketTrouble) -> pb.TicketTrouble:
    return pb.TicketTrouble(
        kind=trouble.kind,  # type: ignore[arg-type]  # a number, which may be one that only newer versions know
        subject=trouble.subject,
        brokers=trouble.brokers,
        log_dirs=trouble.log_dirs,
    )


def _trouble_from_proto(message: pb.TicketTrouble) -> TicketTrouble:
    return TicketTrouble(message.kind, message.subject, tuple(message.brokers), tuple(message.log_dirs))


def transition_to_proto(transition: TicketTransition) -> pb.TicketTransition:
    return pb.TicketTransition(
        state=transition.state.name,
        at_ms=transition.at_ms,
        actor=transition.actor,
        agent=agent_of(transition.actor),
        reason=transition.reason,
    )


def transition_from_proto(message: pb.TicketTransition) -> TicketTransition:
    """Raises InvalidInput when the state is unknown."""
    return TicketTransition(
        state=ticket_state_from_proto(message.state),
        at_ms=message.at_ms,
        actor=name_of(message.actor, message.agent),
        reason=message.reason,
    )


def ticket_state_from_proto(number: int) -> TicketState:
    """Raises InvalidInput when the number is no state that this version knows."""
    try:
        return TicketState(number)
    except ValueError:
        raise InvalidInput(f"state is {number}: this version of Guardian knows 1 to {len(TicketState)}") from None


def execution_to_proto(execution: Execution) -> pb.Execution:
    return pb.Execution(
        ticket_id=execution.ticket_id,
        tasks=[_task_to_proto(task) for task in execution.tasks],
        throttles=[throttle_to_proto(throttle) for throttle in execution.throttles],
        lifted=[throttle_to_proto(throttle) for throttle in execution.lifted],
        note=execution.note,
        revision=execution.revision,
        rates=[_rate_to_proto(rate) for rate in execution.rates],
        operation=operation_to_proto(execution.operation) if execution.operation is not None else None,
        foreign=[_foreign_to_proto(work) for work in execution.foreign],
        directory=[_directory_to_proto(intent) for intent in execution.directory],
    )


def execution_from_proto(message: pb.Execution) -> Execution:
    """Raises InvalidInput when a field is wrong."""
    return Execution(
        ticket_id=message.ticket_id,
        tasks=tuple(_task_from_proto(task) for task in message.tasks),
        throttles=tuple(throttle_from_proto(throttle) for throttle in message.throttles),
        lifted=tuple(throttle_from_proto(throttle) for throttle in message.lifted),
        note=message.note,
        revision=message.revision,
        rates=tuple(_rate_from_proto(rate) for rate in message.rates),
        operation=operation_from_proto(message.operation) if message.HasField("operation") else None,
        foreign=tuple(_foreign_from_proto(work) for work in message.foreign),
        directory=tuple(_directory_from_proto(intent) for intent in message.directory),
    )


def _directory_to_proto(intent: DirectoryIntent) -> pb.DirectoryIntent:
    return pb.DirectoryIntent(
        subject=intent.subject.value,
        field=intent.field,
        names=intent.names,
        value=intent.value,
        replaced=intent.replaced,
    )


def _directory_from_proto(message: pb.DirectoryIntent) -> DirectoryIntent:
    try:
        subject = Subject(message.subject)
    except ValueError:
        known = ", ".join(each.value for each in Subject)
        raise InvalidInput(f"subject of a directory intent is {message.subject!r}: use one of {known}") from None
    return DirectoryIntent(subject, message.field, tuple(message.names), message.value, message.replaced)


def _foreign_to_proto(work: ForeignWork) -> pb.ForeignWork:
    return pb.ForeignWork(
        topic=work.partition.topic,
        partition=work.partition.partition,
        replicas=work.replicas,
        target=work.target,
        size_bytes=work.size_bytes,
        is_awaited=work.is_awaited,
    )


def _foreign_from_proto(message: pb.ForeignWork) -> ForeignWork:
    return ForeignWork(
        TopicPartition(message.topic, message.partition),
        tuple(message.replicas),
        tuple(message.target),
        message.size_bytes,
        message.is_awaited,
    )


def _rate_to_proto(rate: AdaptedRate) -> pb.AdaptedRate:
    from_idc, to_idc = rate.line or ("", "")
    return pb.AdaptedRate(
        rate=rate.rate,
        broker=rate.broker,
        from_idc=from_idc,
        to_idc=to_idc,
        changed_at_ms=rate.changed_at_ms,
        trouble=rate.trouble,
        baselines=[
            pb.Baseline(request=each.request, mean_ms=each.mean_ms, p99_ms=each.p99_ms) for each in rate.baselines
        ],
        why=rate.why,
        before=rate.before,
        idle_since_ms=rate.idle_since_ms,
    )


def _rate_from_proto(message: pb.AdaptedRate) -> AdaptedRate:
    return AdaptedRate(
        rate=message.rate,
        broker=message.broker,
        line=(message.from_idc, message.to_idc) if message.from_idc else None,
        changed_at_ms=message.changed_at_ms,
        trouble=message.trouble,
        baselines=tuple(Baseline(each.request, each.mean_ms, each.p99_ms) for each in message.baselines),
        why=message.why,
        before=message.before,
        idle_since_ms=message.idle_since_ms,
    )


def _task_to_proto(task: ExecutionTask) -> pb.ExecutionTask:
    return pb.ExecutionTask(
        number=task.number,
        move=move_to_proto(task.move),
        state=f"TASK_{task.state.name}",
        detail=task.detail,
        started_at_ms=task.started_at_ms,
        ended_at_ms=task.ended_at_ms,
        cover_bytes=task.cover_bytes,
        hold_ms=task.hold_ms,
        copied_bytes=task.copied_bytes,
        topic_configs=dict(task.topic_configs),
        is_adopted=task.is_adopted,
        missing_since_ms=task.missing_since_ms,
        topic_partitions=task.topic_partitions,
        reason=task.reason,  # type: ignore[arg-type]  # likewise
    )


def _task_from_proto(message: pb.ExecutionTask) -> ExecutionTask:
    try:
        state = TaskState(message.state)
    except ValueError:
        raise InvalidInput(f"task state is {message.state}: this version of Guardian does not know it") from None
    return ExecutionTask(
        number=message.number,
        move=move_from_proto(message.move),
        state=state,
        detail=message.detail,
        started_at_ms=message.started_at_ms,
        ended_at_ms=message.ended_at_ms,
        cover_bytes=message.cover_bytes,
        hold_ms=message.hold_ms,
        copied_bytes=message.copied_bytes,
        topic_configs=tuple(sorted(message.topic_configs.items())),
        is_adopted=message.is_adopted,
        missing_since_ms=message.missing_since_ms,
        topic_partitions=message.topic_partitions,
        reason=message.reason,
    )


def throttle_to_proto(throttle: ThrottleIntent) -> pb.ThrottleIntent:
    return pb.ThrottleIntent(
        resource_type=throttle.resource_type,
        resource_name=throttle.resource_name,
        key=throttle.key,
        value=throttle.value,
        replaced=throttle.replaced or "",
        had_value=throttle.replaced is not None,
    )


def throttle_from_proto(message: pb.ThrottleIntent) -> ThrottleIntent:
    return ThrottleIntent(
        resource_type=message.resource_type,
        resource_name=message.resource_name,
        key=message.key,
        value=message.value,
        replaced=message.replaced if message.had_value else None,
    )
