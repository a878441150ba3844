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
import trustme

from deploy.local import ports
from guardian.client import GuardianClient
from guardian.config import ServerConfig, TlsConfig
from guardian.errors import InvalidInput, Overloaded
from guardian.server.app import start
from guardian.server.store import ReplicatedStore


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
    with ExitStack() as stack, pytest.raises(InvalidInput, match=f"links file {links_file}: near is 2: give a share"):
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
    with ExitStack() as stack, pytest.raises(InvalidInput, match=r"metastore .*/CURRENT does not name a generation"):
        start(config, stack)


def test_a_member_with_certificates_serves_and_one_without_them_says_which_is_missing(
    config: ServerConfig, tmp_path: Path
) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("g1")
    tls = TlsConfig(tmp_path / "ca.pem", tmp_path / "g1.pem", tmp_path / "g1.key")
    with ExitStack() as stack, pytest.raises(InvalidInput, match=r"raft TLS can't use .*g1.pem"):
        start(replace(config, tls=tls), stack)
    authority.cert_pem.write_to_path(str(tls.ca))
    issued.cert_chain_pems[0].write_to_path(str(tls.certificate))
    issued.private_key_pem.write_to_path(str(tls.key))
    with ExitStack() as stack, GuardianClient([config.grpc]) as client:
        start(replace(config, tls=tls), stack)
        client.list_clusters()  # returns when there is a leader
        assert client.raft_status().leader_endpoint == config.grpc


def test_a_member_that_is_overloaded_is_not_ready_and_says_so(
    config: ServerConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise Overloaded("many reads wait")

    with ExitStack() as stack:
        start(config, stack)
        monkeypatch.setattr(ReplicatedStore, "read_index", refuse)
        with pytest.raises(urllib.error.HTTPError) as answer:
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                f"http://{config.http}/readyz", timeout=30
            )
    assert (answer.value.code, answer.value.read()) == (503, b"many reads wait\n")
