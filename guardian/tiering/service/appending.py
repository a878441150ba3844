"""A stream of appends: many requests under way at once, answers in their order.

    requests ─read─▶ check, submit ─▶ the line of what is under way ─▶ answers from its front ─write─▶ client

Reading stops while as much is under way as one stream may have, so the client is held back by HTTP/2's flow control. A
request that is refused as a whole has its answer in its place, and the stream goes on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable

from google.protobuf.message import DecodeError

from guardian.errors import GuardianError, InvalidInput, Overloaded
from guardian.model.wire.status import sentence_of, status_of
from guardian.tiering.service.counting import TieringCounters
from guardian.tiering.service.ports import Group, TieringLimits
from metastore import appends
from metastore.appends import Checked
from metastore.commands import SessionUse, append_command, content_of
from protos.guardian.v1.raw_pb2 import RawCommandReply, RawStreamReply, RawStreamRequest
from protos.guardian.v1.sessions_pb2 import SessionRef


def command_of(checked: Checked, request: bytes, session: SessionRef | None, user: bytes, now_ms: int) -> bytes:
    """Build what goes into the log: the checked `request`, and its place in the session of `user`."""
    if session is None:
        return append_command(checked.command, now_ms)
    use = SessionUse(session.id, session.sequence, session.answered_below, user, content_of(request))
    return append_command(checked.command, now_ms, use)


def reply_of(checked: Checked, result: bytes, counters: TieringCounters) -> bytes:
    """The serialised AppendSegmentEventsReply, from the serialised CommandReply."""
    return checked.merged(RawCommandReply.FromString(result).segment_events, counters.refused_appends)


class _Request:
    """One place in the line. `answer` is a serialised CommandReply, or why there is none; None while it is awaited."""

    __slots__ = ("answer", "checked", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.checked: Checked | None = None
        self.answer: bytes | GuardianError | None = None

    def reply(self, counters: TieringCounters) -> bytes:
        """A serialised StreamSegmentEventsReply."""
        answer = self.answer
        if isinstance(answer, bytes) and self.checked is not None:
            return RawStreamReply(append=reply_of(self.checked, answer, counters)).SerializeToString()
        if not isinstance(answer, GuardianError):
            raise TypeError(f"the request was answered with {answer!r}")
        code: int = status_of(answer).value[0]
        retry_after_ms = answer.retry_after_ms if isinstance(answer, Overloaded) else 0
        return RawStreamReply(code=code, error=sentence_of(answer), retry_after_ms=retry_after_ms).SerializeToString()


class AppendStream:
    """One stream's requests and answers; its sessions are those of `user`."""

    def __init__(
        self, group: Group, user: bytes, now_ms: Callable[[], int], limits: TieringLimits, counters: TieringCounters
    ) -> None:
        self._group = group
        self._user = user
        self._counters = counters
        self._now_ms = now_ms
        self._limits = limits
        self._line: deque[_Request] = deque()
        self._bytes = 0
        self._is_read = False  # to the end
        self._may_go_on = asyncio.Event()  # the front is answered, or there is nothing more to read
        self._has_room = asyncio.Event()
        self._has_room.set()

    async def answers(self, requests: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        """Serialised StreamSegmentEventsReply messages. Whoever stops early need not wait for what is under way."""
        reader = asyncio.create_task(self._read(requests))
        self._counters.append_streams += 1
        try:
            while self._line or not self._is_read:
                await self._may_go_on.wait()
                self._may_go_on.clear()
                while self._line and self._line[0].answer is not None:
                    request = self._line.popleft()
                    yield request.reply(self._counters)
                    self._bytes -= request.size
                    self._note_room()
            await reader  # raises what ended the requests, if it was not their end
        finally:
            self._counters.append_streams -= 1
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    async def _read(self, requests: AsyncIterator[bytes]) -> None:
        try:
            async for raw in requests:
                request = _Request(len(raw))
                self._line.append(request)
                self._bytes += request.size
                self._begin(request, raw)
                self._note_room()
                await self._has_room.wait()
        finally:
            self._is_read = True
            self._may_go_on.set()

    def _begin(self, request: _Request, raw: bytes) -> None:
        try:
            message = RawStreamRequest.FromString(raw)
            request.checked = appends.check(message.append)
            if not request.checked.command:
                self._answer(request, b"")
                return
            session = message.session if message.HasField("session") else None
            command = command_of(request.checked, message.append, session, self._user, self._now_ms())
            self._group.submit(command, self._limits.timeout_s, lambda answer: self._answer(request, answer))
        except DecodeError:
            self._answer(request, InvalidInput("the message is no serialised StreamSegmentEventsRequest: send one"))
        except GuardianError as error:
            self._answer(request, error)

    def _answer(self, request: _Request, answer: bytes | GuardianError) -> None:
        request.answer = answer
        if self._line and self._line[0] is request:
            self._may_go_on.set()

    def _note_room(self) -> None:
        if len(self._line) < self._limits.stream_requests and self._bytes < self._limits.stream_bytes:
            self._has_room.set()
        else:
            self._has_room.clear()
