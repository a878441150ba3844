"""How long the certificates in use count: this member's own, and, for the leader, what the other members show.

Of this member all files are known. What another one shows at its gRPC port is seen by connecting to it, every ten
minutes: what is in use there, not what lies on its disk. Its Raft port tells its own metrics alone.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import structlog
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_der_x509_certificate

from guardian.config import ServerConfig, TlsConfig
from guardian.errors import InvalidInput
from guardian.security.certificates.facts import CertificateFacts, all_facts_of
from guardian.security.model.certificate import CertificateLife
from guardian.security.service.tls import PemFiles

_log = structlog.get_logger(__name__)

_LOOK_S = 600.0
_CONNECT_S = 2.0


class CertificateWatch:
    """`others` are the gRPC endpoints of the other members, by name. Any thread may ask."""

    def __init__(
        self,
        config: ServerConfig,
        own: Iterable[PemFiles],
        others: Callable[[], Mapping[str, str]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._files = tuple(own)
        self._others = others
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: list[CertificateLife] = []
        self._look_at = -1.0

    def own(self) -> list[CertificateLife]:
        """Return how long the certificates of this member's sections count, in their order."""
        lives = [life for files in self._files for life in files.lives(self._config.name)]
        for use, read in (("tls", self._config.tls), ("reporter_tls", self._config.reporter_tls)):
            if read is not None:
                lives += _of_files(self._config.name, use, read)
        return lives

    def all(self) -> list[CertificateLife]:
        """And what the others showed last; it may take seconds to look."""
        with self._lock:
            if self._config.grpc_tls is not None and self._clock() >= self._look_at:
                self._look_at = self._clock() + _LOOK_S
                self._seen = [
                    life
                    for name, endpoint in sorted(self._others().items())
                    if (life := shown_at(name, endpoint, self._config.grpc_tls)) is not None
                ]
            seen = list(self._seen)
        return [*self.own(), *seen]


def shown_at(name: str, endpoint: str, own: TlsConfig) -> CertificateLife | None:
    """Look at the certificate that a member shows; None: it could not be seen, which other looks tell of. An expired
    one is seen too.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # it is looked at, and not believed
    context.set_alpn_protocols(["h2"])
    host, _, port = endpoint.rpartition(":")
    try:
        context.load_cert_chain(own.certificate, own.key)
        with (
            socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S) as plain,
            context.wrap_socket(plain) as connection,
        ):
            der = connection.getpeercert(binary_form=True)
        facts = all_facts_of(load_der_x509_certificate(der or b"").public_bytes(Encoding.PEM))[0]
    except (OSError, ValueError, InvalidInput) as error:
        _log.info("the certificate of a member was not seen", member=name, endpoint=endpoint, error=str(error))
        return None
    return CertificateLife(name, "grpc_tls", "certificate", endpoint, facts.not_before_ms, facts.not_after_ms)


def _of_files(owner: str, use: str, files: TlsConfig) -> list[CertificateLife]:
    """Return how long files count that others read, each in its own way: what lies on the disk, and what can be read of
    it.
    """
    found = []
    for what, path in (("certificate", files.certificate), ("ca", files.ca)):
        facts = _facts(path)
        chosen = facts[:1] if what == "certificate" else facts
        if chosen:
            first = min(chosen, key=lambda each: each.not_after_ms)
            found.append(CertificateLife(owner, use, what, str(path), first.not_before_ms, first.not_after_ms))
    return found


def _facts(path: Path) -> tuple[CertificateFacts, ...]:
    try:
        return all_facts_of(path.read_bytes())
    except (OSError, InvalidInput):
        return ()  # who uses it complains
