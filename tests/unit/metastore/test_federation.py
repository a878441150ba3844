"""The federation's entries: a set is changed as a whole, and always holds together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from guardian.errors import InvalidInput, NotFound
from guardian.model.federation import Entry, Exclusion, IdcPolicy, Machine, Tenant, Topic
from guardian.model.topology import Broker, BrokerState, Cluster
from guardian.model.wire.entries import entry_from_proto, entry_to_proto
from guardian.model.wire.federation import cluster_to_proto
from metastore import keys
from metastore.keys import Table
from protos.guardian.v1 import federation_pb2 as fed
from protos.guardian.v1 import records_pb2 as pb
from protos.guardian.v1 import tiering_pb2
from tests import appending
from tests.unit.metastore.proposing import Group

UUID = b"\x01" * 16


@pytest.fixture
def group() -> Group:
    group = Group()
    group.register("live", "id-1")
    group.register("bulk", "id-2")
    return group


def put(entry: Entry, expected: int | None = None) -> fed.FederationChange:
    return fed.FederationChange(put=entry_to_proto(entry), expected_revision=expected)


def drop(expected: int | None = None, **key: object) -> fed.FederationChange:
    return fed.FederationChange(drop=fed.FederationKey(**key), expected_revision=expected)  # type: ignore[arg-type]


def drop_topic(cluster: str, name: str) -> fed.FederationChange:
    return drop(topic=fed.TopicKey(cluster=cluster, name=name))


def drop_exclusion(cluster: str, broker: int) -> fed.FederationChange:
    return drop(exclusion=fed.ExclusionKey(cluster=cluster, broker_id=broker))


def change(group: Group, *changes: fed.FederationChange, dry_run: bool = False) -> pb.CommandReply:
    request = fed.ChangeFederationRequest(changes=changes, dry_run=dry_run)
    return group.propose(actor="ann", change_federation=request)


def changed(group: Group, *changes: fed.FederationChange) -> list[int]:
    reply = change(group, *changes)
    assert not reply.error, reply.error
    return list(reply.federation.revisions)


def stored(group: Group, table: fed.FederationTable, cluster: str = "", name: str = "") -> list[Entry]:
    found, last = group.machine.read().federation_page(table, cluster, name, b"", 1000, 1 << 20)
    assert last == b""
    return [entry_from_proto(entry) for entry in found]


def refused(group: Group, kind: pb.ErrorKind, message: str, *changes: fed.FederationChange) -> None:
    before = [row for row in group.content() if row[0][0] != Table.AUDIT]
    reply = change(group, *changes)
    assert (reply.error_kind, message in reply.error) == (kind, True), reply
    assert [row for row in group.content() if row[0][0] != Table.AUDIT] == before


EVERY: list[Entry] = [
    Machine("m1", "sh", "r1", 10, 2, 5, 8, "live", 3, "gold"),
    Tenant("pay", "ann", ("gold", "hot"), "payments"),
    IdcPolicy("two", (("sh", 2), ("sz", 1)), "sh"),
    Topic("live", "orders", UUID, "bob", "pay", "gold", "two", 1, 2),
    Exclusion("live", 3, "ann", "fan broken", 5),
]


def test_a_set_is_stored_with_the_index_as_its_revision_in_whatever_order(group: Group) -> None:
    assert changed(group, *map(put, reversed(EVERY))) == [3] * 5
    assert [stored(group, table)[0] for table in (1, 2, 4, 3, 5)] == EVERY  # type: ignore[arg-type]


def test_the_same_content_again_gets_no_new_revision(group: Group) -> None:
    changed(group, *map(put, EVERY))
    before = group.content()
    assert changed(group, *map(put, EVERY)) == [3] * 5
    assert group.content() == before
    same = put(Tenant("pay", "ann", ("hot", "gold"), "payments"))
    same.put.revision = 77
    assert changed(group, same, put(Tenant("new"))) == [3, 5]


def test_an_expected_revision_is_compared_and_zero_means_not_there(group: Group) -> None:
    assert changed(group, put(Tenant("pay"), expected=0)) == [3]
    refused(group, pb.CONFLICT, "tenant pay is at revision 3 and not at 0", put(Tenant("pay", "bob"), expected=0))
    refused(group, pb.CONFLICT, "not at 2", put(Tenant("pay", "bob"), expected=2))
    refused(group, pb.CONFLICT, "does not exist (revision 0) and not at 3", put(Tenant("other"), expected=3))
    assert changed(group, put(Tenant("pay", "bob"), expected=3)) == [7]
    refused(group, pb.CONFLICT, "at revision 7 and not at 3", drop(3, tenant="pay"))
    assert changed(group, drop(7, tenant="pay")) == [0]


def test_a_drop_of_what_is_not_there_fails_the_whole_set_and_names_it(group: Group) -> None:
    changed(group, put(Exclusion("live", 1, "ann", "x")))
    refused(
        group,
        pb.NOT_FOUND,
        "changes[1]: exclusion of broker 2 of cluster live does not exist",
        drop_exclusion("live", 1),
        drop_exclusion("live", 2),
    )
    refused(group, pb.NOT_FOUND, "machine m9", drop(machine="m9"), put(Tenant("pay")))
    refused(group, pb.NOT_FOUND, "topic live/nope", drop_topic("live", "nope"))
    refused(group, pb.NOT_FOUND, "IDC policy p", drop(idc_policy="p"))


def test_every_kind_can_be_dropped_together(group: Group) -> None:
    changed(group, *map(put, EVERY))
    drops = [drop(tenant="pay"), drop(idc_policy="two"), drop(machine="m1"), drop_exclusion("live", 3)]
    assert changed(group, *drops, drop_topic("live", "orders")) == [0] * 5
    left = {row[0][0] for row in group.content()}
    assert left == {Table.CLUSTER, Table.CLUSTER_BY_ID, Table.AUDIT, Table.TOPIC_OWNER}


def test_a_broker_that_was_emptied_is_active_again_once_its_exclusion_is_lifted(group: Group) -> None:
    states = {1: BrokerState.DRAINING, 2: BrokerState.DRAINING, 3: BrokerState.MAINTENANCE}
    brokers = tuple(Broker(number, label="gold", state=state) for number, state in states.items())
    cluster = Cluster("live", "h:1", "id-1", brokers=brokers)
    group.propose(put_cluster=pb.PutCluster(cluster=cluster_to_proto(cluster)))
    changed(group, *(put(Exclusion("live", number, "ann", "removed by ticket t-1")) for number in states))
    change(group, drop_exclusion("live", 1), dry_run=True)
    assert group.machine.read().cluster("live") == cluster
    changed(group, drop_exclusion("live", 1), drop_exclusion("live", 3))
    active = replace(cluster, brokers=(replace(brokers[0], state=BrokerState.ACTIVE), *brokers[1:]))
    assert group.machine.read().cluster("live") == active


@pytest.mark.parametrize(
    ("entry", "kind", "message"),
    [
        (Topic("nope", "t"), pb.NOT_FOUND, "cluster of topic nope/t is 'nope', which is not registered"),
        (Topic("nope", "t", UUID), pb.NOT_FOUND, "cluster of topic nope/t is 'nope', which is not registered"),
        (Topic("live", "t", tenant="x"), pb.NOT_FOUND, "tenant of topic live/t is 'x', which does not exist"),
        (Topic("live", "t", idc_policy="x"), pb.NOT_FOUND, "idc_policy of topic live/t is 'x', which does not exist"),
        (Topic("live", "t", tenant="pay", label="silver"), pb.INVALID, "tenant pay may use gold, hot"),
        (Machine("m", cluster="nope", broker_id=1), pb.NOT_FOUND, "cluster of machine m is 'nope'"),
        (Exclusion("nope", 1, "a", "b"), pb.NOT_FOUND, "cluster of exclusion of broker 1 of cluster nope"),
    ],
)
def test_what_an_entry_names_must_be_there(group: Group, entry: Entry, kind: pb.ErrorKind, message: str) -> None:
    changed(group, put(Tenant("pay", labels=("gold", "hot"))))
    refused(group, kind, message, put(entry), put(Tenant("other")))


def test_a_tenant_without_labels_may_use_any(group: Group) -> None:
    changed(group, put(Tenant("any")), put(Topic("live", "t", tenant="any", label="silver")))
    changed(group, put(Tenant("pay", labels=("gold",))), put(Topic("live", "u", tenant="pay")))


@pytest.mark.parametrize(
    ("dropped", "message"),
    [
        (drop(tenant="pay"), "tenant pay is named by topic live/orders"),
        (drop(idc_policy="two"), "IDC policy two is named by topic live/orders"),
    ],
)
def test_what_is_named_stays(group: Group, dropped: fed.FederationChange, message: str) -> None:
    changed(group, *map(put, EVERY))
    refused(group, pb.CONFLICT, message, dropped)
    changed(group, dropped, put(Topic("live", "orders")))


def test_what_is_still_named_after_many_drops_stays(group: Group) -> None:
    changed(group, put(Tenant("pay")), *(put(Topic("live", f"t{number}", tenant="pay")) for number in range(9)))
    drops = [drop_topic("live", f"t{number}") for number in range(8)]
    refused(group, pb.CONFLICT, "tenant pay is named by topic live/t8", *drops, drop(tenant="pay"))
    changed(group, *drops, drop_topic("live", "t8"), drop(tenant="pay"))


@pytest.mark.parametrize(
    ("entry", "name", "away"),
    [
        (EVERY[0], "machine m1", drop(machine="m1")),
        (Topic("live", "t"), "topic live/t", drop_topic("live", "t")),
        (EVERY[4], "exclusion of broker 3 of cluster live", drop_exclusion("live", 3)),
    ],
)
def test_a_cluster_that_is_named_stays(group: Group, entry: Entry, name: str, away: fed.FederationChange) -> None:
    changed(group, put(entry))
    reply = group.propose(drop_cluster=pb.DropCluster(name="live"))
    assert (reply.error_kind, f"cluster live is named by {name}" in reply.error) == (pb.CONFLICT, True)
    changed(group, away)
    assert not group.propose(drop_cluster=pb.DropCluster(name="live")).error


def test_a_label_that_topics_have_stays_the_tenants(group: Group) -> None:
    changed(group, put(Tenant("pay")), put(Topic("live", "t", tenant="pay", label="gold")))
    changed(group, put(Topic("live", "u", tenant="pay", label="hot")), put(Topic("live", "v", tenant="pay")))
    refused(
        group,
        pb.CONFLICT,
        "labels of tenant pay leaves out 'hot', which topic live/u has",
        put(Tenant("pay", labels=("gold",))),
    )
    changed(group, put(Tenant("pay", labels=("gold", "hot"))))
    changed(group, put(Tenant("pay", labels=("gold",))), put(Topic("live", "u", tenant="pay", label="gold")))
    refused(group, pb.CONFLICT, "leaves out 'gold'", put(Tenant("pay", labels=("x",))))


def test_a_topic_id_of_another_cluster_is_refused(group: Group) -> None:
    changed(group, put(Topic("live", "t", UUID)))
    refused(group, pb.CONFLICT, "is of the cluster with cluster_id id-1, not of id-2", put(Topic("bulk", "t", UUID)))
    other = b"\x02" * 16
    refused(group, pb.CONFLICT, "cluster_id id-1", put(Topic("live", "u", other)), put(Topic("bulk", "u", other)))


def test_a_topic_id_that_an_append_has_shown_is_known(group: Group) -> None:
    partition = tiering_pb2.TopicIdPartition(cluster_id="id-2", topic_id=UUID)
    event = tiering_pb2.SegmentEvent(segment_id=b"s" * 16, state=1, segment_leader_epochs={0: 0})  # type: ignore[arg-type]
    request = tiering_pb2.AppendSegmentEventsRequest(
        partitions=[tiering_pb2.PartitionEvents(partition=partition, events=[event])]
    )
    reply = appending.apply(group.machine, request)
    assert not reply.results[0].error
    refused(group, pb.CONFLICT, "is of the cluster with cluster_id id-2", put(Topic("live", "t", UUID)))
    partition.topic_id = b"\x02" * 16
    changed(group, put(Topic("live", "t", partition.topic_id)))
    reply = appending.apply(group.machine, request)
    assert not reply.results[0].error
    request.partitions[0].partition.CopyFrom(partition)
    reply = appending.apply(group.machine, request)
    assert reply.results[0].error_kind == tiering_pb2.BELONGS_ELSEWHERE


def test_two_topics_have_not_one_id(group: Group) -> None:
    changed(group, put(Topic("live", "t", UUID)))
    refused(group, pb.CONFLICT, "which is that of topic live/t".replace("which is ", ""), put(Topic("live", "u", UUID)))
    refused(group, pb.CONFLICT, "topic_id of", put(Topic("live", "v", b"9" * 16)), put(Topic("live", "w", b"9" * 16)))
    changed(group, drop_topic("live", "t"), put(Topic("live", "u", UUID)))


def test_one_entry_is_changed_once_in_a_set(group: Group) -> None:
    refused(
        group,
        pb.INVALID,
        "changes[1] is about the same entry as changes[0]",
        put(Tenant("pay")),
        put(Tenant("pay", "bob")),
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([], "changes has 0"),
        ([put(Tenant(f"t{number}")) for number in range(1001)], "changes has 1001"),
        ([fed.FederationChange()], "changes[0]: the change is empty"),
        ([fed.FederationChange(put=fed.FederationEntry())], "changes[0]: the entry is empty"),
        ([fed.FederationChange(drop=fed.FederationKey())], "changes[0]: drop is empty"),
        ([drop_exclusion("live", -1)], "broker id is -1"),
        (
            [fed.FederationChange(put=fed.FederationEntry(exclusion=fed.Exclusion(cluster="live", who="x")))],
            "why of the exclusion of broker 0 is empty",
        ),
        (
            [fed.FederationChange(put=fed.FederationEntry(exclusion=fed.Exclusion(cluster="live", why="x")))],
            "who of the exclusion of broker 0 is empty",
        ),
    ],
)
def test_a_malformed_set_is_refused(group: Group, changes: list[fed.FederationChange], message: str) -> None:
    refused(group, pb.INVALID, message, *changes)


def test_a_thousand_changes_are_one_set(group: Group) -> None:
    assert changed(group, *(put(Topic("live", f"t{number}")) for number in range(1000))) == [3] * 1000
    assert changed(group, *(drop_topic("live", f"t{number}") for number in range(1000))) == [0] * 1000


def test_a_dry_run_checks_all_and_stores_nothing(group: Group) -> None:
    changed(group, put(Tenant("pay")))
    before = group.content()
    asked = [put(Tenant("pay")), put(Tenant("new")), put(Topic("live", "t", tenant="pay"))]
    assert list(change(group, *asked, dry_run=True).federation.revisions) == [3, 0, 0]
    assert group.machine.read().check_change(fed.ChangeFederationRequest(changes=asked)) == [3, 0, 0]
    assert change(group, put(Topic("live", "t", tenant="x")), dry_run=True).error_kind == pb.NOT_FOUND
    assert [row for row in group.content() if row[0][0] != Table.AUDIT] == [
        row for row in before if row[0][0] != Table.AUDIT
    ]
    with pytest.raises(NotFound):
        group.machine.read().check_change(fed.ChangeFederationRequest(changes=[drop(tenant="x")]))


def pages(group: Group, size: int, most_bytes: int, between: Callable[[], None] = lambda: None) -> list[str]:
    names, last = [], b""
    while True:
        found, last = group.machine.read().federation_page(fed.TOPICS, "live", "", last, size, most_bytes)
        assert found
        names += [entry.topic.name for entry in found]
        if not last:
            return names
        between()


def test_pages_hold_every_entry_once_whatever_comes_and_goes(group: Group) -> None:
    changed(group, *(put(Topic("live", f"t{number}")) for number in range(7)), put(Topic("bulk", "b")))
    expected = [f"t{number}" for number in range(7)]
    assert pages(group, 3, 1 << 20) == pages(group, 7, 1 << 20) == pages(group, 100, 1) == expected
    changed(group, put(Topic("live", "a")))
    again = iter(range(100))

    def churn() -> None:
        changed(group, put(Topic("live", f"a{next(again)}")))

    assert pages(group, 3, 1 << 20, churn) == ["a", *expected]


def test_a_look_at_one_cluster_or_one_name(group: Group) -> None:
    changed(group, *map(put, EVERY), put(Topic("bulk", "orders")), put(Exclusion("live", 33, "a", "b")))
    assert [topic.cluster for topic in stored(group, fed.TOPICS) if isinstance(topic, Topic)] == ["bulk", "live"]
    assert stored(group, fed.TOPICS, "bulk") == [Topic("bulk", "orders")]
    assert stored(group, fed.TOPICS, "live", "orders") == [EVERY[3]]
    assert stored(group, fed.TOPICS, "live", "order") == []
    assert stored(group, fed.EXCLUSIONS, "live", "3") == [EVERY[4]]
    assert stored(group, fed.MACHINES, name="m1") == [EVERY[0]]
    assert stored(group, fed.TENANTS, name="pay") == [EVERY[1]]
    assert stored(group, fed.IDC_POLICIES, name="two") == [EVERY[2]]


@pytest.mark.parametrize(
    ("table", "cluster", "name", "after", "message"),
    [
        (0, "", "", b"", "table is 0"),
        (fed.TOPICS, "", "t", b"", "cluster is empty but name is 't'"),
        (fed.EXCLUSIONS, "live", "x", b"", "use the number of the excluded broker"),
        (fed.TENANTS, "live", "", b"", "only topics and exclusions are of a cluster"),
        (fed.TENANTS, "", "", keys.machine("m"), "page_token is another list's"),
    ],
)
def test_a_malformed_look_is_refused(
    group: Group, table: fed.FederationTable, cluster: str, name: str, after: bytes, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        group.machine.read().federation_page(table, cluster, name, after, 10, 1000)
