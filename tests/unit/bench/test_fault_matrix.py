"""The fault matrix: how its rows are judged, kept and told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from guardian.model.faults.outcome import Chance, Lost, Outcome, Span
from guardian.model.faults.stories import Roles
from guardian.model.faults.unfolding import Ended
from tests.bench.faults.bars import MEASURES, judged
from tests.bench.faults.page import page
from tests.bench.faults.rows import Row, line_of, rows_of
from tests.bench.faults.runs import Run, keep, latest, recorded
from tests.bench.report import rows
from tests.integration.predictions.happening import Happened, Readers
from tests.integration.predictions.settings import OF_OTHER_CLIENTS, SETTINGS
from tests.integration.predictions.watching import State

ELRS = frozenset({(), (3,), (2, 3)})
READ = Span(8.0, 12.0)
SAFE = Outcome(Lost.NONE, False, Span(0.0, 0.0), Chance.NEVER, Span(6.0, 11.5), Ended.HEALED, (), (2,), ELRS, READ)
LOSES = replace(SAFE, lost=Lost.SECONDS, is_certain=True, lost_s=Span(30.0, 45.0))
MAY_LOSE = replace(LOSES, is_certain=False, lost_s=Span(0.0, 1.0))
FINE = Happened(1000, frozenset(), 7.0)
LOST_SOME = Happened(1000, frozenset({7, 8}), 7.0)
ROW = Row("leader killed", True, 1, SETTINGS[0], SAFE, FINE, "2026-11-30")


@pytest.mark.parametrize(
    ("predicted", "happened", "wrong_lost", "wrong_safe"),
    [
        (SAFE, FINE, False, False),
        (SAFE, LOST_SOME, False, True),
        (LOSES, LOST_SOME, False, False),
        (LOSES, FINE, True, False),
        (MAY_LOSE, FINE, False, False),
        (MAY_LOSE, LOST_SOME, False, False),
    ],
)
def test_brokers_contradict_what_was_certain_and_did_not_come(
    predicted: Outcome, happened: Happened, wrong_lost: bool, wrong_safe: bool
) -> None:
    verdict = replace(ROW, predicted=predicted, happened=happened).verdict
    assert (verdict.wrong_lost, verdict.wrong_safe) == (wrong_lost, wrong_safe)


@pytest.mark.parametrize(
    ("read_lost", "readers", "wrong_read"),
    [
        (Chance.NEVER, Readers(0, 9.0), False),
        (Chance.NEVER, Readers(1, 9.0), True),
        (Chance.MAYBE, Readers(0, 9.0), False),
        (Chance.MAYBE, Readers(1, 9.0), False),
        (Chance.ALWAYS, Readers(0, 9.0), True),
        (Chance.ALWAYS, Readers(1, 9.0), False),
        (Chance.ALWAYS, None, False),
    ],
)
def test_readers_contradict_what_was_certain_and_did_not_come(
    read_lost: Chance, readers: Readers | None, wrong_read: bool
) -> None:
    row = replace(ROW, predicted=replace(LOSES, read_lost=read_lost), happened=replace(LOST_SOME, readers=readers))
    assert row.verdict.wrong_read == wrong_read
    assert row.verdict.read_in_band
    assert line_of(row).endswith("; wrong: READERS") == wrong_read
    assert _remark(row).startswith(f"{int(wrong_read)} wrong about what readers had, ")


def _remark(row: Row) -> str:
    return rows(MEASURES, judged([row]))[2].figures.how


@pytest.mark.parametrize(("silent_s", "in_band"), [(4.9, False), (5.0, True), (14.5, True), (14.6, False)])
def test_silence_has_a_second_before_and_three_after(silent_s: float, in_band: bool) -> None:
    assert replace(ROW, happened=Happened(10, frozenset(), silent_s)).verdict.in_band == in_band


@pytest.mark.parametrize(("silent_s", "in_band"), [(6.9, False), (7.0, True), (15.0, True), (15.1, False)])
def test_so_does_the_time_in_which_a_reader_gets_nothing_new(silent_s: float, in_band: bool) -> None:
    row = replace(ROW, happened=replace(FINE, readers=Readers(0, silent_s)))
    assert row.verdict.read_in_band == in_band
    assert line_of(row).endswith("; wrong: READERS' SILENCE") != in_band
    assert f"{int(in_band)} of 1 readers" in rows(MEASURES, judged([row]))[3].figures.how


SEEN = frozenset({(), (2, 3)})


@pytest.mark.parametrize(
    ("happened", "wrong_elr"),
    [
        (FINE, False),  # nobody watched
        (replace(FINE, elrs=SEEN), False),
        (replace(FINE, elrs=frozenset({(2,)})), True),
        (replace(FINE, states=(State(1, (1,), ()), State(2, (2, 3), ()))), False),
        (replace(FINE, states=(State(2, (2, 3), ()), State(1, (1,), ()))), True),
    ],
)
def test_elrs_that_were_seen_are_foretold_and_so_is_who_leads_at_the_end(happened: Happened, wrong_elr: bool) -> None:
    row = replace(ROW, happened=happened)
    assert row.verdict.wrong_elr == wrong_elr
    assert line_of(row).endswith("; wrong: ELR") == wrong_elr
    assert _remark(row).endswith(f", {int(wrong_elr)} about who is eligible or leads")


RUN = Run(
    fault="kill-leader",
    elr=True,
    repeat=2,
    day="2026-11-30",
    roles=Roles(1, (2, 3), (102, 101, 103)),
    boots_s=(2.5, 4.25),
    happened=dict.fromkeys((*SETTINGS, *OF_OTHER_CLIENTS), replace(LOST_SOME, readers=Readers(1, 8.25), elrs=SEEN)),
)


def test_a_run_is_the_same_when_it_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "made" / "runs.jsonl"
    assert list(recorded(file)) == []
    for repeat in (1, 2):
        keep(file, replace(RUN, repeat=repeat))
    first, second = recorded(file)
    assert [each.acked for each in first.happened.values()] == [1000] * len(RUN.happened)
    assert [len(each.lost) for each in first.happened.values()] == [2] * len(RUN.happened)
    assert (first.repeat, first.roles, second.boots_s, second.day) == (1, RUN.roles, RUN.boots_s, RUN.day)
    assert second.times.boot_s == (2.5, 4.25)
    assert {each.readers for each in first.happened.values()} == {Readers(1, 8.25)}
    assert {each.elrs for each in first.happened.values()} == {SEEN}


def test_a_run_that_nobody_read_or_watched_is_known_as_well() -> None:
    document = {key: value for key, value in RUN.to_json().items() if key not in {"readers", "elrs"}}
    assert {(each.readers, each.elrs) for each in Run.of_json(document).happened.values()} == {(None, frozenset())}


def test_the_last_of_several_runs_counts() -> None:
    other = replace(RUN, elr=False)
    again = replace(RUN, day="2026-12-01")
    assert latest([RUN, other, again]) == [again, other]


def test_a_run_is_held_against_what_is_predicted_today() -> None:
    rows_now = list(rows_of([RUN]))
    assert [row.setting for row in rows_now] == list(RUN.happened)
    assert {row.story for row in rows_now} == {"kill-leader: leader killed"}
    silent = rows_now[0].predicted.silent_s
    assert 5 < silent.least_s < silent.most_s < 15, "broker.session.timeout.ms of the lab is 6 s"
    (line,) = (line_of(row) for row in rows_now if row.setting == SETTINGS[0])
    assert "kill-leader: leader killed, ELR on, min-isr-1.clean.acks-all.librdkafka: lost 2 of 1000 (nothing)" in line
    assert "readers lost 1, silent 8.2 s (none, 6.2 to 11.5), ELR 2+3 (none)" in line
    assert line.endswith("; wrong: SAFETY, READERS, ELR")


def test_the_bars_are_those_of_the_worst_rows() -> None:
    read = replace(ROW, happened=replace(FINE, readers=Readers(0, 9.0)))
    faults = [replace(read, story=f"fault {number}", setting=each) for number in range(15) for each in SETTINGS[:4]]
    assert {row.measure.id: row.ok for row in rows(MEASURES, judged(faults))} == {
        "matrix_faults": True,
        "wrong_lost": True,
        "wrong_safe": True,
        "silence_in_band": True,
    }
    wrong = [*faults[:-2], replace(faults[-2], happened=LOST_SOME), replace(faults[-1], predicted=LOSES)]
    assert [row.ok for row in rows(MEASURES, judged(wrong))] == [True, False, False, True]
    assert not rows(MEASURES, judged(faults[:-1]))[0].ok, "a fault counts when four settings met it"
    assert not any(row.ok for row in rows(MEASURES, judged([])))
    loud = [replace(row, happened=Happened(1, frozenset(), 60.0)) for row in faults[:4]]
    assert not rows(MEASURES, judged([*faults[4:], *loud]))[3].ok, "56 of 60 are less than 95 %"


def test_repeats_are_one_line_of_the_page_with_the_least_and_the_most() -> None:
    again = replace(ROW, repeat=2, predicted=SAFE, happened=Happened(1100, frozenset(), 12.0))
    read = replace(ROW, happened=replace(FINE, readers=Readers(0, 9.0)))
    told = page([read, again], "`replica.lag.time.max.ms` 10000")
    (line,) = (line for line in told.splitlines() if line.startswith("| on |"))
    assert (
        "| nothing | 0 of 1000 to 1100 | 6 to 12 s | 7 to 12 s | none, silent 8 to 12 s | 0, silent 9 s "
        "| loss 2 of 2, silence 2 of 2 | 2026-11-30 |" in line
    )
    (unread,) = (line for line in page([again], "").splitlines() if line.startswith("| on |"))
    assert "| none, silent 8 to 12 s | not measured |" in unread
