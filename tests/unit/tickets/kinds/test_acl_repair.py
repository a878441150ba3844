"""Which lists of access rules are taken, and what is done about one."""

from __future__ import annotations

import json

import pytest
from kafka.protocol.admin import ACLOperation

from guardian.errors import InvalidInput
from guardian.kafka import acls
from guardian.model.acl import AclBinding
from guardian.model.effects import CreateAcls, DeleteAcls
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import TicketState
from guardian.model.topology import TopicPartition
from guardian.tickets.kinds import acl_repair
from guardian.tickets.kinds.acl_repair import KIND, AclRepair
from guardian.tickets.kinds.requested import Facts, Moment, RequestStep

ANN = AclBinding("TOPIC", "LITERAL", "orders", "User:ann", "*", "READ", "ALLOW")
BOB = AclBinding("GROUP", "PREFIXED", "pay", "User:bob", "10.0.0.1", "READ", "DENY")
SHORT = {"resource_type": "TOPIC", "resource_name": "orders", "principal": "User:ann", "operation": "READ"}


def step(state: TicketState, plan: Plan, present: list[AclBinding], *refused: str) -> RequestStep:
    return KIND.step(KIND.task_of(plan), Moment(state, 1, 50_000), Facts(frozenset(), tuple(present)), refused)


def test_a_rule_is_anywhere_literal_and_allows_unless_it_says_else() -> None:
    asked = json.dumps({"add": [SHORT, acl_repair.as_rule(BOB), SHORT], "remove": []})
    assert acl_repair.read(asked) == AclRepair(add=(ANN, BOB))


def test_a_repair_travels_in_a_plan() -> None:
    repair = AclRepair((ANN,), (BOB,))
    assert KIND.task_of(KIND.plan("live", repair)) == repair


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "the file of rules is not JSON"),
        ("[" * 100_000, "the file of rules is not JSON"),
        ("[]", 'no object of "add" and "remove"'),
        ('{"plus": []}', 'no object of "add" and "remove"'),
        ("{}", "add and remove are empty"),
        ('{"add": {}}', "add is no list"),
        ('{"add": [1]}', r"add\[0\] is no object"),
        (json.dumps({"remove": [{**SHORT, "user": "x"}]}), r"remove\[0\] has a field 'user'"),
        (json.dumps({"add": [{**SHORT, "operation": ""}]}), r"add\[0\].operation is ''"),
        (json.dumps({"add": [{**SHORT, "principal": "ann"}]}), "is 'ann': use TYPE:NAME, such as User:ann"),
        (json.dumps({"add": [{**SHORT, "pattern_type": "MATCH"}]}), "pattern_type is 'MATCH': use one of LITERAL"),
        (
            json.dumps({"add": [{**SHORT, "resource_type": "TOPICS"}]}),
            r"add\[0\].resource_type is 'TOPICS': use one of",
        ),
        (json.dumps({"add": [{**SHORT, "operation": "ANY"}]}), r"add\[0\].operation is 'ANY': use one of ALL, READ"),
        (json.dumps({"add": [{**SHORT, "permission": "ANY"}]}), "permission is 'ANY': use one of ALLOW, DENY"),
        (
            json.dumps({"add": [SHORT], "remove": [SHORT]}),
            "ALLOW User:ann READ TOPIC orders from \\* is to be added and",
        ),
        (
            json.dumps({"add": [{**SHORT, "resource_name": f"t{each}"} for each in range(1001)]}),
            "add has 1001 rules: use up to 1000",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        acl_repair.read(text)


def test_a_ticket_holds_only_what_changes_something() -> None:
    plan = KIND.resolved(KIND.plan("live", AclRepair((ANN,), (BOB,))), Facts(frozenset(), (ANN, BOB)), 0)
    assert KIND.task_of(plan) == AclRepair(remove=(BOB,))
    assert plan.notes == (f"takes out {BOB!s}", "1 of what is asked for is so already")
    with pytest.raises(InvalidInput, match="all 1 rules are as asked for in cluster live already"):
        KIND.resolved(KIND.plan("live", AclRepair((ANN,))), Facts(frozenset(), (ANN,)), 0)


def test_a_plan_of_that_kind_moves_nothing() -> None:
    move = PartitionMove(TopicPartition("t", 0), (), (ReplicaPlacement(1),))
    with pytest.raises(InvalidInput, match="moves of the plan has 1"):
        KIND.resolved(Plan("live", AclRepair.kind, (move,)), Facts(frozenset(), ()), 0)


def test_rules_go_in_before_others_go_out_and_back_the_same_way() -> None:
    plan = KIND.plan("live", AclRepair((ANN,), (BOB,)))
    running, cancelling = TicketState.RUNNING, TicketState.CANCELLING
    assert step(running, plan, [BOB]).effects == (CreateAcls((ANN,)),)
    assert step(running, plan, [ANN, BOB]).effects == (DeleteAcls((BOB,)),)
    ended = step(running, plan, [ANN])
    assert ended.transition == (TicketState.SUCCEEDED, "1 access rules were added and 1 taken out")
    assert step(cancelling, plan, [ANN]).effects == (CreateAcls((BOB,)),)
    assert step(cancelling, plan, [ANN, BOB]).effects == (DeleteAcls((ANN,)),)
    back = step(cancelling, plan, [BOB])
    assert back.transition is not None
    assert back.transition[0] is TicketState.CANCELLED


def test_what_kafka_refuses_is_said() -> None:
    plan = KIND.plan("live", AclRepair((ANN,)))
    said = step(TicketState.RUNNING, plan, [], f"{ANN}: CLUSTER_AUTHORIZATION_FAILED").sentence
    assert said.endswith("Kafka refused ALLOW User:ann READ TOPIC orders from *: CLUSTER_AUTHORIZATION_FAILED")


def test_the_names_are_those_that_can_be_sent() -> None:
    for kind, names in ((acls.ResourceType, acl_repair.RESOURCE_TYPES), (ACLOperation, acl_repair.OPERATIONS)):
        for name in names:
            acls._number(kind, "field", name)
        for name in kind.__members__.keys() - set(names):
            with pytest.raises(InvalidInput):
                acls._number(kind, "field", name)
