"""Pages of the documentation tell people to type, to look at and to follow only what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deploy.site import links
from deploy.site.pages import ELSEWHERE, ROOT, all_pages
from guardian.events.rules.notifying import ALERTED, CALLS_PERSON
from tests.command_line import mistake_in
from tests.unit.deploy.monitoring import rules

DOCS = ROOT / "docs"
PAGES = sorted({*(DOCS.rglob("*.md")), *(ROOT / path for path in ELSEWHERE)})
NAMES = [path.relative_to(ROOT).as_posix() for path in PAGES]
# Made of the code, with a test of its own; its lines are synopses and not commands.
TYPED = [path for path in PAGES if path.name not in ("cli.md", "CHANGELOG.md")]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def commands_of(text: str) -> list[str]:
    """Lines of code blocks that begin with `guardian`, or a prompt and that, and what stands between backquotes."""
    lines = [line.strip().removeprefix("$ ") for line in text.splitlines()]
    typed = [re.split(r"\s+#|\s+[>|]\s", line)[0] for line in lines if line.startswith("guardian ")]
    fenced = links.outside_fences(text, lambda part: part)
    inline = re.findall(r"(?<!`)`(guardian [a-z][^`\n]*)`(?!`)", fenced)
    return sorted({line for line in (*typed, *inline) if not re.search(r"…|\.\.\.|\\$", line)})


@pytest.mark.parametrize("path", TYPED, ids=[path.relative_to(ROOT).as_posix() for path in TYPED])
def test_what_a_page_tells_people_to_type_is_a_command(path: Path) -> None:
    mistakes = {line: mistake for line in commands_of(path.read_text()) if (mistake := mistake_in(line))}
    assert not mistakes


def test_mistakes_are_seen() -> None:
    assert mistake_in("guardian ticket show t-1 -o json") == ""
    assert mistake_in("guardian ticket eat t-1") == "eat is no command"
    assert mistake_in("guardian ticket show t-1 --loud") == "No such option: --loud"
    assert "valid integer" in mistake_in("guardian broker remove live 7")
    assert "extra argument" in mistake_in("guardian durability live")
    assert mistake_in("guardian broker remove N {number} --cluster CLUSTER > file") == ""
    assert commands_of("```\nguardian status   # all\n```\nsay `guardian ticket list` or `make test`\n") == [
        "guardian status",
        "guardian ticket list",
    ]


@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_links_of_a_page_lead_somewhere(path: Path) -> None:
    made = {ROOT / page for page in all_pages()}
    for target in links.links_of(path.read_text()):
        place = target.partition("#")[0]
        if place and not re.match(r"[a-z]+:", target):
            found = (path.parent / place).resolve()
            assert found.exists() or found in made, target


@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_anchors_within_our_pages_exist(path: Path) -> None:
    for target in links.links_of(path.read_text()):
        place, _, anchor = target.partition("#")
        page = (path.parent / place).resolve() if place else path
        if anchor and not re.match(r"[a-z]+:", target) and page.suffix == ".md" and page.exists():
            headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
            slugs = {re.sub(r"[^\w\s-]", "", each.lower()).strip().replace(" ", "-") for each in headings}
            assert anchor in slugs, f"{target}: use one of {sorted(slugs)}"


@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_every_make_target_of_a_page_is_one(path: Path) -> None:
    assert set(re.findall(r"`make ([a-z-]+)", path.read_text())) <= TARGETS


def alerts_told() -> list[str]:
    return re.findall(r"^### (\w+)$", (DOCS / "runbook.md").read_text(), re.MULTILINE)


def test_the_run_book_has_every_alert_and_no_other() -> None:
    """Prometheus's, and those that Guardian's own sink sends."""
    alerts = {rule["alert"] for rule in rules("alerts.yml") if "alert" in rule}
    alerts |= {CALLS_PERSON, *(name for name, _ in ALERTED.values())}
    assert sorted(alerts_told()) == sorted(alerts)
    assert len(alerts) > 20


def test_each_of_the_fifteen_demands_is_answered_with_something_to_try() -> None:
    table = [line for line in (DOCS / "demands.md").read_text().splitlines() if re.match(r"\| \d+ \|", line)]
    assert [int(line.split("|")[1]) for line in table] == list(range(1, 16))
    for line in table:
        _, _, demand, asked, answer, tried, _ = line.split("|")
        assert demand.strip()
        assert re.search(r"#\d+", asked)
        assert answer.strip()
        assert re.search(r"`(guardian|make) ", tried)
