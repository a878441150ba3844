"""Where everything that a member plans is asked for: who runs next is decided by guardian.planning.rules.turns.

    people    REST, console, gRPC ──┐
    lookups   REST ─────────────────┼──▶ Desk ──▶ a thread for each piece of work that is under way
    tickets   removals, stale plans ┤             (LivePlanner makes the plan in a process of its own)
    healing ────────────────────────┘

What waits holds no thread. Whoever asks gets a Job at once, or Overloaded at once. A job can be given up at any time:
one that waits leaves the line, one under way has its worker process ended. A member that ends gives up all of them.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, Generic, TypeVar

from guardian.errors import GuardianError, Overloaded, Unavailable
from guardian.planning.model import Lane, LaneLimits, Step
from guardian.planning.rules.turns import Line, Turn, before, joined, left

Result = TypeVar("Result")
_RETRY_MS = 30_000
_PENDING = "Pending"  # as Cruise Control calls it


class Job(Generic[Result]):
    """A piece of work that somebody asked for. Thread-safe; `future` has its result, or the GuardianError."""

    def __init__(
        self,
        lane: Lane,
        turn: Turn,
        give_up: Callable[[Job[Any], GuardianError], None],
        now_ms: Callable[[], int],
    ) -> None:
        self.lane = lane
        self.turn = turn
        self.future: Future[Result] = Future()
        self.began_s = time.monotonic()
        self._give_up = give_up
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self._steps: list[Step] = [Step(_PENDING, "it waits for its turn", now_ms())]
        self._why: GuardianError | None = None
        self._endings: list[Callable[[], None]] = []

    @property
    def id(self) -> str:
        return self.turn.id

    @property
    def is_given_up(self) -> bool:
        """Return whether nobody wants it any more."""
        return self._why is not None

    def steps(self) -> tuple[Step, ...]:
        """Return what it has done so far, and does now."""
        with self._lock:
            return tuple(self._steps)

    def step(self, name: str, description: str) -> None:
        """Begin the next step; the one before it is over. Raises GuardianError where nobody wants it any more."""
        self.require_wanted()
        now_ms = self._now_ms()
        with self._lock:
            self._end_step(now_ms)
            self._steps.append(Step(name, description, now_ms))

    def end(self) -> None:
        """End the last step."""
        now_ms = self._now_ms()
        with self._lock:
            self._end_step(now_ms)

    def require_wanted(self) -> None:
        """Raises the GuardianError with which it was given up."""
        if self._why is not None:
            raise self._why

    def cancel(self, why: str) -> None:
        """Give it up; does nothing once it is done. Who waits for it gets Unavailable with this sentence."""
        self._give_up(self, Unavailable(why))

    @contextmanager
    def ending(self, end: Callable[[], None]) -> Iterator[None]:
        """Call `end` when it is given up meanwhile, at once if it was before."""
        with self._lock:
            is_wanted = self._why is None
            self._endings.append(end)
        if not is_wanted:
            end()
        try:
            yield
        finally:
            with self._lock:
                self._endings.remove(end)

    def abandon(self, why: GuardianError) -> None:
        """Remember why it is given up, and end what it has begun. For the desk."""
        with self._lock:
            if self._why is not None:
                return
            self._why = why
            endings = list(self._endings)
        for end in endings:
            end()

    def _end_step(self, now_ms: int) -> None:
        if self._steps and not self._steps[-1].ended_ms:
            last = self._steps[-1]
            self._steps[-1] = Step(last.name, last.description, last.began_ms, now_ms)


class Desk:
    """Thread-safe. What waited for `wait_s` in a lane of bounded length is given up."""

    def __init__(self, lanes: Mapping[Lane, LaneLimits], wait_s: float, now_ms: Callable[[], int]) -> None:
        self._lanes = dict(lanes)
        self._wait_s = wait_s
        self._now_ms = now_ms
        self._changed = threading.Condition()
        self._lines = {lane: Line() for lane in lanes}
        self._jobs: dict[str, tuple[Job[Any], Callable[[Job[Any]], Any]]] = {}
        self._pool = ThreadPoolExecutor(sum(each.at_once for each in lanes.values()), thread_name_prefix="plan")
        self._is_closed = False
        self._watch = threading.Thread(target=self._give_up_late, name="plans-late", daemon=True)
        self._watch.start()

    def submit(self, lane: Lane, person: str, what: str, work: Callable[[Job[Result]], Result]) -> Job[Result]:
        """Take work for a person, which begins when it is his turn. Never waits.

        Raises Overloaded where too much of his, or of all, waits; Unavailable once the member ends.
        """
        turn, context = Turn(uuid.uuid4().hex, person, what), copy_context()  # it is a part of the asker's trace
        job: Job[Result] = Job(lane, turn, self._abandoned, self._now_ms)
        with self._changed:
            if self._is_closed:
                raise Unavailable("this member ends: ask another one")
            line, begun = joined(self._lines[lane], turn, self._lanes[lane])
            self._jobs[turn.id] = (job, lambda job: context.run(work, job))
            self._set(lane, line, begun)
        return job

    def before(self, job: Job[Any]) -> tuple[int, int]:
        """Return how much waits before the job that the same person asked for, and how much others have waiting."""
        with self._changed:
            return before(self._lines[job.lane], job.id)

    def close(self) -> None:
        """Give up all that waits or is under way, and wait for the end of it."""
        why = Unavailable("this member ended before it was done: ask again, at another one")
        with self._changed:
            self._is_closed = True
            waiting = [self._jobs.pop(turn.id)[0] for line in self._lines.values() for turn in line.waiting]
            self._lines = {lane: Line(line.running) for lane, line in self._lines.items()}
            running = [job for job, _ in self._jobs.values()]
            self._changed.notify_all()
        for job in running:
            job.abandon(why)
        for job in waiting:
            job.end()
            job.future.set_exception(why)
        self._pool.shutdown()
        self._watch.join()

    def _abandoned(self, job: Job[Any], why: GuardianError) -> None:
        job.abandon(why)
        with self._changed:
            waits = any(turn.id == job.id for turn in self._lines[job.lane].waiting)
            if waits:
                self._leave(job)
        if waits:
            job.end()
            job.future.set_exception(why)

    def _set(self, lane: Lane, line: Line, begun: tuple[Turn, ...]) -> None:
        self._lines[lane] = line
        for turn in begun:
            self._pool.submit(self._run, *self._jobs[turn.id])
        self._changed.notify_all()

    def _leave(self, job: Job[Any]) -> None:
        line, begun = left(self._lines[job.lane], job.id, self._lanes[job.lane])
        del self._jobs[job.id]
        self._set(job.lane, line, begun)

    def _run(self, job: Job[Any], work: Callable[[Job[Any]], Any]) -> None:
        """Do the work. It leaves the line before its result is there: who has it may ask for the next one."""
        result, error = None, None
        try:
            job.require_wanted()
            result = work(job)
        except BaseException as raised:  # noqa: BLE001  whoever waits for it is told
            error = raised
        job.end()
        with self._changed:
            self._leave(job)
        if error is not None:
            job.future.set_exception(error)
        else:
            job.future.set_result(result)

    def _give_up_late(self) -> None:
        """Watch those that wait too long."""
        while True:
            with self._changed:
                if self._is_closed:
                    return
                now_s = time.monotonic()
                waiting = [
                    self._jobs[turn.id][0]
                    for lane, line in self._lines.items()
                    if self._lanes[lane].waiting is not None
                    for turn in line.waiting
                ]
                late = [job for job in waiting if now_s - job.began_s >= self._wait_s]
                if not late:
                    left_s = min((self._wait_s - (now_s - job.began_s) for job in waiting), default=None)
                    self._changed.wait(left_s)
            for job in late:
                why = f"{job.turn.what} of {job.turn.person}: not begun within {self._wait_s:g} s; ask again later"
                self._abandoned(job, Overloaded(why, _RETRY_MS))
