"""Who may send Guardian, with which secrets, to which host. A listener notes what a member's own connections send."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import grpc
import pytest

from guardian.errors import InvalidInput, NotAllowed
from guardian.kafka.admin import KafkaAdmin
from guardian.member.connecting import KafkaConnector
from guardian.model.settings import read
from guardian.model.topology import Broker, Cluster, ClusterSecurity, SecurityProtocol
from guardian.security.model.identity import Grant, Identity, Role
from guardian.security.model.security_config import SecurityConfig
from guardian.security.rules.permitting import require_login
from guardian.throttle.model import BrokerCounters
from protos.guardian.v1 import federation_pb2, federation_pb2_grpc
from tests.patience import PATIENCE_S
from tests.unit.member.guarded import ROLES, Guarded, headers

pytestmark = pytest.mark.slow

SASL = federation_pb2.ClusterSecurity(
    protocol="SASL_SSL", sasl_mechanism="PLAIN", username="x", password_secret="live.password"
)


class Host:
    """Somebody's own host: it keeps what it is sent, and ends each connection."""

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


class NoReporters:
    """Nobody to ask for the age of metadata."""

    def ask(self, _brokers: Sequence[Broker]) -> Callable[[], list[BrokerCounters]]:
        return list


@pytest.fixture
def host(guarded: Guarded, tmp_path: Path) -> Iterator[Host]:
    """The member connects there as it does to brokers, with the secrets of its folder."""
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / SASL.password_secret).write_text("of the cluster live")
    connector = KafkaConnector(NoReporters(), secrets)
    host = Host()

    def elsewhere(cluster: Cluster) -> KafkaAdmin | None:
        named = f"{cluster.bootstrap},{cluster.bootstrap_controllers}".split(",")
        return connector.connect(cluster, timeout_s=1.0) if host.bootstrap in named else None

    guarded.member.elsewhere = elsewhere
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
                timeout=PATIENCE_S,
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


@pytest.mark.parametrize("secure", [False, True], ids=["plaintext", "tls"])
def test_whom_an_admin_of_all_registers_is_sent_something(guarded: Guarded, host: Host, secure: bool) -> None:
    cluster = federation_pb2.Cluster(name="test-x", bootstrap=host.bootstrap, security=SASL if secure else None)
    assert register(guarded, "root", cluster) is grpc.StatusCode.FAILED_PRECONDITION, "no broker answers there"
    assert any(host.sent)


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


@pytest.mark.parametrize(
    ("field", "others"),
    [
        ("password_secret", {}),
        ("ca_secret", {}),
        ("certificate_secret", {"key_secret": "test-x.key"}),
        ("key_secret", {"certificate_secret": "test-x.crt"}),
        ("token_secret", {"sasl_mechanism": "OAUTHBEARER", "username": "", "password_secret": ""}),
        ("keytab_secret", {"sasl_mechanism": "GSSAPI", "password_secret": ""}),
    ],
)
def test_a_host_of_the_list_is_sent_no_secret_of_another_cluster(
    guarded: Guarded, host: Host, field: str, others: dict[str, str]
) -> None:
    guarded.gate.allowed_bootstraps = (host.bootstrap,)
    named = {"password_secret": "test-x.password", "sasl_mechanism": "PLAIN", "username": "x", **others}
    security = federation_pb2.ClusterSecurity(protocol="SASL_SSL", **{**named, field: "live.password"})
    cluster = federation_pb2.Cluster(name="test-x", bootstrap=host.bootstrap, security=security)
    assert register(guarded, "ben", cluster) is grpc.StatusCode.PERMISSION_DENIED
    assert host.sent == []
    (why,) = [why for who, _, why in guarded.refused() if who == "ben"]
    assert f"security.{field} is 'live.password', which is not known as a secret of cluster test-x" in why
    assert "begins with 'test-x.'" in why


def test_a_token_endpoint_is_sent_a_secret_too_so_that_an_admin_of_all_names_it() -> None:
    ben, root = Identity("ben", (Grant(Role.ADMIN, ("test-*",)),)), Identity("root", (Grant(Role.ADMIN),))
    login = ClusterSecurity(
        SecurityProtocol.SASL_SSL,
        "OAUTHBEARER",
        "guardian",
        "test-x.client",
        token_endpoint="https://login.example.net/token",
    )
    known = Cluster("test-x", "k:9092", "id", login)

    def asks(identity: Identity, security: ClusterSecurity, stored: Cluster | None) -> None:
        require_login(identity, Cluster("test-x", "k:9093", "id", security), stored, ("k:9093",), lambda: ["test-x"])

    asks(ben, replace(login, password_secret="test-x.other"), known)
    asks(root, replace(login, token_endpoint="https://evil.net/"), known)
    for stored in (None, known, replace(known, security=ClusterSecurity())):
        with pytest.raises(
            NotAllowed, match=r"security\.token_endpoint is 'https://evil\.net/', which the registration"
        ):
            asks(ben, replace(login, token_endpoint="https://evil.net/"), stored)
    with pytest.raises(NotAllowed, match=r"security\.token_ca_secret is 'live\.ca'"):
        asks(ben, replace(login, token_ca_secret="live.ca"), known)


def test_who_is_no_admin_of_all_names_secrets_of_the_cluster_alone() -> None:
    ben = Identity("ben", (Grant(Role.ADMIN, ("test-*", "a")),))

    def asks(name: str, password: str, ca: str, known: ClusterSecurity | None = None) -> None:
        security = ClusterSecurity(SecurityProtocol.SASL_SSL, "PLAIN", "guardian", password, ca)
        stored = Cluster(name, "k:9092", "id", known) if known is not None else None
        asked = Cluster(name, "k:9093", "id", security)
        require_login(ben, asked, stored, ("k:9093",), lambda: ["a", "a.b", "live", "test-x"])

    shared = ClusterSecurity(SecurityProtocol.SASL_SSL, "PLAIN", "guardian", "shared.password", "shared-ca.pem")
    asks("test-x", "test-x.password", "test-x.ca")
    asks("test-x", "test-x.password", "")
    asks("test-x", "shared.password", "shared-ca.pem", shared)
    asks("a", "a.password", "a.ca.pem")
    for name, password, ca, known in (
        ("test-x", "live.password", "", None),
        ("test-x", "test-x.password", "live.ca", None),
        ("test-x", "test-xy.password", "", None),
        ("test-x", "test-x", "", None),
        ("test-x", "TEST-X.password", "", None),
        ("test-x", "shared.password", "", None),
        ("test-x", "live.password", "shared-ca.pem", shared),
        ("a", "a.b.password", "", None),
    ):
        with pytest.raises(NotAllowed, match="which is not known as a secret of cluster"):
            asks(name, password, ca, known)


def test_another_login_is_a_registration_too() -> None:
    ben = Identity("ben", (Grant(Role.ADMIN, ("live",)),))
    login, another = (
        ClusterSecurity(SecurityProtocol.SASL_SSL, "PLAIN", "guardian", f"{name}.password") for name in ("live", "pay")
    )
    known = Cluster("live", "k:9093", "id", login)
    require_login(ben, known, known, (), list)
    for other in (
        Cluster("live", "k:9093", "id"),
        Cluster("live", "k:9093", "id", another),
        Cluster("live", "k:9093,j:9093", "id", login),
    ):
        with pytest.raises(NotAllowed, match="ben is not admin on all clusters"):
            require_login(ben, other, known, (), list)
    require_login(Identity("root", (Grant(Role.ADMIN),)), known, None, (), list)


@pytest.mark.parametrize("value", ["*:9092", ["*"], ["host"], [7], ["a b:9092"], ["h:9092,i:9092"]])
def test_a_list_of_bootstraps_that_says_nothing_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"^security.allowed_bootstraps is "):
        read(SecurityConfig, {"roles": "r", "key_file": "k", "allowed_bootstraps": value}, "security")
