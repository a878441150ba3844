"""Whose authority opens the Raft port: one that signs for clients too does so only with certificates of members."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from guardian.config import HttpTlsConfig, ServerConfig, TlsConfig, embedded
from guardian.errors import InvalidInput
from guardian.replication.store.raft_tls import raft_tls
from guardian.security.certificates.authority import Wanted
from guardian.security.certificates.folder import CertificateFolder
from raft.errors import CannotStart
from raft.network.tls import TlsContexts

NOW_MS = 1_800_000_000_000
SECTIONS = ("grpc_tls", "http_tls", "reporter_tls")


class Authorities:
    """Two: the clients', and Raft's own. Each has certificates `g1` and, of members, `m1` for the member g1."""

    def __init__(self, home: Path) -> None:
        self.clients, self.raft = CertificateFolder(home / "clients"), CertificateFolder(home / "raft")
        self.member = CertificateFolder(home / "member")
        for folder in (self.clients, self.raft):
            folder.init(folder.path.name, 10, NOW_MS)
            folder.issue(Wanted("g1"), NOW_MS)
            folder.issue(Wanted("g2", is_member=True), NOW_MS)

    def bind(self, folder: CertificateFolder) -> None:
        """g1's certificate bears its Raft name from now on."""
        folder.certificate("g1").unlink()
        folder.issue(Wanted("g1", is_member=True), NOW_MS)

    def config(
        self, home: Path, raft: CertificateFolder, section: str, *, allow_shared_ca: bool = False
    ) -> ServerConfig:
        """Of g1; the clients' authority is in one section."""
        ca, certificate, key = self.clients.authority, self.clients.certificate("g1"), self.clients.key("g1")
        clients: TlsConfig | HttpTlsConfig = TlsConfig(ca, certificate, key)
        if section == "http_tls":
            clients = HttpTlsConfig(certificate, key, ca)
        own = TlsConfig(raft.authority, raft.certificate("g1"), raft.key("g1"), allow_shared_ca=allow_shared_ca)
        given: dict[str, Any] = {section: clients}
        return replace(embedded(home), name="g1", tls=own, **given)


@pytest.fixture
def authorities(tmp_path: Path) -> Authorities:
    return Authorities(tmp_path)


@pytest.fixture
def config(authorities: Authorities, tmp_path: Path) -> Callable[..., ServerConfig]:
    def make(raft: CertificateFolder, section: str = "grpc_tls", **options: bool) -> ServerConfig:
        return authorities.config(tmp_path, raft, section, **options)

    return make


def asks_for_raft_names(config: ServerConfig) -> bool:
    files = raft_tls(config)
    assert files is not None
    return TlsContexts(files).must_bear_name


@pytest.mark.parametrize("section", SECTIONS)
def test_the_clients_authority_is_refused_until_names_are_bound_or_it_is_allowed_in_words(
    authorities: Authorities, config: Callable[..., ServerConfig], section: str
) -> None:
    shared = config(authorities.clients, section)
    with pytest.raises(InvalidInput) as refused:
        raft_tls(shared)
    assert str(refused.value) == (
        "tls.ca: clients have certificates of this authority too, so each of them could write the log (got 'clients' "
        f"of {section}.ca); use an authority for Raft alone, or certificates that bear raft:g1 (guardian certs issue "
        "g1 --member), or say tls.allow_shared_ca = true"
    )
    assert not asks_for_raft_names(config(authorities.clients, section, allow_shared_ca=True))
    authorities.bind(authorities.clients)
    assert asks_for_raft_names(shared)


def test_a_copy_of_the_authority_in_another_file_is_the_same_authority(
    authorities: Authorities, config: Callable[..., ServerConfig], tmp_path: Path
) -> None:
    copy = tmp_path / "raft-ca.pem"
    copy.write_bytes(authorities.raft.authority.read_bytes() + authorities.clients.authority.read_bytes())
    shared = config(authorities.clients)
    assert shared.tls is not None
    with pytest.raises(InvalidInput, match=r"got 'clients' of grpc_tls\.ca"):
        raft_tls(replace(shared, tls=replace(shared.tls, ca=copy)))


@pytest.mark.parametrize("section", SECTIONS)
def test_with_an_authority_for_raft_alone_a_member_s_name_will_do(
    authorities: Authorities, config: Callable[..., ServerConfig], section: str
) -> None:
    assert not asks_for_raft_names(config(authorities.raft, section))
    authorities.bind(authorities.raft)
    assert not asks_for_raft_names(config(authorities.raft, section))


def test_a_port_without_clients_certificates_has_no_authority_to_share(
    authorities: Authorities, config: Callable[..., ServerConfig]
) -> None:
    shared = config(authorities.clients, "http_tls")
    assert shared.http_tls is not None
    assert not asks_for_raft_names(replace(shared, http_tls=replace(shared.http_tls, ca=None)))
    assert raft_tls(replace(shared, tls=None)) is None


def test_another_member_s_certificate_is_refused(authorities: Authorities, config: Callable[..., ServerConfig]) -> None:
    own = config(authorities.raft)
    assert own.tls is not None
    files = replace(own.tls, certificate=authorities.raft.certificate("g2"), key=authorities.raft.key("g2"))
    with pytest.raises(InvalidInput, match=r"tls.certificate: it is another member's \(got raft:g2 in "):
        raft_tls(replace(own, tls=files))


def test_what_can_not_be_read_is_named(authorities: Authorities, config: Callable[..., ServerConfig]) -> None:
    shared = config(authorities.raft)
    authorities.clients.authority.unlink()
    with pytest.raises(InvalidInput, match=r"grpc_tls.ca: .*ca.pem can't be read \(got No such file"):
        raft_tls(shared)


def test_new_files_are_compared_again(authorities: Authorities, config: Callable[..., ServerConfig]) -> None:
    files = raft_tls(config(authorities.raft))
    assert files is not None
    contexts = TlsContexts(files)
    both = authorities.raft.authority.read_bytes() + authorities.clients.authority.read_bytes()
    authorities.raft.authority.write_bytes(both)
    assert contexts.reload() is False, "g1's certificate bears no Raft name, so the old authority stays"
    with pytest.raises(CannotStart, match="clients have certificates of this authority too"):
        TlsContexts(files)
    authorities.bind(authorities.raft)
    assert contexts.reload() is True
    assert contexts.must_bear_name
