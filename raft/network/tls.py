"""TLS between members: each proves its name with a certificate of the group's own authority.

Both sides must show a certificate. Host names are not checked, since a member is known by its name wherever it runs:
the transport compares the certificate's names with what the other side calls itself. Files that change are read again,
and connections made from then on use them; files that can't be read leave the old ones in use. When the list of revoked
certificates changes, connections that stand are made anew.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raft.errors import CannotStart

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files: this member's certificate (with its chain), its private key, the authority that members trust, and,
    where one is kept, the list of certificates that it has revoked: one that is out of date lets nobody in."""

    certificate: Path
    key: Path
    authority: Path
    revoked: Path | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        paths = (self.certificate, self.key, self.authority, self.revoked)
        return tuple(path for path in paths if path is not None)


class TlsContexts:
    """What new connections are made with: `server` for those that come in, `client` for those that go out."""

    def __init__(self, files: TlsFiles) -> None:
        """Raises CannotStart when the files can't be used."""
        self._files = files
        try:
            self._stamp = _stamp(files)
            self.server, self.client = _contexts(files)
            self.revoked_stamp = self._stamp[-1] if files.revoked is not None else None
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise CannotStart(f"raft TLS can't use {_names(files)}: {error}") from error

    def reload(self) -> bool | None:
        """Reads the files again if they changed: True when it did, False when they are unusable, None: no change.

        `revoked_stamp` is another one then if the list of revoked certificates is.
        """
        try:
            stamp = _stamp(self._files)
            if stamp == self._stamp:
                return None
            self._stamp = stamp  # a broken file is complained about once, not at each look
            self.server, self.client = _contexts(self._files)
            self.revoked_stamp = stamp[-1] if self._files.revoked is not None else None
        except (OSError, ValueError) as error:
            _logger.error("raft TLS stays with the old certificate, can't use %s: %s", _names(self._files), error)
            return False
        _logger.info("raft TLS reloaded %s", _names(self._files))
        return True


def certificate_names(certificate: Mapping[str, Any] | None) -> frozenset[str]:
    """The names that a peer's certificate (`SSLSocket.getpeercert()`) is for: its DNS names, or, when it has none, its
    common name (RFC 6125, section 6.4.4)."""
    if not certificate:
        return frozenset()
    names = frozenset(value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS")
    if names:
        return names
    parts = (part for group in certificate.get("subject", ()) for part in group)
    return frozenset(value for kind, value in parts if kind == "commonName")


def _contexts(files: TlsFiles) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    server.num_tickets = 0  # no resumption: each connection shows its certificate
    for context in (server, client):
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_mode = ssl.CERT_REQUIRED
        context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_NO_TICKET
        context.load_verify_locations(files.authority)
        if files.revoked is not None:
            context.load_verify_locations(files.revoked)
            context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
        context.load_cert_chain(files.certificate, files.key, password=_no_password)
    return server, client


def _no_password() -> str:
    raise ValueError("the private key is encrypted: store it without a pass phrase, readable by the member only")


def _stamp(files: TlsFiles) -> tuple[tuple[int, int, int], ...]:
    stats = [path.stat() for path in files.paths]
    return tuple((stat.st_mtime_ns, stat.st_size, stat.st_ino) for stat in stats)


def _names(files: TlsFiles) -> str:
    return ", ".join(map(str, files.paths))
