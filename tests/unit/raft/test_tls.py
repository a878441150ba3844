"""Certificates: whose they are, and that new files are taken up without a restart."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import trustme

from raft.errors import CannotStart
from raft.network.tls import TlsContexts, TlsFiles, certificate_names


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
    assert certificate_names(both) == {"a", "b"}
    assert certificate_names({"subject": subject}) == {"common"}
    assert certificate_names({"subject": subject, "subjectAltName": (("URI", "x"),)}) == {"common"}
    assert certificate_names({}) == certificate_names(None) == frozenset()


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
