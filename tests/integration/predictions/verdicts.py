"""Compares what was predicted with what happened."""

from __future__ import annotations

from dataclasses import dataclass

from guardian.model.faults.outcome import Outcome
from tests.integration.predictions.happening import Happened

EARLIER_S, LATER_S = 1.0, 3.0
"""Silence may be so much shorter than the least and longer than the most that is predicted."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Tell whether brokers contradict a prediction: of loss, of safety, of the seconds of silence."""

    wrong_lost: bool
    wrong_safe: bool
    in_band: bool


def judge(predicted: Outcome, happened: Happened) -> Verdict:
    """Return the verdict on one topic of one story."""
    silent = predicted.silent_s
    return Verdict(
        wrong_lost=predicted.is_certain and not happened.lost,
        wrong_safe=predicted.is_safe and bool(happened.lost),
        in_band=silent.least_s - EARLIER_S <= happened.silent_s <= silent.most_s + LATER_S,
    )
