"""Secrets: files of one folder, by name, and nothing else of the member's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from guardian.errors import InvalidInput
from guardian.kafka.credentials import ENVIRONMENT, SecretFolder
from guardian.kafka.tls import brokers_context
from guardian.model.topology import ClusterSecurity, SecurityProtocol

OUTSIDE = [
    "/etc/guardian/members.key",
    "../members.key",
    "..",
    ".",
    ".hidden",
    "sub/password",
    "sub\\password",
    "-password",
    "pass word",
    "password\n",
    "p\u0430ssword",
    "a" * 129,
    "\x00",
]


def login(name: str = "password") -> ClusterSecurity:
    return ClusterSecurity(SecurityProtocol.SASL_SSL, "PLAIN", "guardian", name)


@pytest.mark.parametrize("line_end", ["", "\n", "\r\n"])
def test_the_password_is_the_files_text_without_its_line_end(tmp_path: Path, line_end: str) -> None:
    (tmp_path / "password").write_bytes(b" s3 cret " + line_end.encode())
    assert SecretFolder(tmp_path).password(login()) == " s3 cret "


@pytest.mark.parametrize("name", OUTSIDE, ids=ascii)
def test_only_a_plain_name_is_a_secrets(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"^security.password_secret is .*name a file in the members' folder"):
        login(name)
    with pytest.raises(InvalidInput, match=r"^security.ca_secret is "):
        ClusterSecurity(SecurityProtocol.SSL, ca_secret=name)


def test_a_link_may_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    """Also one that somebody else has put there, and a folder that is one."""
    folder, outside = tmp_path / "secrets", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "members.key").write_text("k" * 32)
    (folder / "password").symlink_to(outside / "members.key")
    (folder / "relative").symlink_to("../outside/members.key")
    (folder / "dir").symlink_to(outside)
    for name in ("password", "relative", "dir"):
        with pytest.raises(InvalidInput, match="which leads out of"):
            SecretFolder(folder).password(login(name))


def test_what_kubernetes_mounts_is_read(tmp_path: Path) -> None:
    """A Secret's files are links to a folder beside them, which is one too, and is exchanged at each change."""
    mounted = tmp_path / "mounted"
    (mounted / "..2026_11_28").mkdir(parents=True)
    (mounted / "..2026_11_28" / "password").write_text("s3cret")
    (mounted / "..data").symlink_to("..2026_11_28")
    (mounted / "password").symlink_to("..data/password")
    linked = tmp_path / "secrets"
    linked.symlink_to(mounted)
    assert SecretFolder(linked).password(login()) == "s3cret"


def test_a_missing_password_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refusal:
        SecretFolder(tmp_path).password(login("none"))
    assert str(refusal.value) == (
        f"security.password_secret is 'none': {tmp_path / 'none'} can't be read (No such file or directory); "
        "create it, readable by Guardian"
    )


def test_a_pipe_or_a_folder_is_no_secret_and_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(InvalidInput, match=r"^security.password_secret is "):
            SecretFolder(tmp_path).password(login(name))


def test_without_a_folder_there_are_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    for folder in (SecretFolder(None), SecretFolder.of_environment()):
        with pytest.raises(InvalidInput, match="there is no folder of secrets; set `secrets`"):
            folder.password(login())


@pytest.mark.parametrize(("content", "reason"), [(b"\n", "the file is empty"), (b"\xff\xfe", "it is not UTF-8 text")])
def test_a_file_without_a_password_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "password").write_bytes(content)
    with pytest.raises(InvalidInput, match=reason):
        SecretFolder(tmp_path).password(login())


@pytest.mark.parametrize("content", ["", "no certificate", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"])
def test_a_ca_without_a_certificate_is_refused_and_none_at_all_is_fine(tmp_path: Path, content: str) -> None:
    (tmp_path / "ca.pem").write_text(content)
    assert SecretFolder(None).ca_file(ClusterSecurity(SecurityProtocol.SSL)) == ""
    with pytest.raises(InvalidInput, match="it holds no certificate; use one or more in PEM format"):
        SecretFolder(tmp_path).ca_file(ClusterSecurity(SecurityProtocol.SSL, ca_secret="ca.pem"))


def test_a_keytab_is_told_from_other_files(tmp_path: Path) -> None:
    security = ClusterSecurity(SecurityProtocol.SASL_SSL, "GSSAPI", "ann@A.B", keytab_secret="keytab")
    (tmp_path / "keytab").write_text("a password")
    with pytest.raises(InvalidInput, match=r"^security\.keytab_secret is 'keytab': it is no keytab; make one by ktadd"):
        SecretFolder(tmp_path).keytab_file(security)
    (tmp_path / "keytab").write_bytes(b"\x05\x02\xff")
    assert SecretFolder(tmp_path).keytab_file(security) == str(tmp_path / "keytab")


@pytest.mark.parametrize(
    ("key", "cause"),
    [("of another", "the key is of another certificate"), ("encrypted", "the key is encrypted"), ("", "PEM format")],
)
def test_a_key_that_is_of_no_use_is_told_without_asking_the_terminal(tmp_path: Path, key: str, cause: str) -> None:
    authority, phrase = trustme.CA(), BestAvailableEncryption(b"s3cret")
    for name in ("ann", "ben"):
        certificate = authority.issue_cert(f"{name}.example.test")
        certificate.cert_chain_pems[0].write_to_path(str(tmp_path / f"{name}.crt"))
        certificate.private_key_pem.write_to_path(str(tmp_path / f"{name}.key"))
    private = load_pem_private_key((tmp_path / "ann.key").read_bytes(), None)
    keys = {
        "of another": (tmp_path / "ben.key").read_bytes(),
        "encrypted": private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, phrase),
        "": b"no key",
    }
    (tmp_path / "used.key").write_bytes(keys[key])
    security = ClusterSecurity(SecurityProtocol.SSL, certificate_secret="ann.crt", key_secret="used.key")
    secrets = SecretFolder(tmp_path)
    with pytest.raises(InvalidInput, match=f"certificate_secret is 'ann.crt' and key_secret is 'used.key': .*{cause}"):
        brokers_context(security, "", secrets.certificate_files(security))


def test_a_password_goes_over_tls_or_is_not_sent() -> None:
    with pytest.raises(InvalidInput, match="which would send the password in plain text; use SASL_SSL, or a SCRAM"):
        ClusterSecurity(SecurityProtocol.SASL_PLAINTEXT, "PLAIN", "guardian", "password")
    ClusterSecurity(SecurityProtocol.SASL_PLAINTEXT, "SCRAM-SHA-512", "guardian", "password")
