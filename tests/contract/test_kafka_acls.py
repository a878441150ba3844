"""How a KafkaAdmin tells of access rules: one suite, on the fake, simulated brokers and a real one that has
Kafka's authorizer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import admin as confluent_admin

from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from guardian.errors import InvalidInput
from guardian.kafka.admin import KafkaAdmin
from guardian.kafka.control import KafkaControl
from guardian.kafka.fake import FakeKafka
from guardian.model.acl import AclBinding
from guardian.model.effects import is_final
from tests.patience import CALL_S, PATIENCE_S, until, wait_for
from tests.simulated import simulated

confluent: Any = confluent_admin  # its types do not tell of the ACLs that it exports

ACLS = (
    AclBinding("GROUP", "LITERAL", "*", "User:bob", "10.0.0.1", "READ", "ALLOW"),
    AclBinding("TOPIC", "LITERAL", "orders", "User:alice", "*", "ALL", "ALLOW"),
    AclBinding("TOPIC", "LITERAL", "orders", "User:bob", "*", "READ", "DENY"),
    AclBinding("TOPIC", "PREFIXED", "pay", "User:alice", "*", "WRITE", "ALLOW"),
)

Granting = tuple[KafkaAdmin, Callable[[], None]]


@pytest.fixture(params=["fake", "simulated", pytest.param("real", marks=pytest.mark.integration)])
def granting(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Granting]:
    """An admin, and what gives the cluster its rules."""
    if request.param == "fake":
        fake = FakeKafka({1: "a"}, {1: ("/disk",)})
        fake.set_acls()
        yield fake, lambda: fake.set_acls(*reversed(ACLS))
        return
    if request.param == "simulated":
        with simulated({1: "a"}, 1) as (truth, control):
            truth.set_acls()
            yield control, lambda: truth.set_acls(*reversed(ACLS))
        return
    spec = ClusterSpec(
        "acls",
        brokers=1,
        log_dirs=1,
        plugin=False,
        heap_mb=256,
        settings={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        },
    )
    with KafkaCluster.start(spec, tmp_path_factory.mktemp("acls")) as running:
        cluster = running.to_cluster()
        with closing(KafkaControl(cluster, timeout_s=CALL_S)) as control:
            yield control, lambda: _grant(cluster.bootstrap)


@pytest.fixture(params=["fake", "simulated", pytest.param("real", marks=pytest.mark.integration)])
def open_to_all(request: pytest.FixtureRequest) -> Iterator[KafkaAdmin]:
    if request.param == "fake":
        yield FakeKafka({1: "a"}, {1: ("/disk",)})
        return
    if request.param == "simulated":
        with simulated({1: "a"}, 1) as (_, control):
            yield control
        return
    cluster = request.getfixturevalue("kafka_cluster").to_cluster(sasl=False)
    with closing(KafkaControl(cluster, timeout_s=CALL_S)) as control:
        yield control


def _grant(bootstrap: str) -> None:
    admin = confluent.AdminClient({"bootstrap.servers": bootstrap})
    made = admin.create_acls(
        [
            confluent.AclBinding(
                confluent.ResourceType[acl.resource_type],
                acl.resource_name,
                confluent.ResourcePatternType[acl.pattern_type],
                acl.principal,
                acl.host,
                confluent.AclOperation[acl.operation],
                confluent.AclPermissionType[acl.permission],
            )
            for acl in ACLS
        ]
    )
    for future in made.values():
        future.result(PATIENCE_S)


def test_rules_are_told_in_kafkas_words_and_in_order(granting: Granting) -> None:
    admin, grant = granting
    assert admin.describe_acls() == ()
    grant()
    wait_for(
        "all rules are told, in order", lambda: admin.describe_acls() == tuple(sorted(ACLS)), story=admin.describe_acls
    )


def test_exactly_the_named_rules_are_added_and_taken_out(granting: Granting) -> None:
    admin, _ = granting
    one, same_topic, prefixed = ACLS[1], ACLS[2], ACLS[3]
    assert admin.create_acls([one, same_topic, prefixed]) == {}
    until(lambda: set(admin.describe_acls()) == {one, same_topic, prefixed})
    assert admin.create_acls([one]) == {}
    assert admin.delete_acls([one, ACLS[0]]) == {}
    until(lambda: set(admin.describe_acls()) == {same_topic, prefixed})
    assert admin.delete_acls([one, same_topic, prefixed]) == {}
    until(lambda: admin.describe_acls() == ())
    assert admin.create_acls([]) == admin.delete_acls([]) == {}


def test_a_rule_on_a_user_is_told_added_and_taken_out(granting: Granting) -> None:
    admin, _ = granting
    makes_tokens = AclBinding("USER", "LITERAL", "bob", "User:alice", "*", "CREATE_TOKENS", "ALLOW")
    assert admin.create_acls([makes_tokens]) == {}
    until(lambda: admin.describe_acls() == (makes_tokens,))
    assert admin.delete_acls([makes_tokens]) == {}
    until(lambda: admin.describe_acls() == ())


def test_what_is_never_made_is_refused_for_good_and_the_others_are_made(granting: Granting) -> None:
    admin, _ = granting
    nowhere = AclBinding("CLUSTER", "LITERAL", "my-cluster", "User:alice", "*", "DESCRIBE", "ALLOW")
    refused = admin.create_acls([nowhere, ACLS[1]])
    assert refused == {nowhere: "INVALID_REQUEST: The only valid name for the CLUSTER resource is kafka-cluster"}
    assert is_final(refused[nowhere])
    until(lambda: admin.describe_acls() == (ACLS[1],))


def test_without_authorizer_no_rule_is_changed(open_to_all: KafkaAdmin) -> None:
    with pytest.raises(InvalidInput, match="no authorizer"):
        open_to_all.create_acls(ACLS)
    with pytest.raises(InvalidInput, match="no authorizer"):
        open_to_all.delete_acls(ACLS)


def test_a_cluster_without_authorizer_says_so_instead_of_no_rules(open_to_all: KafkaAdmin) -> None:
    with pytest.raises(InvalidInput, match="no authorizer"):
        open_to_all.describe_acls()
