"""Pages of the federation for who sees some clusters, against a twin that reads all and leaves out what is hidden."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.replication.store.state import Views
from guardian.security.model.identity import Grant, Identity, Role
from guardian.serving.sight import Sight
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import federation_pb2 as fed
from protos.guardian.v1 import records_pb2 as pb

pytestmark = pytest.mark.slow

IDC_OF = {"a": "east", "ab": "east", "b": "west", "c": "north"}  # of each cluster's only broker
NAMES = st.sampled_from(["t", "u", "v"])
CLUSTERS = st.sampled_from(sorted(IDC_OF))
IDCS = st.sampled_from(["", "east", "west", "north"])
entries = st.one_of(
    st.builds(
        lambda name, cluster, tenant, policy: fed.FederationEntry(
            topic=fed.Topic(name=name, cluster=cluster, tenant=tenant, idc_policy=policy)
        ),
        NAMES, CLUSTERS, NAMES, NAMES,
    ),
    st.builds(
        lambda number, cluster: fed.FederationEntry(
            exclusion=fed.Exclusion(cluster=cluster, broker_id=number, who="ann", why="x")
        ),
        st.integers(1, 3), CLUSTERS,
    ),
    st.builds(
        lambda host, cluster, idc: fed.FederationEntry(
            machine=fed.Machine(host=f"m{host}", cluster=cluster, broker_id=host if cluster else 0, idc=idc)
        ),
        st.integers(1, 9), st.one_of(st.just(""), CLUSTERS), IDCS,
    ),
)  # fmt: skip
TABLES = (fed.TOPICS, fed.EXCLUSIONS, fed.MACHINES, fed.TENANTS, fed.IDC_POLICIES, fed.DOCUMENTS)


def federation(changes: list[fed.FederationEntry]) -> Views:
    machine = MetastoreStateMachine(MemoryStore())

    def propose(command: pb.Command) -> None:
        machine.apply(machine.applied_index + 1, command.SerializeToString())

    def put(entry: fed.FederationEntry) -> None:
        change = fed.FederationChange(put=entry)
        propose(pb.Command(change_federation=fed.ChangeFederationRequest(changes=[change])))

    for name, idc in IDC_OF.items():
        cluster = fed.Cluster(name=name, cluster_id=f"id-{name}", bootstrap="h:1", brokers=[fed.Broker(id=1, idc=idc)])
        propose(pb.Command(put_cluster=pb.PutCluster(cluster=cluster)))
    for name, idcs in (("t", ["east"]), ("u", ["east", "west"]), ("v", ["north"])):
        put(fed.FederationEntry(tenant=fed.Tenant(name=name)))
        put(fed.FederationEntry(idc_policy=fed.IdcPolicy(name=name, replicas=dict.fromkeys(idcs, 1))))
    put(fed.FederationEntry(document=fed.SharedDocument(name="roles", json="{}")))
    for entry in changes:
        put(entry)
    return machine.read()


def everything(views: Views, table: fed.FederationTable, cluster: str) -> list[fed.FederationEntry]:
    return views.federation_page(table, cluster, "", b"", 1000, 1 << 20)[0]


def shown_of(views: Views, table: fed.FederationTable, cluster: str, seen: set[str]) -> Iterator[fed.FederationEntry]:
    """Yield what the module guardian.serving.sight says in its first lines."""
    idcs = {IDC_OF[each] for each in seen}
    topics = [entry.topic for entry in everything(views, fed.TOPICS, "") if entry.topic.cluster in seen]
    for entry in everything(views, table, cluster):
        match entry.WhichOneof("entry"):
            case "topic" | "exclusion" as which:
                is_shown = getattr(entry, which).cluster in seen
            case "machine":
                machine = entry.machine
                is_shown = machine.cluster in seen if machine.cluster else machine.idc in {"", *idcs}
            case "tenant":
                is_shown = any(topic.tenant == entry.tenant.name for topic in topics)
            case "idc_policy":
                policy = entry.idc_policy
                is_shown = idcs >= set(policy.replicas) or any(topic.idc_policy == policy.name for topic in topics)
            case _:
                is_shown = False
        if is_shown:
            yield entry


@given(st.lists(entries, max_size=40), st.sets(CLUSTERS), st.sampled_from(TABLES), st.integers(1, 5), CLUSTERS)
def test_pages_are_full_and_together_all_that_is_shown(
    changes: list[fed.FederationEntry], seen: set[str], table: fed.FederationTable, size: int, cluster: str
) -> None:
    views = federation(changes)
    shown = Sight(Identity("vic", (Grant(Role.VIEWER, tuple(seen)),)), lambda: views).shown
    for named in ("", cluster) if table in (fed.TOPICS, fed.EXCLUSIONS) else ("",):
        pages, after = list[list[fed.FederationEntry]](), b""
        while True:
            page, after = views.federation_page(table, named, "", after, size, 1 << 20, shown)
            pages.append(page)
            if not after:
                break
        assert [entry for page in pages for entry in page] == list(shown_of(views, table, named, seen))
        assert all(len(page) == size for page in pages[:-1])
        assert len(pages) == 1 or pages[-1]
