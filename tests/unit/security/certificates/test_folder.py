"""An authority of one's own: what it issues is what was asked for, and can be taken back and made anew."""

from __future__ import annotations

import datetime
import ssl
import stat
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from guardian.errors import Conflict, InvalidInput, NotFound
from guardian.security.certificates.authority import Wanted, issue, make_authority, revoke
from guardian.security.certificates.facts import all_facts_of, facts_of, revoked_facts_of, shared_authority
from guardian.security.certificates.folder import CertificateFolder

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


def test_only_a_member_s_certificate_bears_a_raft_name_and_keeps_it(folder: CertificateFolder) -> None:
    member = folder.issue(Wanted("g1", ("h", "10.0.0.1"), is_member=True), NOW_MS)
    assert (member.names, member.raft_names) == (("g1", "h"), ("g1",))
    assert folder.renew("g1", 5, NOW_MS).raft_names == ("g1",)
    assert openssl_names(folder.certificate("g1")) == "DNS:g1, DNS:h, IP Address:10.0.0.1, URI:raft:g1"
    for wanted in (Wanted("broker-1"), Wanted("ann", is_person=True)):
        assert folder.issue(wanted, NOW_MS).raft_names == ()
        assert folder.renew(wanted.name, 5, NOW_MS).raft_names == ()


@pytest.mark.parametrize("host", ["raft:g1", "RAFT:g1"])
def test_a_raft_name_can_not_be_had_as_a_host(host: str) -> None:
    for names in (("broker-1", host), (host,)):
        with pytest.raises(InvalidInput, match=f"host is '{host}', a member's Raft name: use --member"):
            Wanted(names[0], names[1:])
    with pytest.raises(InvalidInput, match="ann can't be a person and a member"):
        Wanted("ann", is_person=True, is_member=True)


def openssl_names(certificate: Path) -> str:
    command = ["openssl", "x509", "-in", str(certificate), "-noout", "-ext", "subjectAltName"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return shown.splitlines()[1].strip()


def authority(name: str, key: ec.EllipticCurvePrivateKey, signer: x509.Certificate | None = None) -> x509.Certificate:
    """One with this key, signed by itself, or by the key of the signer (`KEY`)."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if signer is None else signer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))
        .not_valid_after(datetime.datetime(2126, 1, 1, tzinfo=datetime.UTC))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key if signer is None else KEY, hashes.SHA256())
    )


KEY, OTHER_KEY = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
ROOT = authority("root", KEY)


@pytest.mark.parametrize(
    ("own", "others", "found"),
    [
        ([ROOT], [ROOT], "root"),
        ([ROOT], [authority("renamed", KEY)], "root"),  # the same key, made anew
        ([ROOT], [authority("clients", OTHER_KEY, ROOT)], "root"),  # Raft's signs for the clients' authority
        ([authority("raft", OTHER_KEY), ROOT], [authority("x", OTHER_KEY, ROOT), ROOT], "raft"),
        ([ROOT], [authority("root", OTHER_KEY)], None),  # only its name is the same
        ([authority("raft", OTHER_KEY, ROOT)], [ROOT], None),  # Raft's is below the clients': those are not of it
    ],
)
def test_a_shared_authority_is_found_by_its_key(
    own: list[x509.Certificate], others: list[x509.Certificate], found: str | None
) -> None:
    def pem(certificates: list[x509.Certificate]) -> bytes:
        return b"".join(each.public_bytes(serialization.Encoding.PEM) for each in certificates)

    assert shared_authority(pem(own), pem(others)) == found
    for one, other in ((b"", pem(own)), (pem(own), b"nothing")):
        with pytest.raises(InvalidInput, match="no certificate in PEM"):
            shared_authority(one, other)


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


def test_revoking_a_name_revokes_all_its_certificates(folder: CertificateFolder) -> None:
    issued = [folder.issue(Wanted("ann"), NOW_MS), *(folder.renew("ann", 5, NOW_MS) for _ in range(2))]
    other = folder.issue(Wanted("ann-b"), NOW_MS)
    serials = tuple(each.serial for each in issued)
    assert folder.serials("ann") == serials
    assert folder.revoke("ann", NOW_MS) == serials
    assert revoked_of(folder) == set(serials)
    assert other.serial not in revoked_of(folder)


def test_a_name_is_revoked_though_its_files_have_gone_to_their_machine(folder: CertificateFolder) -> None:
    serial = folder.issue(Wanted("ann"), NOW_MS).serial
    folder.certificate("ann").unlink()
    folder.key("ann").unlink()
    again = folder.issue(Wanted("ann"), NOW_MS).serial
    folder.certificate("ann").unlink()
    assert folder.revoke("ann", NOW_MS) == (serial, again)


def test_a_folder_of_before_keeps_what_is_renewed_in_it(folder: CertificateFolder) -> None:
    first = folder.issue(Wanted("ann"), NOW_MS).serial
    folder.issued.unlink()
    assert folder.serials("ann") == (first,)
    second = folder.renew("ann", 5, NOW_MS).serial
    assert folder.serials("ann") == (first, second)


def test_a_damaged_record_of_what_was_issued_is_told_before_anything_is_done(folder: CertificateFolder) -> None:
    folder.issue(Wanted("ann"), NOW_MS)
    before = folder.certificate("ann").read_bytes()
    folder.issued.write_text(folder.issued.read_text() + "ann\n")
    with pytest.raises(InvalidInput, match=r"issued.txt line 2: no name and serial \(got 'ann'\); restore the file"):
        folder.revoke("ann", NOW_MS)
    with pytest.raises(InvalidInput, match="line 2"):
        folder.renew("ann", 5, NOW_MS)
    assert (folder.certificate("ann").read_bytes(), revoked_of(folder)) == (before, frozenset())


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
