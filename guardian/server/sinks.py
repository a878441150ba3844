"""Sends events to the sinks of the configuration. On the leader only.

    store ── events behind the sink's cursor ──▶ core.notifying ──▶ POST ──▶ cursor ──▶ store

Every event that a sink wants reaches it at least once, in order: the cursor goes on only behind what was taken, so the
next leader goes on there, and an event whose answer was lost comes again (its id tells). A sink that does not answer
holds up no other: each has a thread of its own while it works, and pauses ever longer after a failure. What it refuses
as bad (400 to 499, but for 408, 425 and 429, and for 401, 403, 404, 407 and 410, which end when its token or address is
put right) would be refused for ever, so it is passed over, and said. A sink that is new gets what happens from then on.
An Alertmanager is told again and again of what lasts: one that was started anew has forgotten it.
"""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from guardian.core.notifying import Post, post_of, standing
from guardian.errors import GuardianError, InvalidInput, Unavailable
from guardian.model.event import Event
from guardian.model.sink import Sink, SinkKind, require_url
from guardian.server.store import ReplicatedStore
from protos.guardian.v1 import events_pb2, records_pb2

_AT_ONCE = 100  # events between two looks at the cursor
_FIRST_PAUSE_S = 1.0
_MOST_PAUSE_S = 60.0
_ANSWER_BYTES = 65536
_AGAIN = (401, 403, 404, 407, 408, 410, 425, 429)
_REMIND_EVERY_S = 60.0
_TRIM_EVERY_S = 60.0


class Refused(Exception):
    """The sink will never take this."""


class NotTaken(Exception):
    """The sink did not take it now."""


@dataclass(frozen=True, slots=True)
class SinkCounters:
    """Since this process started."""

    delivered: int = 0
    passed_over: int = 0
    failures: int = 0


@dataclass(slots=True)
class _Line:
    """A sink, what it is at work on, and when it may try again."""

    sink: Sink
    counters: SinkCounters = field(default_factory=SinkCounters)
    work: Future[str] | None = None
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
        self._pool = ThreadPoolExecutor(max(1, len(sinks)), thread_name_prefix="sink")
        self._trim_at_s = 0.0

    def tick(self) -> list[str]:
        """Takes up what is new; sentences about what went wrong and what was forgotten. Raises as the store does."""
        sentences: list[str] = []
        for line in self._lines:
            if line.work is not None and line.work.done():
                sentences += self._ended(line)
            if line.work is None and self._clock_s() >= line.again_at_s and self._has_work(line):
                line.work = self._pool.submit(self._deliver, line)
        return sentences + self._trim()

    def counters(self) -> dict[str, SinkCounters]:
        return {line.sink.name: line.counters for line in self._lines}

    def close(self) -> None:
        """Returns when the calls under way have ended."""
        self._pool.shutdown(cancel_futures=True)

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
            return [f"sink {line.sink.name} gets its events later: {error}"]
        line.failed_in_row = 0
        return [said] if said else []

    def _has_work(self, line: _Line) -> bool:
        return self._is_to_be_reminded(line) or self._has_news(line.sink)

    def _is_to_be_reminded(self, line: _Line) -> bool:
        return line.sink.kind is SinkKind.ALERTMANAGER and self._clock_s() >= line.remind_at_s

    def _has_news(self, sink: Sink) -> bool:
        views = self._store.read_local()
        delivered = views.event_delivered(sink.name)
        return delivered is None or bool(views.events(delivered, 1))

    def _deliver(self, line: _Line) -> str:
        """On the sink's own thread. Raises NotTaken with all before it noted as delivered."""
        sink = line.sink
        views = self._store.read()
        if not self._store.is_leader():
            raise Unavailable("this member leads no longer: the new leader goes on")
        done = views.event_delivered(sink.name)
        if done is None:
            self._note(sink, views.applied_index << 8)
            return f"sink {sink.name} is new: it gets what happens from now on"
        events = views.events(done, _AT_ONCE)
        del views  # a snapshot that is held while the sink thinks would keep all that is replaced meanwhile
        said = ""
        try:
            for event in events:
                said = self._give(line, event) or said
                done = event.id
        finally:
            if events:
                self._note(sink, done)
        if len(events) < _AT_ONCE and self._is_to_be_reminded(line):
            said = self._remind(line) or said
        return said

    def _remind(self, line: _Line) -> str:
        """Behind all events: what they have ended is not told again."""
        line.remind_at_s = self._clock_s() + _REMIND_EVERY_S
        views = self._store.read()
        if not self._store.is_leader():
            raise Unavailable("this member leads no longer: the new leader goes on")
        wanted = standing(line.sink, views.tickets(), views.calls(), self._now_ms())
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
        oldest = self._store.read_local().events(0, 1000)
        old = [event for event in oldest if event.at_ms < horizon_ms]
        if not old:
            return []
        command = events_pb2.PutEvents(trim_below=old[-1].id + 1)
        swept = self._store.propose(records_pb2.Command(put_events=command)).swept
        self._trim_at_s = 0.0  # there may be more
        return [f"{swept} old events were forgotten"]


def post(sink: Sink, wanted: Post) -> None:
    """One POST. Raises Refused or NotTaken, with a sentence that tells no secret."""
    headers = {"Content-Type": wanted.content_type, "User-Agent": "guardian"}
    url = sink.url or _read("url_file", sink.url_file)
    try:
        require_url(f"url_file of sink {sink.name}", url)
    except InvalidInput as error:
        raise NotTaken(str(error)) from None
    if sink.token_file is not None:
        token = _read("token_file", sink.token_file)
        if not token or not token.isascii() or not token.isprintable():
            raise NotTaken(f"token_file {sink.token_file} holds no token: give one line")
        headers["Authorization"] = f"Bearer {token}"
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(
            host, port, timeout=sink.timeout_s, context=ssl.create_default_context()
        )
    else:
        connection = http.client.HTTPConnection(host, port, timeout=sink.timeout_s)
    target = (parts.path.rstrip("/") if wanted.path else parts.path or "/") + wanted.path
    try:
        connection.request("POST", f"{target}?{parts.query}" if parts.query else target, wanted.body, headers)
        answer = connection.getresponse()
        text = answer.read(_ANSWER_BYTES).decode(errors="replace")
    except (OSError, ValueError, http.client.HTTPException) as error:  # ValueError: a content type that is no header's
        raise NotTaken(f"{host} does not take it ({error or type(error).__name__})") from None
    finally:
        connection.close()
    if 200 <= answer.status < 300:
        return
    first = next(iter(text.splitlines()), "")[:200]
    sentence = f"{host} answers {answer.status} {answer.reason}" + (f": {first}" if first else "")
    if 400 <= answer.status < 500 and answer.status not in _AGAIN:
        raise Refused(sentence)
    raise NotTaken(sentence)


def _read(setting: str, path: Path | None) -> str:
    if path is None:
        raise NotTaken(f"{setting} is not given")
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NotTaken(f"{setting} {path} can't be read: {getattr(error, 'strerror', None) or 'no text'}") from None
