"""docs/rights.md is what `guardian docs rights` makes of the rules as they are."""

from __future__ import annotations

from pathlib import Path

from guardian.member.commands import rights_page
from guardian.member.web_routes import route_table
from guardian.security.rules.permitting import RPCS

PAGE = Path("docs/rights.md")


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == rights_page.page(route_table()), "run guardian docs rights --out docs/rights.md"


def test_the_page_has_every_method_and_every_route() -> None:
    routes = route_table()
    rows = [line for line in rights_page.page(routes).splitlines() if line.startswith("| `")]
    assert len(rows) == len(RPCS) + len(routes.rules)
