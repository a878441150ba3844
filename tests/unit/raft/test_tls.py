"""Certificates: whose they are, and that new files are taken up without a restart."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from raft.errors import CannotStart
from raft.network.tls import TlsContexts, TlsFiles, proven_names, proves_name


def issue(authority: trustme.CA, directory: Path, name: str) -> TlsFiles:
    directory.mkdir(exist_ok=True)
    certificate = authority.issue_cert(name)
    files = TlsFiles(directory / "member.crt", directory / "member.key", directory / "authority.crt")
    certificate.private_key_pem.write_to_path(str(files.key))
    files.certificate.write_bytes(b"".join(part.bytes() for part in certificate.cert_chain_pems))
    authority.cert_pem.write_to_path(str(files.authority))
    return files


def test_a_certificate_is_for_its_dns_names_or_without_any_for_its_common_name() -> None:
    subject = ((("organizationName", "o"),), (("commonName", "common"),))
    both = {"subject": subject, "subjectAltName": (("DNS", "a"), ("IP Address", "127.0.0.1"), ("DNS", "b"))}
    assert proven_names(both) == {"a", "b"}
    assert proven_names({"subject": subject}) == {"common"}
    assert proven_names({"subject": subject, "subjectAltName": (("URI", "x"),)}) == {"common"}
    assert proven_names({}) == proven_names(None) == frozenset()


BOUND = {"subjectAltName": (("DNS", "a"), ("URI", "raft:b"), ("DNS", "raft:c"), ("IP Address", "127.0.0.1"))}
PLAIN = {"subject": ((("commonName", "a"),),), "subjectAltName": (("DNS", "a"), ("URI", "https://raft:a"))}


def test_a_raft_name_is_a_uri_or_dns_name_and_displaces_all_others() -> None:
    assert proven_names(BOUND) == {"b", "c"}
    for must_bear in (False, True):
        assert [proves_name(BOUND, name, must_bear=must_bear) for name in "abc"] == [False, True, True]
    assert proves_name(PLAIN, "a", must_bear=False)
    for certificate in (PLAIN, {}, None):
        assert not proves_name(certificate, "a", must_bear=True)


def test_who_must_bear_a_raft_name_is_asked_again_with_new_files(tmp_path: Path) -> None:
    authority, answers = trustme.CA(), iter((False, True, None, False))

    def must_bear_name() -> bool:
        answer = next(answers)
        return _refuse() if answer is None else answer

    files = replace(issue(authority, tmp_path, "a"), must_bear_name=must_bear_name)
    contexts = TlsContexts(files)
    seen: list[tuple[bool | None, bool]] = [(None, contexts.must_bear_name)]
    for _ in range(3):
        issue(authority, tmp_path, "a")
        seen.append((contexts.reload(), contexts.must_bear_name))
    assert seen == [(None, False), (True, True), (False, True), (True, False)]
    with pytest.raises(CannotStart, match="shared"):
        TlsContexts(replace(files, must_bear_name=_refuse))


def _refuse() -> bool:
    raise ValueError("the authority is shared")


def test_files_that_change_are_read_again_and_bad_ones_leave_the_old_in_use(tmp_path: Path) -> None:
    authority = trustme.CA()
    files = issue(authority, tmp_path / "a", "a")
    contexts = TlsContexts(files)
    first = contexts.server
    assert contexts.reload() is None
    issue(authority, tmp_path / "a", "b")
    assert contexts.reload() is True
    second = contexts.server
    assert second is not first
    files.key.write_bytes(b"garbage")
    assert contexts.reload() is False
    assert contexts.reload() is None  # told once
    files.key.unlink()
    assert contexts.reload() is False
    assert contexts.server is second
    issue(authority, tmp_path / "a", "c")
    assert contexts.reload() is True


def test_a_file_of_the_same_size_and_age_is_noticed_when_it_is_another_one(tmp_path: Path) -> None:
    files = issue(trustme.CA(), tmp_path / "a", "a")
    contexts = TlsContexts(files)
    stat = files.key.stat()
    shutil.copy(files.key, tmp_path / "copy")
    (tmp_path / "copy").replace(files.key)
    os.utime(files.key, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert contexts.reload() is True


def test_files_that_cant_be_used_are_refused_at_start(tmp_path: Path) -> None:
    files = issue(trustme.CA(), tmp_path / "a", "a")
    files.authority.write_bytes(b"garbage")
    with pytest.raises(CannotStart, match="raft TLS can't use"):
        TlsContexts(files)
    files.authority.unlink()
    with pytest.raises(CannotStart, match="raft TLS can't use"):
        TlsContexts(files)
