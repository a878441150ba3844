"""A row of the fault matrix: one topic that one fault met, what was predicted of it and what happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from guardian.model.faults.outcome import Lost, Outcome, Span
from guardian.model.faults.unfolding import Ended
from tests.integration.predictions.happening import Happened
from tests.integration.predictions.settings import OF_OTHER_CLIENTS, SETTINGS, Setting
from tests.integration.predictions.verdicts import Verdict, judge


@dataclass(frozen=True, slots=True)
class Row:
    """`day` is when it was measured, as 2026-11-30."""

    story: str
    elr: bool
    repeat: int
    setting: Setting
    predicted: Outcome
    happened: Happened
    day: str

    @property
    def verdict(self) -> Verdict:
        return judge(self.predicted, self.happened)

    @property
    def is_silence_foretold(self) -> bool:
        return self.setting.silence_is_foretold

    @staticmethod
    def of_json(document: Mapping[str, Any]) -> Row:
        """Return the row of which `to_json` made this. Raises KeyError or ValueError for another document."""
        predicted, happened = document["predicted"], document["happened"]
        (setting,) = (each for each in (*SETTINGS, *OF_OTHER_CLIENTS) if each.name == document["setting"])
        outcome = Outcome(
            lost=Lost[predicted["lost"]],
            is_certain=predicted["certain"],
            lost_s=Span(*predicted["lost_s"]),
            silent_s=Span(*predicted["silent_s"]),
            ended=Ended.HEALED,
            awaited=(),
            leaders=(),
        )
        seen = Happened(happened["acked"], frozenset(range(happened["lost"])), happened["silent_s"])
        return Row(document["story"], document["elr"], document["repeat"], setting, outcome, seen, document["day"])

    def to_json(self) -> dict[str, Any]:
        silent, lost = self.predicted.silent_s, self.predicted.lost_s
        return {
            "story": self.story,
            "elr": self.elr,
            "repeat": self.repeat,
            "setting": self.setting.name,
            "day": self.day,
            "predicted": {
                "lost": self.predicted.lost.name,
                "certain": self.predicted.is_certain,
                "lost_s": [lost.least_s, lost.most_s],
                "silent_s": [silent.least_s, silent.most_s],
            },
            "happened": {
                "acked": self.happened.acked,
                "lost": len(self.happened.lost),
                "silent_s": round(self.happened.silent_s, 2),
            },
            "wrong_lost": self.verdict.wrong_lost,
            "wrong_safe": self.verdict.wrong_safe,
            "in_band": self.verdict.in_band,
        }


def loss_text(outcome: Outcome) -> str:
    """Return what is predicted to be lost, in words."""
    if outcome.lost is Lost.NONE:
        return "nothing"
    what = {
        Lost.SECONDS: f"{outcome.lost_s.least_s:.0f} to {outcome.lost_s.most_s:.0f} s of records",
        Lost.SINCE_BEHIND: "all since it fell behind",
        Lost.UNFLUSHED: "all not flushed",
        Lost.EVERYTHING: "everything",
    }[outcome.lost]
    return what if outcome.is_certain else f"perhaps {what}"
