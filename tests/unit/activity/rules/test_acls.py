"""ACLs judged by what was used of them."""

from __future__ import annotations

import pytest

from guardian.activity.rules.acls import Judgement, Use, Verdict, hosts_of, judge
from guardian.model.acl import AclBinding

TOPICS = ("orders", "pay-in", "pay-out", "clicks")


def acl(
    name: str = "orders",
    *,
    principal: str = "User:alice",
    operation: str = "READ",
    pattern: str = "LITERAL",
    kind: str = "TOPIC",
    host: str = "*",
    permission: str = "ALLOW",
) -> AclBinding:
    return AclBinding(kind, pattern, name, principal, host, operation, permission)


def use(name: str = "orders", operation: str = "READ", principal: str = "User:alice", kind: str = "TOPIC") -> Use:
    return Use(principal, kind, name, operation, 5)


def judged(rule: AclBinding, *uses: Use) -> Judgement:
    (found,) = judge([rule], uses, {}, TOPICS)
    return found


@pytest.mark.parametrize(
    "found",
    [use("clicks"), use(operation="WRITE"), use(principal="User:bob"), use(kind="GROUP")],
)
def test_a_rule_that_nothing_fits_is_unused(found: Use) -> None:
    assert judged(acl(), found).verdict is Verdict.UNUSED


def test_a_rule_that_is_used_as_it_stands_fits() -> None:
    found = judged(acl(), use())
    assert (found.verdict, found.names, found.last_ms) == (Verdict.USED, ("orders",), 5)


@pytest.mark.parametrize(
    ("granted", "done"),
    [
        ("READ", "DESCRIBE"),
        ("WRITE", "DESCRIBE"),
        ("ALTER", "DESCRIBE"),
        ("DELETE", "DESCRIBE"),
        ("ALTER_CONFIGS", "DESCRIBE_CONFIGS"),
    ],
)
def test_what_kafka_implies_is_a_use(granted: str, done: str) -> None:
    assert judged(acl(operation=granted), use(operation=done)).verdict is Verdict.USED
    assert judged(acl(operation=done), use(operation=granted)).verdict is Verdict.UNUSED


def test_a_prefix_that_covers_more_topics_than_were_used_is_too_wide() -> None:
    found = judged(acl("pay-", pattern="PREFIXED"), use("pay-in"))
    assert (found.verdict, found.covered) == (Verdict.TOO_WIDE, 2)
    assert found.why == "it covers 2 topics, and pay-in was used"


def test_a_prefix_whose_topics_were_all_used_fits() -> None:
    rule = acl("pay-", pattern="PREFIXED")
    assert judged(rule, use("pay-in"), use("pay-out"), use("orders")).verdict is Verdict.USED


def test_any_topic_is_too_wide_where_some_were_used() -> None:
    assert judged(acl("*"), use("pay-in"), use("orders")).why == "it covers 4 topics, and orders, pay-in were used"


def test_any_group_is_too_wide() -> None:
    found = judged(acl("*", kind="GROUP"), use("readers", kind="GROUP"))
    assert found.why == "it covers every group, and readers was used"


def test_a_literal_star_is_no_prefix() -> None:
    assert judged(acl("*", pattern="PREFIXED"), use("orders")).verdict is Verdict.UNUSED


def test_everybody_and_all_operations_are_too_wide() -> None:
    found = judged(acl(principal="User:*", operation="ALL"), use(principal="User:bob"), use(operation="WRITE"))
    assert found.verdict is Verdict.TOO_WIDE
    assert found.why == (
        "it is for everybody, and User:alice, User:bob came; it allows all, and READ, WRITE was needed, "
        "besides what controllers authorize unseen"
    )


def test_a_rule_of_a_host_is_judged_by_what_came_from_there() -> None:
    rules = [acl(host="10.0.0.1"), acl(host="10.0.0.2"), acl(host="10.0.0.3", permission="DENY")]
    assert hosts_of(rules) == {"10.0.0.1", "10.0.0.2"}
    used, unused = judge(rules, [use()], {"10.0.0.1": [use()], "10.0.0.2": []}, TOPICS)
    assert (used.verdict, unused.verdict) == (Verdict.USED, Verdict.UNUSED)


def test_rules_that_deny_are_not_judged() -> None:
    assert judge([acl(permission="DENY")], [use()], {}, TOPICS) == []


@pytest.mark.parametrize(
    ("kind", "operation"),
    [
        ("TOPIC", "CREATE"),
        ("TOPIC", "DELETE"),
        ("TOPIC", "ALTER"),
        ("TOPIC", "ALTER_CONFIGS"),
        ("TOPIC", "ALL"),
        ("CLUSTER", "ALTER"),
        ("CLUSTER", "DESCRIBE"),
        ("GROUP", "ALTER_CONFIGS"),
        ("USER", "CREATE_TOKENS"),
    ],
)
def test_a_rule_for_what_controllers_authorize_is_never_called_unused(kind: str, operation: str) -> None:
    found = judged(acl(operation=operation, kind=kind))
    assert found.verdict is Verdict.UNSEEN
    assert "controllers" in found.why


@pytest.mark.parametrize(("kind", "operation"), [("TOPIC", "WRITE"), ("GROUP", "DELETE"), ("TRANSACTIONAL_ID", "ALL")])
def test_a_rule_for_what_brokers_alone_authorize_is_unused_when_nobody_comes(kind: str, operation: str) -> None:
    assert judged(acl(operation=operation, kind=kind)).verdict is Verdict.UNUSED


def test_a_rule_for_all_says_what_of_it_can_not_be_seen() -> None:
    found = judged(acl(operation="ALL"), use())
    assert found.verdict is Verdict.TOO_WIDE
    assert "READ was needed, besides what controllers authorize unseen" in found.why


def test_a_rule_that_a_broker_has_seen_in_use_is_used_though_controllers_authorize_it_too() -> None:
    assert judged(acl(operation="DELETE"), use(operation="DELETE")).verdict is Verdict.USED
