"""Logins by Kerberos (GSSAPI) with the keytab of a cluster: `gssapi` is imported when the first one is made.

A ticket is kept in memory, by principal and keytab, and asked for anew by the library before it ends.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["KerberosLogin", "KerberosMechanism", "KerberosRefused", "problem"]

_EXTRA = "kafka-guardian[kerberos]"
_WITHOUT_LAYER = b"\x01"  # RFC 4752, section 3.3: authentication only, as Kafka has it

_TABLE = -1765328384  # MIT's error table krb5: RFC 4120's codes are counted from here
_CODES = 256
_NO_LIBRARY = -1
_PROBLEMS = {
    6: "the KDC does not know the principal {principal}; check username and krb5.conf's realm",
    7: "the KDC does not know the service {service} of that broker; check kerberos_service and the broker's host name",
    18: "the KDC has locked the principal {principal}; unlock it there",
    23: "the key of {principal} has expired; export a new keytab",
    24: "the keytab is not that of {principal} any more; export a new one",
    31: "the keytab is not that of {principal} any more; export a new one",
    37: "the clocks differ by more than Kerberos allows; set those of this machine, the KDC and the broker",
    156: "no KDC of the realm answers; check krb5.conf and the KDC",
    181: "the keytab has no key of {principal}; check username and the keytab",
    195: "the keytab has no key of {principal}; check username and the keytab",
    220: "krb5.conf names no KDC of the realm; check it",
}


@dataclass(frozen=True, slots=True)
class KerberosLogin:
    """Hold who logs in to which service, with the keytab at this path."""

    principal: str
    keytab: str
    service: str


class KerberosRefused(Exception):
    """Kerberos gives no way to the broker; `code` is RFC 4120's, or one of MIT's above 128; 0: another one; below: the
    library is missing."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class KerberosMechanism:
    """The client's side of RFC 4752, as kafka-python asks for it. Any step raises KerberosRefused."""

    def __init__(self, **config: Any) -> None:
        self._login: KerberosLogin = config["sasl_kerberos_name"]
        self._is_last = self._is_done = False
        self._context = _security_context(self._login, config["host"])
        self._answer = self._step(lambda: self._context.step(None))

    def auth_bytes(self) -> bytes:
        """Return what is sent next."""
        self._is_done = self._is_last
        return self._answer or b""

    def receive(self, auth_bytes: bytes) -> None:
        """Read what the broker says."""
        if self._is_done:
            return
        if not self._context.complete:
            self._answer = self._step(lambda: self._context.step(auth_bytes))
            return
        offered = self._step(lambda: self._context.unwrap(auth_bytes).message)
        accepted = _WITHOUT_LAYER + offered[1:4] + self._login.principal.encode()
        self._answer = self._step(lambda: self._context.wrap(accepted, False).message)
        self._is_last = True

    def is_done(self) -> bool:
        """Return whether nothing is left to say."""
        return self._is_done

    def is_authenticated(self) -> bool:
        """Return whether both sides know each other: the broker has proven itself before the last message."""
        return self._is_done

    def auth_details(self) -> str:
        """Return a line for the log."""
        return f"Authenticated as {self._login.principal} by Kerberos"

    def _step(self, step: Callable[[], Any]) -> Any:
        return _told(step)


def _security_context(login: KerberosLogin, host: str) -> Any:
    """Return gssapi's context of a login at this host."""
    gssapi = _library()
    keytab = Path(login.keytab)
    made = f"{login.principal}\n{keytab}\n{keytab.stat().st_mtime_ns}"
    store = {
        "client_keytab": f"FILE:{keytab}",
        "ccache": f"MEMORY:guardian-{hashlib.sha256(made.encode()).hexdigest()}",
    }

    def context() -> Any:
        principal = gssapi.Name(login.principal, gssapi.NameType.kerberos_principal)
        service = gssapi.Name(f"{login.service}@{host}", gssapi.NameType.hostbased_service)
        return gssapi.SecurityContext(
            name=service.canonicalize(gssapi.MechType.kerberos),
            creds=gssapi.Credentials(name=principal, usage="initiate", store=store),
            usage="initiate",
        )

    return _told(context)


def _library() -> Any:
    try:
        return importlib.import_module("gssapi")
    except (ImportError, OSError) as error:
        raise KerberosRefused(_NO_LIBRARY, f"gssapi can't be imported ({error})") from error


def _told(step: Callable[[], Any]) -> Any:
    try:
        return step()
    except _library().exceptions.GSSError as error:
        signed = error.min_code - (1 << 32) if error.min_code >= 1 << 31 else error.min_code
        code = signed - _TABLE
        raise KerberosRefused(code if 0 < code < _CODES else 0, str(error)) from error


def problem(code: int, text: str, principal: str, service: str) -> str:
    """Return why Kerberos gives no way to the broker, and what to do. `text` is the library's."""
    if code == _NO_LIBRARY:
        return f"{text}; install Kerberos' libraries and {_EXTRA}"
    known = _PROBLEMS.get(code)
    return known.format(principal=principal, service=service) if known else f"{text}; look into the KDC's log"
