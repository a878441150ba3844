"""The lists of how to add something name files, commands and tests that there are; CONTRIBUTING.md leads to each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.command_line import mistake_in

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
_LINKS = re.findall(r"^\| (an? [^|]+) \| \[[^]]+\]\(([^)#]+)#([a-z-]+)\)", CONTRIBUTING, re.MULTILINE)
LISTS = {what: (ROOT / path, anchor) for what, path, anchor in _LINKS}
OURS = r"(?:guardian|raft|metastore|spark_analytics|deploy|protos|tests|docs)/[\w./-]+"


def text_of(what: str) -> str:
    """The section that the link leads to, without those below it."""
    path, anchor = LISTS[what]
    found = re.split(r"^#+ (.+)$", path.read_text(), flags=re.MULTILINE)
    sections = {heading.lower().replace(" ", "-"): text for heading, text in zip(found[1::2], found[2::2], strict=True)}
    return sections[anchor]


def test_there_are_eight_lists() -> None:
    assert list(LISTS) == [
        "a ticket kind",
        "a goal",
        "an RPC",
        "a console page",
        "a setting",
        "a metric with an alert",
        "a Kafka call",
        "a metastore table",
    ]


@pytest.mark.parametrize("what", LISTS)
def test_a_list_is_short_and_names_files_tests_and_a_command(what: str) -> None:
    text = text_of(what)
    steps = [int(number) for number in re.findall(r"^(\d+)\. ", text, re.MULTILINE)]
    assert steps == list(range(1, len(steps) + 1))
    assert 5 <= len(steps) <= 8
    assert len(set(re.findall(rf"`({OURS})`", text))) >= 5
    assert re.search(r"`tests/[\w/]+\.py`", text)
    assert re.search(r"[Rr]un:", text)


@pytest.mark.parametrize("path", sorted({path for path, _ in LISTS.values()} | {ROOT / "CONTRIBUTING.md"}))
def test_what_a_list_names_exists(path: Path) -> None:
    text = path.read_text()
    gone = [each for each in re.findall(rf"`({OURS})`", text) if "NAME" not in each and not (ROOT / each).exists()]
    assert gone == []
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= TARGETS
    modules = [ROOT / (name.replace(".", "/") + ".py") for name in re.findall(r"`python -m ([\w.]+)", text)]
    assert [module for module in modules if not module.exists()] == []
    mistakes = {line: mistake_in(line) for line in re.findall(r"`(guardian [a-z][^`\n]*)`", text)}
    assert {line: mistake for line, mistake in mistakes.items() if mistake} == {}


def test_links_of_contributing_lead_somewhere() -> None:
    for place in re.findall(r"\]\((?!http)([^)#]+)", CONTRIBUTING):
        assert (ROOT / place).exists(), place
