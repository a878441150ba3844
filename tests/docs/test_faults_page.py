"""The page's comparison has every recorded fact, beside what is predicted now."""

from __future__ import annotations

from pathlib import Path

from guardian.model.faults.outcome import Lost, Outcome
from tests.unit.model.faults.test_recorded import ALL_UNFLUSHED, FACTS, PER_S, Fact, predicted

PAGE = Path("docs/faults.md")


def seconds(least_s: float, most_s: float) -> str:
    """Return a span as the page has it."""
    return f"{least_s:g} s" if least_s == most_s else f"{least_s:g} to {most_s:g} s"


def lost(found: list[Outcome]) -> str:
    """Return what is predicted to be lost, of topics that are told together."""
    if {each.lost for each in found} == {Lost.UNFLUSHED}:
        return "all unflushed"
    least, most = min(each.lost_s.least_s for each in found), max(each.lost_s.most_s for each in found)
    return f"records of {seconds(least, most)}" if most else "nothing"


def row(fact: Fact) -> str:
    """Return the line of one fact."""
    found = [predicted(fact.fault, name) for name in fact.topics]
    least, most = fact.lost
    silent = seconds(min(each.silent_s.least_s for each in found), max(each.silent_s.most_s for each in found))
    cells = (
        fact.fault,
        ", ".join(fact.topics),
        lost(found),
        "all"
        if fact.lost == ALL_UNFLUSHED
        else f"records of {seconds(least / PER_S, most / PER_S)}"
        if most
        else "nothing",
        silent if fact.silent_s else "",
        seconds(*fact.silent_s) if fact.silent_s else "",
    )
    return f"| {' | '.join(cells)} |"


def test_every_recorded_fact_stands_beside_its_prediction() -> None:
    page = PAGE.read_text()
    missing = [line for line in map(row, FACTS) if line not in page]
    assert not missing, "put these lines into docs/faults.md:\n" + "\n".join(missing)
