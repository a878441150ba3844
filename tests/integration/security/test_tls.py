"""A federation that speaks TLS at every port, as `guardian local up --tls` makes it: members, a broker, the CLI.

Who shows no certificate, or one that is wrong, expired or taken back, is refused at each port, and that is on record;
certificates are renewed under load without a dropped call.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import grpc
import pytest

from deploy.local import certificates, distribution, federation
from deploy.local.federation import Federation
from deploy.local.members import Member
from guardian.client import ClientTls, GuardianClient
from guardian.errors import GuardianError, NotSignedIn, Unavailable
from guardian.security.certificates.authority import Wanted
from guardian.security.certificates.folder import CertificateFolder
from protos.guardian.v1 import federation_pb2, federation_pb2_grpc
from tests.patience import CALL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

DAY_MS = 86_400_000
DRIVER = distribution.PLUGIN / "src/test/java/guardian/kafka/metadata/store/StoreDriver.java"


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """Three members."""
    home = tmp_path_factory.mktemp("members") / "home"
    try:
        yield federation.up(members=3, clusters=0, home=home, tls=True)
    finally:
        federation.wipe(home)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """A member and a cluster of one broker."""
    home = tmp_path_factory.mktemp("whole") / "home"
    try:
        yield federation.up(members=1, clusters=1, brokers=1, workload=False, home=home, tls=True)
    finally:
        federation.wipe(home)


@pytest.fixture
def certs(local: Federation) -> CertificateFolder:
    return CertificateFolder(local.home / "certs")


@pytest.fixture
def client(local: Federation) -> Iterator[GuardianClient]:
    with GuardianClient(local.endpoints, timeout_s=CALL_S, tls=local.client_tls) as client:
        yield client


def now_ms() -> int:
    return int(time.time() * 1000)


def cli(local: Federation, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith("GUARDIAN_")}
    return subprocess.run(
        [sys.executable, "-m", "guardian.cli.main", *arguments],
        env={**known, "GUARDIAN_LOCAL": str(local.home), **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def page(local: Federation, member: Member, path: str, shown: ClientTls | None = None) -> str:
    context = ssl.create_default_context(cafile=str(local.home / "certs" / "ca.pem"))
    if shown is not None and shown.certificate is not None:
        context.load_cert_chain(shown.certificate, shown.key)
    with urllib.request.urlopen(f"https://{member.http}{path}", timeout=PATIENCE_S, context=context) as answer:
        text: str = answer.read().decode()
        return text


def metric(text: str, name: str, *labels: str) -> float:
    """The sum over what has all of these labels."""
    lines = [
        line for line in text.splitlines() if line.startswith(f"{name}{{") and all(each in line for each in labels)
    ]
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


def log_of(local: Federation, member: Member) -> str:
    return (local.home / "logs" / f"{member.name}.log").read_text()


def shown(folder: CertificateFolder, name: str, trusts: CertificateFolder) -> ClientTls:
    return ClientTls(trusts.authority, folder.certificate(name), folder.key(name))


def register(client: GuardianClient, number: int) -> None:
    entry = federation_pb2.FederationEntry(machine=federation_pb2.Machine(host=f"host-{number}.example"))
    client.change_federation([federation_pb2.FederationChange(put=entry, expected_revision=0)])


def test_members_and_the_cli_speak_tls_to_each_other(local: Federation) -> None:
    wait_for("an answer of each member", lambda: answering(local) == {"g1", "g2", "g3"})
    for member in local.members:
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            plain(member.http)
        assert page(local, member, "/healthz") == "alive\n"
        assert "caution: every certificate of" in readiness(local, member), "nobody has a role here"


def readiness(local: Federation, member: Member) -> str:
    """Also of one that is not ready for a moment."""
    try:
        return page(local, member, "/readyz")
    except urllib.error.HTTPError as error:
        return error.read().decode()


def answering(local: Federation) -> set[str]:
    """Members that the CLI reaches, without being told of certificates."""
    status = cli(local, "status", "-o", "json")
    assert status.returncode == 0, status.stdout + status.stderr
    return {each["member"]["name"] for each in json.loads(status.stdout) if each["member"]}


def plain(endpoint: str) -> int:
    """What plain HTTP is answered."""
    host, port = endpoint.split(":")
    with closing(http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)) as connection:
        connection.request("GET", "/readyz")
        return connection.getresponse().status


def shown_nothing() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def handshake(endpoint: str, context: ssl.SSLContext) -> bytes:
    """What the other side shows. Raises ssl.SSLError or ConnectionError where it does not like what it is shown."""
    host, port = endpoint.split(":")
    with (
        socket.create_connection((host, int(port)), timeout=PATIENCE_S) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        certificate = connection.getpeercert(binary_form=True)
        assert certificate is not None
        connection.settimeout(30)
        if not connection.recv(1):  # with TLS 1.3 a refusal comes after the handshake
            raise ConnectionResetError("the other side hung up")
        return certificate


def test_a_broker_and_its_member_show_each_other_certificates(whole: Federation) -> None:
    (broker,), (member,) = whole.clusters[0].kafka.brokers, whole.members
    wait_for(
        "a collection over TLS",
        lambda: metric(page(whole, member, "/metrics"), "guardian_collections_total", 'result="succeeded"'),
    )
    with pytest.raises((ssl.SSLError, ConnectionError)):
        handshake(broker.reporter, shown_nothing())
    again = federation.up(members=1, clusters=1, brokers=1, workload=False, home=whole.home, tls=True)
    assert [member.pid for member in again.members] == [member.pid]
    with pytest.raises(GuardianError, match="the members stand here with --tls"):
        federation.up(members=0, clusters=1, brokers=1, workload=False, home=whole.home)


def test_segment_events_of_a_broker_go_over_tls(whole: Federation, tmp_path: Path) -> None:
    javac = shutil.which("javac")
    assert javac is not None, f"javac is not on the PATH: {distribution.INSTALL_JAVA}"
    jars = os.pathsep.join((str(distribution.plugin_jar()), f"{distribution.kafka_libs()}/*"))
    subprocess.run([javac, "-proc:none", "-cp", jars, "-d", str(tmp_path), str(DRIVER)], check=True)
    settings = certificates.broker_settings(whole.home / "certs", "live", 1)
    driver = subprocess.Popen(
        [
            distribution.require_java(),
            *(f"-D{name}={value}" for name, value in settings.items()),
            "-cp",
            os.pathsep.join((str(tmp_path), jars)),
            "guardian.kafka.metadata.store.StoreDriver",
            *("bench", ",".join(whole.endpoints), "4", "40", "2"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        output, _ = driver.communicate(timeout=PATIENCE_S)
    finally:
        driver.kill()
    assert "events/s" in output, output
    assert driver.returncode == 0, output


@pytest.mark.parametrize("who", ["plain", "no certificate", "stranger", "expired", "of the Raft port's authority"])
def test_who_shows_nothing_or_something_wrong_is_refused_at_grpc_and_that_is_on_record(
    local: Federation, certs: CertificateFolder, tmp_path: Path, who: str
) -> None:
    other = CertificateFolder(tmp_path / "other")
    other.init("others", 10, now_ms())
    other.issue(Wanted("operator"), now_ms())
    if "late" not in certs.names():
        certs.issue(Wanted("late", days=1 / 24 / 3600), now_ms() - DAY_MS)
    wrong = {
        "plain": None,
        "no certificate": ClientTls(certs.authority),
        "stranger": shown(other, "operator", certs),
        "expired": shown(certs, "late", certs),
        "of the Raft port's authority": shown(CertificateFolder(certs.path / "raft"), "g1", certs),
    }[who]
    member = local.members[0]
    before = log_of(local, member).count("Handshake failed")
    handshakes = metric(page(local, member, "/metrics"), "guardian_tls_handshakes_total", 'use="grpc_tls"')
    with GuardianClient([member.grpc], tls=wrong) as client, pytest.raises(Unavailable) as refused:
        client.member_at(member.grpc, timeout_s=CALL_S)
    assert "--certificate" in str(refused.value), "the sentence says what to do"
    wait_for("a line in the log", lambda: log_of(local, member).count("Handshake failed") > before)
    assert metric(page(local, member, "/metrics"), "guardian_tls_handshakes_total", 'use="grpc_tls"') > handshakes


def test_what_is_taken_back_is_refused_though_it_is_connected(local: Federation, certs: CertificateFolder) -> None:
    certs.issue(Wanted("bob", is_person=True), now_ms())
    member = local.members[0]
    tls = shown(certs, "bob", certs)
    with grpc.secure_channel(member.grpc, tls.credentials(), [("grpc.enable_http_proxy", 0)]) as channel:
        stub = federation_pb2_grpc.FederationStub(channel)
        stub.GetMember(federation_pb2.GetMemberRequest(), timeout=PATIENCE_S)
        revoked = cli(local, "certs", "revoke", "bob", "--yes", "--folder", str(certs.path))
        assert revoked.returncode == 0, revoked.stderr

        refusals: list[tuple[grpc.StatusCode, str]] = []

        def is_refused() -> bool:
            try:
                stub.GetMember(federation_pb2.GetMemberRequest(), timeout=PATIENCE_S)
            except grpc.RpcError as error:
                refusals.append((error.code(), error.details() or ""))
            return bool(refusals)

        wait_for("the refusal of what is taken back", is_refused)
        sentence = "the certificate of bob was taken back by its authority: ask for a new one"
        assert refusals == [(grpc.StatusCode.UNAUTHENTICATED, sentence)]
    with GuardianClient([member.grpc], timeout_s=CALL_S, tls=tls) as client, pytest.raises(NotSignedIn):
        client.raft_status()
    assert "bob" in log_of(local, member)
    assert (
        metric(page(local, member, "/metrics"), "guardian_tls_refused_total", 'use="grpc_tls"', 'reason="revoked"') >= 2
    )
    listing = ("cluster", "list", "--endpoints", member.grpc, "--timeout", "100s")
    refused = cli(local, *listing, *typed(tls))
    assert (refused.returncode != 0, "was taken back" in refused.stderr) == (True, True), refused.stderr
    served = cli(local, *listing, *typed(shown(certs, "operator", certs)))
    assert served.returncode == 0, served.stdout + served.stderr


def typed(tls: ClientTls) -> list[str]:
    return ["--ca", str(tls.ca), "--certificate", str(tls.certificate), "--key", str(tls.key)]


def test_the_raft_port_lets_nobody_in_whose_certificate_is_of_clients(
    local: Federation, certs: CertificateFolder
) -> None:
    member = local.members[0]
    before = metric(page(local, member, "/metrics"), "guardian_raft_refused_total", 'reason="tls"')
    for name in ("operator", "g1", "g2"):
        context = shown_nothing()
        context.load_cert_chain(certs.certificate(name), certs.key(name))
        with pytest.raises((ssl.SSLError, ConnectionError)):
            handshake(member.raft, context)
    wait_for(
        "the count of refusals",
        lambda: metric(page(local, member, "/metrics"), "guardian_raft_refused_total", 'reason="tls"') >= before + 3,
    )


def test_certificates_are_renewed_under_load_without_a_dropped_call(
    local: Federation, certs: CertificateFolder, client: GuardianClient
) -> None:
    stop, failures, done = threading.Event(), [], [0, 0]

    def work(number: int) -> None:
        """Changes and reads; a client of its own, which keeps its connections."""
        try:
            with GuardianClient(local.endpoints, timeout_s=CALL_S, tls=local.client_tls) as own:
                while not stop.is_set():
                    register(own, 1000 * number + done[number])
                    own.raft_status()
                    done[number] += 1
        except GuardianError as error:
            failures.append(repr(error))

    operator = ssl.create_default_context(cafile=str(certs.authority))
    operator.load_cert_chain(certs.certificate("operator"), certs.key("operator"))
    operator.set_alpn_protocols(["h2"])
    before = {member.name: handshake_of(member.grpc, operator) for member in local.members}
    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    try:
        for folder in (str(certs.path), str(certs.path / "raft")):
            renewed = cli(local, "certs", "renew", "--all", "--folder", folder)
            assert renewed.returncode == 0, renewed.stderr
        for member in local.members:
            wait_for(
                f"the new certificate of {member.name}",
                lambda member=member: handshake_of(member.grpc, operator) != before[member.name],  # type: ignore[misc]
            )
        seen = list(done)
        wait_for("more calls", lambda: failures or all(now > then + 3 for now, then in zip(done, seen, strict=True)))
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE_S)
    assert failures == []
    # Each change was made once, and members still speak to each other.
    assert len(list(client.federation(federation_pb2.MACHINES))) == sum(done)
    assert {each.is_connected or each.name == client.raft_status().name for each in client.raft_status().members} == {
        True
    }


def handshake_of(endpoint: str, context: ssl.SSLContext) -> bytes:
    host, port = endpoint.split(":")
    with (
        socket.create_connection((host, int(port)), timeout=PATIENCE_S) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        certificate = connection.getpeercert(binary_form=True)
        assert certificate is not None
        return certificate


def test_a_certificate_that_runs_out_is_a_finding_and_a_metric(local: Federation, certs: CertificateFolder) -> None:
    days = 900.0 / 86400  # a quarter of an hour, and an hour before: less than a third is left
    for member in local.members:  # whoever leads sees its own at once, those of others within ten minutes
        certs.renew(member.name, days, now_ms())
    expiry = ("guardian_certificate_expiry_timestamp_seconds", 'use="grpc_tls"', 'what="certificate"')
    try:
        for member in local.members:
            until_s = certs.facts(member.name).not_after_ms / 1000
            wait_for(
                f"the new date of {member.name}",
                lambda member=member, until_s=until_s: metric(page(local, member, "/metrics"), *expiry) == until_s,  # type: ignore[misc]
            )
        wait_for("the finding", lambda: ", grpc_tls" in cli(local, "findings", "-o", "json").stdout)
    finally:
        for member in local.members:
            certs.renew(member.name, 365, now_ms())


def test_what_stands_with_tls_is_not_taken_for_something_else(local: Federation) -> None:
    again = federation.up(members=3, clusters=0, home=local.home, tls=True)
    assert [member.pid for member in again.members] == [member.pid for member in local.members]
    with pytest.raises(GuardianError, match="the members stand here with --tls"):
        federation.up(members=3, clusters=0, home=local.home)
