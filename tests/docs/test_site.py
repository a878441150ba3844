"""The site is built without a complaint, every page of ours is on it, and reference pages tell what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from deploy.site import links, reference
from deploy.site.pages import ROOT, all_pages
from guardian import errors
from guardian.cli.exits import MEANINGS
from tests.patience import PATIENCE_S
from tests.unit.deploy.monitoring import rule_uses


def nav_pages(entry: object) -> list[str]:
    match entry:
        case str():
            return [entry]
        case dict():
            return [page for value in entry.values() for page in nav_pages(value)]
        case list():
            return [page for each in entry for page in nav_pages(each)]
    raise TypeError(entry)


@pytest.mark.slow
def test_the_site_is_built_strictly(tmp_path: Path) -> None:
    """Warnings are errors: a page that is in no menu, a link that leads nowhere."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    start = (tmp_path / "site" / "start.html").read_text()
    assert "guardian local up" in start
    assert 'href="runbook.html#first-installation"' in start
    fetched = re.findall(r'(?:src|href)="(https?://[^"]+)"', start)
    assert not [each for each in fetched if not each.startswith("https://squidfunk.github.io/")], "it needs no network"


def test_the_menu_has_every_page_once() -> None:
    text = re.sub(r"!!\S+", "", (ROOT / "mkdocs.yml").read_text())
    told = nav_pages(yaml.safe_load(text)["nav"])
    assert sorted(told) == sorted(all_pages().values())


PAGES = {"docs/a.md": "a.md", "guardian/t.md": "guides/t.md", "docs/sub/b.md": "sub/b.md"}


def rewritten(markdown: str, source: str = "docs/a.md") -> str:
    def exists(path: str) -> bool:
        return path in PAGES or path in ("guardian/config.py", "docs/images/x.png")

    return links.rewrite(markdown, source, PAGES[source], PAGES, exists)


@pytest.mark.parametrize(
    ("source", "markdown", "there"),
    [
        ("docs/a.md", "[t](../guardian/t.md#life)", "[t](guides/t.md#life)"),
        ("docs/a.md", "[b](sub/b.md)", "[b](sub/b.md)"),
        ("guardian/t.md", "[a](../docs/a.md), [w](http://x/y)", "[a](../a.md), [w](http://x/y)"),
        ("guardian/t.md", "[the code](config.py) says", "the code says"),
        ("docs/sub/b.md", "![p](../images/x.png) [up](#top)", "![p](../images/x.png) [up](#top)"),
        ("docs/a.md", "```\n[t](../guardian/none.md)\n```\n", "```\n[t](../guardian/none.md)\n```\n"),
    ],
)
def test_links_lead_where_the_page_is_on_the_site(source: str, markdown: str, there: str) -> None:
    assert rewritten(markdown, source) == there


def test_a_link_to_nothing_is_broken() -> None:
    with pytest.raises(links.Broken, match=r"docs/gone\.md does not exist"):
        rewritten("[x](gone.md)")


@pytest.mark.slow
def test_every_metric_that_our_alerts_and_dashboards_use_is_in_the_reference() -> None:
    told = {family.scraped for family in reference.metric_families()}
    named = {name for use in rule_uses() for name in use.metrics if name.startswith("guardian_")}
    used = {re.sub(r"_(bucket|sum|count)$", "", name) for name in named}
    of_members = {name for name in used if not name.startswith(("guardian_log_dir", "guardian_raft_"))}
    assert len(of_members) >= 10
    assert of_members <= told
    assert all(family.documentation for family in reference.metric_families())


def test_every_error_and_exit_code_is_told() -> None:
    page = reference.errors_page()
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.GuardianError):
            assert f"| `{kind.__name__}` |" in page
    for code in MEANINGS:
        assert f"| {code} | " in page
