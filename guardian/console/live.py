"""What changes while people look on, told by server-sent events: one upstream watch, shared by all open pages.

    member ──look──▶ Feed (one thread a thing that somebody looks at) ──▶ one message, made once ──▶ every open page

A feed looks once a second, and less often where a look is dear: it never takes more than a small share of a core. A
page that is slow misses what is old: it gets the newest message, never a queue of them. A feed ends when nobody has
looked on for a while, so that no thread is left behind by pages that were closed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import structlog
from fastapi.responses import Response, StreamingResponse

from guardian.errors import GuardianError, NotAllowed, NotFound, NotSignedIn, Overloaded

_log = structlog.get_logger(__name__)

HEARTBEAT_S = 15.0  # proxies close what is silent
LEAST_PAUSE_S = 1.0  # between two looks: eyes need no more
_MOST_SHARE = 0.03  # of a core, that a feed takes
_LINGER_S = 5.0  # a page that is loaded again finds its feed
_FAILURES = 5  # in a row, before a feed gives up: pages come again by themselves
_MOST_FEEDS = 100
_MOST_PAGES = 500
_RETRY_MS = 5000


class Look(NamedTuple):
    """What is to be told, as JSON knows it; the same again is not told. `is_over`: nothing will change any more."""

    message: Mapping[str, object]
    is_over: bool = False


def fingerprint(value: object) -> str:
    """Return a short text that is another one when a page shows something else; `value` is told by its repr."""
    return hashlib.blake2b(repr(value).encode(), digest_size=8).hexdigest()


Upstream = Callable[[], Look]


@dataclass(eq=False, slots=True)
class _Page:
    """One open page; its loop is that of the web server."""

    loop: asyncio.AbstractEventLoop
    changed: asyncio.Event
    newest: str = ""
    is_over: bool = False


class Feed:
    """Watches one thing as long as a page is open, and a little longer."""

    def __init__(self, name: str, upstream: Upstream, pause_s: float, person: str = "") -> None:
        self.person = person
        self._name = name
        self._upstream = upstream
        self._pause_s = pause_s
        self._lock = threading.Lock()
        self._pages: list[_Page] = []
        self._newest = ""
        self._is_over = False
        self._is_final = False
        self._left_at = time.monotonic()
        self._closing = threading.Event()
        threading.Thread(target=self._run, name=f"live-{name}", daemon=True).start()

    @property
    def pages(self) -> int:
        with self._lock:
            return len(self._pages)

    @property
    def is_over(self) -> bool:
        with self._lock:
            return self._is_over

    @property
    def is_final(self) -> bool:
        """Nothing will change any more, or nothing is to be seen: pages need not come again."""
        return self._is_final

    def join(self) -> _Page:
        """A page that hears of each change from now on, and of the newest at once. On the web server's loop."""
        page = _Page(asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._pages.append(page)
            page.newest, page.is_over = self._newest, self._is_over
        if page.newest or page.is_over:
            page.changed.set()
        return page

    def leave(self, page: _Page) -> None:
        with self._lock:
            if page in self._pages:
                self._pages.remove(page)
            self._left_at = time.monotonic()

    def end_newest_page(self) -> None:
        """End the stream of the page that came last, if there is one; its browser asks again."""
        with self._lock:
            page = self._pages.pop() if self._pages else None
        if page is not None:
            self._wake(page, None)

    def close(self) -> None:
        """The streams of all pages end, and the thread after its present look."""
        self._closing.set()
        self._end()

    def _is_wanted(self) -> bool:
        with self._lock:
            return bool(self._pages) or time.monotonic() - self._left_at < _LINGER_S

    def _run(self) -> None:
        failures = 0
        try:
            while not self._closing.is_set() and self._is_wanted() and failures < _FAILURES:
                began = time.thread_time()
                try:
                    found = self._upstream()
                except (NotFound, NotAllowed, NotSignedIn):
                    self._is_final = True
                    return
                except GuardianError as error:
                    failures += 1
                    _log.info("a live look failed", feed=self._name, why=str(error))
                else:
                    failures = 0
                    self._tell(json.dumps(found.message, separators=(",", ":"), allow_nan=False))
                    if found.is_over:
                        self._is_final = True
                        return
                self._closing.wait(max(self._pause_s, (time.thread_time() - began) / _MOST_SHARE))
        except Exception:  # noqa: BLE001  pages come again
            _log.exception("a live feed failed", feed=self._name)
        finally:
            self._end()

    def _tell(self, text: str) -> None:
        with self._lock:
            if text == self._newest:
                return
            self._newest = text
            pages = list(self._pages)
        for page in pages:
            self._wake(page, text)

    def _end(self) -> None:
        with self._lock:
            self._is_over = True
            pages = list(self._pages)
        for page in pages:
            self._wake(page, None)

    @staticmethod
    def _wake(page: _Page, text: str | None) -> None:
        def set_newest() -> None:
            if text is None:
                page.is_over = True
            else:
                page.newest = text
            page.changed.set()

        with suppress(RuntimeError):  # the web server has ended
            page.loop.call_soon_threadsafe(set_newest)


class LiveFeeds:
    """All feeds of a member's console, shared out among persons. Each has so many pages at most, and where all are
    taken one who has few gets a page of who has most. Thread-safe.
    """

    def __init__(
        self, pause_s: float = LEAST_PAUSE_S, heartbeat_s: float = HEARTBEAT_S, pages_per_person: int = _MOST_PAGES
    ) -> None:
        self._pause_s = pause_s
        self._heartbeat_s = heartbeat_s
        self._pages_per_person = pages_per_person
        self._lock = threading.Lock()
        self._feeds: dict[str, Feed] = {}
        self._closed = False

    @property
    def feeds(self) -> int:
        """That watch something now."""
        with self._lock:
            return sum(not feed.is_over for feed in self._feeds.values())

    def require_room(self, person: str = "") -> None:
        """Raises Overloaded when too many pages are open, of this person or of all: before an answer begins, which
        could not say it any more."""
        with self._lock:
            if self._closed:
                raise Overloaded("the member is stopping: look again at another one", _RETRY_MS)
            open_feeds = [feed for feed in self._feeds.values() if not feed.is_over and feed.pages]
            held: Counter[str] = Counter()
            for feed in open_feeds:
                held[feed.person] += feed.pages
            if held[person] >= self._pages_per_person:
                raise Overloaded(f"{held[person]} live pages of yours are open at this member: close some", _RETRY_MS)
            if len(open_feeds) < _MOST_FEEDS and held.total() < _MOST_PAGES:
                return
            heaviest, most = held.most_common(1)[0]
            if most <= held[person] + 1:
                raise Overloaded(f"{held.total()} live pages are open at this member: close some", _RETRY_MS)
            next(feed for feed in open_feeds if feed.person == heaviest).end_newest_page()

    def _join(self, name: str, upstream: Upstream, person: str) -> tuple[Feed, _Page]:
        """The feed of that name, begun when there is none."""
        with self._lock:
            self._feeds = {key: feed for key, feed in self._feeds.items() if not feed.is_over}
            feed = self._feeds.get(name) or Feed(name, upstream, self._pause_s, person)
            self._feeds[name] = feed
            return feed, feed.join()

    async def messages(self, name: str, upstream: Upstream, person: str = "") -> AsyncIterator[str]:
        """Server-sent events: `change` with what is new, a comment now and then, `over` when nothing will change any
        more. What ends without it is to be asked for again, as browsers do by themselves. On the web server's loop."""
        try:
            self.require_room(person)  # again: many may have been let in at once
        except Overloaded:
            return
        feed, page = self._join(name, upstream, person)
        try:
            yield f"retry: {_RETRY_MS}\n\n"
            while True:
                try:
                    await asyncio.wait_for(page.changed.wait(), self._heartbeat_s)
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                page.changed.clear()
                text, page.newest, is_over = page.newest, "", page.is_over
                if text:
                    yield f"event: change\ndata: {text}\n\n"
                if is_over:
                    if feed.is_final:
                        yield "event: over\ndata: {}\n\n"
                    return
        finally:
            feed.leave(page)

    def answer(self, name: str, upstream: Upstream, person: str) -> Response:
        """The stream of `messages` as an answer. Raises Overloaded before it begins."""
        self.require_room(person)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        messages = self.messages(name, upstream, person)
        return StreamingResponse(messages, media_type="text/event-stream", headers=headers)

    def close(self) -> None:
        """Ends all feeds, and with them the answers of open pages."""
        with self._lock:
            self._closed = True
            feeds = list(self._feeds.values())
        for feed in feeds:
            feed.close()
