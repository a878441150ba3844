"""Readiness is told at once, whatever the look that finds it out waits for."""

from __future__ import annotations

import threading

import pytest

from guardian.serving.readiness import Readiness, Seen, why_not_ready
from tests.patience import PATIENCE_S, until


@pytest.mark.parametrize(
    ("seen", "now_s", "why"),
    [
        (None, 5.0, "this member has begun just now: ask again"),
        (Seen(None, 5.0), 5.0, None),
        (Seen(None, 5.0), 15.0, None),
        (Seen("nobody leads", 5.0), 15.0, "nobody leads"),
        (
            Seen(None, 5.0),
            17.0,
            "whether this member can serve is not known since 12 s: its store does not answer",
        ),
    ],
)
def test_what_was_seen_last_counts_until_it_is_old(seen: Seen | None, now_s: float, why: str | None) -> None:
    assert why_not_ready(seen, now_s) == why


def test_a_look_that_does_not_end_holds_nobody_up() -> None:
    go, entered, now = threading.Event(), threading.Semaphore(0), [100.0]
    answers = iter(["there is no leader", None])

    def look() -> str | None:
        entered.release()
        if (said := next(answers, "end")) != "end":
            return said
        assert go.wait(PATIENCE_S)
        return None

    readiness = Readiness(look, every_s=0.01, clock=lambda: now[0])
    assert readiness.reason() == "this member has begun just now: ask again"
    readiness.start()
    try:
        for _ in range(3):
            assert entered.acquire(timeout=PATIENCE_S)
        assert readiness.reason() is None
        now[0] += 11
        assert "is not known since 11 s" in str(readiness.reason())
        go.set()
        until(lambda: readiness.reason() is None)
    finally:
        go.set()
        readiness.stop()
