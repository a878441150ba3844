"""Who may send Guardian, with its secrets, to which host: a member's own connections to a listener that notes them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from guardian.core.permitting import require_login
from guardian.errors import InvalidInput, NotAllowed
from guardian.model.identity import Grant, Identity, Role
from guardian.model.topology import Cluster, ClusterSecurity, SecurityProtocol
from guardian.security_config import SecurityConfig
from guardian.wire.federation import cluster_to_proto
from protos.guardian.v1 import federation_pb2, federation_pb2_grpc
from tests.unit.server.guarded import ROLES, Guarded, headers

SASL = federation_pb2.ClusterSecurity(
    protocol="SASL_SSL", sasl_mechanism="PLAIN", username="x", password_secret="live.password"
)


class Host:
    """Somebody's own host: it keeps what it is sent."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.bootstrap = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.sent: list[bytes] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self.sent.append(connection.recv(1 << 16))

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def host() -> Iterator[Host]:
    host = Host()
    yield host
    host.close()


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path)
    guarded.roles.write_text(ROLES + '[[grants]]\nwho = ["ben"]\nrole = "admin"\nclusters = ["test-*", "live"]\n')
    yield guarded
    guarded.stop()


def register(guarded: Guarded, who: str, cluster: federation_pb2.Cluster) -> grpc.StatusCode:
    with grpc.insecure_channel(guarded.member.endpoint) as channel:
        try:
            federation_pb2_grpc.FederationStub(channel).RegisterCluster(
                federation_pb2.RegisterClusterRequest(cluster=cluster),
                metadata=tuple(headers(guarded.token[who])),
                timeout=30,
            )
        except grpc.RpcError as error:
            return error.code()
    return grpc.StatusCode.OK


def test_an_admin_of_some_clusters_sends_guardian_to_no_host_of_his(guarded: Guarded, host: Host) -> None:
    opened = guarded.member.kafka.opened
    new = federation_pb2.Cluster(name="test-evil", bootstrap=host.bootstrap, security=SASL)
    moved = federation_pb2.Cluster(name="live", bootstrap=f"h:9092,{host.bootstrap}")
    logged_in = federation_pb2.Cluster(name="live", bootstrap="h:9092", security=SASL)
    controlled = federation_pb2.Cluster(name="live", bootstrap="h:9092", bootstrap_controllers=host.bootstrap)
    for cluster in (new, moved, logged_in, controlled):
        assert register(guarded, "ben", cluster) is grpc.StatusCode.PERMISSION_DENIED, cluster
    assert guarded.member.kafka.opened == opened, "nobody was connected to"
    assert host.sent == []
    refused = [(who, what, why) for who, what, why in guarded.refused() if who == "ben"]
    assert {what for _, what, _ in refused} == {"/guardian.v1.Federation/RegisterCluster"}
    assert any(host.bootstrap in why and "security.allowed_bootstraps" in why for _, _, why in refused)
    # Where the cluster is, with the login that it has, he may register it again; an admin of everything anywhere.
    assert register(guarded, "ben", federation_pb2.Cluster(name="live", bootstrap="h:9092")) is grpc.StatusCode.OK
    assert register(guarded, "root", federation_pb2.Cluster(name="live", bootstrap="h:9093")) is grpc.StatusCode.OK


def test_what_is_on_the_list_may_be_registered(guarded: Guarded) -> None:
    guarded.gate.allowed_bootstraps = ("*.example.net:9092",)
    for bootstrap, code in (
        ("k1.example.net:9092,k2.example.net:9092", grpc.StatusCode.OK),
        ("k1.example.net:9092,evil.net:9092", grpc.StatusCode.PERMISSION_DENIED),
        ("k1.example.net:9093", grpc.StatusCode.PERMISSION_DENIED),
        ("evil.net:9092", grpc.StatusCode.PERMISSION_DENIED),
    ):
        assert register(guarded, "ben", federation_pb2.Cluster(name="live", bootstrap=bootstrap)) is code, bootstrap
    for controllers, code in (
        ("c1.example.net:9092", grpc.StatusCode.OK),
        ("c1.example.net:9092,evil.net:9092", grpc.StatusCode.PERMISSION_DENIED),
    ):
        cluster = federation_pb2.Cluster(
            name="live", bootstrap="k1.example.net:9092", bootstrap_controllers=controllers
        )
        assert register(guarded, "ben", cluster) is code, controllers


@pytest.mark.parametrize("name", ["/etc/guardian/members.key", "../members.key", "roles.toml/../members.key"])
def test_no_file_outside_the_folder_is_a_secret_not_even_an_admins(guarded: Guarded, host: Host, name: str) -> None:
    security = federation_pb2.ClusterSecurity()
    security.CopyFrom(SASL)
    security.password_secret = name
    cluster = federation_pb2.Cluster(name="live", bootstrap=host.bootstrap, security=security)
    assert register(guarded, "root", cluster) is grpc.StatusCode.INVALID_ARGUMENT
    security.password_secret, security.protocol = "live.password", "SASL_PLAINTEXT"
    cluster.security.CopyFrom(security)
    assert register(guarded, "root", cluster) is grpc.StatusCode.INVALID_ARGUMENT
    assert host.sent == []


def test_another_login_is_a_registration_too() -> None:
    ben = Identity("ben", (Grant(Role.ADMIN, ("live",)),))
    login, another = (
        ClusterSecurity(SecurityProtocol.SASL_SSL, "PLAIN", "guardian", f"{name}.password") for name in ("live", "pay")
    )
    known = Cluster("live", "k:9093", "id", login)
    require_login(ben, cluster_to_proto(known), known, ())
    for other in (
        Cluster("live", "k:9093", "id"),
        Cluster("live", "k:9093", "id", another),
        Cluster("live", "k:9093,j:9093", "id", login),
    ):
        with pytest.raises(NotAllowed, match="ben is not admin on all clusters"):
            require_login(ben, cluster_to_proto(other), known, ())
    require_login(Identity("root", (Grant(Role.ADMIN),)), cluster_to_proto(known), None, ())


@pytest.mark.parametrize("value", ["*:9092", ["*"], ["host"], [7], ["a b:9092"], ["h:9092,i:9092"]])
def test_a_list_of_bootstraps_that_says_nothing_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"^security.allowed_bootstraps is "):
        SecurityConfig.of_section({"roles": "r", "key_file": "k", "allowed_bootstraps": value})
