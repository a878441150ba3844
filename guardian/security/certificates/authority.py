"""A small authority: an elliptic key, certificates of it, and a list of those that it has taken back.

The clock comes in as `now_ms`; keys and serial numbers are drawn. Certificates count from an hour before they are made,
so that machines whose clocks differ a little agree.

A certificate for a **server** may be shown by who listens and by who calls: a member does both, and so does a broker.
One for a **person** may only be shown by who calls, so nobody can pose as a member with it. One for a **member** bears
its Raft name too, raft:NAME, as a URI: that opens the Raft port where other certificates of the authority do not.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from guardian.errors import InvalidInput
from guardian.security.certificates.facts import RAFT_NAME

_DAY_MS = 86_400_000
_HOUR_MS = 3_600_000
_MAX_DAYS = 3650 * 10


@dataclass(frozen=True, slots=True)
class Issued:
    """Both in PEM; the key is PKCS#8 and not encrypted, as gRPC, Python and the broker's Java all read it."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class Wanted:
    """`hosts` are DNS names and IP addresses beside the name, under which a server is reached. `uris` say what else its
    holder is, such as broker:live/1, and raft:NAME only with `is_member`. Raises InvalidInput.
    """

    name: str
    hosts: tuple[str, ...] = ()
    days: float = 365.0
    is_person: bool = False
    uris: tuple[str, ...] = ()
    is_member: bool = False

    def __post_init__(self) -> None:
        if self.is_person and self.is_member:
            raise InvalidInput(f"{self.name} can't be a person and a member: choose one of --person and --member")
        for name in (self.name, *self.hosts, *self.uris):
            if name.lower().startswith(RAFT_NAME):
                raise InvalidInput(
                    f"host is {name!r}, a member's Raft name: use --member for members, and for them only"
                )


def make_authority(name: str, days: float, now_ms: int) -> Issued:
    """A new authority, which trusts itself. Raises InvalidInput."""
    _require_days(days)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _named(name)
    usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
    certificate = (
        _builder(subject, subject, key.public_key(), days, now_ms)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _pem(certificate, key)


def issue(authority: Issued, wanted: Wanted, now_ms: int) -> Issued:
    """A certificate with a new key, of the authority; never for longer than that itself. Raises InvalidInput."""
    _require_days(wanted.days)
    issuer, issuer_key = _load(authority)
    key = ec.generate_private_key(ec.SECP256R1())
    left_days = (issuer.not_valid_after_utc.timestamp() * 1000 - now_ms) / _DAY_MS
    if left_days <= 0:
        raise InvalidInput("the authority has expired: make a new one with `guardian certs init`")
    usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    kinds = [ExtendedKeyUsageOID.CLIENT_AUTH, *([] if wanted.is_person else [ExtendedKeyUsageOID.SERVER_AUTH])]
    certificate = (
        _builder(_named(wanted.name), issuer.subject, key.public_key(), min(wanted.days, left_days), now_ms)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage(kinds), critical=False)
        .add_extension(_alternative_names(wanted), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
        .sign(issuer_key, hashes.SHA256())
    )
    return _pem(certificate, key)


def revoke(
    authority: Issued, serials: Iterable[int], now_ms: int, before: bytes = b"", until_ms: int | None = None
) -> bytes:
    """A list, in PEM, of these and of those in the list `before`. It counts until `until_ms`; None: as long as the
    authority."""
    issuer, issuer_key = _load(authority)
    known = {entry.serial_number: entry for entry in x509.load_pem_x509_crl(before)} if before else {}
    for serial in serials:
        if serial not in known:
            entry = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(_time(now_ms)).build()
            known[serial] = entry
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(issuer.subject)
        .last_update(_time(now_ms - _HOUR_MS))
        .next_update(issuer.not_valid_after_utc if until_ms is None else _time(until_ms))
    )
    for entry in known.values():
        builder = builder.add_revoked_certificate(entry)
    return builder.sign(issuer_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def wanted_again(certificate: bytes, days: float) -> Wanted:
    """Return what to ask for to have the same certificate for another while. Raises InvalidInput."""
    try:
        found = x509.load_pem_x509_certificate(certificate)
        kinds = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        alternative = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound) as error:
        raise InvalidInput(f"the certificate is none of `guardian certs`: {error}") from None
    name = str(found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)
    known = alternative.get_values_for_type(x509.UniformResourceIdentifier)
    hosts = [str(host.value) for host in alternative if str(host.value) not in (name, *known)]
    uris = tuple(uri for uri in known if not uri.startswith(RAFT_NAME))
    is_member = f"{RAFT_NAME}{name}" in known
    return Wanted(name, tuple(hosts), days, ExtendedKeyUsageOID.SERVER_AUTH not in kinds, uris, is_member)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: float, now_ms: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_time(now_ms - _HOUR_MS))
        .not_valid_after(_time(now_ms + int(days * _DAY_MS)))
    )


def _load(authority: Issued) -> tuple[x509.Certificate, CertificateIssuerPrivateKeyTypes]:
    try:
        certificate = x509.load_pem_x509_certificate(authority.certificate)
        key = serialization.load_pem_private_key(authority.key, password=None)
    except (ValueError, TypeError) as error:
        raise InvalidInput(f"the authority can't be read: {error}") from None
    return certificate, key  # type: ignore[return-value]  # of the kinds that sign


def _pem(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Issued:
    return Issued(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def _named(name: str) -> x509.Name:
    if not 1 <= len(name) <= 64:
        raise InvalidInput(f"name is {name!r}: use 1 to 64 characters")
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _alternative_names(wanted: Wanted) -> x509.SubjectAlternativeName:
    hosts = [_host(host) for host in dict.fromkeys((wanted.name, *wanted.hosts))]
    uris = [*wanted.uris, *([f"{RAFT_NAME}{wanted.name}"] if wanted.is_member else [])]
    try:
        return x509.SubjectAlternativeName([*hosts, *map(x509.UniformResourceIdentifier, uris)])
    except ValueError:
        raise InvalidInput(f"uris are {uris}: use ASCII, such as broker:live/1") from None


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        pass
    try:
        return x509.DNSName(host)
    except ValueError:
        raise InvalidInput(f"host is {host!r}: use an IP address or a DNS name in ASCII") from None


def _require_days(days: float) -> None:
    if not 0 < days <= _MAX_DAYS:
        raise InvalidInput(f"days is {days:g}: use more than 0 and at most {_MAX_DAYS}")


def _time(at_ms: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(at_ms / 1000, datetime.UTC)
