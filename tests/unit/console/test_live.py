"""One look for all pages that are open; nothing is left behind when they are closed."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from guardian.console.live import LiveFeeds, Look
from guardian.errors import NotFound, Overloaded, Unavailable
from tests import patience


@pytest.fixture
def feeds() -> Iterator[LiveFeeds]:
    feeds = LiveFeeds(pause_s=0.01, heartbeat_s=30.0)
    yield feeds
    feeds.close()


class Source:
    """What is looked at: a number that tests change. Counts the looks."""

    def __init__(self) -> None:
        self.value = 0
        self.looks = 0
        self.is_over = False
        self.failure: Exception | None = None
        self.failing_looks = 0
        self.threads: set[str] = set()

    def look(self) -> Look:
        self.looks += 1
        self.threads.add(threading.current_thread().name)
        if self.failing_looks:
            self.failing_looks -= 1
            raise Unavailable("no leader")
        if self.failure is not None:
            raise self.failure
        return Look({"value": self.value}, self.is_over)


async def values(stream: AsyncIterator[str]) -> AsyncIterator[object]:
    """Of each change; the word "over" at the end."""
    async for event in stream:
        if event.startswith("event: change"):
            yield json.loads(event.split("data: ", 1)[1])["value"]
        elif event.startswith("event: over"):
            yield "over"


async def next_of(found: AsyncIterator[object]) -> object:
    return await asyncio.wait_for(anext(found), patience.PATIENCE_S)


async def rest_of(found: AsyncIterator[object]) -> list[object]:
    return await asyncio.wait_for(collect(found), patience.PATIENCE_S)


async def collect(found: AsyncIterator[object]) -> list[object]:
    return [each async for each in found]


async def until(holds: Callable[[], bool]) -> None:
    await asyncio.to_thread(patience.until, holds)


def test_all_pages_hear_of_each_change_from_one_watch(feeds: LiveFeeds) -> None:
    source = Source()

    async def run() -> None:
        pages = [values(feeds.messages("t-1", source.look)) for _ in range(5)]
        assert [await next_of(page) for page in pages] == [0] * 5
        source.value = 1
        assert [await next_of(page) for page in pages] == [1] * 5
        assert source.threads == {"live-t-1"}, "one thread, however many pages"
        assert feeds.feeds == 1
        source.value = 2
        source.is_over = True
        assert [await next_of(page) for page in pages] == [2] * 5
        assert [await next_of(page) for page in pages] == ["over"] * 5

    asyncio.run(run())
    assert feeds.feeds == 0


def test_a_page_that_comes_later_gets_the_newest_at_once(feeds: LiveFeeds) -> None:
    source = Source()

    async def run() -> None:
        first = values(feeds.messages("t-1", source.look))
        await next_of(first)
        source.value = 7
        assert await next_of(first) == 7
        assert await next_of(values(feeds.messages("t-1", source.look))) == 7

    asyncio.run(run())


@pytest.mark.slow
def test_a_page_that_is_slow_gets_the_newest_and_no_queue(feeds: LiveFeeds) -> None:
    source = Source()

    async def run() -> None:
        page = values(feeds.messages("t-1", source.look))
        await next_of(page)
        for value in range(1, 50):
            source.value = value
            looked = source.looks
            await until(lambda looked=looked: source.looks > looked + 1)  # type: ignore[misc]
        assert await next_of(page) == 49

    asyncio.run(run())


def test_the_same_again_is_not_told(feeds: LiveFeeds) -> None:
    source = Source()

    async def run() -> None:
        page = values(feeds.messages("t-1", source.look))
        await next_of(page)
        waiting = asyncio.create_task(next_of(page))
        looked = source.looks
        await until(lambda: source.looks > looked + 5)
        assert not waiting.done()
        source.value = 1
        assert await waiting == 1

    asyncio.run(run())


def test_a_feed_ends_when_nobody_looks_on(feeds: LiveFeeds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guardian.console.live._LINGER_S", 0.05)
    source = Source()

    async def run() -> None:
        stream = feeds.messages("t-1", source.look)
        page = values(stream)
        await next_of(page)
        await page.aclose()  # type: ignore[attr-defined]
        await stream.aclose()  # type: ignore[attr-defined]
        await until(lambda: feeds.feeds == 0)
        looked = source.looks
        assert await next_of(values(feeds.messages("t-1", source.look))) == 0, "it begins anew"
        assert source.looks > looked

    asyncio.run(run())


def test_a_look_that_fails_is_tried_again_and_given_up_after_some(feeds: LiveFeeds) -> None:
    source = Source()

    async def run() -> None:
        page = values(feeds.messages("t-1", source.look))
        await next_of(page)
        source.value, source.failing_looks = 3, 2
        await until(lambda: source.failing_looks == 0)
        assert await next_of(page) == 3
        source.failure = Unavailable("no leader")
        assert await rest_of(page) == [], "it ends, and the page comes again"

    asyncio.run(run())


@pytest.mark.parametrize(("failure", "told"), [(NotFound("gone"), ["over"]), (ZeroDivisionError(), [])])
def test_what_is_gone_is_over_and_what_is_broken_ends(feeds: LiveFeeds, failure: Exception, told: list[object]) -> None:
    source = Source()
    source.failure = failure

    async def run() -> None:
        assert await rest_of(values(feeds.messages("t-1", source.look))) == told

    asyncio.run(run())
    assert source.looks == 1


def test_streams_end_when_the_member_stops_and_pages_come_again(feeds: LiveFeeds) -> None:
    source = Source()

    async def run() -> None:
        page = values(feeds.messages("t-1", source.look))
        await next_of(page)
        feeds.close()
        assert await rest_of(page) == []

    asyncio.run(run())
    with pytest.raises(Overloaded, match="stopping"):
        feeds.require_room()


def test_too_many_pages_are_refused_before_their_answer_begins(
    feeds: LiveFeeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("guardian.console.live._MOST_PAGES", 2)
    source = Source()

    async def run() -> None:
        pages = [values(feeds.messages("t-1", source.look)) for _ in range(2)]
        feeds.require_room()
        for page in pages:
            await next_of(page)
        with pytest.raises(Overloaded, match="2 live pages are open"):
            feeds.require_room()

    asyncio.run(run())


def test_each_person_has_so_many_pages_and_takes_none_of_anothers() -> None:
    feeds = LiveFeeds(pause_s=0.01, heartbeat_s=0.05, pages_per_person=2)
    source = Source()

    async def run() -> None:
        pages = [values(feeds.messages(f"t-{at} of ann", source.look, "ann")) for at in range(2)]
        for page in pages:
            await next_of(page)
        with pytest.raises(Overloaded, match="2 live pages of yours are open"):
            feeds.require_room("ann")
        # Many that were let in at once find out as they begin.
        assert [text async for text in feeds.messages("t-3 of ann", source.look, "ann")] == []
        feeds.require_room("bob")
        await next_of(values(feeds.messages("t-1 of bob", source.look, "bob")))

    asyncio.run(run())
    feeds.close()


def test_where_all_pages_are_taken_one_who_has_few_gets_one_of_who_has_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guardian.console.live._MOST_PAGES", 3)
    feeds = LiveFeeds(pause_s=0.01, heartbeat_s=0.05, pages_per_person=3)
    source = Source()

    async def run() -> None:
        ann = [values(feeds.messages("t of ann", source.look, "ann")) for _ in range(3)]
        for page in ann:
            await next_of(page)
        bob = values(feeds.messages("t of bob", source.look, "bob"))
        await next_of(bob)
        assert await rest_of(ann[2]) == []
        with pytest.raises(Overloaded, match="3 live pages are open at this member"):
            feeds.require_room("bob")  # it would only go to and fro

    asyncio.run(run())
    feeds.close()


def test_a_silent_stream_says_that_it_lives() -> None:
    feeds = LiveFeeds(pause_s=0.01, heartbeat_s=0.05)
    source = Source()

    async def run() -> None:
        stream = feeds.messages("t-1", source.look)
        async for event in stream:
            if event.startswith(": "):
                break

    try:
        asyncio.run(asyncio.wait_for(run(), patience.PATIENCE_S))
    finally:
        feeds.close()


@pytest.mark.slow
def test_a_dear_look_is_taken_less_often() -> None:
    feeds = LiveFeeds(pause_s=0.0, heartbeat_s=30.0)
    source = Source()
    looks: list[tuple[float, float]] = []

    def dear() -> Look:
        began = time.monotonic()
        until = time.thread_time() + 0.05
        while time.thread_time() < until:
            source.value += 1
        looks.append((began, time.monotonic()))
        return source.look()

    async def run() -> None:
        page = values(feeds.messages("t-1", dear))
        await next_of(page)
        await next_of(page)
        assert looks[1][0] - looks[0][1] > 0.05 / 0.03 * 0.9, "three percent of a core"

    try:
        asyncio.run(run())
    finally:
        feeds.close()
