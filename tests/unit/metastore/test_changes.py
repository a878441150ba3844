"""Changes wake their subscribers on the loop, once for many writes, with what they were about."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

from metastore import segment_keys as sk
from metastore.changes import Changed, Changes, Listener
from metastore.records import Record

P0, P1 = sk.HEAD + b"p0", sk.HEAD + b"p1"


class Source:
    def add_listener(self, listener: Listener) -> None:
        self.write = listener

    def write_elsewhere(self, *writes: Sequence[Record] | None) -> None:
        """On a thread of its own, as the applying thread is."""
        thread = threading.Thread(target=lambda: [self.write(1, records) for records in writes])
        thread.start()
        thread.join()


async def told(source: Source, *writes: Sequence[Record] | None) -> list[Changed]:
    changes = Changes(source)
    seen: list[Changed] = []
    changes.subscribe(seen.append)
    source.write_elsewhere(*writes)
    await asyncio.sleep(0.01)
    changes.unsubscribe(seen.append)
    source.write_elsewhere(*writes)
    await asyncio.sleep(0.01)
    return seen


def test_many_writes_are_one_wake_up_with_all_partitions() -> None:
    event = (sk.EVENT + b"p0", b"")
    writes = [[(P0, b""), event], [(P1, b""), (P0, b""), event]]
    assert asyncio.run(told(Source(), *writes)) == [Changed(frozenset({b"p0", b"p1"}), False, False)]


def test_records_after_the_first_that_is_no_head_are_not_looked_at() -> None:
    write = [(P0, b""), (sk.EVENT + b"p0", b""), (P1, b"")]
    assert asyncio.run(told(Source(), write)) == [Changed(frozenset({b"p0"}), False, False)]


def test_what_is_not_about_partitions_is_told_as_such() -> None:
    assert asyncio.run(told(Source(), [(b"\x04ticket", b"")])) == [Changed(frozenset(), True, False)]


def test_a_replaced_state_changes_everything() -> None:
    assert asyncio.run(told(Source(), None)) == [Changed(frozenset(), False, True)]


def test_a_command_without_effect_wakes_nobody() -> None:
    assert asyncio.run(told(Source(), [])) == []


def test_a_change_after_the_loop_has_ended_is_no_error() -> None:
    source = Source()

    async def subscribe() -> None:
        Changes(source).subscribe(lambda _: None)

    asyncio.run(subscribe())
    source.write_elsewhere([(P0, b"")], [(P0, b"")])
