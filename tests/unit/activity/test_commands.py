"""What an operator types and reads of client activity, over answers that are given."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from guardian.activity import commands as audit
from guardian.errors import InvalidInput
from protos.guardian.v1 import activity_pb2 as pb
from tests.command_line import app

NOW = datetime(2026, 11, 21, 12, 30).astimezone()
NOW_MS = round(NOW.timestamp() * 1000)
HOUR_MS = 3_600_000
COVERED = pb.ActivityCoverage(from_ms=NOW_MS - HOUR_MS, to_ms=NOW_MS, slices=9, brokers=3, kept_from_ms=1)


def at(text: str) -> int:
    return round(datetime.fromisoformat(text).astimezone().timestamp() * 1000)


class Guardian:
    """Stands in for a GuardianClient: gives one answer, and remembers what was asked."""

    def __init__(self, reply: Any) -> None:
        self.reply = reply
        self.asked: tuple[Any, ...] = ()

    def __enter__(self) -> Guardian:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def answer(*arguments: Any, **options: Any) -> Any:
            self.asked = (name, *arguments, *options.values())
            return self.reply

        return answer


Run = Callable[..., tuple[Result, Guardian]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    def run(reply: Any, *words: str, code: int = 0) -> tuple[Result, Guardian]:
        guardian = Guardian(reply)
        monkeypatch.setattr(audit, "connect", lambda _: guardian)
        monkeypatch.setattr(audit, "now_ms", lambda: NOW_MS)
        result = CliRunner().invoke(app, ["audit", *words])
        assert result.exit_code == code, result.output
        return result, guardian

    return run


@pytest.mark.parametrize(
    ("since", "start", "end", "expected"),
    [
        ("", "", "", (NOW_MS - HOUR_MS, NOW_MS)),
        ("10m", "", "", (NOW_MS - 600_000, NOW_MS)),
        ("", "03:00", "03:10", (at("2026-11-21T03:00"), at("2026-11-21T03:10"))),
        ("", "2026-11-20", "", (at("2026-11-20T00:00"), NOW_MS)),
        ("1h", "", "2026-11-20T02:00", (at("2026-11-20T01:00"), at("2026-11-20T02:00"))),
        ("", "2026-11-21T03:00:00+00:00", "", (1_795_230_000_000, NOW_MS)),
    ],
)
def test_a_time_is_said_in_the_ways_that_people_say_it(
    since: str, start: str, end: str, expected: tuple[int, int]
) -> None:
    assert audit.parse_span(since, start, end, NOW_MS) == expected


@pytest.mark.parametrize(
    ("since", "start", "end", "told"),
    [
        ("1h", "03:00", "", "--since and --from"),
        ("", "3 o'clock", "", '--from is "3 o\'clock"'),
        ("", "03:10", "03:00", "not before --to"),
        ("soon", "", "", "--since is 'soon'"),
        ("", "", "later", "--to is 'later'"),
    ],
)
def test_a_time_that_makes_no_sense_is_refused(since: str, start: str, end: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        audit.parse_span(since, start, end, NOW_MS)


def reply_of(*rows: pb.ActivityRow, truncated: bool = False, **coverage: int) -> pb.ListActivityReply:
    covered = pb.ActivityCoverage()
    covered.CopyFrom(COVERED)
    for field, value in coverage.items():
        setattr(covered, field, value)
    return pb.ListActivityReply(rows=rows, truncated=truncated, coverage=covered)


ALICE = pb.ActivityRow(
    principal="User:alice",
    client_id="app",
    address="10.0.0.1",
    operation="READ",
    resource_type="TOPIC",
    resource="orders",
    allowed=12,
    bytes_fetched=3_400_000,
    brokers=2,
    first_ms=NOW_MS,
    last_ms=NOW_MS,
)


def test_who_used_a_topic_is_a_table(run: Run) -> None:
    result, guardian = run(reply_of(ALICE), "topic", "--cluster", "live", "orders", "--since", "10m", "--limit", "7")
    assert guardian.asked == ("topic_activity", "live", "orders", NOW_MS - 600_000, NOW_MS, 7)
    header, row = result.stdout.splitlines()
    assert header.split()[:4] == ["PRINCIPAL", "CLIENT", "ADDRESS", "OPERATION"]
    assert header.split()[4:] == ["ALLOWED", "DENIED", "PRODUCED", "FETCHED", "BROKERS", "FIRST", "LAST"]
    assert row.split()[:10] == ["User:alice", "app", "10.0.0.1", "READ", "12", "-", "-", "3.4", "MB", "2"]
    assert result.stderr == ""


def test_a_principal_may_be_named_without_its_type(run: Run) -> None:
    assert run(reply_of(ALICE), "principal", "--cluster", "live", "alice")[1].asked[2] == "User:alice"
    assert run(reply_of(ALICE), "principal", "--cluster", "live", "Role:ops")[1].asked[2] == "Role:ops"


def test_json_is_the_whole_answer(run: Run) -> None:
    result, _ = run(reply_of(ALICE), "broker", "--cluster", "live", "7", "-o", "json")
    assert json.loads(result.stdout)["rows"][0]["principal"] == "User:alice"


def test_what_an_answer_lacks_is_said_beside_it(run: Run) -> None:
    shared = pb.ActivityRow(principal="User:bob", operation="READ", allowed=1, bytes_fetched=5, bytes_shared=True)
    result, _ = run(
        reply_of(shared, truncated=True, dropped_events=8, lost_slices=2, kept_from_ms=NOW_MS + HOUR_MS),
        "topic",
        "--cluster",
        "live",
        "orders",
    )
    assert "~5 B" in result.stdout
    for told in (
        "divided among them by requests",
        "there are more",
        "no room for 8",
        "2 slices",
        "what is kept begins",
    ):
        assert told in result.stderr


def test_an_answer_of_nothing_says_that_nothing_is_known(run: Run) -> None:
    for more in ((), ("-o", "json")):
        result, _ = run(reply_of(slices=0, kept_from_ms=0), "topic", "--cluster", "live", "orders", *more, code=4)
        assert "Nothing is known" in result.stderr
        assert "none is kept" in result.stderr
    unknown = pb.ActivityCoverage(to_ms=NOW_MS)
    for reply, words in (
        (pb.ListIdleTopicsReply(coverage=unknown), ("idle-topics",)),
        (pb.ListAclUseReply(coverage=unknown), ("acls",)),
    ):
        assert "Nothing is known" in run(reply, *words, "--cluster", "live", code=4)[0].stderr


def test_idle_topics_say_who_is_missing(run: Run) -> None:
    idle = pb.IdleTopic(name="orders", without_readers=True, last_write_ms=NOW_MS, tenant="payments")
    result, guardian = run(
        pb.ListIdleTopicsReply(topics=[idle], coverage=COVERED), "idle-topics", "--cluster", "live", "--since", "1h"
    )
    assert guardian.asked == ("idle_topics", "live", NOW_MS - HOUR_MS, False, 1000)
    assert result.stdout.splitlines()[1].split()[:4] == ["orders", "nobody", "yes", "-"]


def acl(verdict: pb.AclVerdict, **fields: Any) -> pb.AclUse:
    rule = {
        "resource_type": "TOPIC",
        "pattern_type": "LITERAL",
        "principal": "User:a",
        "host": "*",
        "operation": "READ",
    }
    return pb.AclUse(verdict=verdict, **{**rule, **fields})


def test_acls_show_what_is_wrong_first_and_count_the_rest(run: Run) -> None:
    reply = pb.ListAclUseReply(
        acls=[
            acl(pb.ACL_USED, resource_name="fine"),
            acl(pb.ACL_UNUSED, resource_name="old"),
            acl(pb.ACL_TOO_WIDE, resource_name="pay-", pattern_type="PREFIXED", why="it covers 9 topics"),
        ],
        coverage=COVERED,
        denials=2,
    )
    result, _ = run(reply, "acls", "--cluster", "live")
    _, wide, unused = result.stdout.splitlines()
    assert wide.startswith("TOO WIDE")
    assert "topic pay-*" in wide
    assert "it covers 9 topics" in wide
    assert unused.startswith("UNUSED")
    assert "1 of 3 rules fit" in result.stderr
    assert "2 rules that deny" in result.stderr
    assert "topic fine" in run(reply, "acls", "--cluster", "live", "--all")[0].stdout
