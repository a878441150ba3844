"""-o wide: every table has more to show, or says here why not; names of fields become headings and units."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pytest

from guardian.cli.output import Output, choose
from guardian.cli.output_more import more_of
from guardian.cli.render import print_table
from protos.guardian.v1 import insight_pb2 as pb

GUARDIAN = Path("guardian")

# Where rows are made of nothing that is not shown.
WHOLE = {
    "federation/commands/broker.py:metrics": "a metric is a name and a value",
    "health/commands/kafka_settings.py:show_topic": "what Kafka says of a setting is shown",
    "health/commands/kafka_settings.py:list_quotas": "a quota is whom it is for, its key and its value",
    "activity/commands.py:_show_costs": "what is known of a line is shown",
    "health/commands/past.py:_show_disks": "what is stored of a log dir is shown",
    "health/commands/past.py:_show_topics": "a topic's traffic is two rates",
    "health/commands/past.py:_show_around": "`guardian audit broker` says more of clients",
    "events/commands.py:_show_sinks": "all that is known of a sink is shown",
    "federation/commands/federation.py:_list": "an entry's fields are all shown",
    "activity/commands.py:idle_topics": "what is known of an idle topic is shown",
    "cli/local.py:_show": "a process is where it is",
    "replication/commands/raft.py:finish_upgrade": "it is asked about levels",
    "replication/commands/raft_probing.py:probe_until": "it is asked who serves",
    "tickets/commands/ticket_views.py:show": "of its two tables the history's entries are all shown",
    "tickets/commands/ticket_telling.py:show_preview": "a request is its name, its subject and its change",
    "tickets/commands/ticket_telling.py:show_parts": "a part is a ticket: ticket list has the rest",
    "tickets/commands/why_approval.py:why_approval": "what a rule asks is shown",
    "security/commands/roles.py:roles": "a grant is whom it is for, its role, clusters and tenants",
    "security/commands/whoami.py:whoami": "a grant is its role, clusters and tenants",
    "tiering/commands/tiering_gone.py:print_gone": "a deleted topic is known by what is left of it",
    "tiering/commands/tiering_import.py:_print_unreadable": "a record is its place in the topic",
    "security/commands/token.py:list_tokens": "the rest of a token is its hash",
    "planning/commands/whatif.py:_show_uses": "a use is its share before and after",
    "planning/commands/plan/offline.py:show_score": "all spreads are shown",
    "cli/plan_tables.py:_show_goals": "a goal's figures are shown",
    "cli/plan_tables.py:_show_lines": "a line's figures are shown",
    "cli/plan_tables.py:show_loads": "a spread is a number before and after",
}


def calls(file: Path) -> Iterator[tuple[str, bool]]:
    """The functions that print tables, and whether these have more columns for -o wide."""
    for function in ast.walk(ast.parse(file.read_text())):
        if isinstance(function, ast.FunctionDef):
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print_table":
                    yield (
                        f"{file.relative_to(GUARDIAN)}:{function.name}",
                        bool({"more", "wide"} & {word.arg for word in call.keywords}),
                    )


def test_every_table_has_more_columns_or_a_reason() -> None:
    found = [each for file in sorted(GUARDIAN.rglob("*.py")) for each in calls(file)]
    assert len(found) > 40
    assert {place for place, has_more in found if not has_more} == set(WHOLE)


class Colour(Enum):
    DARK_RED = 1


@dataclass(frozen=True, slots=True)
class Inner:
    mode: str = "act"


@dataclass(frozen=True, slots=True)
class Record:
    since_ms: int = 0
    await_ms: float = 4.26
    hold_ms: int = 90_000
    size_bytes: int = 1_500_000
    bytes_per_s: float = 2e6
    behind_s: float = 7200.0
    ios_per_s: float = 12.345
    is_adopted: bool = True
    colour: Colour = Colour.DARK_RED
    log_dirs: tuple[str, ...] = ("/a", "/b")
    topic_id: bytes = bytes(range(16))
    count: int = 3
    nothing: str | None = None
    policy: Inner = Inner()


@pytest.mark.parametrize(
    ("name", "heading", "text", "is_number"),
    [
        ("since_ms", "SINCE", "-", False),
        ("await_ms", "AWAIT", "4.3 ms", True),
        ("hold_ms", "HOLD", "1.5 min", True),
        ("size_bytes", "SIZE", "1.5 MB", True),
        ("bytes_per_s", "BYTES/S", "2.0 MB/s", True),
        ("behind_s", "BEHIND", "2 h", True),
        ("ios_per_s", "IOS/S", "12.35", True),
        ("is_adopted", "ADOPTED", "yes", False),
        ("colour", "COLOUR", "dark red", False),
        ("log_dirs", "LOG DIRS", "/a, /b", False),
        ("topic_id", "TOPIC ID", "AAECAwQFBgcICQoLDA0ODw", False),
        ("count", "COUNT", "3", True),
        ("nothing", "NOTHING", "-", False),
        ("policy.mode", "MODE", "act", False),
    ],
)
def test_a_fields_name_says_how_it_is_written(name: str, heading: str, text: str, is_number: bool) -> None:
    more = more_of([Record()], name)
    assert (more.columns, more.cells(), more.right) == ((heading,), [(text,)], (heading,) if is_number else ())


def test_messages_tell_names_of_enumerations_and_what_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    finding = pb.Finding(kind=pb.SLOW_DISK, last_seen_ms=1_700_000_000_000)
    found = more_of([finding, None], "kind", "last_seen_ms").cells()
    assert found == [("SLOW_DISK", "2023-11-14 22:13:20"), ("-", "-")]
    monkeypatch.undo()
    time.tzset()
    assert more_of([pb.Line(one="a")], "price_gb").cells() == [("-",)]


@pytest.mark.parametrize("output", [Output.TABLE, Output.WIDE])
def test_more_is_for_wide_only(output: Output, capsys: pytest.CaptureFixture[str]) -> None:
    choose(output)
    try:
        print_table(("NAME",), [("x",), ("total",)], more=more_of([Record(), None], "count", "policy.mode"))
    finally:
        choose(Output.TABLE)
    plain, wide = "NAME\nx\ntotal\n", "NAME   COUNT  MODE\nx      3      act\ntotal  -      -\n"
    assert capsys.readouterr().out == (wide if output is Output.WIDE else plain)


def test_no_rows_are_no_trouble(capsys: pytest.CaptureFixture[str]) -> None:
    choose(Output.WIDE)
    try:
        print_table(("NAME",), [], more=more_of([], "count"))
    finally:
        choose(Output.TABLE)
    assert capsys.readouterr().out == "NAME  COUNT\n"
