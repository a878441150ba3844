"""TLS of the Raft port ([tls]): whose authority it is, and so what a peer's certificate has to bear.

    authority of [tls] is    this member's certificate bears raft:NAME    what peers show
    Raft's alone             whether or not                               the member's name, or raft:NAME
    the clients', too        yes                                          raft:NAME
    the clients', too        no                                           refused at start, but for allow_shared_ca

Authorities are compared by their keys: the same one under another name, in another file or as the signer of the
clients' authority is found too. They are compared again whenever the files of [tls] change.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from guardian.config import ServerConfig, TlsConfig
from guardian.errors import GuardianError, InvalidInput
from guardian.security.certificates.facts import RAFT_NAME, facts_of, shared_authority
from raft.network.tls import TlsFiles


def raft_tls(config: ServerConfig) -> TlsFiles | None:
    """Returns the files of [tls]; None where there is none. Raises InvalidInput when they must not be used."""
    files = config.tls
    if files is None:
        return None

    def must_bear_name() -> bool:
        try:
            return must_bear_raft_name(config.name, files, config)
        except GuardianError as error:
            raise ValueError(str(error)) from None

    must_bear_raft_name(config.name, files, config)
    return TlsFiles(files.certificate, files.key, files.ca, files.crl, must_bear_name)


def must_bear_raft_name(name: str, files: TlsConfig, config: ServerConfig) -> bool:
    """Return whether peers must show a certificate that bears their Raft name. Raises InvalidInput."""
    bound = facts_of(_read("tls.certificate", files.certificate)).raft_names
    if bound and name not in bound:
        raise InvalidInput(
            f"tls.certificate: it is another member's (got {RAFT_NAME}{bound[0]} in {files.certificate}); give one "
            f"that bears {RAFT_NAME}{name}"
        )
    if files.allow_shared_ca:
        return False
    shared = next(_shared(files.ca, config), None)
    if shared is None:
        return False
    section, authority = shared
    if not bound:
        raise InvalidInput(
            f"tls.ca: clients have certificates of this authority too, so each of them could write the log (got "
            f"{authority!r} of {section}.ca); use an authority for Raft alone, or certificates that bear "
            f"{RAFT_NAME}{name} (guardian certs issue {name} --member), or say tls.allow_shared_ca = true"
        )
    return True


def _shared(own: Path, config: ServerConfig) -> Iterator[tuple[str, str]]:
    """Sections whose authority is Raft's, and what it is called."""
    authority = _read("tls.ca", own)
    for section in ("grpc_tls", "http_tls", "reporter_tls"):
        other = getattr(config, section)
        if other is not None and other.ca is not None:
            found = shared_authority(authority, _read(f"{section}.ca", other.ca))
            if found is not None:
                yield section, found


def _read(setting: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{setting}: {path} can't be read (got {error.strerror}); give a PEM file") from None
