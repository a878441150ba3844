"""The round that reads back what is stored: its share, its rests, and what ends it."""

from __future__ import annotations

from collections.abc import Callable

from guardian.replication.store.verification import Verification, VerificationStatus

Pause = Callable[[float], None]


def make(*parts: Callable[[Pause], None], interval_s: float = 1.0) -> Verification:
    return Verification(parts, interval_s, lambda: 7000)


def test_a_round_counts_its_parts_alike_and_ends_with_a_time() -> None:
    seen: list[VerificationStatus] = []

    def part(pause: Pause) -> None:
        for share in (0.5, 1.0):
            pause(share)
            seen.append(verification.status())

    verification = make(part, part)
    assert verification.status() == VerificationStatus()
    verification.verify()
    assert [each.share for each in seen] == [0.25, 0.5, 0.75, 1.0]
    assert all(each.is_running and not each.verified_at_ms for each in seen)
    assert verification.status() == VerificationStatus(share=1.0, verified_at_ms=7000)


def test_a_round_that_fails_says_why_and_keeps_the_time_of_the_last_whole_one() -> None:
    outcomes: list[Exception | None] = [None, OSError("too many open files")]

    def part(pause: Pause) -> None:
        pause(0.5)
        outcome = outcomes.pop(0)
        if outcome is not None:
            raise outcome

    verification = make(part)
    verification.verify()
    verification.verify()
    assert verification.status() == VerificationStatus(share=0.5, verified_at_ms=7000, problem="too many open files")


def test_work_takes_a_fifth_of_the_time() -> None:
    """The clock stands but for what a piece takes, so the rest is what `stop` is waited for."""
    rests: list[float] = []
    now = [0.0]

    def part(pause: Pause) -> None:
        for _ in range(3):
            now[0] += 0.1
            pause(1.0)

    verification = Verification((part,), 1.0, lambda: 0, clock=lambda: now[0])
    verification._stop.wait = lambda timeout=None: rests.append(timeout or 0.0) or False  # type: ignore[method-assign,func-returns-value]
    verification.verify()
    assert [round(rest, 6) for rest in rests] == [0.4, 0.4, 0.4]


def test_a_member_that_stops_does_not_wait_for_the_rest() -> None:
    pieces: list[int] = []

    def part(pause: Pause) -> None:
        for number in range(1_000_000):
            pieces.append(number)
            pause(0.0)

    verification = make(part, interval_s=0.001)
    verification.start()
    while not pieces:
        pass
    verification.stop()
    assert verification.status().verified_at_ms == 0


def test_an_interval_of_zero_reads_nothing() -> None:
    verification = make(lambda _: None, interval_s=0)
    verification.start()
    verification.stop()
    assert verification.status() == VerificationStatus()
