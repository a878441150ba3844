"""An authority and what it has issued, as PEM files in one folder.

    ca.pem  ca.key           the authority; who reads the key can be anybody, so it is kept where nothing else runs
    crl.pem                  the certificates that are taken back, empty at first
    issued.txt               name and serial of each that was ever issued: renewed ones count until they expire
    NAME.pem  NAME.key       each certificate with its key

Each file is written whole and then put in its place. Certificate and key are two files all the same, and who reads them
in between keeps what it had (guardian.security.service.tls).
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from guardian.errors import Conflict, InvalidInput, NotFound
from guardian.security.certificates.authority import Issued, Wanted, issue, make_authority, revoke, wanted_again
from guardian.security.certificates.facts import CertificateFacts, facts_of

AUTHORITY = "ca"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,62}")
_ISSUED = re.compile(rf"({_NAME.pattern}) ([0-9a-f]{{1,40}})")
_PRIVATE, _PUBLIC = 0o600, 0o644


class CertificateFolder:
    """`path` need not exist before `init`. Raises InvalidInput for what can't be read or written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def authority(self) -> Path:
        return self.path / f"{AUTHORITY}.pem"

    @property
    def revoked(self) -> Path:
        return self.path / "crl.pem"

    @property
    def issued(self) -> Path:
        return self.path / "issued.txt"

    def certificate(self, name: str) -> Path:
        return self.path / f"{name}.pem"

    def key(self, name: str) -> Path:
        return self.path / f"{name}.key"

    @property
    def exists(self) -> bool:
        return self.authority.exists() and self.key(AUTHORITY).exists()

    def names(self) -> list[str]:
        """Return the names of all that the authority has issued, sorted."""
        keys = (path.stem for path in self.path.glob("*.key"))
        return sorted(name for name in keys if name != AUTHORITY and self.certificate(name).exists())

    def init(self, name: str, days: float, now_ms: int) -> None:
        """Makes the authority. Raises Conflict when there is one."""
        self.require_none()
        made = make_authority(name, days, now_ms)
        self._write(self.key(AUTHORITY), made.key, _PRIVATE)
        self._write(self.authority, made.certificate, _PUBLIC)
        self._write(self.revoked, revoke(made, (), now_ms), _PUBLIC)

    def require_none(self) -> None:
        """Raises Conflict when there is an authority."""
        if self.authority.exists() or self.key(AUTHORITY).exists():
            raise Conflict(f"{self.path} has an authority already: use another --folder, or delete it first")

    def require_new(self, name: str) -> None:
        """Raises InvalidInput, or Conflict when there is one of that name, or NotFound when there is no authority."""
        if not _NAME.fullmatch(name) or name in (AUTHORITY, self.revoked.stem):
            raise InvalidInput(
                f"name is {name!r}: use up to 63 letters, digits, '.', '_', '@' and '-', and none of "
                f"'{AUTHORITY}' and '{self.revoked.stem}'"
            )
        if self.certificate(name).exists():
            raise Conflict(f"{self.certificate(name)} is there already: use `guardian certs renew {name}`")
        self._authority()

    def issue(self, wanted: Wanted, now_ms: int) -> CertificateFacts:
        """Raises as `require_new`."""
        self.require_new(wanted.name)
        return self._put(wanted, now_ms)

    def renew(self, name: str, days: float, now_ms: int) -> CertificateFacts:
        """The same with a new key, for another while; the one before stays valid until it expires."""
        return self._put(wanted_again(self._read(self._known(name)), days), now_ms)

    def revoke(self, name: str, now_ms: int) -> tuple[int, ...]:
        """Take back all certificates of the name, renewed ones too, and return their serials: who has `crl.pem` refuses
        them from then on."""
        serials = self.serials(name)
        before = self._read(self.revoked) if self.revoked.exists() else b""
        self._write(self.revoked, revoke(self._authority(), serials, now_ms, before), _PUBLIC)
        return serials

    def serials(self, name: str) -> tuple[int, ...]:
        """Return those of all certificates of the name, the oldest first. Raises NotFound when there was none."""
        serials = [serial for each, serial in self._issued() if each == name]
        if not serials or self.certificate(name).exists():
            serials.append(self.facts(name).serial)
        return tuple(dict.fromkeys(serials))

    def facts(self, name: str) -> CertificateFacts:
        return facts_of(self._read(self._known(name)))

    def _known(self, name: str) -> Path:
        if not _NAME.fullmatch(name) or not self.certificate(name).exists():
            raise NotFound(f"{self.path} has no certificate {name!r}: it has {self.names()}")
        return self.certificate(name)

    def _put(self, wanted: Wanted, now_ms: int) -> CertificateFacts:
        issued = issue(self._authority(), wanted, now_ms)
        self._note(wanted.name, facts_of(issued.certificate).serial)
        self._write(self.key(wanted.name), issued.key, _PRIVATE)
        self._write(self.certificate(wanted.name), issued.certificate, _PUBLIC)
        return facts_of(issued.certificate)

    def _note(self, name: str, serial: int) -> None:
        """Write down what is issued before anybody has it; and what it replaces, from before there was this file."""
        known = self._issued()
        if self.certificate(name).exists() and (before := (name, self.facts(name).serial)) not in known:
            known.append(before)
        lines = (f"{each} {number:x}\n" for each, number in (*known, (name, serial)))
        self._write(self.issued, "".join(lines).encode(), _PUBLIC)

    def _issued(self) -> list[tuple[str, int]]:
        """Return name and serial of each certificate, in the order in which they were issued."""
        lines = self._read(self.issued).decode(errors="replace").splitlines() if self.issued.exists() else []
        found = []
        for number, line in enumerate(lines, start=1):
            match = _ISSUED.fullmatch(line)
            if match is None:
                raise InvalidInput(
                    f"{self.issued} line {number}: no name and serial (got {line[:80]!r}); restore the file"
                )
            found.append((match[1], int(match[2], 16)))
        return found

    def _authority(self) -> Issued:
        if not self.exists:
            raise NotFound(f"{self.path} has no authority: make one with `guardian certs init --folder {self.path}`")
        return Issued(self._read(self.authority), self._read(self.key(AUTHORITY)))

    @staticmethod
    def _read(path: Path) -> bytes:
        try:
            return path.read_bytes()
        except OSError as error:
            raise InvalidInput(f"{path} can't be read: {error.strerror}") from None

    def _write(self, path: Path, content: bytes, mode: int) -> None:
        draft = path.with_name(f".{path.name}.draft")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
                file.write(content)
            draft.replace(path)
        except OSError as error:
            raise InvalidInput(f"{path} can't be written: {error.strerror}") from None
