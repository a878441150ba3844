"""docs/howto.md has every kind of ticket that there is."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
KINDS_WITHOUT_A_PAGE_OF_THEIR_OWN = {"offline-brokers", "online-brokers"}  # told with rolling-restart


def test_every_kind_of_ticket_is_there() -> None:
    table = (ROOT / "guardian" / "ticket-kinds.md").read_text().split("\n\n## ", 1)[0]
    kinds = {
        kind
        for line in table.splitlines()
        if line.startswith("| `")
        for kind in re.findall(r"`([\w-]+)`", line.split("|")[1])
    }
    told = re.findall(r"^## .*$", (ROOT / "docs" / "howto.md").read_text(), re.MULTILINE)
    headings = {kind for line in told for kind in re.findall(r"`([\w-]+)`", line)}
    assert len(kinds) >= 15
    assert kinds - KINDS_WITHOUT_A_PAGE_OF_THEIR_OWN == headings
