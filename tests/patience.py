"""How long tests wait where only a machine that is too busy makes them wait."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import TypeVar

_Found = TypeVar("_Found")

PATIENCE_S = 600.0
"""A deadline of tests ends one that hangs, and tells nothing of speed: whoever waits for what is to come waits so long,
on a machine that is ten times slower too. pytest's own time-out of a test is a multiple of it (pyproject.toml)."""

CALL_S = 120.0
"""For clients of members and of Kafka that ask others too: they leave whoever hangs after a share of it."""

CONTROL_S = CALL_S
"""For KafkaControl: a connection alone has taken ten seconds, two of these suites side by side on two cores."""

HANGING_S = 30.0
"""For KafkaControl where a broker or a controller hangs: a third of it is lost with each of them."""

MEMBER_KAFKA = {"rpc_timeout_s": CALL_S / 2}
"""For members (`start_member`, `kafka`): a client leaves one after two thirds of its time."""


def wait_for(
    what: str,
    holds: Callable[[], _Found | None],
    *,
    deadline_s: float = PATIENCE_S,
    every_s: float | None = None,
    meanwhile: Callable[[], object] = lambda: None,
    despite: tuple[type[Exception], ...] = (),
    story: Callable[[], object] = lambda: "",
) -> _Found:
    """Asks until the answer is true, and gives that answer. Raises AssertionError after `deadline_s` seconds.

    It looks again every `every_s` seconds; unless told, soon at first and every 0.1 s later, and a look that takes long
    less often: it takes half of the time. `meanwhile` is called after each look that was in vain; an error of `despite`
    is such a look. The failure says `what` did not come about, the last answer or error, and the `story`.
    """
    began_s = time.monotonic()
    while True:
        last: object
        looked_s = time.monotonic()
        try:
            found = holds()
        except despite as error:
            last = error
        else:
            if found:
                return found
            last = found
        now_s = time.monotonic()
        waited_s, took_s = now_s - began_s, now_s - looked_s
        if waited_s >= deadline_s:
            raise AssertionError(
                f"{what}: not so after {deadline_s:g} s; the last answer was {last!r} {story()}".rstrip()
            )
        meanwhile()
        time.sleep(max(took_s, min(0.1, 0.01 + waited_s / 20)) if every_s is None else every_s)


def until(
    holds: Callable[[], _Found | None],
    *,
    deadline_s: float = PATIENCE_S,
    every_s: float | None = None,
    meanwhile: Callable[[], object] = lambda: None,
    despite: tuple[type[Exception], ...] = (),
    story: Callable[[], object] = lambda: "",
) -> _Found:
    """Waits as `wait_for` for what its source says."""
    return wait_for(
        _source(holds),
        holds,
        deadline_s=deadline_s,
        every_s=every_s,
        meanwhile=meanwhile,
        despite=despite,
        story=story,
    )


def _source(holds: Callable[[], object]) -> str:
    try:
        return inspect.getsource(holds).strip()
    except (OSError, TypeError):
        return repr(holds)
