"""`guardian certs`, and how the CLI finds what to show to members."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from guardian.cli import contexts
from guardian.cli.contexts import Context
from guardian.cli.tls_options import tls_of
from guardian.client import ClientTls
from guardian.errors import Conflict, GuardianError, InvalidInput, NotFound
from guardian.security.certificates.folder import CertificateFolder
from tests.command_line import app

DAY_MS = 86_400_000


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GUARDIAN_CA", "GUARDIAN_CERTIFICATE", "GUARDIAN_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> CertificateFolder:
    run(tmp_path, "init")
    return CertificateFolder(tmp_path / "certs")


def run(tmp_path: Path, *arguments: str, refused: type[GuardianError] | None = None) -> Result:
    verb, *rest = arguments
    result = CliRunner().invoke(app, ["certs", verb, "--folder", str(tmp_path / "certs"), *rest])
    if refused is None:
        assert result.exception is None, result.exception
    else:
        assert isinstance(result.exception, refused), result.exception
    return result


def test_certificates_are_issued_shown_renewed_and_taken_back(folder: CertificateFolder, tmp_path: Path) -> None:
    assert "365.0 days" in run(tmp_path, "issue", "g1", "--host", "g1.example.net", "--host", "10.0.0.1").stdout
    run(tmp_path, "issue", "ann", "--person", "--expires", "20d")
    shown = json.loads(run(tmp_path, "show", "-o", "json").stdout)
    assert [(each["names"], each["addresses"]) for each in shown] == [
        (["ann"], []),
        (["Guardian development authority"], []),
        (["g1", "g1.example.net"], ["10.0.0.1"]),
    ]
    assert "g1.example.net" in run(tmp_path, "show").stdout
    assert run(tmp_path, "renew", "--all", "--within", "30d").stdout.splitlines() == [
        "ann: renewed, 365.0 days",
        "g1: left as it is, 365.0 days",
    ]
    first, second = folder.serials("ann")
    assert "would revoke the certificates of ann (2)" in run(tmp_path, "revoke", "ann", "--dry-run").stdout
    assert run(tmp_path, "revoke", "ann", "--yes").stdout.splitlines() == [
        f"ann: serial {serial:x} is in {folder.revoked}" for serial in (first, second)
    ]


def test_what_cant_be_done_says_why_and_does_nothing(folder: CertificateFolder, tmp_path: Path) -> None:
    run(tmp_path, "issue", "g1")
    before = folder.revoked.read_bytes()
    run(tmp_path, "init", refused=Conflict)
    run(tmp_path, "issue", "g1", refused=Conflict)
    run(tmp_path, "revoke", "g1", "nobody", "--yes", refused=NotFound)
    assert folder.revoked.read_bytes() == before, "all are taken back, or none"
    for wrong in (("renew",), ("renew", "g1", "--all"), ("show", str(tmp_path / "missing.pem")), ("issue", "a b")):
        run(tmp_path, *wrong, refused=InvalidInput)
    (tmp_path / "empty.pem").touch()
    failed = run(tmp_path, "show", str(tmp_path / "empty.pem"), refused=InvalidInput)
    assert str(failed.exception).startswith(f"{tmp_path}/empty.pem: there is no certificate")


def test_files_that_are_typed_win_over_the_environment_and_that_over_the_context(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context = Context("prod", ("g1:9750",), ca="~/ca.pem", certificate="/c.pem", key="/c.key")
    assert tls_of(("", "", ""), None) is None
    assert tls_of(("", "", ""), context) == ClientTls(Path.home() / "ca.pem", Path("/c.pem"), Path("/c.key"))
    monkeypatch.setenv("GUARDIAN_CA", "/env/ca.pem")
    assert tls_of(("", "", ""), context) == ClientTls(Path("/env/ca.pem"))
    assert tls_of(("/ca.pem", "", ""), context) == ClientTls(Path("/ca.pem"))


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        (("", "c", "k"), "--ca is not given, but --certificate is"),
        (("", "", "k"), "--ca is not given, but --key is"),
        (("a", "c", ""), "--key is not given, but --certificate is"),
        (("a", "", "k"), "--certificate is not given, but --key is"),
    ],
)
def test_half_of_what_is_needed_is_refused(typed: tuple[str, str, str], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        tls_of(typed, None)


def test_a_federation_of_guardian_local_with_tls_is_reached_with_its_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GUARDIAN_LOCAL", str(tmp_path))
    member = {"grpc": "127.0.0.1:1", "http": "127.0.0.1:2", "certificates": str(tmp_path / "certs")}
    (tmp_path / "state.json").write_text(json.dumps({"members": [member]}))
    context = contexts.local()
    assert context is not None
    assert context.http == "https://127.0.0.1:2"
    certs = tmp_path / "certs"
    assert tls_of(("", "", ""), context) == ClientTls(certs / "ca.pem", certs / "operator.pem", certs / "operator.key")


def test_a_clients_files_are_named_when_they_cant_be_read(folder: CertificateFolder, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"ca is '/nowhere/ca.pem', which can't be read"):
        ClientTls(Path("/nowhere/ca.pem")).credentials()
    (tmp_path / "junk").write_text("junk")
    with pytest.raises(InvalidInput, match=r"key is .*junk., which is no PEM file"):
        ClientTls(folder.authority, folder.authority, tmp_path / "junk").credentials()
    with pytest.raises(InvalidInput, match="key is not given"):
        ClientTls(folder.authority, folder.authority)


def test_new_files_of_a_client_have_another_stamp(folder: CertificateFolder) -> None:
    tls = ClientTls(folder.authority)
    before = tls.stamp()
    assert tls.stamp() == before
    os.utime(folder.authority, (time.time() + 5, time.time() + 5))
    assert tls.stamp() != before
    folder.authority.unlink()
    assert tls.stamp() == ()
