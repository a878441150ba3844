"""Every way to connect and log in, at one real broker with a listener for each; and why it does not work.

The broker has proven the other side: it verifies certificates, JWTs, SCRAM and Kerberos by Kafka's own code.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from deploy.local import ports
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from deploy.local.kafka_config import Listener
from guardian.errors import ClusterUnavailable
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.kafka.controllers import Node
from guardian.kafka.credentials import ENVIRONMENT, SecretFolder
from guardian.kafka.kafka_python import DescribeClusterRequest
from guardian.model.topology import Cluster, ClusterSecurity, SecurityProtocol
from tests.integration.kafka import kdc as kerberos
from tests.integration.kafka.authority import Authority
from tests.integration.kafka.kdc import Kdc
from tests.integration.kafka.token_endpoint import AUDIENCE, ISSUER, SCOPE, TokenEndpoint
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.integration

SSL, SASL_SSL, SASL_PLAINTEXT = SecurityProtocol.SSL, SecurityProtocol.SASL_SSL, SecurityProtocol.SASL_PLAINTEXT
TIMEOUT_S = 10.0
NAME = "kafka.example.test"  # in the brokers' certificates, and of several addresses
CLIENT, CLIENT_SECRET = "guardian of the test", "s+cr/t="
SESSION_MS = 2000
TABLE = ("TLS", "MUTUAL", "ENDED", "OAUTH", "KERBEROS", "NAMED")
JAAS_OF_OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
VALIDATOR = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"


@dataclass(frozen=True, slots=True)
class Place:
    """The broker, its listeners' ports by name, and the folder of secrets that clients name."""

    kafka: KafkaCluster
    ports: dict[str, int]
    secrets: Path
    endpoint: TokenEndpoint
    kdc: Kdc
    trusted: Authority
    stranger: Authority

    def cluster(self, listener: str, security: ClusterSecurity, host: str = "127.0.0.1") -> Cluster:
        return Cluster("live", f"{host}:{self.ports[listener]}", security=security)

    def control(self, cluster: Cluster, timeout_s: float = TIMEOUT_S) -> closing[KafkaControl]:
        return closing(KafkaControl(cluster, timeout_s, secrets=SecretFolder(self.secrets)))

    def works(self, cluster: Cluster) -> bool:
        with self.control(cluster) as control:
            return control.describe_cluster().cluster_id == self.kafka.cluster_id

    def works_soon(self, cluster: Cluster) -> None:
        """Wait until the broker has heard from the controller whom it lets in."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                assert self.works(cluster)
            except ClusterUnavailable:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return

    def refusal(self, cluster: Cluster, timeout_s: float = TIMEOUT_S) -> str:
        started = time.monotonic()
        with self.control(cluster, timeout_s) as control, pytest.raises(ClusterUnavailable) as caught:
            control.describe_cluster()
        assert time.monotonic() - started < timeout_s + 5
        return str(caught.value)


def listeners(at: dict[str, int], folder: Path, trusted: Authority) -> tuple[Listener, ...]:
    def tls(file: Path, **more: str) -> dict[str, str]:
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(file),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(trusted.file),
            **more,
        }

    right, ended = trusted.issue("broker", NAME), trusted.issue("ended", "127.0.0.1", days=-1)
    jwks = (folder / "jwks.json").as_uri()
    login = (
        "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true "
        f'keyTab="{folder}/broker.keytab" principal="kafka/localhost@{kerberos.REALM}";'
    )
    return (
        Listener("TLS", "SSL", at["TLS"], tls(right)),
        Listener("MUTUAL", "SSL", at["MUTUAL"], tls(right, **{"ssl.client.auth": "required"})),
        Listener("ENDED", "SSL", at["ENDED"], tls(ended)),
        Listener(
            "OAUTH",
            "SASL_SSL",
            at["OAUTH"],
            tls(
                right,
                **{
                    "sasl.enabled.mechanisms": "OAUTHBEARER",
                    "connections.max.reauth.ms": str(SESSION_MS),
                    "oauthbearer.sasl.jaas.config": JAAS_OF_OAUTH,
                    "oauthbearer.sasl.server.callback.handler.class": VALIDATOR,
                    "oauthbearer.connections.max.reauth.ms": str(SESSION_MS),
                    "sasl.oauthbearer.jwks.endpoint.url": jwks,
                    "sasl.oauthbearer.expected.audience": AUDIENCE,
                    "sasl.oauthbearer.expected.issuer": ISSUER,
                },
            ),
        ),
        Listener(
            "KERBEROS",
            "SASL_PLAINTEXT",
            at["KERBEROS"],
            {
                "sasl.enabled.mechanisms": "GSSAPI",
                "sasl.kerberos.service.name": "kafka",
                "gssapi.sasl.jaas.config": login,
            },
            advertised="localhost",
        ),
        Listener("NAMED", "PLAINTEXT", at["NAMED"], advertised=NAME),
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("connections")
    secrets = folder / "secrets"
    for each in (secrets, folder / "kdc"):
        each.mkdir()
    trusted, stranger = Authority(folder, "trusted"), Authority(folder, "stranger")
    endpoint = TokenEndpoint(CLIENT, CLIENT_SECRET, trusted.issue("endpoint", "127.0.0.1"))
    (folder / "jwks.json").write_text(endpoint.jwks())
    at = dict(zip(TABLE, ports.pick(len(TABLE)), strict=True))
    with kerberos.running(folder / "kdc") as kdc, endpoint.running():
        for name, file in (("kafka/localhost", folder / "broker.keytab"), ("guardian", secrets / "keytab")):
            kdc.principal(name)
            kdc.keytab(name, file)
        spec = ClusterSpec(
            "live",
            brokers=1,
            sasl=True,
            plugin=False,
            jvm=(
                f"-Djava.security.krb5.conf={kdc.config}",
                f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={(folder / 'jwks.json').as_uri()}",
                f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.files={folder / 'jwks.json'}",
            ),
            listeners=listeners(at, folder, trusted),
        )
        with pytest.MonkeyPatch.context() as patch, KafkaCluster.start(spec, folder / "kafka") as kafka:
            patch.setenv("KRB5_CONFIG", str(kdc.config))
            (secrets / "ca").write_bytes(trusted.file.read_bytes())
            (secrets / "password").write_text(kafka.sasl_password_file.read_text())
            (secrets / "client.secret").write_text(CLIENT_SECRET)
            yield Place(kafka, at, secrets, endpoint, kdc, trusted, stranger)


def show(place: Place, authority: Authority, name: str = "guardian", days: int = 1) -> None:
    """Let Guardian's certificate be one of this authority."""
    authority.issue(name, days=days)
    for kind in ("crt", "key"):
        (place.secrets / f"client.{kind}").write_bytes((authority.folder / f"{name}.{kind}").read_bytes())


def tls(**more: str) -> ClusterSecurity:
    return ClusterSecurity(SSL, **{"ca_secret": "ca", "tls_server_name": NAME, **more})


def mutual(**more: str) -> ClusterSecurity:
    return tls(certificate_secret="client.crt", key_secret="client.key", **more)


def test_a_certificate_of_another_name_than_the_address_is_taken_by_the_name_that_is_told(place: Place) -> None:
    assert place.works(place.cluster("TLS", tls()))
    sentence = place.refusal(place.cluster("TLS", tls(tls_server_name="")))
    assert "shows a certificate of another name (got " in sentence
    assert "'127.0.0.1'" in sentence
    assert sentence.endswith("use a name that it has, in bootstrap or as security.tls_server_name")
    assert "certificate of another name" in place.refusal(place.cluster("TLS", tls(tls_server_name="kafka.other.test")))


def test_an_authority_that_is_not_known_is_told(place: Place) -> None:
    (place.secrets / "ca2").write_bytes(place.stranger.file.read_bytes())
    sentence = place.refusal(place.cluster("TLS", tls(ca_secret="ca2")))
    assert "shows a certificate of an unknown authority (got " in sentence
    assert sentence.endswith("put it into the secret ca2")
    assert place.refusal(place.cluster("TLS", tls(ca_secret=""))).endswith(
        "name a secret with it in security.ca_secret"
    )


def test_a_brokers_certificate_that_has_ended_is_told(place: Place) -> None:
    sentence = place.refusal(place.cluster("ENDED", tls(tls_server_name="")))
    assert "shows a certificate that has expired (got " in sentence


def test_a_port_that_does_not_speak_tls_or_speaks_only_tls_is_told(place: Place) -> None:
    sentence = place.refusal(place.cluster("NAMED", tls()), 3.0)
    assert "can't be reached" in sentence
    assert "TLS handshake failed" in sentence or "connection reset" in sentence
    sentence = place.refusal(place.cluster("TLS", ClusterSecurity()), 3.0)
    assert "answers what is no message of Kafka (got 'Invalid frame length: " in sentence
    assert "and security.protocol is PLAINTEXT: use the protocol of that port" in sentence


def test_a_client_certificate_logs_in_and_the_lack_of_one_is_told(place: Place) -> None:
    show(place, place.trusted)
    assert place.works(place.cluster("MUTUAL", mutual()))
    sentence = place.refusal(place.cluster("MUTUAL", tls()))
    assert "wants a client certificate (got the alert " in sentence


@pytest.mark.parametrize("is_strange", [True, False], ids=["of a stranger", "ended"])
def test_a_client_certificate_that_brokers_refuse_is_told_and_one_put_right_is_read_without_a_restart(
    place: Place, is_strange: bool
) -> None:
    show(place, place.stranger if is_strange else place.trusted, days=1 if is_strange else -1)
    with place.control(place.cluster("MUTUAL", mutual())) as control:
        with pytest.raises(ClusterUnavailable, match=r"refuses the client certificate in the secret client\.crt \(got"):
            control.describe_cluster()
        show(place, place.trusted)
        assert control.describe_cluster().cluster_id == place.kafka.cluster_id


def test_each_new_connection_shows_the_certificate_that_is_there_by_then(place: Place) -> None:
    """Of one login: kafka-python connects anew by itself when a connection is lost."""
    show(place, place.trusted)
    with place.control(place.cluster("MUTUAL", mutual())) as control:
        control.describe_cluster()
        connections = control._calls._connections
        assert connections is not None
        node = Node(1, "127.0.0.1", place.ports["MUTUAL"])

        async def connect() -> str:
            connection = await connections.connection_to(node, time.monotonic() + TIMEOUT_S)
            answer = await connection.send_request(DescribeClusterRequest())
            connection.close()
            return str(answer.cluster_id)

        assert connections.run(connect, time.monotonic() + TIMEOUT_S) == place.kafka.cluster_id
        show(place, place.stranger)
        with pytest.raises(Exception, match="ALERT"):
            connections.run(connect, time.monotonic() + TIMEOUT_S)
        show(place, place.trusted)
        assert connections.run(connect, time.monotonic() + TIMEOUT_S) == place.kafka.cluster_id


def test_records_and_offsets_go_over_a_client_certificate_too(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """librdkafka checks the host that it is told, so that the broker must show it: here it does not."""
    show(place, place.trusted)
    monkeypatch.setenv(ENVIRONMENT, str(place.secrets))
    config = data.client_config(place.cluster("MUTUAL", mutual(tls_server_name="")))
    config["ssl.endpoint.identification.algorithm"] = "none"
    with closing(data.Consumer({**config, "group.id": "test"})) as consumer:
        assert consumer.list_topics(timeout=TIMEOUT_S).cluster_id == place.kafka.cluster_id


@pytest.mark.parametrize("user", ["a=b,c", "=2C", "guard,ian="])
def test_a_scram_user_may_have_signs_that_scram_uses(place: Place, user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 5802, section 5.1."""
    word = 's"cr\\t,=; '
    data.put_scram_user(place.kafka.to_cluster(sasl=False), user, word)
    (place.secrets / "odd").write_text(f"{word}\n")
    security = ClusterSecurity(SASL_PLAINTEXT, "SCRAM-SHA-512", user, "odd")
    cluster = Cluster("live", place.kafka.sasl_bootstrap, security=security)
    place.works_soon(cluster)
    monkeypatch.setenv(ENVIRONMENT, str(place.secrets))
    with closing(data.consumer(cluster, "test")) as consumer:
        assert consumer.list_topics(timeout=TIMEOUT_S).cluster_id == place.kafka.cluster_id
    (place.secrets / "odd").write_text("wrong")
    assert f"refuses the login of {user!r}" in place.refusal(cluster)


def test_a_mechanism_that_the_listener_does_not_enable_is_told(place: Place) -> None:
    security = ClusterSecurity(SASL_PLAINTEXT, "SCRAM-SHA-256", "guardian", "password")
    cluster = Cluster("live", place.kafka.sasl_bootstrap, security=security)
    assert place.refusal(cluster).endswith("SCRAM-SHA-256: use one that its listener enables")


def oauth(place: Place, **more: str) -> Cluster:
    login = {
        "token_endpoint": place.endpoint.url,
        "username": CLIENT,
        "password_secret": "client.secret",
        "token_ca_secret": "ca",
        "token_scope": SCOPE,
        **more,
    }
    security = ClusterSecurity(SASL_SSL, "OAUTHBEARER", ca_secret="ca", tls_server_name=NAME, **login)
    return place.cluster("OAUTH", security)


def test_a_token_of_an_endpoint_logs_in_and_is_asked_for_once(place: Place) -> None:
    asked, secrets = place.endpoint.asked, SecretFolder(place.secrets)
    for _ in range(3):
        with closing(KafkaControl(oauth(place), TIMEOUT_S, secrets=secrets)) as control:
            assert control.describe_cluster().cluster_id == place.kafka.cluster_id
    assert place.endpoint.asked == asked + 1


def test_a_token_is_renewed_before_its_end_and_the_broker_is_shown_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker ends a session with its token: one connection lives through several."""
    monkeypatch.setattr(place.endpoint, "life_s", 10)
    asked, secrets = place.endpoint.asked, SecretFolder(place.secrets)
    with closing(KafkaControl(oauth(place), TIMEOUT_S, secrets=secrets)) as control:
        deadline = time.monotonic() + PATIENCE_S
        while place.endpoint.asked < asked + 2:
            assert control.describe_cluster().cluster_id == place.kafka.cluster_id
            assert time.monotonic() < deadline
            time.sleep(0.2)


def test_an_endpoint_that_is_down_ends_no_connection_that_lives(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place.endpoint, "life_s", 60)
    with place.control(oauth(place)) as control:
        control.describe_cluster()
        monkeypatch.setattr(place.endpoint, "is_broken", True)
        (kept,) = control._calls._secrets.tokens._kept.values()
        kept.renew_at_s = 0.0
        assert control.describe_cluster().cluster_id == place.kafka.cluster_id
        assert kept.renew_at_s > 0.0, "it was asked, and is asked again later"
    assert "refuses a token to 'guardian of the test' (got HTTP 503); look into its log" in place.refusal(oauth(place))


def test_a_token_of_a_file_logs_in_as_it_is_then(place: Place) -> None:
    none = {"token_endpoint": "", "username": "", "password_secret": "", "token_ca_secret": "", "token_scope": ""}
    cluster = oauth(place, token_secret="token", **none)
    (place.secrets / "token").write_text("of nobody")
    assert "gives what is no bearer token" in place.refusal(cluster)
    (place.secrets / "token").write_text("of.no.body\n")
    sentence = place.refusal(cluster)
    assert "refuses the token (got " in sentence
    assert "the token in the secret token against what the listener expects" in sentence
    (place.secrets / "token").write_text(place.endpoint.token() + "\n")
    assert place.works(cluster)


def test_a_token_that_the_broker_refuses_is_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place.endpoint, "audience", "another")
    sentence = place.refusal(oauth(place))
    assert f"refuses the login of {CLIENT!r} (got " in sentence
    assert f"the token that {place.endpoint.url} gives against what the listener expects" in sentence


@pytest.mark.parametrize(
    ("field", "value", "end"),
    [
        ("username", "nobody", "(got HTTP 401, invalid_client); check username, which is the client's id, and the"),
        ("token_scope", "all", "(got HTTP 400, invalid_scope); check security.token_scope"),
        ("token_ca_secret", "ca3", "shows a certificate of an unknown authority (got "),
        ("token_endpoint", "https://127.0.0.1:1/token", "can't be reached (got 'Connection refused')"),
    ],
)
def test_an_endpoint_that_gives_no_token_is_told(place: Place, field: str, value: str, end: str) -> None:
    (place.secrets / "ca3").write_bytes(place.stranger.file.read_bytes())
    sentence = place.refusal(oauth(place, **{field: value}))
    assert sentence.startswith("cluster live: security.token_endpoint https://127.0.0.1:")
    assert end in sentence


def test_librdkafka_is_given_tokens_too(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, str(place.secrets))
    cluster = oauth(place)
    config = data.client_config(replace(cluster, security=replace(cluster.security, tls_server_name="")))
    config["ssl.endpoint.identification.algorithm"] = "none"
    with closing(data.Consumer({**config, "group.id": "test"})) as consumer:
        consumer.poll(0)
        assert consumer.list_topics(timeout=TIMEOUT_S).cluster_id == place.kafka.cluster_id


def by_kerberos(place: Place, host: str = "localhost", **more: str) -> Cluster:
    login = {"username": f"guardian@{kerberos.REALM}", "keytab_secret": "keytab", **more}
    return place.cluster("KERBEROS", ClusterSecurity(SASL_PLAINTEXT, "GSSAPI", **login), host)


def test_a_keytab_logs_in(place: Place) -> None:
    assert place.works(by_kerberos(place))


@pytest.mark.parametrize(
    ("more", "end"),
    [
        ({"username": "nobody"}, "the keytab has no key of nobody; check username and the keytab"),
        ({"kerberos_service": "other"}, "the KDC does not know the service other of that broker; check kerberos_serv"),
    ],
)
def test_why_kerberos_gives_no_way_is_told(place: Place, more: dict[str, str], end: str) -> None:
    sentence = place.refusal(by_kerberos(place, **more))
    assert "can't be logged in to by Kerberos: " in sentence
    assert end in sentence


def test_a_keytab_that_was_replaced_at_the_kdc_is_told_and_the_new_one_is_read(place: Place, tmp_path: Path) -> None:
    """Exporting a keytab makes a new key."""
    place.kdc.keytab("guardian", tmp_path / "new")
    with place.control(by_kerberos(place)) as control:
        # What was there before this test is in the memory of the library, under the old keytab's age.
        (place.secrets / "keytab").touch()
        with pytest.raises(ClusterUnavailable, match=r"is not that of guardian@.* any more; export a new one"):
            control.describe_cluster()
        (place.secrets / "keytab").write_bytes((tmp_path / "new").read_bytes())
        assert control.describe_cluster().cluster_id == place.kafka.cluster_id


def test_a_kdc_that_does_not_answer_is_told(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = place.kdc.config.read_text()
    (tmp_path / "krb5.conf").write_text(re.sub(r"kdc = .*", "kdc = 127.0.0.1:1", config))
    monkeypatch.setenv("KRB5_CONFIG", str(tmp_path / "krb5.conf"))
    (place.secrets / "keytab").touch()  # so that no ticket of before is taken
    assert place.refusal(by_kerberos(place)).endswith("no KDC of the realm answers; check krb5.conf and the KDC")


def resolve_to(monkeypatch: pytest.MonkeyPatch, addresses: Sequence[str]) -> None:
    """Let NAME have these addresses, in this order."""
    real = socket.getaddrinfo

    def getaddrinfo(host: str, port: Any, *more: Any, **others: Any) -> Any:
        if host != NAME:
            return real(host, port, *more, **others)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@contextmanager
def swallowing(address: str, port: int) -> Iterator[None]:
    """A listener whose queue is full swallows packets."""
    with socket.socket() as hole:
        hole.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        hole.bind((address, port))
        hole.listen(0)
        waiting = [socket.socket() for _ in range(8)]
        try:
            for each in waiting:
                each.setblocking(False)
                with suppress(BlockingIOError):
                    each.connect((address, port))
            with pytest.raises(TimeoutError):
                socket.create_connection((address, port), timeout=0.5)
            yield
        finally:
            for each in waiting:
                each.close()


def test_bootstrap_and_what_brokers_advertise_may_have_addresses_that_swallow_packets(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all brokers, and within the time of one question."""
    with swallowing("127.0.0.2", place.ports["NAMED"]), swallowing("127.0.0.3", place.ports["NAMED"]):
        resolve_to(monkeypatch, ["127.0.0.2", "127.0.0.3", "127.0.0.1"])
        with place.control(place.cluster("NAMED", ClusterSecurity(), NAME)) as control:
            assert control.describe_cluster().cluster_id == place.kafka.cluster_id
            assert control.describe_log_dirs([1])
