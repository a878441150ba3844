"""TLS between members: each proves its Raft name with a certificate.

Both sides must show a certificate. Host names are not checked, since a member is known by its name wherever it runs:
the transport compares the certificate's names with what the other side calls itself. A certificate bears the Raft name
g1 as the alternative name (SAN) `raft:g1`, a URI or a DNS name. One without any such name is for its DNS names, or its
common name; that counts only where the authority signs for nobody but members. Files that change are read again,
and connections made from then on use them; files that can't be read leave the old ones in use. When the list of revoked
certificates changes, connections that stand are made anew.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raft.errors import CannotStart

RAFT_NAME = "raft:"
"""What a name in a certificate begins with that is a member's."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files: this member's certificate (with its chain), its private key, the authority that members trust. Where
    one is kept, also the list of certificates that it has revoked: one that is out of date lets nobody in.

    `must_bear_name` is asked whenever the files are read: whether peers must show a certificate that bears raft:NAME,
    since the authority signs for others too. It raises ValueError or OSError when the files must not be used.
    """

    certificate: Path
    key: Path
    authority: Path
    revoked: Path | None = None
    must_bear_name: Callable[[], bool] = lambda: False

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
            self.must_bear_name = files.must_bear_name()
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
            must_bear_name = self._files.must_bear_name()
            self.server, self.client = _contexts(self._files)
            self.must_bear_name = must_bear_name
            self.revoked_stamp = stamp[-1] if self._files.revoked is not None else None
        except (OSError, ValueError) as error:
            _logger.error("raft TLS stays with the old certificate, can't use %s: %s", _names(self._files), error)
            return False
        _logger.info("raft TLS reloaded %s", _names(self._files))
        return True


def proves_name(certificate: Mapping[str, Any] | None, name: str, *, must_bear: bool) -> bool:
    """Return whether a peer's certificate (`SSLSocket.getpeercert()`) is for the member `name`. `must_bear`: only if it
    bears raft:NAME.
    """
    bound = _raft_names(certificate)
    if bound or must_bear:
        return name in bound
    return name in proven_names(certificate)


def proven_names(certificate: Mapping[str, Any] | None) -> frozenset[str]:
    """The names that a peer's certificate is for: its Raft names; when it has none its DNS names; when it has none
    either its common name (RFC 6125, section 6.4.4)."""
    if not certificate:
        return frozenset()
    names = _raft_names(certificate)
    names = names or frozenset(value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS")
    if names:
        return names
    parts = (part for group in certificate.get("subject", ()) for part in group)
    return frozenset(value for kind, value in parts if kind == "commonName")


def _raft_names(certificate: Mapping[str, Any] | None) -> frozenset[str]:
    alternative = certificate.get("subjectAltName", ()) if certificate else ()
    return frozenset(
        value.removeprefix(RAFT_NAME)
        for kind, value in alternative
        if kind in ("URI", "DNS") and value.startswith(RAFT_NAME)
    )


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
