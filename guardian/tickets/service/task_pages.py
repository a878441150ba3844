"""A ticket and its execution in messages that gRPC takes: the tasks by their numbers, page by page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from guardian.errors import InvalidInput
from guardian.model.execution import Execution, ExecutionTask
from guardian.model.ticket import Ticket
from guardian.model.wire.fields import filled
from guardian.model.wire.tickets import execution_to_proto, ticket_to_proto
from guardian.serving.paging import decode_token, encode_token
from protos.guardian.v1 import tickets_pb2 as pb

MAX_TASK_BYTES = 3 << 20  # of one message: with all else it is below the 4 MiB that a gRPC client takes by default
_FRAME_BYTES = 8  # at most, before each task in its message


def tasks_behind(execution: Execution | None, token: str) -> tuple[ExecutionTask, ...]:
    """Return the tasks behind a page, by its token; all of them where there is no token, or the execution was saved
    anew since that page. Raises InvalidInput for what is no token."""
    revision, number = _position(token)
    if execution is None:
        return ()
    return tuple(task for task in execution.tasks if execution.revision != revision or task.number > number)


def pages(ticket: Ticket, execution: Execution | None, tasks: Sequence[ExecutionTask]) -> Iterator[pb.TicketDetailPage]:
    """Yield the ticket with its execution and of its tasks these, as many in each message as it takes; at least one
    message."""
    header = pb.TicketDetailPage(detail=pb.TicketDetail(ticket=ticket_to_proto(ticket)))
    if execution is not None:
        header.detail.execution.CopyFrom(execution_to_proto(replace(execution, tasks=())))
    page, left = _empty(header), MAX_TASK_BYTES
    for task in tasks:
        message = filled(pb.ExecutionTask(), task)
        size = message.ByteSize() + _FRAME_BYTES
        if page.detail.execution.tasks and size > left:
            last = page.detail.execution.tasks[-1].number
            page.next_page_token = encode_token(f"{header.detail.execution.revision} {last}".encode())
            yield page
            page, left = _empty(header), MAX_TASK_BYTES
        page.detail.execution.tasks.append(message)
        left -= size
    yield page


def _empty(header: pb.TicketDetailPage) -> pb.TicketDetailPage:
    page = pb.TicketDetailPage()
    page.CopyFrom(header)
    return page


def _position(token: str) -> tuple[int, int]:
    """Return the revision and the task's number that a token names; zeros without one."""
    if not token:
        return 0, 0
    try:
        revision, number = map(int, decode_token(token).split())
    except ValueError:
        raise InvalidInput(f"page_token is {token[:100]!r}: use the next_page_token of the page before") from None
    return revision, number
