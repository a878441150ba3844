"""What a certificate says: whose it is, until when, and by which number its authority may take it back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import NameOID

from guardian.errors import InvalidInput

# What the library says of damaged or exotic ones: not all of it is a ValueError.
_UNREADABLE = (
    ValueError,
    TypeError,
    OverflowError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
RAFT_NAME = "raft:"
"""What a name in a certificate begins with that opens the Raft port (raft.network.tls)."""

_CRL = re.compile(rb"-----BEGIN X509 CRL-----.+?-----END X509 CRL-----", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """`names` are its DNS names, or, when it has none, its common name, as for the Raft port (RFC 6125, 6.4.4).
    `addresses` are its IP addresses, `uris` its URIs; `fingerprint` SHA-256 of the whole, in hex; times are ms since
    the epoch.
    """

    names: tuple[str, ...]
    common_name: str
    addresses: tuple[str, ...]
    issuer: str
    serial: int
    fingerprint: str
    not_before_ms: int
    not_after_ms: int
    is_authority: bool
    uris: tuple[str, ...] = ()

    @property
    def raft_names(self) -> tuple[str, ...]:
        """The members that it is for at the Raft port, where it bears raft:NAME."""
        return tuple(name.removeprefix(RAFT_NAME) for name in (*self.uris, *self.names) if name.startswith(RAFT_NAME))


@dataclass(frozen=True, slots=True)
class RevokedFacts:
    """The serial numbers that authorities have taken back, as of `last_update_ms`. After `next_update_ms` the list is
    out of date, and what is missing in it says nothing any more (None: it never is).
    """

    serials: frozenset[int]
    last_update_ms: int
    next_update_ms: int | None


def facts_of(pem: bytes) -> CertificateFacts:
    """Read the first certificate in a PEM file: the one that counts, the others are its chain. Raises InvalidInput."""
    return all_facts_of(pem)[0]


@lru_cache(maxsize=4096)
def all_facts_of(pem: bytes) -> tuple[CertificateFacts, ...]:
    """Read each certificate in a PEM file. Raises InvalidInput when there is none, or one that can't be read. Raises
    InvalidInput when there is none, or one that can't be read.

    Remembered: a peer shows the same certificate with each call.
    """
    try:
        return tuple(_facts(certificate) for certificate in x509.load_pem_x509_certificates(pem))
    except _UNREADABLE as error:
        raise InvalidInput(f"there is no certificate in PEM that can be read: {_first_line(error)}") from None


def revoked_facts_of(pem: bytes, issuer_pem: bytes) -> RevokedFacts:
    """Read the lists of revoked certificates in a PEM file, each of which one of the authorities in `issuer_pem` must
    have signed. Raises InvalidInput.
    """
    blocks = _CRL.findall(pem)
    if not blocks:
        raise InvalidInput("there is no list of revoked certificates in PEM: it begins with -----BEGIN X509 CRL-----")
    try:
        lists = [x509.load_pem_x509_crl(block) for block in blocks]
        authorities = x509.load_pem_x509_certificates(issuer_pem)
        signed = all(any(_has_signed(authority, revoked) for authority in authorities) for revoked in lists)
    except _UNREADABLE as error:
        raise InvalidInput(f"the list of revoked certificates can't be read: {_first_line(error)}") from None
    if not signed:
        raise InvalidInput("the list of revoked certificates is signed by no authority of `ca`: give that one's")
    updates = [revoked.next_update_utc for revoked in lists]
    return RevokedFacts(
        frozenset(entry.serial_number for revoked in lists for entry in revoked),
        min(int(revoked.last_update_utc.timestamp() * 1000) for revoked in lists),
        min((int(update.timestamp() * 1000) for update in updates if update is not None), default=None),
    )


def shared_authority(own_pem: bytes, other_pem: bytes) -> str | None:
    """The name of an authority in `own_pem` that signs for `other_pem` too: the same key is in both, or one of the
    other's is signed by it. None: there is none. Raises InvalidInput."""
    try:
        own, others = (x509.load_pem_x509_certificates(pem) for pem in (own_pem, other_pem))
        shared = (authority for authority in own if any(_is_of(other, authority) for other in others))
        found = next(shared, None)
    except _UNREADABLE as error:
        raise InvalidInput(f"there is no certificate in PEM that can be read: {_first_line(error)}") from None
    return None if found is None else _common_name(found.subject) or found.subject.rfc4514_string()


def _is_of(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Return whether it has the authority's key, whatever it is called, or was signed with it."""
    if certificate.public_key() == authority.public_key():
        return True
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _facts(certificate: x509.Certificate) -> CertificateFacts:
    try:
        alternative = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names = tuple(alternative.get_values_for_type(x509.DNSName))
        addresses = tuple(str(address) for address in alternative.get_values_for_type(x509.IPAddress))
        uris = tuple(alternative.get_values_for_type(x509.UniformResourceIdentifier))
    except x509.ExtensionNotFound:
        names, addresses, uris = (), (), ()
    try:
        is_authority = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        is_authority = False
    common_name = _common_name(certificate.subject)
    return CertificateFacts(
        names=names or ((common_name,) if common_name else ()),
        common_name=common_name,
        addresses=addresses,
        issuer=_common_name(certificate.issuer) or certificate.issuer.rfc4514_string(),
        serial=certificate.serial_number,
        fingerprint=certificate.fingerprint(hashes.SHA256()).hex(),
        not_before_ms=int(certificate.not_valid_before_utc.timestamp() * 1000),
        not_after_ms=int(certificate.not_valid_after_utc.timestamp() * 1000),
        is_authority=is_authority,
        uris=uris,
    )


def _common_name(name: x509.Name) -> str:
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    value = found[0].value if found else ""
    return value if isinstance(value, str) else value.decode(errors="replace")


def _has_signed(authority: x509.Certificate, revoked: x509.CertificateRevocationList) -> bool:
    key = authority.public_key()
    return authority.subject == revoked.issuer and revoked.is_signature_valid(key)  # type: ignore[arg-type]  # by kind


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["it is empty"])[0]
