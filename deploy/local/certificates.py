"""Certificates of a federation on this machine, made and renewed by `guardian local up --tls`.

HOME/certs         the authority of who calls and is called: members, brokers' reporters, and the operator
HOME/certs/raft    another one, of members among themselves: nobody else's certificate opens the Raft port
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from deploy.local.ports import HOST
from guardian.client import ClientTls
from guardian.security.certificates.authority import Wanted
from guardian.security.certificates.folder import CertificateFolder
from guardian.security.model.identity import BrokerId

OPERATOR = "operator"
_RAFT = "raft"
_HOSTS = (HOST, "localhost")
_DAYS = 365.0
_AUTHORITY_DAYS = 3650.0
_RENEW_MS = 30 * 86_400_000


def ensure(directory: Path, members: Iterable[str], brokers: Iterable[BrokerId]) -> None:
    """Makes what is missing, and anew what expires within a month. Raises InvalidInput."""
    members = list(members)
    wanted = [Wanted(name, _HOSTS, _DAYS) for name in members]
    wanted += [Wanted(broker_name(broker.cluster, broker.id), _HOSTS, _DAYS, uris=(broker.uri,)) for broker in brokers]
    _fill(CertificateFolder(directory), "Guardian local", [*wanted, Wanted(OPERATOR, days=_DAYS, is_person=True)])
    of_raft = [Wanted(name, _HOSTS, _DAYS, is_member=True) for name in members]
    _fill(CertificateFolder(directory / _RAFT), "Guardian local raft", of_raft)


def client_tls(directory: Path) -> ClientTls:
    """The operator's."""
    folder = CertificateFolder(directory)
    return ClientTls(folder.authority, folder.certificate(OPERATOR), folder.key(OPERATOR))


def broker_name(cluster: str, broker_id: int) -> str:
    """Return the name in the certificate that a broker's reporter shows."""
    return f"{cluster}-{broker_id}"


def broker_settings(directory: Path, cluster: str, broker_id: int) -> dict[str, str]:
    """Return the broker plugin's TLS settings, for server.properties."""
    folder, name = CertificateFolder(directory), broker_name(cluster, broker_id)
    return {
        "guardian.reporter.ssl.certificate.file": str(folder.certificate(name)),
        "guardian.reporter.ssl.key.file": str(folder.key(name)),
        "guardian.reporter.ssl.ca.file": str(folder.authority),
    }


def member_sections(directory: Path, name: str) -> dict[str, dict[str, object]]:
    """Return the sections of a member's TOML for TLS at every port, and to brokers' reporters."""
    folder, raft = CertificateFolder(directory), CertificateFolder(directory / _RAFT)
    own = {"certificate": str(folder.certificate(name)), "key": str(folder.key(name))}
    mutual: dict[str, object] = {"ca": str(folder.authority), **own}
    return {
        "tls": {
            "ca": str(raft.authority),
            "certificate": str(raft.certificate(name)),
            "key": str(raft.key(name)),
            "crl": str(raft.revoked),
        },
        "grpc_tls": {**mutual, "crl": str(folder.revoked)},
        "http_tls": dict(own),
        "reporter_tls": mutual,
    }


def _fill(folder: CertificateFolder, authority: str, wanted: Iterable[Wanted]) -> None:
    now_ms = int(time.time() * 1000)
    if not folder.exists:
        folder.init(authority, _AUTHORITY_DAYS, now_ms)
    known = set(folder.names())
    for each in wanted:
        if each.name not in known:
            folder.issue(each, now_ms)
        elif folder.facts(each.name).not_after_ms - now_ms < _RENEW_MS:
            folder.renew(each.name, _DAYS, now_ms)
