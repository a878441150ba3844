"""docs/howto.md has every kind of ticket that there is, and its configurations are taken by a member."""

from __future__ import annotations

import re
from pathlib import Path

from guardian.config import load
from guardian.events.model import SinkKind
from guardian.model.operation import HookAction
from guardian.tickets.kinds.registry import KINDS
from tests.unit.member.test_config import GOOD

ROOT = Path(__file__).parents[2]
KINDS_WITHOUT_A_PAGE_OF_THEIR_OWN = {"offline-brokers", "online-brokers", "stray-replicas"}  # told elsewhere


def test_every_kind_of_ticket_is_there() -> None:
    table = (ROOT / "guardian" / "tickets" / "kinds" / "README.md").read_text().split("\n\n## ", 1)[0]
    kinds = {
        kind
        for line in table.splitlines()
        if line.startswith("| `")
        for kind in re.findall(r"`([\w-]+)`", line.split("|")[1])
    }
    told = re.findall(r"^## .*$", (ROOT / "docs" / "howto.md").read_text(), re.MULTILINE)
    headings = {kind for line in told for kind in re.findall(r"`([\w-]+)`", line)}
    assert kinds == KINDS.keys()
    assert kinds - KINDS_WITHOUT_A_PAGE_OF_THEIR_OWN == headings


def test_its_configurations_are_taken_by_a_member(tmp_path: Path) -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```", (ROOT / "docs" / "howto.md").read_text(), re.MULTILINE | re.DOTALL)
    path = tmp_path / "g1.toml"
    path.write_text("\n".join((GOOD, *blocks)))
    config = load(path)
    assert {sink.kind for sink in config.sinks} == set(SinkKind)
    assert all(HookAction.STOP in hook.actions for hook in config.hooks.values())
    assert config.hooks
