"""Who may approve what and when, and the sentence when not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args
from zoneinfo import ZoneInfo

import pytest

from guardian.errors import InvalidInput
from guardian.healing.rules import straying
from guardian.healing.rules.trouble import CureKind
from guardian.model.actor import Agent
from guardian.model.operation import AskKind
from guardian.model.plan import RUN_PLAN
from guardian.model.tasks import Task
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.tickets.approval import ApprovalPolicy, ApprovalRule, everybody, load_approvals, parse_window
from guardian.model.wire.tickets import ticket_from_proto, ticket_to_proto
from guardian.tickets.kinds.acl_repair import AclRepair
from guardian.tickets.kinds.delete_topic import DeleteTopic
from guardian.tickets.kinds.registry import HAVE_SIZE, KINDS
from guardian.tickets.kinds.requested import RequestKind
from guardian.tickets.kinds.throttle_override import ThrottleOverride
from guardian.tickets.kinds.topic_config import TopicConfig
from guardian.tickets.rules.approving import automatic, why_expired, why_no_way_back, why_not
from guardian.tickets.rules.ticketing import by_itself

MONDAY_NOON = int(datetime(2026, 11, 23, 12, 0, tzinfo=UTC).timestamp() * 1000)
HOUR = 3_600_000
POLICY = """
expires = "2d"

[[rules]]
name      = "balances at night"
kinds     = ["balance", "leaders"]
clusters  = ["live-*"]
approvers = ["ann", "sre-*"]
max_bytes = "500GB"
max_moves = 1000
windows   = ["Mon-Fri 22:00-06:00"]
timezone  = "Asia/Shanghai"

[[rules]]
name      = "healing"
authors   = ["healing"]
automatic = true
max_bytes = "2TB"
"""


def ticket(
    state: TicketState = TicketState.PENDING,
    *,
    author: str = "bob",
    kind: str = "balance",
    cluster: str = "live-1",
    size: int = 0,
    moves: int = 1,
) -> Ticket:
    return Ticket("t-1", cluster, kind, state, author, "h", 0, 0, 0, moves=moves, bytes_to_copy=size)


def policy(tmp_path: Path, text: str = POLICY) -> ApprovalPolicy:
    file = tmp_path / "approvals.toml"
    file.write_text(text)
    return load_approvals(file, HAVE_SIZE)


def shanghai(hour: int) -> int:
    """On Monday, November 23."""
    return int(datetime(2026, 11, 23, hour, tzinfo=ZoneInfo("Asia/Shanghai")).timestamp() * 1000)


def test_a_file_says_who_and_how_much_and_when(tmp_path: Path) -> None:
    rules = policy(tmp_path)
    assert rules.expires_ms == 48 * HOUR
    night, noon = shanghai(23), shanghai(12)
    assert why_not(rules, ticket(), "ann", night) == ""
    assert why_not(rules, ticket(), "sre-7", night) == ""
    assert "lets ann, sre-*" in why_not(rules, ticket(), "eve", night)
    assert "holds Mon-Fri 22:00-06:00 (Asia/Shanghai), and it is Mon 12:00" in why_not(rules, ticket(), "ann", noon)
    assert "allows 500.0 GB, and it copies 600.0 GB" in why_not(rules, ticket(size=600 * 10**9), "ann", night)
    assert "allows 1000 moves, and it has 1001" in why_not(rules, ticket(moves=1001), "ann", night)
    assert "no rule of the approval policy is about ticket t-1 (migrate-idc" in why_not(
        rules, ticket(kind="migrate-idc"), "ann", night
    )
    assert "no rule" in why_not(rules, ticket(cluster="test-1"), "ann", night)
    assert why_not(rules, ticket(author="ann"), "ann", night).startswith("actor is 'ann', the author of ticket t-1")


def test_a_night_that_began_on_friday_lasts_until_saturday_morning() -> None:
    window = parse_window("Mon-Fri 22:00-06:00")
    friday, saturday, sunday = (datetime(2026, 11, day, 0, tzinfo=UTC) for day in (27, 28, 29))
    assert window.holds(friday.replace(hour=23))
    assert window.holds(saturday.replace(hour=5, minute=59))
    assert not window.holds(saturday.replace(hour=6))
    assert not window.holds(saturday.replace(hour=23))
    assert not window.holds(sunday.replace(hour=3))
    assert window.holds(datetime(2026, 11, 23, 22, tzinfo=UTC))
    assert not window.holds(datetime(2026, 11, 23, 3, tzinfo=UTC)), "the night of Sunday"


def test_days_may_wrap_around_the_week_and_all_of_a_day_may_be_meant() -> None:
    weekend = parse_window("Sat-Mon 00:00-24:00")
    days = [weekend.holds(datetime(2026, 11, day, 12, tzinfo=UTC)) for day in range(23, 30)]
    assert days == [True, False, False, False, False, True, True]
    assert all(parse_window("08:00-12:00").holds(datetime(2026, 11, day, 9, tzinfo=UTC)) for day in range(23, 30))


def test_a_rule_approves_by_itself_within_its_limits(tmp_path: Path) -> None:
    rules = policy(tmp_path)
    transition = by_itself(ticket(author=Agent.HEALING), MONDAY_NOON, rules)
    assert transition is not None
    assert (transition.state, transition.actor) == (TicketState.APPROVED, "policy")
    assert transition.reason == "approved by rule 'healing'"
    assert by_itself(ticket(author=Agent.HEALING, size=3 * 10**12), MONDAY_NOON, rules) is None
    assert by_itself(ticket(), MONDAY_NOON, rules) is None
    assert by_itself(ticket(TicketState.DRAFT, author=Agent.HEALING), MONDAY_NOON, rules) is None, "a proposal"
    assert automatic(rules, ticket(TicketState.REJECTED, author=Agent.HEALING), MONDAY_NOON) is None


def test_without_a_file_everybody_may_and_healing_needs_nobody() -> None:
    assert why_not(everybody(), ticket(author="ann"), "ann", 0) == ""
    assert "somebody else" in why_not(everybody(author_may_approve=False), ticket(author="ann"), "ann", 0)
    assert automatic(everybody(), ticket(author=Agent.HEALING), 0) is not None
    assert automatic(everybody(), ticket(author="ann"), 0) is None


@pytest.mark.parametrize("state", TicketState)
def test_only_what_waits_expires(state: TicketState) -> None:
    history = (TicketTransition(TicketState.PENDING, 0, "bob", ""),)
    waiting = Ticket("t-1", "live", "balance", state, "bob", "h", 0, 0, 0, history, expires_at_ms=HOUR)
    assert why_expired(waiting, HOUR - 1) == ""
    assert bool(why_expired(waiting, HOUR)) is (state in (TicketState.PENDING, TicketState.APPROVED))


def test_the_time_of_a_draft_begins_when_it_is_submitted() -> None:
    history = (
        TicketTransition(TicketState.DRAFT, 1000, "bob", ""),
        TicketTransition(TicketState.PENDING, 5 * HOUR, "bob", ""),
    )
    late = Ticket(
        "t-1", "live", "balance", TicketState.PENDING, "bob", "h", 0, 1000, 0, history, expires_at_ms=HOUR + 1000
    )
    assert why_expired(late, 6 * HOUR - 1) == ""
    assert why_expired(late, 6 * HOUR).startswith("it was not approved before 1970-01-01 06:00:00 UTC")


def test_a_ticket_without_an_end_never_expires() -> None:
    assert why_expired(ticket(), 10**15) == ""


def test_the_way_back_waits_for_no_window_but_not_everybody_may(tmp_path: Path) -> None:
    rules = policy(tmp_path)
    over = ticket(TicketState.SUCCEEDED, size=10**15)
    assert why_no_way_back(rules, over, "bob") == "", "who made it"
    assert why_no_way_back(rules, over, "ann") == "", "who may approve its like"
    assert why_no_way_back(rules, over, "eve") == (
        "actor 'eve' may not roll back ticket t-1: the approval policy lets ann, bob, sre-*"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"rules has 0 entries: write 1 to 1000 sections"),
        ("rules = 3", r"rules is 3: write each as a section"),
        ("expire = 3\n[[rules]]\nname='a'", r"expire is not a setting: did you mean expires"),
        ("expires = 3\n[[rules]]\nname='a'\nautomatic=true", r'expires is 3: give a text such as "7d"'),
        ("expires = 'x'\n[[rules]]\nname='a'\nautomatic=true", r"expires is 'x': use a number and ms"),
        ("[[rules]]\nautomatic=true", r"rules\[0\].name is missing: give a name of up to 100"),
        ("[[rules]]\nname='a'", r"rules\[0\] lets nobody approve: give approvers, or automatic = true"),
        ("[[rules]]\nname='a'\napprover=['x']", r"rules\[0\].approver is not a setting: did you mean approvers"),
        ("[[rules]]\nname='a'\napprovers='x'", r"rules\[0\].approvers is 'x': give a list, such as"),
        ("[[rules]]\nname='a'\nautomatic=1", r"rules\[0\].automatic is 1: use true or false"),
        ("[[rules]]\nname='a'\nautomatic=true\nmax_bytes=5", r"rules\[0\].max_bytes is 5: give bytes as a text"),
        ("[[rules]]\nname='a'\nautomatic=true\nmax_bytes='500'", r"max_bytes is '500': give bytes as a text"),
        ("[[rules]]\nname='a'\nautomatic=true\nmax_bytes='5GB/s'", r"max_bytes is '5GB/s': give bytes as a text"),
        (
            "[[rules]]\nname='a'\nautomatic=true\nmax_moves=-1",
            r"rules\[0\].max_moves is -1: give a whole number from 1",
        ),
        ("[[rules]]\nname='a'\nautomatic=true\nwindows=['8-9']", r"rules\[0\].windows has '8-9': use days and times"),
        ("[[rules]]\nname='a'\nautomatic=true\nwindows=['25:00-26:00']", r"'25:00-26:00': use times from 00:00"),
        ("[[rules]]\nname='a'\nautomatic=true\ntimezone='Mars'", r"rules\[0\].timezone is 'Mars': use a zone"),
        ("[[rules]]\nname='a'\nautomatic=true\n[[rules]]\nname='a'\nautomatic=true", r"rules has the name 'a' twice"),
        ("[[rules]", r"is not valid TOML"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as refused:
        policy(tmp_path, text)
    assert str(refused.value).startswith(f"approvals file {tmp_path}/approvals.toml")
    assert "\n" not in str(refused.value)


def rule(**settings: object) -> str:
    lines = {"name": "a", "approvers": ["bob"], **settings}
    return "[[rules]]\n" + "\n".join(f"{key} = {json.dumps(value)}" for key, value in lines.items())


def test_a_kind_that_is_none_is_named_with_those_that_are(tmp_path: Path) -> None:
    known = ", ".join(sorted(KINDS))
    with pytest.raises(InvalidInput) as refused:
        policy(tmp_path, rule(kinds=["balance", "balnce"]))
    assert f"rules[0].kinds has 'balnce', which is no kind of ticket: use {known}, or *" in str(refused.value)
    with pytest.raises(InvalidInput, match=r"kinds has 'restart\*'"):
        policy(tmp_path, rule(kinds=["restart*"]))
    assert policy(tmp_path, rule(kinds=["*-brokers", "rolling-restart", *sorted(KINDS)])).rules


@pytest.mark.parametrize("limit", [{"max_bytes": "5GB"}, {"max_moves": 7}])
def test_a_limit_on_kinds_that_never_say_how_much_they_move_is_refused(
    tmp_path: Path, limit: dict[str, object]
) -> None:
    name = next(iter(limit))
    words = rf"rules\[0\]\.{name} is .* of kind offline-brokers, rolling-restart do not say"
    with pytest.raises(InvalidInput, match=words):
        policy(tmp_path, rule(kinds=["rolling-*", "offline-brokers"], **limit))
    assert policy(tmp_path, rule(kinds=["rolling-*", "remove-brokers"], **limit)).rules
    assert policy(tmp_path, rule(**limit)).rules


def test_rules_know_all_kinds_of_tickets() -> None:
    """Those of planners, of operations, of healing and of requests: each from where it is made."""
    tasks = {task.kind for task in get_args(Task)}
    requests = {kind.name for kind in KINDS.values() if isinstance(kind, RequestKind)}
    assert {AclRepair.kind, ThrottleOverride.kind, TopicConfig.kind, DeleteTopic.kind} == requests
    assert tasks | requests | set(AskKind) | set(CureKind) | {RUN_PLAN, straying.KIND} == KINDS.keys()
    without_size = {name for name, has_size in HAVE_SIZE.items() if not has_size}
    assert set(AskKind) - {AskKind.REMOVE} | requests == without_size


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"approvals file .*none\.toml can't be read: No such file"):
        load_approvals(tmp_path / "none.toml", HAVE_SIZE)


def test_a_rule_needs_to_match_by_kind_cluster_and_author() -> None:
    rules = ApprovalPolicy((ApprovalRule("a", kinds=("b*",), clusters=("c",), authors=("d",), automatic=True),))
    assert automatic(rules, ticket(kind="balance", cluster="c", author="d"), 0) is not None
    for wrong in ({"kind": "leaders"}, {"cluster": "x"}, {"author": "x"}):
        given = {"kind": "balance", "cluster": "c", "author": "d"} | wrong
        assert automatic(rules, ticket(**given), 0) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", ["max_bytes = '2TB'", "max_moves = 9"])
def test_a_limit_lets_nothing_pass_that_does_not_say_how_much_it_moves(tmp_path: Path, limit: str) -> None:
    rules = policy(tmp_path, f"[[rules]]\nname='a'\napprovers=['ann']\nautomatic=true\n{limit}")
    removal = ticket(kind="remove-brokers", moves=0)
    assert automatic(rules, removal, 0) is None
    assert "limits what is moved, and this ticket does not say how much it moves" in why_not(rules, removal, "ann", 0)
    assert automatic(rules, ticket(kind="create-topic", moves=1), 0) is not None


def test_an_amendment_gives_no_more_time() -> None:
    history = tuple(TicketTransition(TicketState.PENDING, at_ms, "bob", "") for at_ms in (0, HOUR // 2))
    amended = Ticket("t-1", "live", "balance", TicketState.PENDING, "bob", "h", 0, 0, 0, history, expires_at_ms=HOUR)
    assert why_expired(amended, HOUR)


def test_a_person_of_that_name_is_not_healing_whatever_the_records_say() -> None:
    """The doors refuse the name; were it in a record all the same, it would still be a person's."""
    impostor = ticket(author="healing")
    assert impostor.author == Agent.HEALING, "it reads the same"
    assert automatic(everybody(), impostor, 0) is None
    kept = ticket_from_proto(ticket_to_proto(impostor))
    assert automatic(everybody(), kept, 0) is None
    healings = ticket_from_proto(ticket_to_proto(ticket(author=Agent.HEALING)))
    assert healings.author is Agent.HEALING
    assert automatic(everybody(), healings, 0) is not None
