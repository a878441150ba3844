"""TLS of a member's own ports: from PEM files that may be replaced while it runs, without a dropped call.

    [grpc_tls]  both sides show a certificate      GrpcTls.credentials()   asked for its files at each new connection
    [http_tls]  the server does; clients too if    HttpTls.context         each handshake takes the newest of them
                `ca` is given

New files count from the next connection on; those that stand go on with what they began with. Files that can't be used,
or do not fit together as between the writing of two of them, change nothing, are complained of once and are counted.

**Whom it lets in.** gRPC's own TLS, in C, refuses who shows no certificate, one of another authority or an expired one,
before a byte of a call is read. It says so on this process's standard error and tells no interceptor, no listener and
not its channelz. What can be had are two numbers: handshakes that began, and connections from which a call came. What
TLS does not look at is judged with each call (guardian.security.service.peers): a certificate that was taken back, or
has expired since the connection began. At the HTTP port all of this is TLS's own work, refusals are counted and logged.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import grpc
import structlog

from guardian.client.credentials import ClientTls
from guardian.config import HttpTlsConfig, ServerConfig, TlsConfig
from guardian.errors import GuardianError, InvalidInput
from guardian.security.certificates.facts import RevokedFacts, all_facts_of, facts_of, revoked_facts_of
from guardian.security.model.certificate import CertificateLife

_log = structlog.get_logger(__name__)

_LOOK_S = 1.0  # between two looks at the files
_LINE_S = 1.0  # between two lines of the log about who was refused
_MOST_PEERS = 10_000
_NEVER = RevokedFacts(frozenset(), 0, None)


@dataclass(frozen=True, slots=True)
class Pems:
    """The files' contents, which fit together. `ca` and `crl` are empty where none is given."""

    chain: bytes
    key: bytes
    ca: bytes
    crl: bytes
    revoked: RevokedFacts


class TlsCounters:
    """What became of TLS at one port; any thread may count."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._refused: Counter[str] = Counter()
        self._handshakes = 0
        self._served = 0
        self._peers: OrderedDict[str, None] = OrderedDict()
        self._failed_reloads = 0

    def handshake(self) -> None:
        with self._lock:
            self._handshakes += 1

    def serve(self, peer: str = "") -> None:
        """Something was taken over the connection from `peer`; each is counted once, but for those that were silent
        while ten thousand others were not. Empty: a connection that was not told before."""
        with self._lock:
            if peer in self._peers:
                self._peers.move_to_end(peer)
                return
            self._served += 1
            if peer:
                self._peers[peer] = None
            if len(self._peers) > _MOST_PEERS:
                self._peers.popitem(last=False)

    def refuse(self, reason: str) -> None:
        with self._lock:
            self._refused[reason] += 1

    def fail_reload(self) -> None:
        with self._lock:
            self._failed_reloads += 1

    @property
    def handshakes(self) -> int:
        """Begun, whatever became of them."""
        return self._handshakes

    @property
    def served(self) -> int:
        """Connections over which something was taken."""
        return self._served

    @property
    def failed_reloads(self) -> int:
        """Times that new files could not be used."""
        return self._failed_reloads

    def refused(self) -> dict[str, int]:
        """Return how many connections were refused, by reason."""
        with self._lock:
            return dict(self._refused)


class PemFiles:
    """The files of one section, read again when they have changed. Any thread may ask.

    Raises InvalidInput, when it is made, for files that can't be used.
    """

    def __init__(
        self,
        use: str,
        files: TlsConfig | HttpTlsConfig,
        counters: TlsCounters | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.counters = counters or TlsCounters()
        self.files = files
        self.use = use
        self._clock = clock
        self._lock = threading.Lock()
        self._look_at = clock() + _LOOK_S
        try:
            self._stamp = self._stamp_now()
            self._pems = self._read()
        except (OSError, GuardianError) as error:
            raise InvalidInput(f"{use} can't be used: {error}") from None

    def current(self) -> Pems:
        """Return the files that count now. Looks at them at most once a second."""
        with self._lock:
            if self._clock() >= self._look_at:
                self._look_at = self._clock() + _LOOK_S
                self._reload()
            return self._pems

    def lives(self, owner: str) -> list[CertificateLife]:
        """Return how long each file counts: what is in use now, not what lies on the disk."""
        pems, files = self.current(), self.files
        own = facts_of(pems.chain)
        spans: list[tuple[str, Path, int, int]] = [
            ("certificate", files.certificate, own.not_before_ms, own.not_after_ms)
        ]
        if files.ca is not None:
            authority = min(all_facts_of(pems.ca), key=lambda facts: facts.not_after_ms)
            spans.append(("ca", files.ca, authority.not_before_ms, authority.not_after_ms))
        if files.crl is not None and pems.revoked.next_update_ms is not None:
            spans.append(("crl", files.crl, pems.revoked.last_update_ms, pems.revoked.next_update_ms))
        return [
            CertificateLife(owner, self.use, what, str(path), from_ms, until_ms)
            for what, path, from_ms, until_ms in spans
        ]

    def _reload(self) -> None:
        try:
            stamp = self._stamp_now()
            if stamp == self._stamp:
                return
            self._stamp = stamp  # a broken file is complained of once, not at each look
            self._pems = self._read()
        except (OSError, GuardianError) as error:
            self.counters.fail_reload()
            _log.error("TLS stays with the files it had", use=self.use, error=str(error))
        else:
            _log.info("TLS takes up new files", use=self.use, expires_at_ms=facts_of(self._pems.chain).not_after_ms)

    def _read(self) -> Pems:
        """Raises OSError (ssl.SSLError is one) or InvalidInput."""
        files = self.files
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)  # reads them all, and knows whether key and certificate fit
        context.load_cert_chain(files.certificate, files.key, password=_no_password)
        chain, key = files.certificate.read_bytes(), files.key.read_bytes()
        facts_of(chain)
        ca = files.ca.read_bytes() if files.ca is not None else b""
        if files.ca is not None:
            all_facts_of(ca)
        crl = files.crl.read_bytes() if files.crl is not None else b""
        revoked = revoked_facts_of(crl, ca) if files.crl is not None else _NEVER
        return Pems(chain, key, ca, crl, revoked)

    def _stamp_now(self) -> tuple[tuple[int, int, int], ...]:
        paths = (self.files.certificate, self.files.key, self.files.ca, self.files.crl)
        stats = [path.stat() for path in paths if path is not None]
        return tuple((stat.st_mtime_ns, stat.st_size, stat.st_ino) for stat in stats)


class GrpcTls:
    """Of the gRPC port: mutual, always."""

    def __init__(self, files: PemFiles) -> None:
        self.files = files
        self._told = files.current()

    def credentials(self) -> grpc.ServerCredentials:
        """Make the credentials of one server."""
        self._told = self.files.current()
        return grpc.dynamic_ssl_server_credentials(
            _configuration(self._told),
            self._newer,  # type: ignore[arg-type]  # its stubs forget that None means "as before"
            require_client_authentication=True,
        )

    def _newer(self) -> grpc.ServerCertificateConfiguration | None:
        """Called by gRPC's threads at each connection; None: as before."""
        self.files.counters.handshake()
        current = self.files.current()
        if current is self._told:
            return None
        self._told = current
        return _configuration(current)


class HttpTls:
    """Of the HTTP port. `context` is for one server, and for as long as it runs."""

    def __init__(self, files: PemFiles) -> None:
        self.files = files
        self._loaded = files.current()
        self._latest = self._made(self._loaded)
        self._lines_at = 0.0
        self._record: Callable[[str], None] = lambda _: None
        self.context = self._made(self._loaded)
        self.context.sni_callback = self._choose  # asked at each handshake, whether or not the client names a server
        self.context.sslobject_class = _recording(files.counters, self._tell)

    def record_with(self, record: Callable[[str], None]) -> None:
        """Set who is to be told, beside the log and as rarely, why a connection was refused."""
        self._record = record

    def _choose(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> int | None:
        current = self.files.current()
        if current is not self._loaded:
            try:
                self._latest, self._loaded = self._made(current), current
            except OSError as error:  # the files have changed again, and no longer fit
                _log.error("TLS stays with the files it had", use=self.files.use, error=str(error))
        connection.context = self._latest
        return None

    def _made(self, pems: Pems) -> ssl.SSLContext:
        files = self.files.files
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_NO_TICKET
        context.num_tickets = 0  # no resumption: each connection is judged by the files as they are
        context.set_alpn_protocols(["http/1.1"])
        context.load_cert_chain(files.certificate, files.key, password=_no_password)
        if pems.ca:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=pems.ca.decode())
        if files.crl is not None:
            context.load_verify_locations(files.crl)
            context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
        return context

    def _tell(self, reason: str) -> None:
        now = time.monotonic()
        if now >= self._lines_at:
            self._lines_at = now + _LINE_S
            _log.warning("TLS refused a connection", use=self.files.use, reason=reason)
            self._record(reason)


def grpc_tls(config: ServerConfig) -> GrpcTls | None:
    """Read TLS of the section [grpc_tls]; None where there is none. Raises InvalidInput."""
    return GrpcTls(PemFiles("grpc_tls", config.grpc_tls)) if config.grpc_tls is not None else None


def http_tls(config: ServerConfig) -> HttpTls | None:
    """Read TLS of the section [http_tls]; None where there is none. Raises InvalidInput."""
    return HttpTls(PemFiles("http_tls", config.http_tls)) if config.http_tls is not None else None


def own_client_tls(config: ServerConfig) -> ClientTls | None:
    """Return what this member shows when it calls itself or another member; None: gRPC speaks no TLS."""
    files = config.grpc_tls
    return ClientTls(files.ca, files.certificate, files.key) if files is not None else None


def _configuration(pems: Pems) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration([(pems.key, pems.chain)], pems.ca)


def _recording(counters: TlsCounters, tell: Callable[[str], None]) -> type[ssl.SSLObject]:
    """Connections that count how their handshake ended."""

    class Recording(ssl.SSLObject):
        def do_handshake(self) -> None:
            try:
                super().do_handshake()
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                raise
            except ssl.SSLError as error:
                reason = reason_of(error)
                counters.handshake()
                counters.refuse(reason)
                tell(reason)
                raise
            counters.handshake()
            counters.serve()

    return Recording


def reason_of(error: ssl.SSLError) -> str:
    """A few words that are the same for the same kind of failure."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return str(error.verify_message).replace(" ", "_").lower()
    return (error.reason or "no_tls").lower()


def _no_password() -> str:
    raise InvalidInput("the private key is encrypted: store it without a pass phrase, readable by the member only")
