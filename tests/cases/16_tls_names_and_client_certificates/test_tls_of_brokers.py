"""Brokers by TLS whose certificate names another address, or that want the client's certificate.

dpkp/kafka-python and Strimzi: every second question; ansible-kafka-admin #172, Apicurio #4332; a client certificate is
Strimzi's and MSK's usual way to log in.
"""

from __future__ import annotations

import inspect
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from guardian.errors import ClusterUnavailable
from guardian.kafka.control import KafkaControl
from guardian.kafka.credentials import SecretFolder
from guardian.model.topology import SASL_MECHANISMS, Cluster, ClusterSecurity, SecurityProtocol

pytestmark = pytest.mark.slow

Serve = Callable[..., int]


class Certificates:
    """Authorities and certificates in a folder, made by openssl."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for authority in ("ca", "ca2"):
            self._openssl(
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={authority}",
                "-keyout", f"{authority}.key", "-out", f"{authority}.pem",
            )  # fmt: skip
        self._issue("other", "DNS:kafka-1.example.test")
        self._issue("right", "IP:127.0.0.1")

    def _issue(self, name: str, names: str) -> None:
        (self.folder / f"{name}.ext").write_text(f"subjectAltName={names}\n")
        self._openssl(
            "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", f"{name}.key",
            "-out", f"{name}.csr",
        )  # fmt: skip
        self._openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", f"{name}.ext", "-out", f"{name}.pem",
        )  # fmt: skip

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def serve(certificates: Certificates) -> Iterator[Serve]:
    """Start a TLS listener with this certificate, and return its port."""
    with ExitStack() as stack:

        def start(name: str, *, wants_certificate: bool = False) -> int:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificates.folder / f"{name}.pem", certificates.folder / f"{name}.key")
            if wants_certificate:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(certificates.folder / "ca.pem")
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

            def accept() -> None:
                with suppress(OSError):
                    while True:
                        raw, _ = listener.accept()
                        with suppress(OSError), raw:
                            context.wrap_socket(raw, server_side=True).recv(1000)

            threading.Thread(target=accept, daemon=True).start()
            port: int = listener.getsockname()[1]
            return port

        yield start


def refusal(certificates: Certificates, port: int, authority: str = "ca.pem") -> str:
    security = ClusterSecurity(SecurityProtocol.SSL, ca_secret=authority)
    cluster = Cluster("live", f"127.0.0.1:{port}", security=security)
    control = KafkaControl(cluster, 3.0, secrets=SecretFolder(certificates.folder))
    with closing(control), pytest.raises(ClusterUnavailable) as caught:
        control.describe_cluster()
    return str(caught.value).lower()


def test_a_name_that_differs_is_told(certificates: Certificates, serve: Serve) -> None:
    told = refusal(certificates, serve("other"))
    assert any(word in told for word in ("mismatch", "not valid for", "certificate"))


def test_an_unknown_authority_is_told(certificates: Certificates, serve: Serve) -> None:
    told = refusal(certificates, serve("right"), "ca2.pem")
    assert any(word in told for word in ("verify", "certificate", "issuer"))


def test_a_broker_that_wants_the_clients_certificate_is_told(certificates: Certificates, serve: Serve) -> None:
    assert "certificate" in refusal(certificates, serve("right", wants_certificate=True))


def test_a_cluster_may_name_a_client_certificate() -> None:
    fields = inspect.signature(ClusterSecurity).parameters
    assert any("certificate" in name or "key" in name for name in fields)


def test_oauthbearer_is_a_mechanism() -> None:
    assert "OAUTHBEARER" in SASL_MECHANISMS
