"""Sends events to the sinks of the configuration. On the leader only.

    store ── events behind the sink's cursor ──▶ rules.notifying ──▶ POST ──▶ cursor ──▶ store

Every event that a sink wants reaches it at least once, in order. The cursor goes on only behind what was taken, so the
next leader goes on there. An event whose answer was lost comes again (its id tells). A sink that does not answer holds
up no other: each has a thread of its own while it works, and pauses ever longer after a failure. What it refuses as bad
(400 to 499) would be refused for ever, so it is passed over, and said. Not so 408, 425 and 429, nor 401, 403, 404, 407
and 410, which end when its token or address is put right. A sink that is new gets what happens from then on. An
Alertmanager is told again and again of what lasts: one that was started anew has forgotten it.

An outage is said when it begins, when its reason changes and when it is over. Meanwhile how far a sink is behind, its
last failure and what it will never get can be asked for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace

from guardian.errors import GuardianError, Unavailable
from guardian.events.loop.posting import NotTaken, Refused, ToBeMended, post
from guardian.events.model import Sink, SinkKind
from guardian.events.rules.notifying import FAILED_FOR_MS, Post, is_sent, post_of, standing
from guardian.model.event import Event
from guardian.replication.store.state import Views
from guardian.replication.store.store import ReplicatedStore
from protos.guardian.v1 import events_pb2, records_pb2

_AT_ONCE = 100  # events between two looks at the cursor
_FIRST_PAUSE_S = 1.0
_MOST_PAUSE_S = 60.0
_REMIND_EVERY_S = 60.0
_TRIM_EVERY_S = 60.0
_NOTE_EVERY_S = 5.0  # while one event after the other is taken, but slowly
_CLOSE_S = 5.0


@dataclass(frozen=True, slots=True)
class SinkCounters:
    """Since this process started. `lost`: forgotten for their age before the sink got them."""

    delivered: int = 0
    passed_over: int = 0
    failures: int = 0
    lost: int = 0


@dataclass(slots=True)
class _Line:
    """A sink, what it is at work on, and when it may try again. `error`: why it failed last; empty when it did not.

    The sink's thread counts what it sends while there is work; `lost` is counted by who ticks at any time.
    """

    sink: Sink
    counters: SinkCounters = field(default_factory=SinkCounters)
    lost: int = 0
    work: Future[str] | None = None
    error: str = ""
    failed_in_row: int = 0
    again_at_s: float = 0.0
    remind_at_s: float = 0.0


Send = Callable[[Sink, Post], None]


class EventSinks:
    """One thread calls `tick`, on the leader. Events are kept for `keep_ms`. `send` raises Refused or NotTaken."""

    def __init__(
        self,
        store: ReplicatedStore,
        sinks: Sequence[Sink],
        keep_ms: int,
        now_ms: Callable[[], int],
        send: Send | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._lines = [_Line(sink) for sink in sinks]
        self._keep_ms = keep_ms
        self._now_ms = now_ms
        self._send = send or post
        self._clock_s = clock_s
        self._trim_at_s = 0.0
        self._is_closing = threading.Event()

    def tick(self) -> list[str]:
        """Takes up what is new; sentences about what went wrong and what was forgotten. Raises as the store does."""
        sentences: list[str] = []
        for line in self._lines:
            if line.work is not None and line.work.done():
                sentences += self._ended(line)
            if line.work is None and self._clock_s() >= line.again_at_s and self._has_work(line):
                line.work = self._begin(line)
        return sentences + self._trim()

    @property
    def sinks(self) -> tuple[Sink, ...]:
        return tuple(line.sink for line in self._lines)

    def counters(self) -> dict[str, SinkCounters]:
        return {line.sink.name: replace(line.counters, lost=line.lost) for line in self._lines}

    def errors(self) -> dict[str, str]:
        """Return by sink why it failed last; empty when it did not. Raises Unavailable where another member sends."""
        if not self._store.is_leader():
            raise Unavailable("this member does not lead, and only the leader sends events to sinks: ask the leader")
        return {line.sink.name: line.error for line in self._lines}

    def behind_ms(self, views: Views) -> dict[str, int]:
        """Return by sink the age of the oldest event that it is still to get; 0 when there is none."""
        return {sink.name: _behind_ms(views, sink, self._now_ms()) for sink in self.sinks}

    def close(self) -> None:
        """Nothing more is begun. Returns when what is under way has ended, after five seconds at the latest."""
        self._is_closing.set()
        wait([line.work for line in self._lines if line.work is not None], _CLOSE_S)

    def _begin(self, line: _Line) -> Future[str]:
        """Begin a delivery on a thread that does not keep the process from ending: a name's look-up can't be
        stopped.
        """
        work: Future[str] = Future()

        def run() -> None:
            try:
                said = self._deliver(line)
            except Exception as error:  # noqa: BLE001  whoever ticks raises it
                work.set_exception(error)
            else:
                work.set_result(said)

        threading.Thread(target=run, name=f"sink-{line.sink.name}", daemon=True).start()
        return work

    def _ended(self, line: _Line) -> list[str]:
        work, line.work = line.work, None
        if work is None:
            return []
        try:
            said = work.result()
        except (GuardianError, NotTaken) as error:
            line.counters = replace(line.counters, failures=line.counters.failures + 1)
            pause_s = min(_FIRST_PAUSE_S * 2**line.failed_in_row, _MOST_PAUSE_S)
            line.failed_in_row = min(line.failed_in_row + 1, 10)
            line.again_at_s = self._clock_s() + pause_s
            is_known, line.error = line.error == str(error), str(error)
            if is_known:
                return []
            if isinstance(error, ToBeMended):
                return [f"sink {line.sink.name} gets nothing before its address or token is put right: {error}"]
            return [f"sink {line.sink.name} gets its events later: {error}"]
        sentences = [f"sink {line.sink.name} takes its events again"] if line.error else []
        line.error, line.failed_in_row = "", 0
        return [*sentences, said] if said else sentences

    def _has_work(self, line: _Line) -> bool:
        return self._is_to_be_reminded(line) or self._has_news(line.sink)

    def _is_to_be_reminded(self, line: _Line) -> bool:
        return line.sink.kind is SinkKind.ALERTMANAGER and self._clock_s() >= line.remind_at_s

    def _has_news(self, sink: Sink) -> bool:
        views = self._store.read_local()
        delivered = views.event_delivered(sink.name)
        return delivered is None or bool(views.events(delivered, 1))

    def _deliver(self, line: _Line) -> str:
        """Deliver events, on the sink's own thread. Raises NotTaken with all before it noted as delivered."""
        sink = line.sink
        views = self._store.read()
        if not self._store.is_leader():
            raise Unavailable("this member leads no longer: the new leader goes on")
        done = views.event_delivered(sink.name)
        if done is None:
            self._note(sink, views.last_event_id)
            return f"sink {sink.name} is new: it gets what happens from now on"
        events = views.events(done, _AT_ONCE)
        del views  # a snapshot that is held while the sink thinks would keep all that is replaced meanwhile
        said, noted, noted_at_s = "", done, self._clock_s()
        try:
            for event in events:
                if self._is_closing.is_set():
                    break
                said = self._give(line, event) or said
                done = event.id
                if self._clock_s() - noted_at_s >= _NOTE_EVERY_S:
                    self._note(sink, done)
                    noted, noted_at_s = done, self._clock_s()
        finally:
            if done != noted:
                self._note(sink, done)
        if len(events) < _AT_ONCE and self._is_to_be_reminded(line) and not self._is_closing.is_set():
            said = self._remind(line) or said
        return said

    def _remind(self, line: _Line) -> str:
        """Behind all events: what they have ended is not told again."""
        line.remind_at_s = self._clock_s() + _REMIND_EVERY_S
        views = self._store.read()
        if not self._store.is_leader():
            raise Unavailable("this member leads no longer: the new leader goes on")
        now_ms = self._now_ms()
        wanted = standing(line.sink, views.recent_tickets(now_ms - FAILED_FOR_MS), views.calls(), now_ms)
        del views
        if wanted is None:
            return ""
        try:
            self._send(line.sink, wanted)
        except Refused as error:
            return f"sink {line.sink.name} refuses to be told again of what lasts: {error}"
        return ""

    def _give(self, line: _Line, event: Event) -> str:
        wanted = post_of(line.sink, event) if line.sink.wants(event) else None
        if wanted is None:
            return ""
        try:
            self._send(line.sink, wanted)
        except Refused as error:
            line.counters = replace(line.counters, passed_over=line.counters.passed_over + 1)
            return f"sink {line.sink.name} refuses event {event.id}, which is passed over: {error}"
        line.counters = replace(line.counters, delivered=line.counters.delivered + 1)
        return ""

    def _note(self, sink: Sink, delivered: int) -> None:
        cursor = events_pb2.SinkCursor(sink=sink.name, delivered=delivered)
        self._store.propose(records_pb2.Command(put_events=events_pb2.PutEvents(cursors=[cursor])))

    def _trim(self) -> list[str]:
        if self._clock_s() < self._trim_at_s:
            return []
        self._trim_at_s = self._clock_s() + _TRIM_EVERY_S
        horizon_ms = self._now_ms() - self._keep_ms
        views = self._store.read_local()
        oldest = views.events(0, 1000)
        old = [event for event in oldest if event.at_ms < horizon_ms]
        if not old:
            return []
        gone = [event for event in oldest if event.id <= old[-1].id]
        lacking = {line.sink.name: _to_send(views, line.sink, gone) for line in self._lines}
        del views
        command = events_pb2.PutEvents(trim_below=old[-1].id + 1)
        swept = self._store.propose(records_pb2.Command(put_events=command)).swept
        self._trim_at_s = 0.0  # there may be more
        sentences = [f"{swept} old events were forgotten"]
        for line in self._lines:
            if lost := len(lacking[line.sink.name]):
                line.lost += lost
                why = f": {line.error}" if line.error else ""
                sentences.append(f"sink {line.sink.name} never got {lost} of the events that were forgotten{why}")
        return sentences


def _behind_ms(views: Views, sink: Sink, now_ms: int) -> int:
    delivered = views.event_delivered(sink.name)
    # One that is down stands before an event that it wants: what others have written since need not be looked at.
    waiting = _to_send(views, sink, views.events(delivered, _AT_ONCE)) if delivered is not None else []
    return max(0, now_ms - waiting[0].at_ms) if waiting else 0


def _to_send(views: Views, sink: Sink, events: Sequence[Event]) -> list[Event]:
    """Those that the sink is still to get. One that is new gets what happens from then on."""
    delivered = views.event_delivered(sink.name)
    if delivered is None:
        return []
    return [event for event in events if event.id > delivered and is_sent(sink, event)]
