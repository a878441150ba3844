"""One call, carried through the deaths of members, elections and overload, within one deadline.

call ─▶ which member (members.py) ─▶ gRPC ─▶ answer
            ▲                          └─ failure ─▶ what it means (errors.py) ─▶ another member, later, or the caller
            └── what a member says of the group: its leader and members

A change with a session is carried out once, however often it is sent. Without one, a change is sent again only where
the request itself makes that safe.
"""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar

import grpc

from guardian.client.bearing import Bearing
from guardian.client.credentials import ClientTls, Stamp
from guardian.client.errors import from_rpc, is_from_member, is_worth_another_member
from guardian.client.members import Members
from guardian.client.sessions import SessionNumbers
from guardian.client.stubs import Stubs
from guardian.errors import GuardianError, OutcomeUnknown, Overloaded, SessionExpired, Unavailable
from guardian.model.wire import metadata
from protos.guardian.v1 import raft_pb2, sessions_pb2

# A member that hangs may use up this much of a call's time before another one is asked.
QUICK = 1 / 4
SLOW = 2 / 3  # the member itself asks Kafka

_PROBE_S = 1.0
_LEARN_EVERY_S = 30.0
_LEARN_AGAIN_S = 0.5  # while there is no leader
_FIRST_PAUSE_S = 0.05
_MAX_PAUSE_S = 1.0
_LAST_ROUND_S = 0.1  # with less left another round would only be cut off
_MAX_SESSIONS = 3  # for one change
_SILENT_S = 15.0  # a member that tells of work in a stream says something more often
_LOOK_S = 0.25  # between two looks at whether an answer is still awaited
_FILES_S = 1.0  # between two looks at the certificate's files

_Request = TypeVar("_Request")
_Reply = TypeVar("_Reply")
_Result = TypeVar("_Result")
_Headers = tuple[tuple[str, str | bytes], ...]


Rpc = Callable[[Stubs], "grpc.UnaryUnaryMultiCallable[_Request, _Reply]"]
StreamRpc = Callable[[Stubs], "grpc.UnaryStreamMultiCallable[_Request, _Reply]"]


@dataclass(slots=True)
class Staleness:
    """How old reads may be, and the oldest that one was."""

    allowed_s: float
    worst_s: float = 0.0

    def note(self, call: grpc.Call) -> None:
        """A read that has its answer."""
        self.worst_s = max(self.worst_s, metadata.staleness_s_in(call.trailing_metadata()))


@dataclass(slots=True)
class Attempts:
    """Count the attempts of one call, which may take `timeout_s`. `maybe_made`: one of them may have changed something,
    though no answer came. `waits`: whoever has too much to do is asked again later. `has_answer`: the last failure is
    what a member said."""

    deadline: float
    timeout_s: float
    is_change: bool
    waits: bool = True
    maybe_made: bool = False
    has_answer: bool = False
    pause_s: float = field(default=_FIRST_PAUSE_S)


class Calls:
    """Thread-safe. `timeout_s` bounds each call, retries included."""

    def __init__(
        self,
        endpoints: Sequence[str],
        timeout_s: float,
        actor: str = "",
        owner: str = "",
        tls: ClientTls | None = None,
        bearing: Bearing | None = None,
    ) -> None:
        self.timeout_s = timeout_s
        self._bearing = bearing
        self._actor = actor
        self._owner = owner
        self._members = Members(endpoints, turn=random.randrange(1 << 16))  # noqa: S311  to spread clients
        self._channels: dict[str, Stubs] = {}
        self._tls = tls
        self._stamp: Stamp = tls.stamp() if tls is not None else ()
        self._stamp_at = time.monotonic() + _FILES_S
        self._retired: list[Stubs] = []
        self._learn_at = 0.0
        self._is_reached = False  # by the newest round in which all were asked who leads
        self._lock = threading.Lock()
        self._session: SessionNumbers | None = None
        self._session_changed = threading.Condition()
        self._opening = threading.Lock()
        self._stale = threading.local()

    def close(self) -> None:
        with self._lock:
            closing, self._channels, self._retired = [*self._channels.values(), *self._retired], {}, []
        for stubs in closing:
            stubs.close()

    def read(self, rpc: Rpc[_Request, _Reply], request: _Request, patience: float = QUICK) -> _Reply:
        """Asks any member. Raises Unavailable when none answers in time."""
        return self.read_somewhere(rpc, request, patience)[1]

    def read_somewhere(
        self, rpc: Rpc[_Request, _Reply], request: _Request, patience: float = QUICK
    ) -> tuple[str, _Reply]:
        """The same, with the endpoint that answered."""
        staleness, headers = self._staleness()

        def attempt(stubs: Stubs, timeout_s: float) -> tuple[str, _Reply]:
            reply, call = rpc(stubs).with_call(request, timeout=timeout_s, metadata=headers)
            staleness.note(call)
            return stubs.endpoint, reply

        return self._until_answered(attempt, self._for_read, patience, self.attempts(is_change=False))

    def read_stream(self, rpc: StreamRpc[_Request, _Reply], request: _Request) -> list[_Reply]:
        """All pages of an answer, from one member."""

        staleness, headers = self._staleness()

        def attempt(stubs: Stubs, timeout_s: float) -> list[_Reply]:
            call = rpc(stubs)(request, timeout=timeout_s, metadata=headers)
            pages = list(call)
            staleness.note(call)
            return pages

        return self._until_answered(attempt, self._for_read, SLOW, self.attempts(is_change=False))

    def ask_leader(self, rpc: Rpc[_Request, _Reply], request: _Request) -> _Reply:
        """Asks the leader for what it knows best, or any member when it is not known who leads."""

        def attempt(stubs: Stubs, timeout_s: float) -> _Reply:
            return rpc(stubs)(request, timeout=timeout_s)

        return self._until_answered(attempt, self._for_change, QUICK, self.attempts(is_change=False))

    def change(self, rpc: Rpc[_Request, _Reply], request: _Request, patience: float = QUICK) -> _Reply:
        """Sends a change whose repetition does no harm, to the leader first.

        Raises Unavailable when it certainly was not made, and OutcomeUnknown when it may have been.
        """

        def attempt(stubs: Stubs, timeout_s: float) -> _Reply:
            return rpc(stubs)(request, timeout=timeout_s, metadata=self._actor_header())

        return self._until_answered(attempt, self._for_change, patience, self.attempts(is_change=True))

    def rehearse(
        self,
        rpc: Rpc[_Request, _Reply],
        request: _Request,
        at_least_s: float = 0.0,
        while_waiting: Callable[[], object] = lambda: None,
    ) -> _Reply:
        """Asks what a change would do, the leader first, which gets `at_least_s` seconds for it.

        `while_waiting` is called several times a second; an exception that it raises hangs up. Raises Unavailable when
        nobody answers in time, and Overloaded at once: who waits in a line is not first.
        """

        def attempt(stubs: Stubs, timeout_s: float) -> _Reply:
            call = rpc(stubs).future(request, timeout=timeout_s, metadata=self._actor_header())
            return _awaited(call, while_waiting)

        timeout_s = max(self.timeout_s, at_least_s / SLOW)
        attempts = Attempts(time.monotonic() + timeout_s, timeout_s, is_change=False, waits=False)
        return self._until_answered(attempt, self._for_change, SLOW, attempts)

    def follow(
        self,
        rpc: StreamRpc[_Request, _Reply],
        request: _Request,
        take: Callable[[Iterator[_Reply]], _Result],
    ) -> _Result:
        """Return what `take` makes of a stream that tells of work, from the leader first. As long as the member says
        something it has time; another one is asked when it dies, or is silent for too long.

        Raises Unavailable when nobody answers in time, and Overloaded at once, as `rehearse`.
        """
        attempts = Attempts(time.monotonic() + self.timeout_s, self.timeout_s, is_change=False, waits=False)

        def heard(replies: Iterator[_Reply], hang_up: Callable[[], object]) -> Iterator[_Reply]:
            for reply in _spoken(replies, hang_up):
                attempts.deadline = time.monotonic() + self.timeout_s
                yield reply

        def attempt(stubs: Stubs, _timeout_s: float) -> _Result:
            call = rpc(stubs)(request)
            try:
                return take(heard(iter(call), call.cancel))
            finally:
                call.cancel()  # nothing, once it has ended

        return self._until_answered(attempt, self._for_change, 1.0, attempts)

    def change_once(self, rpc: Rpc[_Request, _Reply], request: _Request, patience: float = QUICK) -> _Reply:
        """Sends a change that is carried out exactly once, however many attempts it takes.

        Raises as `change`.
        """
        attempts = self.attempts(is_change=True)
        for _ in range(_MAX_SESSIONS):
            session = self._open_session(attempts)
            with self._sequence(session, attempts) as ref:
                headers: _Headers = (*self._actor_header(), (metadata.SESSION, ref.SerializeToString()))

                def attempt(stubs: Stubs, timeout_s: float, headers: _Headers = headers) -> _Reply:
                    return rpc(stubs)(request, timeout=timeout_s, metadata=headers)

                try:
                    return self._until_answered(attempt, self._for_change, patience, attempts)
                except SessionExpired as error:
                    self._forget_session(session)
                    if attempts.maybe_made:
                        raise OutcomeUnknown(
                            "the change may or may not have been made, and Guardian has forgotten its session "
                            f"({error}): look, before you ask for it again"
                        ) from None
        raise Unavailable(f"Guardian forgot {_MAX_SESSIONS} sessions of this client as soon as they were opened: retry")

    def open_session(self, window: int = 0) -> sessions_pb2.OpenSessionReply:
        """A session of the caller's own. `window` 0: the server's default."""
        return self._opened(window, self.attempts(is_change=False).deadline)

    def at(self, endpoint: str) -> Stubs:
        """The member's services; the caller deals with failures, and tells of them (`failed`)."""
        with self._lock:
            self._take_up_new_files()
            if endpoint not in self._channels:
                self._channels[endpoint] = Stubs(endpoint, self._tls, self._bearing)
            return self._channels[endpoint]

    def _take_up_new_files(self) -> None:
        """Calls under way end on the channels that they have: those are closed when the files change once more."""
        if self._tls is None or time.monotonic() < self._stamp_at:
            return
        self._stamp_at = time.monotonic() + _FILES_S
        stamp = self._tls.stamp()
        if not stamp or stamp == self._stamp:
            return
        self._stamp = stamp
        gone, self._retired, self._channels = self._retired, list(self._channels.values()), {}
        for stubs in gone:
            stubs.close()

    def leader(self) -> str:
        """Return where a stream of changes goes: to the leader, or to another member while there is none."""
        return self._for_change()[0]

    def any_member(self) -> str:
        """Return where a stream of reads goes."""
        return self._for_read()[0]

    def failed(self, endpoint: str) -> None:
        """The member did not answer, or not as it should: others come first for a while."""
        with self._lock:
            self._members.failed(endpoint, time.monotonic())
            self._learn_at = 0.0

    def known_endpoints(self) -> tuple[str, ...]:
        """Those that were given, and those that members told of."""
        self._learn()
        with self._lock:
            return self._members.endpoints

    @contextmanager
    def stale(self, allowed_s: float) -> Iterator[Staleness]:
        """Reads of this thread may be that old until it ends."""
        staleness = Staleness(allowed_s)
        self._stale.allowed = staleness
        try:
            yield staleness
        finally:
            self._stale.allowed = None

    def attempts(self, *, is_change: bool) -> Attempts:
        """Begin the attempts of a call."""
        return Attempts(time.monotonic() + self.timeout_s, self.timeout_s, is_change)

    def _actor_header(self) -> _Headers:
        return ((metadata.ACTOR, self._actor),) if self._actor else ()

    def _staleness(self) -> tuple[Staleness, _Headers]:
        """Return how stale this thread's reads may be, and the headers that ask for it."""
        allowed: Staleness | None = getattr(self._stale, "allowed", None)
        if allowed is None:
            return Staleness(0.0), ()
        return allowed, ((metadata.MAX_STALENESS_MS, str(int(allowed.allowed_s * 1000))),)

    def _for_read(self) -> list[str]:
        self._learn()
        with self._lock:
            return self._members.for_read(time.monotonic())

    def _for_change(self) -> list[str]:
        self._learn()
        with self._lock:
            return self._members.for_change(time.monotonic())

    def _until_answered(
        self,
        attempt: Callable[[Stubs, float], _Result],
        order: Callable[[], list[str]],
        patience: float,
        attempts: Attempts,
    ) -> _Result:
        failure: GuardianError | None = None
        while True:
            for endpoint in order():
                left = attempts.deadline - time.monotonic()
                if left <= 0:
                    break
                try:
                    result = attempt(self.at(endpoint), min(left, attempts.timeout_s * patience))
                except grpc.RpcError as error:
                    failure, attempts.has_answer = from_rpc(error), is_from_member(error)
                    attempts.maybe_made |= attempts.is_change and isinstance(failure, OutcomeUnknown)
                    if not is_worth_another_member(failure) or (isinstance(failure, Overloaded) and not attempts.waits):
                        raise failure from None
                    if isinstance(failure, Overloaded):
                        break
                    self.failed(endpoint)
                else:
                    with self._lock:
                        self._members.answered(endpoint)
                    return result
            self.pause(attempts, failure)

    def pause(self, attempts: Attempts, failure: GuardianError | None) -> None:
        """Waits before the next round, for a random time so that many clients do not come back at once.

        Raises what the caller is to know when there is no time for another round.
        """
        left = attempts.deadline - time.monotonic()
        pause_s = random.uniform(0.5, 1.5) * attempts.pause_s  # noqa: S311
        if isinstance(failure, Overloaded):
            pause_s = max(pause_s, random.uniform(1.0, 1.5) * failure.retry_after_ms / 1000)  # noqa: S311
        else:
            pause_s = min(pause_s, left - _LAST_ROUND_S)
        if pause_s <= 0 or pause_s >= left:
            raise self._given_up(attempts, failure)
        attempts.pause_s = min(attempts.pause_s * 2, _MAX_PAUSE_S)
        time.sleep(pause_s)

    def _given_up(self, attempts: Attempts, failure: GuardianError | None) -> GuardianError:
        with self._lock:
            asked = ", ".join(self._members.endpoints)
            is_reached = self._is_reached
        within, fix = f"within {attempts.timeout_s:g} s", "check the endpoints, and that `guardian server` runs there"
        if attempts.has_answer:
            happened, fix = f"Guardian at {asked} could not answer {within}: {failure}", "ask again"
        elif is_reached:
            happened = f"Guardian at {asked} did not finish {within} ({failure})"
            fix = "give it more time, with --timeout on the command line"
        else:
            happened = f"no Guardian member answered at {asked} {within} ({failure})"
        if attempts.maybe_made:
            return OutcomeUnknown(
                f"{happened}; a change may or may not have been made: look, before you ask for it again"
            )
        if isinstance(failure, Overloaded):
            return failure
        return Unavailable(f"{happened}; {fix}" if attempts.has_answer else f"{happened}: {fix}")

    def _learn(self) -> None:
        """Asks all members at once who leads and who belongs to the group; believes the first that knows a leader."""
        now = time.monotonic()
        with self._lock:
            if now < self._learn_at:
                return
            self._learn_at = now + _LEARN_EVERY_S
            asked = self._members.endpoints
        best = self._first_answer(asked)
        with self._lock:
            self._is_reached = best is not None
        if best is None:
            return
        voters = [member.endpoint for member in best.members if member.is_voter and member.endpoint]
        with self._lock:
            self._members.learn(voters, best.leader_endpoint or None)
            if not best.leader_endpoint:
                self._learn_at = now + _LEARN_AGAIN_S

    def _first_answer(self, endpoints: Sequence[str]) -> raft_pb2.RaftStatus | None:
        answers: queue.SimpleQueue[grpc.Future[raft_pb2.RaftStatus]] = queue.SimpleQueue()
        request = raft_pb2.GetRaftStatusRequest()
        under_way = []
        for endpoint in endpoints:
            call = self.at(endpoint).raft.GetRaftStatus.future(request, timeout=_PROBE_S)
            call.add_done_callback(answers.put)
            under_way.append(call)
        best: raft_pb2.RaftStatus | None = None
        for _ in under_way:
            with suppress(grpc.RpcError, grpc.FutureCancelledError):
                status = answers.get().result()
                if best is None or status.leader_endpoint:
                    best = status
                if status.leader_endpoint:
                    break
        for call in under_way:
            call.cancel()
        return best

    def _open_session(self, attempts: Attempts) -> SessionNumbers:
        with self._opening:
            if self._session is None:
                opened = self._opened(0, attempts.deadline)
                self._session = SessionNumbers(opened.session_id, opened.window)
            return self._session

    def _opened(self, window: int, deadline: float) -> sessions_pb2.OpenSessionReply:
        """One that is opened twice does no harm: the other one expires."""
        request = sessions_pb2.OpenSessionRequest(window=window, owner=self._owner)

        def attempt(stubs: Stubs, timeout_s: float) -> sessions_pb2.OpenSessionReply:
            return stubs.sessions.OpenSession(request, timeout=timeout_s)

        return self._until_answered(
            attempt, self._for_change, QUICK, Attempts(deadline, self.timeout_s, is_change=False)
        )

    def _forget_session(self, session: SessionNumbers) -> None:
        with self._opening:
            if self._session is session:
                self._session = None

    @contextmanager
    def _sequence(self, session: SessionNumbers, attempts: Attempts) -> Iterator[sessions_pb2.SessionRef]:
        """A number of the session for one change. Given back when the change has its answer, or nobody waits for it."""
        with self._session_changed:
            left = attempts.deadline - time.monotonic()
            if not self._session_changed.wait_for(lambda: session.has_room, left):
                raise Unavailable(
                    f"{session.window} changes of this client are under way for {self.timeout_s:g} s: retry"
                )
            sequence = session.take()
            ref = session.ref(sequence)
        try:
            yield ref
        finally:
            with self._session_changed:
                session.release(sequence)
                self._session_changed.notify_all()


def _awaited(call: grpc.Future[_Reply], while_waiting: Callable[[], object]) -> _Reply:
    """Return what a call is answered; one that whoever waits gives up is cancelled, so that the member hears of it."""
    try:
        while True:
            try:
                return call.result(_LOOK_S)
            except grpc.FutureTimeoutError:
                while_waiting()
    finally:
        call.cancel()  # nothing, once it has ended


class _Silent(grpc.RpcError):
    """Say that a member which streams says nothing any more, as gRPC says it of a call."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.DEADLINE_EXCEEDED

    def details(self) -> str:
        return f"it said nothing for {_SILENT_S:g} s"

    def trailing_metadata(self) -> tuple[()]:
        return ()


def _spoken(replies: Iterator[_Reply], hang_up: Callable[[], object]) -> Iterator[_Reply]:
    """Yield the replies of a stream. Raises _Silent where none comes for too long."""
    while True:
        silent = threading.Event()
        watch = threading.Timer(_SILENT_S, _end_silent, (silent, hang_up))
        watch.daemon = True
        watch.start()
        try:
            reply = next(replies)
        except StopIteration:
            return
        except grpc.RpcError:
            if silent.is_set():
                raise _Silent from None
            raise
        finally:
            watch.cancel()
        yield reply


def _end_silent(silent: threading.Event, hang_up: Callable[[], object]) -> None:
    silent.set()
    hang_up()
