"""Both forms of a noun say the same: going out and coming back changes nothing."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.model.execution import (
    AdaptedRate,
    Baseline,
    DirectoryIntent,
    Execution,
    ExecutionTask,
    ForeignWork,
    Subject,
    TaskState,
)
from guardian.model.owned_setting import OwnedSetting
from guardian.model.plan import (
    BrokerTransfer,
    GoalResult,
    LinkTransfer,
    LoadSummary,
    PartitionMove,
    Plan,
    RackTransfer,
    ReplicaPlacement,
)
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import Broker, Cluster, ClusterSecurity, SecurityProtocol, TopicPartition
from guardian.model.wire.federation import cluster_from_proto, cluster_to_proto
from guardian.model.wire.fields import filled, read
from guardian.model.wire.plans import plan_from_proto, plan_hash, plan_to_bytes, plan_to_proto
from guardian.model.wire.tickets import (
    execution_from_proto,
    execution_to_proto,
    ticket_from_proto,
    ticket_to_proto,
)
from protos.guardian.v1 import federation_pb2, tickets_pb2

places = st.builds(ReplicaPlacement, st.integers(0, 9), st.sampled_from(["any", "/a", "/b"]))
replicas = st.lists(places, min_size=2, max_size=2, unique_by=lambda place: place.broker).map(tuple)
moves = st.builds(
    PartitionMove,
    st.builds(TopicPartition, st.text(min_size=1, max_size=5), st.integers(0, 1000)),
    replicas,
    replicas,
    st.integers(0, 2**40),
    st.floats(0, 1e9),
    st.text(max_size=10),
    st.text(max_size=5),
    st.floats(0, 1e9),
    st.integers(0, 9),
)
new_partitions = st.builds(
    PartitionMove,
    st.builds(TopicPartition, st.text(min_size=1, max_size=5), st.integers(0, 1000)),
    st.just(()),
    replicas,
    st.integers(0, 2**40),
    is_new=st.just(True),
)
amounts = st.floats(0, 1e9)
names = st.text(max_size=3)
sizes = st.integers(0, 2**50)
plans = st.builds(
    Plan,
    st.just("live"),
    st.just("balance"),
    st.lists(moves | new_partitions, max_size=5, unique_by=lambda move: move.partition).map(tuple),
    st.integers(0, 2**41),
    st.text(max_size=10),
    st.lists(
        st.builds(LoadSummary, st.integers(0, 9), names, amounts, amounts, names, amounts, st.booleans()), max_size=3
    ).map(tuple),
    st.lists(
        st.builds(GoalResult, names, st.booleans(), amounts, amounts, amounts | st.just(math.inf), st.booleans()),
        max_size=2,
    ).map(tuple),
    st.lists(names, max_size=2).map(tuple),
    st.lists(st.builds(LinkTransfer, names, names, sizes, amounts, amounts | st.none()), max_size=2).map(tuple),
    st.lists(st.builds(BrokerTransfer, st.integers(0, 9), sizes, sizes, sizes, amounts), max_size=2).map(tuple),
    sizes,
    amounts,
    st.none(),
    st.lists(names, max_size=2).map(tuple),
    st.lists(st.builds(RackTransfer, names, names, sizes), max_size=2).map(tuple),
)


@given(plans)
def test_a_plan_comes_back_as_it_was(plan: Plan) -> None:
    assert plan_from_proto(plan_to_proto(plan)) == plan
    assert plan_hash(plan_to_bytes(plan)) == plan_hash(plan_to_bytes(plan_from_proto(plan_to_proto(plan))))


def test_a_plan_of_an_older_version_keeps_its_bytes_and_so_its_hash() -> None:
    places = (ReplicaPlacement(1, "/a"), ReplicaPlacement(2))
    move = PartitionMove(TopicPartition("t", 3), places, places[::-1], 7, 2.5, "why")
    plan = Plan("live", "balance", (move,), 9, "input", (LoadSummary(1, "/a", 1.5, 0.5),))
    stored = bytes.fromhex(
        "0a046c697665120762616c616e63651a370a017410031a06080112022f611a0708021203616e79220708021203616e792206080112022f61"
        "28073100000000000004403a0377687920092a05696e7075743218080112022f6119000000000000f83f21000000000000e03f"
    )
    assert plan_to_bytes(plan) == stored
    assert plan_from_proto(tickets_pb2.Plan.FromString(stored)) == plan


def test_a_ticket_comes_back_as_it_was() -> None:
    history = (TicketTransition(TicketState.DRAFT, 1, "ann", "made"),)
    ticket = Ticket("t-1", "live", "balance", TicketState.RUNNING, "ann", "00ff", 5, 1, 2, history, "key", 3, 4)
    assert ticket_from_proto(ticket_to_proto(ticket)) == ticket


@given(st.lists(moves, max_size=3), st.sampled_from(TaskState), st.none() | st.text(max_size=3))
def test_an_execution_comes_back_as_it_was(chosen: list[PartitionMove], state: TaskState, replaced: str | None) -> None:
    tasks = tuple(
        ExecutionTask(
            n,
            move,
            state,
            "waits",
            1,
            2,
            topic_configs=(("retention.ms", "1"),),
            is_adopted=True,
            missing_since_ms=3,
            topic_partitions=4,
        )
        for n, move in enumerate(chosen)
    )
    throttles = (OwnedSetting("BROKER", "1", "leader.replication.throttled.rate", ("5",), replaced),)
    foreign = (ForeignWork(TopicPartition("t", 1), (1, 2), (3, 2), 9, is_awaited=True),)
    rates = (
        AdaptedRate(5, 3, None, 9, 7, (Baseline("produce", 1.5, 9.0), Baseline("fetch", 0.5, 2.0)), "9 to 5: why", 11),
        AdaptedRate(8, line=("shanghai", "suzhou"), changed_at_ms=4, why="what is left of it", idle_since_ms=6),
    )
    said = tuple(DirectoryIntent(each, "label", ("7", "8"), "gold", "") for each in Subject)
    execution = Execution("t-1", tasks, throttles, "note", 7, rates, foreign=foreign, directory=said)
    assert execution_from_proto(execution_to_proto(execution)) == execution


@pytest.mark.parametrize("replaced", [None, "", "5"])
def test_a_setting_comes_back_as_it_was(replaced: str | None) -> None:
    setting = OwnedSetting("TOPIC", "t", "retention.ms", ("7", None, ""), replaced, (None, ""), is_foreign=True)
    assert read(OwnedSetting, filled(tickets_pb2.OwnedSetting(), setting)) == setting


@pytest.mark.parametrize(
    "security",
    [
        ClusterSecurity(SecurityProtocol.SASL_SSL, "PLAIN", "ann", "live-password", "live-ca.pem"),
        ClusterSecurity(
            SecurityProtocol.SASL_SSL,
            "OAUTHBEARER",
            "guardian",
            "live.client",
            "live.ca",
            certificate_secret="live.crt",
            key_secret="live.key",
            tls_server_name="kafka.example.net",
            token_endpoint="https://login.example.net/token",
            token_scope="kafka admin",
            token_ca_secret="live.login-ca",
        ),
        ClusterSecurity(SecurityProtocol.SASL_SSL, "OAUTHBEARER", token_secret="live.token"),
        ClusterSecurity(
            SecurityProtocol.SASL_PLAINTEXT, "GSSAPI", "ann@A.B", keytab_secret="live.keytab", kerberos_service="broker"
        ),
    ],
    ids=lambda each: each.sasl_mechanism,
)
def test_a_cluster_comes_back_as_it_was(security: ClusterSecurity) -> None:
    cluster = Cluster("live", "a:1,b:2", "id", security, (Broker(1, "r", "i", "a:3"),))
    assert cluster_from_proto(cluster_to_proto(cluster)) == cluster


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (federation_pb2.Cluster(name="Live", bootstrap="a:1"), r"cluster name is 'Live'"),
        (federation_pb2.Cluster(name="live", bootstrap="a"), r"bootstrap is 'a': use host:port"),
        (
            federation_pb2.Cluster(
                name="live", bootstrap="a:1", security=federation_pb2.ClusterSecurity(protocol="TLS")
            ),
            r"protocol of ClusterSecurity is 'TLS': this version of Guardian knows PLAINTEXT",
        ),
        (
            federation_pb2.Cluster(
                name="live", bootstrap="a:1", brokers=[federation_pb2.Broker(id=1), federation_pb2.Broker(id=1)]
            ),
            r"has an id twice",
        ),
    ],
)
def test_a_bad_cluster_from_the_wire_is_refused(message: federation_pb2.Cluster, error: str) -> None:
    with pytest.raises(InvalidInput, match=error):
        cluster_from_proto(message)
