"""Compares what was predicted with what happened."""

from __future__ import annotations

from dataclasses import dataclass

from guardian.model.faults.outcome import Chance, Outcome, Span
from tests.integration.predictions.happening import Happened

EARLIER_S, LATER_S = 1.0, 3.0
"""Silence may be so much shorter than the least and longer than the most that is predicted."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Tell whether brokers contradict a prediction: of loss, of safety, of what readers had and lost, of who is
    eligible and leads at the end, of seconds. `read_in_band` is about those in which a reader got nothing new."""

    wrong_lost: bool
    wrong_safe: bool
    wrong_read: bool
    wrong_elr: bool
    in_band: bool
    read_in_band: bool


def judge(predicted: Outcome, happened: Happened) -> Verdict:
    """Return the verdict on one topic of one story."""
    return Verdict(
        wrong_lost=predicted.is_certain and not happened.lost,
        wrong_safe=predicted.is_safe and bool(happened.lost),
        wrong_read=happened.readers is not None and _is_wrong(predicted.read_lost, happened.readers.lost > 0),
        wrong_elr=not happened.elrs <= predicted.elrs or _is_wrong_leader(predicted, happened),
        in_band=_is_in_band(predicted.silent_s, happened.silent_s),
        read_in_band=happened.readers is None or _is_in_band(predicted.unread_s, happened.readers.silent_s),
    )


def _is_in_band(foretold: Span, seconds: float) -> bool:
    return foretold.least_s - EARLIER_S <= seconds <= foretold.most_s + LATER_S


def _is_wrong(foretold: Chance, came: bool) -> bool:
    return foretold is (Chance.NEVER if came else Chance.ALWAYS)


def _is_wrong_leader(predicted: Outcome, happened: Happened) -> bool:
    return bool(happened.states) and happened.states[-1].leader not in predicted.leaders
