"""An authority of one's own: what it issues is what was asked for, and can be taken back and made anew."""

from __future__ import annotations

import ssl
import stat
from pathlib import Path

import pytest

from guardian.certificates.authority import Wanted, issue, make_authority, revoke
from guardian.certificates.facts import all_facts_of, facts_of, revoked_facts_of
from guardian.certificates.folder import CertificateFolder
from guardian.errors import Conflict, InvalidInput, NotFound

NOW_MS = 1_800_000_000_000
DAY_MS = 86_400_000


@pytest.fixture
def folder(tmp_path: Path) -> CertificateFolder:
    made = CertificateFolder(tmp_path / "certs")
    made.init("tests", 3650, NOW_MS)
    return made


def test_a_certificate_has_its_names_addresses_and_dates(folder: CertificateFolder) -> None:
    facts = folder.issue(Wanted("g1", ("g1.example.net", "10.0.0.1", "[::1]"), days=30), NOW_MS)
    assert facts.names == ("g1", "g1.example.net")
    assert facts.addresses == ("10.0.0.1", "::1")
    assert (facts.common_name, facts.issuer, facts.is_authority) == ("g1", "tests", False)
    assert facts.not_after_ms == NOW_MS + 30 * DAY_MS
    assert facts == facts_of(folder.certificate("g1").read_bytes())
    assert folder.names() == ["g1"]


def test_keys_are_for_their_owner_alone_and_fit_their_certificates(folder: CertificateFolder) -> None:
    folder.issue(Wanted("g1"), NOW_MS)
    for name in ("ca", "g1"):
        assert stat.S_IMODE(folder.key(name).stat().st_mode) == 0o600
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(folder.certificate(name), folder.key(name))
    assert folder.key("g1").read_text().startswith("-----BEGIN PRIVATE KEY-----"), "PKCS#8, for the broker's Java"


def test_what_is_renewed_has_the_same_names_another_key_and_another_number(folder: CertificateFolder) -> None:
    for wanted in (Wanted("g1", ("h", "10.0.0.1"), days=2), Wanted("ann", is_person=True, days=2)):
        before = folder.issue(wanted, NOW_MS)
        key = folder.key(wanted.name).read_bytes()
        after = folder.renew(wanted.name, 5, NOW_MS + DAY_MS)
        assert (after.names, after.addresses) == (before.names, before.addresses)
        assert after.not_after_ms == NOW_MS + 6 * DAY_MS
        assert after.serial != before.serial
        assert folder.key(wanted.name).read_bytes() != key


def test_what_is_taken_back_stays_so(folder: CertificateFolder) -> None:
    assert revoked_of(folder) == frozenset()
    first = folder.issue(Wanted("ann"), NOW_MS)
    folder.revoke("ann", NOW_MS)
    second = folder.renew("ann", 5, NOW_MS)
    assert revoked_of(folder) == {first.serial}
    folder.revoke("ann", NOW_MS)
    assert revoked_of(folder) == {first.serial, second.serial}


def test_a_list_counts_only_if_a_trusted_authority_has_signed_it(folder: CertificateFolder) -> None:
    other = make_authority("tests", 10, NOW_MS)  # of the same name, with another key
    with pytest.raises(InvalidInput, match="signed by no authority of `ca`"):
        revoked_facts_of(folder.revoked.read_bytes(), other.certificate)
    both = folder.authority.read_bytes() + other.certificate
    lists = folder.revoked.read_bytes() + revoke(other, [7], NOW_MS)
    assert revoked_facts_of(lists, both).serials == {7}
    assert revoked_facts_of(lists, both).next_update_ms == NOW_MS + 10 * DAY_MS, "the first that is out of date"
    for garbage in (b"", b"nothing", folder.authority.read_bytes()):
        with pytest.raises(InvalidInput, match="no list of revoked certificates"):
            revoked_facts_of(garbage, both)
    with pytest.raises(InvalidInput, match="can't be read"):
        revoked_facts_of(b"-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n", both)


def test_nothing_outlives_its_authority(folder: CertificateFolder) -> None:
    short = make_authority("short", 10, NOW_MS)
    assert facts_of(issue(short, Wanted("a", days=365), NOW_MS).certificate).not_after_ms == NOW_MS + 10 * DAY_MS
    with pytest.raises(InvalidInput, match="the authority has expired"):
        issue(short, Wanted("a"), NOW_MS + 11 * DAY_MS)


def test_a_chain_is_read_whole_and_its_first_certificate_counts(folder: CertificateFolder) -> None:
    folder.issue(Wanted("g1"), NOW_MS)
    chain = folder.certificate("g1").read_bytes() + folder.authority.read_bytes()
    assert [facts.common_name for facts in all_facts_of(chain)] == ["g1", "tests"]
    assert facts_of(chain).common_name == "g1"
    with pytest.raises(InvalidInput, match="no certificate in PEM"):
        facts_of(b"garbage")


def test_what_cant_be_done_is_said_and_changes_nothing(folder: CertificateFolder, tmp_path: Path) -> None:
    folder.issue(Wanted("g1"), NOW_MS)
    before = {path: path.read_bytes() for path in folder.path.iterdir()}
    with pytest.raises(Conflict, match="has an authority already"):
        folder.init("again", 1, NOW_MS)
    with pytest.raises(Conflict, match="guardian certs renew g1"):
        folder.issue(Wanted("g1"), NOW_MS)
    for name in ("", "ca", "crl", "../g2", "a b"):
        with pytest.raises(InvalidInput, match="name is"):
            folder.issue(Wanted(name), NOW_MS)
    with pytest.raises(InvalidInput, match="days is 0"):
        folder.issue(Wanted("g2", days=0), NOW_MS)
    with pytest.raises(InvalidInput, match="host is 'ü'"):
        folder.issue(Wanted("g2", ("ü",)), NOW_MS)
    for name in ("nobody", "../g1"):
        with pytest.raises(NotFound, match="has no certificate"):
            folder.renew(name, 1, NOW_MS)
        with pytest.raises(NotFound, match="has no certificate"):
            folder.revoke(name, NOW_MS)
    with pytest.raises(NotFound, match="guardian certs init"):
        CertificateFolder(tmp_path / "empty").issue(Wanted("g1"), NOW_MS)
    assert before == {path: path.read_bytes() for path in folder.path.iterdir()}


def revoked_of(folder: CertificateFolder) -> frozenset[int]:
    return revoked_facts_of(folder.revoked.read_bytes(), folder.authority.read_bytes()).serials
