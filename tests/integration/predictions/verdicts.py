"""Compares what was predicted with what happened."""

from __future__ import annotations

from dataclasses import dataclass

from guardian.model.faults.outcome import Chance, Outcome
from tests.integration.predictions.happening import Happened

EARLIER_S, LATER_S = 1.0, 3.0
"""Silence may be so much shorter than the least and longer than the most that is predicted."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Tell whether brokers contradict a prediction: of loss, of safety, of what readers had and lost, of who is
    eligible and leads at the end, of seconds."""

    wrong_lost: bool
    wrong_safe: bool
    wrong_read: bool
    wrong_elr: bool
    in_band: bool


def judge(predicted: Outcome, happened: Happened) -> Verdict:
    """Return the verdict on one topic of one story."""
    silent = predicted.silent_s
    return Verdict(
        wrong_lost=predicted.is_certain and not happened.lost,
        wrong_safe=predicted.is_safe and bool(happened.lost),
        wrong_read=happened.readers is not None and _is_wrong(predicted.read_lost, happened.readers.lost > 0),
        wrong_elr=not happened.elrs <= predicted.elrs or _is_wrong_leader(predicted, happened),
        in_band=silent.least_s - EARLIER_S <= happened.silent_s <= silent.most_s + LATER_S,
    )


def _is_wrong(foretold: Chance, came: bool) -> bool:
    return foretold is (Chance.NEVER if came else Chance.ALWAYS)


def _is_wrong_leader(predicted: Outcome, happened: Happened) -> bool:
    return bool(happened.states) and happened.states[-1].leader not in predicted.leaders
