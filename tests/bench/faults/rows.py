"""A row of the fault matrix: one topic that one fault met, what is predicted of it and what happened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from guardian.model.faults.outcome import Chance, Lost, Outcome
from guardian.model.faults.stories import NAMED, Roles
from guardian.model.faults.times import Times
from tests.bench.faults.runs import Run
from tests.integration.predictions.happening import Happened, describe_readers
from tests.integration.predictions.predicting import predict
from tests.integration.predictions.settings import Setting
from tests.integration.predictions.verdicts import Verdict, judge


@dataclass(frozen=True, slots=True)
class Row:
    """`story` names the fault for people, `day` is when it was measured, as 2026-11-30."""

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


def rows_of(runs: Iterable[Run]) -> Iterator[Row]:
    """Yield a row a topic, with what is predicted today."""
    for run in runs:
        for setting, happened in run.happened.items():
            predicted = _predicted(
                run.fault, run.roles, run.times, setting.min_isr, setting.unclean, setting.acks, run.elr
            )
            yield Row(run.title, run.elr, run.repeat, setting, predicted, happened, run.day)


@cache
def _predicted(fault: str, roles: Roles, times: Times, min_isr: int, unclean: bool, acks: str, elr: bool) -> Outcome:
    """Producers of all kinds are predicted alike."""
    return predict(roles, times, NAMED[fault](roles), Setting(min_isr, acks, unclean), elr=elr)


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


def read_text(outcome: Outcome) -> str:
    """Return whether readers are predicted to have what is lost, in words."""
    return {Chance.NEVER: "none", Chance.MAYBE: "perhaps some", Chance.ALWAYS: "some"}[outcome.read_lost]


def elr_text(elrs: Iterable[tuple[int, ...]]) -> str:
    """Return the ELRs that are not empty, each with a plus between its brokers."""
    return " ".join("+".join(map(str, elr)) for elr in sorted(elrs) if elr) or "none"


def line_of(row: Row) -> str:
    """Return a row as one line, for whoever waits for the next."""
    silent, wrong = row.predicted.silent_s, list(_wrong(row))
    unread = row.predicted.unread_s
    foretold = f"{read_text(row.predicted)}, {unread.least_s:.1f} to {unread.most_s:.1f}"
    readers = f", {describe_readers(row.happened.readers)} ({foretold})" if row.happened.readers else ""
    elrs = f", ELR {elr_text(row.happened.elrs)} ({elr_text(row.predicted.elrs)})" if row.happened.elrs else ""
    return (
        f"{row.story}, ELR {'on' if row.elr else 'off'}, {row.setting.name}: lost {len(row.happened.lost)} of "
        f"{row.happened.acked} ({loss_text(row.predicted)}), silent {row.happened.silent_s:.1f} s "
        f"({silent.least_s:.1f} to {silent.most_s:.1f}){readers}{elrs}"
        f"{'; wrong: ' + ', '.join(wrong) if wrong else ''}"
    )


def _wrong(row: Row) -> Iterator[str]:
    """Yield names of what brokers contradict."""
    verdict = row.verdict
    found = {
        "LOSS": verdict.wrong_lost,
        "SAFETY": verdict.wrong_safe,
        "READERS": verdict.wrong_read,
        "ELR": verdict.wrong_elr,
        "SILENCE": row.is_silence_foretold and not verdict.in_band,
        "READERS' SILENCE": row.is_silence_foretold and not verdict.read_in_band,
    }
    return (name for name, is_so in found.items() if is_so)
