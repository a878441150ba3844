"""A pipeline of segment events: many appends under way over one stream, each answered by a Future.

append ─▶ waiting ─▶ sent (in the stream's order) ─ reply ─▶ Future
             ▲           └─ the stream breaks, or the member is overloaded: again, with the same session and sequence
             └───────────┘

An append is carried out once however often it is sent: its session says so, and where Guardian has forgotten the
session, repeating an event changes nothing anyway. Appends are carried out in the order in which they were made, but
for one that an overloaded member refuses. Those that were under way with it may come before it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType

import grpc

from guardian.client.calls import QUICK, Calls
from guardian.client.errors import from_code, from_rpc, is_worth_another_member
from guardian.client.sessions import SessionNumbers
from guardian.errors import GuardianError, OutcomeUnknown, Overloaded, SessionExpired, Unavailable
from protos.guardian.v1 import tiering_pb2

DEFAULT_WINDOW = 64
_WATCH_S = 0.1


def _uncancellable() -> Future[tiering_pb2.AppendSegmentEventsReply]:
    """Make a future that can't be cancelled: what is sent can't be taken back."""
    future: Future[tiering_pb2.AppendSegmentEventsReply] = Future()
    future.set_running_or_notify_cancel()
    return future


@dataclass(eq=False, slots=True)
class _Append:
    request: tiering_pb2.AppendSegmentEventsRequest
    deadline: float
    sequence: int = 0  # of the present session; 0: none yet
    sent_at: float = 0.0
    was_sent: bool = False
    done: Future[tiering_pb2.AppendSegmentEventsReply] = field(default_factory=_uncancellable)


class SegmentEventStream:
    """A context manager; thread-safe. At most `window` appends are under way; one that gets no answer within the
    client's timeout fails with OutcomeUnknown, or Unavailable when it was never sent."""

    def __init__(self, calls: Calls, window: int = DEFAULT_WINDOW) -> None:
        self._calls = calls
        self._window = window
        self._lock = threading.Condition()
        self._waiting: deque[_Append] = deque()
        self._sent: deque[_Append] = deque()
        self._session: SessionNumbers | None = None
        self._connection = 0  # which stream the appends in `_sent` went to
        self._call: grpc.Call | None = None
        self._not_before = 0.0
        self._is_closed = False
        self._threads = [
            threading.Thread(target=self._run, name="append-stream", daemon=True),
            threading.Thread(target=self._watch, name="append-watch", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> SegmentEventStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def append(self, request: tiering_pb2.AppendSegmentEventsRequest) -> Future[tiering_pb2.AppendSegmentEventsReply]:
        """Sends it as soon as there is room in the window. The Future raises errors of guardian.errors.

        Raises Unavailable when there is no room within the client's timeout, or the stream is closed.
        """
        deadline = time.monotonic() + self._calls.timeout_s
        with self._lock:
            if not self._lock.wait_for(self._has_room, self._calls.timeout_s):
                raise Unavailable(f"{self._window} appends are under way for {self._calls.timeout_s:g} s: retry")
            if self._is_closed:
                raise Unavailable("the stream is closed: open another one")
            append = _Append(request, deadline)
            self._waiting.append(append)
            self._lock.notify_all()
        return append.done

    def flush(self) -> None:
        """Returns when every append so far has its answer, be it an error."""
        with self._lock:
            self._lock.wait_for(lambda: not self._waiting and not self._sent)

    def close(self) -> None:
        """Flushes, then ends the stream."""
        self.flush()
        with self._lock:
            self._is_closed = True
            self._lock.notify_all()
            call = self._call
        if call is not None:
            call.cancel()
        for thread in self._threads:
            thread.join()

    def _has_room(self) -> bool:
        return self._is_closed or len(self._waiting) + len(self._sent) < self._window

    def _run(self) -> None:
        attempts = self._calls.attempts(is_change=False)
        while self._wait_for_work():
            endpoint = self._calls.leader()
            failure: GuardianError
            try:
                self._require_session()
                for reply in self._open(endpoint):
                    attempts = self._calls.attempts(is_change=False)
                    self._take(reply)
                failure = Unavailable("the member ended the stream")
            except grpc.RpcError as error:
                failure = from_rpc(error)
            except GuardianError as error:
                failure = error
            if self._requeue():
                continue
            if not is_worth_another_member(failure) and not isinstance(failure, SessionExpired):
                self._fail_all(failure)
                continue
            self._calls.failed(endpoint)
            try:
                self._calls.pause(attempts, failure)
            except GuardianError:
                attempts = self._calls.attempts(is_change=False)  # the appends have deadlines of their own

    def _wait_for_work(self) -> bool:
        with self._lock:
            self._lock.wait_for(lambda: self._is_closed or self._waiting)
            return not self._is_closed

    def _require_session(self) -> None:
        if self._session is None:
            opened = self._calls.open_session(self._window)
            with self._lock:
                self._session = SessionNumbers(opened.session_id, opened.window)
                for append in self._waiting:
                    append.sequence = 0

    def _open(self, endpoint: str) -> Iterator[tiering_pb2.StreamSegmentEventsReply]:
        with self._lock:
            self._connection += 1
            requests = self._requests(self._connection)
            call = self._calls.at(endpoint).tiering.StreamSegmentEvents(requests)
            self._call = call
        return call

    def _requests(self, connection: int) -> Iterator[tiering_pb2.StreamSegmentEventsRequest]:
        """Yield what the library sends on this stream, in its thread; end when another stream has taken over."""
        while True:
            with self._lock:
                while not self._may_send(connection):
                    if self._is_closed or self._connection != connection:
                        return
                    self._lock.wait(max(self._not_before - time.monotonic(), 0) or None)
                append = self._waiting.popleft()
                session = self._session
                if session is None:
                    self._waiting.appendleft(append)
                    return
                append.sequence = append.sequence or session.take()
                append.sent_at = time.monotonic()
                append.was_sent = True
                self._sent.append(append)
                ref = session.ref(append.sequence)
            yield tiering_pb2.StreamSegmentEventsRequest(session=ref, append=append.request)

    def _may_send(self, connection: int) -> bool:
        if self._is_closed or self._connection != connection or not self._waiting:
            return False
        if time.monotonic() < self._not_before:
            return False
        return self._session is None or bool(self._waiting[0].sequence) or self._session.has_room

    def _take(self, reply: tiering_pb2.StreamSegmentEventsReply) -> None:
        """Replies come in the order of the requests."""
        refusal = from_code(reply.code, reply.error, reply.retry_after_ms) if reply.code else None
        with self._lock:
            append = self._sent.popleft()
            if isinstance(refusal, SessionExpired):
                self._session = None
            if refusal is not None and (is_worth_another_member(refusal) or isinstance(refusal, SessionExpired)):
                if isinstance(refusal, Overloaded):
                    self._waiting.append(append)
                    self._not_before = time.monotonic() + refusal.retry_after_ms / 1000
                    self._lock.notify_all()
                    return
                self._sent.appendleft(append)  # first again on the next stream
                raise refusal
            self._release(append)
        if refusal is not None:
            append.done.set_exception(refusal)
        else:
            append.done.set_result(reply.append)

    def _requeue(self) -> bool:
        """Put what was sent and not answered first in line for next time. True when the session alone was the
        trouble.
        """
        with self._lock:
            self._connection += 1
            call, self._call = self._call, None
            self._waiting.extendleft(reversed(self._sent))
            self._sent.clear()
            is_only_the_session = self._session is None and call is not None
            self._lock.notify_all()
        if call is not None:
            call.cancel()
        return is_only_the_session

    def _fail_all(self, failure: GuardianError) -> None:
        with self._lock:
            failed = list(self._waiting)
            self._waiting.clear()
            for append in failed:
                self._release(append)
        for append in failed:
            append.done.set_exception(failure)

    def _release(self, append: _Append) -> None:
        if self._session is not None and append.sequence:
            self._session.release(append.sequence)
        self._lock.notify_all()

    def _watch(self) -> None:
        """Gives up what is out of time, and breaks a stream whose member hangs."""
        while True:
            with self._lock:
                if self._lock.wait_for(lambda: self._is_closed, _WATCH_S):
                    return
                now = time.monotonic()
                expired = [append for append in (*self._waiting, *self._sent) if append.deadline <= now]
                is_hanging = bool(self._sent) and self._sent[0].sent_at + self._calls.timeout_s * QUICK < now
                call = self._call if expired or is_hanging else None
            if call is not None:
                call.cancel()
            for append in expired:
                self._give_up(append)

    def _give_up(self, append: _Append) -> None:
        with self._lock:
            if append not in self._waiting:
                return  # it is on a stream that has just been broken: the next look finds it waiting
            self._waiting.remove(append)
            self._release(append)
        error = OutcomeUnknown if append.was_sent else Unavailable
        append.done.set_exception(error(f"no Guardian member answered within {self._calls.timeout_s:g} s: retry"))
