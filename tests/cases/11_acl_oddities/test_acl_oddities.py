"""Access rules that people have.

A principal without its type (kafbat #1687, KAFKA-18051: it breaks every client that lists ACLs), names of certificates
with commas (KAFKA-2788), a PREFIXED "*" that matches nothing (confluentinc/kafka #1617), User:ANONYMOUS.
"""

from __future__ import annotations

import json

import pytest

from guardian.activity import acls
from guardian.core.kinds import acl_repair
from guardian.core.kinds.requested import Facts, Moment
from guardian.errors import InvalidInput
from guardian.model.acl import AclBinding
from guardian.model.ticket import TicketState

RULE = {
    "resource_type": "TOPIC",
    "pattern_type": "LITERAL",
    "resource_name": "orders",
    "principal": "User:ann",
    "host": "*",
    "operation": "READ",
    "permission": "ALLOW",
}
CLUSTER = {"resource_type": "CLUSTER", "resource_name": "my-cluster", "operation": "DESCRIBE"}
# Kafka 4.3, asked on a real broker.
REFUSAL = "INVALID_REQUEST: The only valid name for the CLUSTER resource is kafka-cluster"


def file(**changes: str) -> str:
    return json.dumps({"add": [{**RULE, **changes}], "remove": []})


def is_accepted(text: str) -> bool:
    try:
        acl_repair.read(text)
    except InvalidInput:
        return False
    return True


@pytest.mark.parametrize(
    "changes",
    [
        {"principal": "User:CN=svc-1,OU=Payments,O=Example\\, Inc.,C=DE"},
        {"principal": "User:ANONYMOUS"},
        {"principal": "Group:admins"},
        pytest.param(
            {"resource_type": "USER", "resource_name": "bob", "operation": "CREATE_TOKENS"},
            marks=pytest.mark.xfail(strict=True, raises=AssertionError, reason="USER (KIP-373) is not known"),
        ),
    ],
)
def test_rules_that_kafka_takes_are_accepted(changes: dict[str, str]) -> None:
    assert is_accepted(file(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"principal": "test"},
        pytest.param(
            CLUSTER,
            marks=pytest.mark.xfail(strict=True, raises=AssertionError, reason="any name of a cluster is accepted"),
        ),
    ],
)
def test_rules_that_kafka_refuses_for_good_or_that_break_its_clients_are_refused(changes: dict[str, str]) -> None:
    assert not is_accepted(file(**changes))


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="a rule that Kafka refuses keeps its ticket RUNNING")
def test_a_rule_that_kafka_refuses_for_good_ends_its_ticket() -> None:
    try:
        repair = acl_repair.read(file(**CLUSTER))
    except InvalidInput:
        return
    (rule,) = repair.add
    moments = (Moment(TicketState.RUNNING, 1, now_ms) for now_ms in range(100))
    steps = [acl_repair.KIND.step(repair, each, Facts(frozenset()), (f"{rule}: {REFUSAL}",)) for each in moments]
    ends = [each.transition for each in steps]
    assert any(ends)


def test_a_prefixed_star_matches_nothing_and_is_unused() -> None:
    rule = AclBinding("TOPIC", "PREFIXED", "*", "User:ann", "*", "READ", "ALLOW")
    (judged,) = acls.judge([rule], [acls.Use("User:ann", "TOPIC", "orders", "READ", 1)], {}, ["orders"])
    assert judged.verdict is acls.Verdict.UNUSED
