"""Access rules that people have.

A principal without its type (kafbat #1687, KAFKA-18051: it breaks every client that lists ACLs), names of certificates
with commas (KAFKA-2788), a PREFIXED "*" that matches nothing (confluentinc/kafka #1617), User:ANONYMOUS.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from guardian.activity.rules import acls
from guardian.errors import InvalidInput
from guardian.execution.loop.sending import send_request
from guardian.kafka.fake import FakeKafka
from guardian.model.acl import AclBinding
from guardian.model.effects import CreateAcls
from guardian.model.ticket import TicketState
from guardian.tickets.kinds import acl_repair
from guardian.tickets.kinds.requested import Facts, Moment

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
        {"resource_type": "USER", "resource_name": "bob", "operation": "CREATE_TOKENS"},
        {**CLUSTER, "resource_name": "kafka-cluster"},
    ],
)
def test_rules_that_kafka_takes_are_accepted(changes: dict[str, str]) -> None:
    assert is_accepted(file(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"principal": "test"},
        CLUSTER,
    ],
)
def test_rules_that_kafka_refuses_for_good_or_that_break_its_clients_are_refused(changes: dict[str, str]) -> None:
    assert not is_accepted(file(**changes))


def test_a_rule_that_kafka_refuses_for_good_ends_its_ticket_with_kafkas_words() -> None:
    repair = acl_repair.read(file())
    (rule,) = repair.add
    kafka = FakeKafka({1: "a"}, {1: ("/d0",)})
    kafka.set_acls()
    unnamed = replace(rule, resource_type="CLUSTER", resource_name="my-cluster")
    (refused,) = send_request(kafka, CreateAcls((unnamed,)))
    assert REFUSAL in refused
    decided = acl_repair.KIND.next_step(repair, Moment(TicketState.RUNNING, 1, 2), Facts(frozenset()), (refused,))
    assert decided.transition is not None
    state, words = decided.transition
    assert state is TicketState.FAILED
    assert words.startswith("Kafka refuses it for good: ")
    assert REFUSAL in words
    assert not decided.effects


def test_a_rule_that_kafka_has_can_be_taken_out_whatever_it_is() -> None:
    repair = acl_repair.read(json.dumps({"add": [], "remove": [{**RULE, **CLUSTER}]}))
    assert acl_repair.KIND.resolve(repair, "live", Facts(frozenset(), repair.remove), 0) == repair


def test_a_rule_that_kafka_never_makes_is_refused_whoever_asks() -> None:
    rule = AclBinding("CLUSTER", "LITERAL", "my-cluster", "User:ann", "*", "DESCRIBE", "ALLOW")
    with pytest.raises(InvalidInput, match=r"^add\[0\]\.resource_name: .*got 'my-cluster'.*use kafka-cluster$"):
        acl_repair.KIND.resolve(acl_repair.AclRepair((rule,)), "live", Facts(frozenset()), 0)


def test_a_prefixed_star_matches_nothing_and_is_unused() -> None:
    rule = AclBinding("TOPIC", "PREFIXED", "*", "User:ann", "*", "READ", "ALLOW")
    (judged,) = acls.judge([rule], [acls.Use("User:ann", "TOPIC", "orders", "READ", 1)], {}, ["orders"])
    assert judged.verdict is acls.Verdict.UNUSED
