"""A member wired as it runs: it serves, it ends all that it started, and says what keeps it from starting."""

from __future__ import annotations

import socket
import threading
import urllib.error
import urllib.request
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
import structlog
import trustme

from deploy.local import ports
from guardian.client import GuardianClient
from guardian.config import ServerConfig, TlsConfig
from guardian.errors import Damaged, InvalidInput, Overloaded
from guardian.member.app import start
from guardian.replication.store.store import ReplicatedStore
from guardian.security.model.security_config import OpenMetrics, SecurityConfig
from tests.patience import PATIENCE_S, until, wait_for

pytestmark = pytest.mark.slow


@pytest.fixture
def config(tmp_path: Path) -> ServerConfig:
    grpc, http, raft = (f"{ports.HOST}:{port}" for port in ports.pick(3))
    return ServerConfig("g1", tmp_path / "data", grpc, http, raft, str(tmp_path / "lake"))


def test_a_member_serves_then_ends_its_threads_and_frees_its_data(config: ServerConfig) -> None:
    before = set(threading.enumerate())
    for _ in range(2):
        with ExitStack() as stack, GuardianClient([config.grpc]) as client:
            start(config, stack)
            assert client.member().name == "g1"
            assert client.tickets() == ()
        ours = ("collector", "leader-loop", "http", "raft-g1", "executor", "grpc", "rpc")
        assert not [each for each in set(threading.enumerate()) - before if each.name.startswith(ours)]


def test_a_port_that_is_taken_is_said_so_and_the_data_is_freed(config: ServerConfig) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        endpoint = f"127.0.0.1:{taken.getsockname()[1]}"
        for wrong in (replace(config, grpc=endpoint), replace(config, http=endpoint)):
            with (
                ExitStack() as stack,
                pytest.raises(InvalidInput, match=f" is '{endpoint}', which can't be listened on"),
            ):
                start(wrong, stack)
    with ExitStack() as stack:
        start(config, stack)


def test_data_that_another_member_uses_is_left_alone(config: ServerConfig) -> None:
    with ExitStack() as stack, ExitStack() as second:
        start(config, stack)
        with pytest.raises(InvalidInput, match="which another Guardian process uses: stop it first"):
            start(config, second)


def test_a_wrong_links_file_is_told_at_the_start(config: ServerConfig, tmp_path: Path) -> None:
    links_file = tmp_path / "links.toml"
    links_file.write_text("near = 2")
    with (
        ExitStack() as stack,
        pytest.raises(InvalidInput, match=f"links file {links_file}: near is 2: use more"),
    ):
        start(replace(config, links=links_file), stack)


def test_data_that_can_not_be_written_is_named(config: ServerConfig, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        ExitStack() as stack,
        pytest.raises(InvalidInput, match=r"data is '.*/file/data', which can't be written: Not a"),
    ):
        start(replace(config, data=tmp_path / "file" / "data"), stack)


def test_a_damaged_store_is_named(config: ServerConfig) -> None:
    with ExitStack() as stack:
        start(config, stack)
    (config.data / "store" / "CURRENT").write_text("garbage")
    with ExitStack() as stack, pytest.raises(Damaged, match=r"metastore .*/CURRENT does not name a generation"):
        start(config, stack)


def test_a_member_with_certificates_serves_and_one_without_them_says_which_is_missing(
    config: ServerConfig, tmp_path: Path
) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("g1")
    tls = TlsConfig(tmp_path / "ca.pem", tmp_path / "g1.pem", tmp_path / "g1.key")
    with ExitStack() as stack, pytest.raises(InvalidInput, match=r"tls.certificate: .*g1.pem can't be read"):
        start(replace(config, tls=tls), stack)
    authority.cert_pem.write_to_path(str(tls.ca))
    issued.cert_chain_pems[0].write_to_path(str(tls.certificate))
    issued.private_key_pem.write_to_path(str(tls.key))
    with ExitStack() as stack, GuardianClient([config.grpc]) as client:
        start(replace(config, tls=tls), stack)
        client.list_clusters()  # returns when there is a leader
        assert client.raft_status().leader_endpoint == config.grpc


def test_certificates_without_roles_are_cautioned_of_until_there_are_roles(
    config: ServerConfig, tmp_path: Path
) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert(ports.HOST)
    tls = TlsConfig(tmp_path / "ca.pem", tmp_path / "g1.pem", tmp_path / "g1.key")
    authority.cert_pem.write_to_path(str(tls.ca))
    issued.cert_chain_pems[0].write_to_path(str(tls.certificate))
    issued.private_key_pem.write_to_path(str(tls.key))
    with ExitStack() as stack, structlog.testing.capture_logs() as told:
        start(replace(config, grpc_tls=tls), stack)
        page = ready_page(config)
    (said,) = (line["why"] for line in told if line["event"] == "this member is open to more than it need be")
    assert page == f"ready\ncaution: {said}\n"
    assert said.startswith(f"every certificate of {tls.ca} may do everything")

    roles, key = tmp_path / "roles.toml", tmp_path / "members.key"
    roles.write_text('[[grants]]\nwho = ["ann"]\nrole = "admin"\n')
    key.write_bytes(b"k" * 32)
    key.chmod(0o600)
    security = SecurityConfig(roles, key, open_metrics=OpenMetrics.ALL)
    with ExitStack() as stack:
        start(replace(config, grpc_tls=tls, security=security), stack)
        assert ready_page(config) == "ready\n"
        assert fetch(config, "/api/v1/clusters")[0] == 401
        measured = fetch(config, "/metrics")[1]
    assert 'guardian_refusals_total{why="not_signed_in"} 1.0' in measured
    assert 'guardian_refusals_total{why="held_up"} 0.0' in measured


def ready_page(config: ServerConfig) -> str:
    def ready() -> str | None:
        status, text = fetch(config, "/readyz")
        return text if status == 200 else None

    return wait_for("the member is ready", ready, story=lambda: fetch(config, "/readyz"))


def fetch(config: ServerConfig, path: str) -> tuple[int, str]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://{config.http}{path}", timeout=PATIENCE_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_member_that_is_overloaded_is_not_ready_and_says_so(
    config: ServerConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise Overloaded("many reads wait")

    with ExitStack() as stack:
        start(config, stack)
        monkeypatch.setattr(ReplicatedStore, "read_index", refuse)
        until(lambda: fetch(config, "/readyz") == (503, "many reads wait\n"), story=lambda: fetch(config, "/readyz"))
        assert fetch(config, "/livez") == (200, "alive\n")
