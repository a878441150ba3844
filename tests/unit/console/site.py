"""A console over a member in this process: an hour of a lake, a directory, and a cluster of Kafka in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastapi.testclient import TestClient

from guardian.client import GuardianClient
from guardian.health.loop.observed import LakeObserved
from guardian.member.web import create_app
from guardian.model.federation import Entry, Exclusion, Machine, Tenant, Topic
from guardian.model.topology import Broker, Cluster
from guardian.model.wire.entries import entry_to_proto
from guardian.model.wire.federation import cluster_to_proto
from guardian.web.parts import Local, Person, WebParts
from protos.guardian.v1 import federation_pb2 as pb
from tests.unit.member.lake import TO_MS, write_lake
from tests.unit.member.member import Member

ENTRIES: tuple[Entry, ...] = (
    Tenant("pay", "payments team", ("gold",), "cards & accounts"),
    Tenant("logs"),
    Topic("live", "t", owner="ann", tenant="pay", label="gold"),
    Topic("live", "other", tenant="logs"),
    Machine("m1.example.net", "sh", "r1", 8 * 10**12, 8, 10**9, 32, "live", 1, "gold"),
    Machine("m2.example.net", "sz", "r2", 4 * 10**12, 4, 10**9, 16, label="gold"),
    Exclusion("live", 3, "ann", "it is noisy"),
)


class Site:
    """`browser` asks as a person does; `person` is who."""

    def __init__(self, lake: Path, dear_wait_s: float) -> None:
        write_lake(lake)
        self.member = Member(lake=str(lake))
        self.member.now_ms = TO_MS
        self.person: Person = Local()
        brokers = (
            Broker(1, "r1", "sh", label="gold"),
            Broker(2, "r1", "sh"),
            Broker(3, "r2", "sz"),
        )
        self.member.store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "fake", brokers=brokers)))
        self.client = GuardianClient([self.member.endpoint], actor="ann")
        self.client.change_federation([pb.FederationChange(put=entry_to_proto(entry)) for entry in ENTRIES])
        self.web = WebParts(
            "g1",
            lambda _: self.client,
            lambda: self.member.now_ms,
            user_of=lambda _: self.person,
            observed=LakeObserved(str(lake), lambda: self.member.now_ms, 60.0, 60.0),
            dear_wait_s=dear_wait_s,
        )
        self.browser = TestClient(create_app(self.web), raise_server_exceptions=False)

    def page(self, path: str, *, status: int = 200) -> str:
        answer = self.browser.get(path)
        assert answer.status_code == status, answer.text
        return str(answer.text)


@contextmanager
def site(lake: Path, dear_wait_s: float = 60.0) -> Iterator[Site]:
    """Its pages come with all that they show, however long that takes."""
    made = Site(lake, dear_wait_s)
    try:
        with made.browser:
            yield made
    finally:
        made.client.close()
        made.member.stop()
