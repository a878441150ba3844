"""Certificates for brokers and their clients, in PEM as Kafka reads it (keys in PKCS 8)."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


class Authority:
    """Signs for the names that it is given. `file` is its own certificate."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.file = folder / f"{name}.pem"
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        self._write(self.file, self._builder(name, self._key, 1).sign(self._key, hashes.SHA256()))

    def issue(self, name: str, *hosts: str, days: int = 1) -> Path:
        """Return a file with a key and its certificate, NAME.pem; days below 0: it has ended so long ago. The two are
        also in NAME.crt and NAME.key."""
        key = ec.generate_private_key(ec.SECP256R1())
        alternatives = [
            x509.IPAddress(ipaddress.ip_address(host)) if host[0].isdigit() else x509.DNSName(host) for host in hosts
        ]
        builder = self._builder(name, key, days)
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM)
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (self.folder / f"{name}.crt").write_bytes(certificate)
        (self.folder / f"{name}.key").write_bytes(private)
        both = self.folder / f"{name}.pem"
        both.write_bytes(private + certificate)
        return both

    def _builder(self, name: str, key: ec.EllipticCurvePrivateKey, days: int) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(_named(name))
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 10 * _DAY)
            .not_valid_after(now + days * _DAY)
            .add_extension(x509.BasicConstraints(ca=key is self._key, path_length=None), critical=True)
        )

    @staticmethod
    def _write(file: Path, certificate: x509.Certificate) -> None:
        file.write_bytes(certificate.public_bytes(Encoding.PEM))


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
