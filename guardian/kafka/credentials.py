"""Login secrets are read from files at the moment of connecting, so that a rotated password needs no restart.

Clusters name them; the files are in one folder of the member (`secrets` of its configuration), and nothing else of the
member's can be named. What hangs together may be a symbolic link, as Kubernetes mounts secrets, if it ends in there.
"""

from __future__ import annotations

import os
import ssl
import time
from pathlib import Path

from guardian.errors import InvalidInput
from guardian.kafka.tokens import TokenCache, TokenRequest, TokenSource, life_s, require_token
from guardian.model.topology import ClusterSecurity, require_secret_name

ENVIRONMENT = "GUARDIAN_SECRETS"
_MAX_BYTES = 1 << 20
_KEYTAB = b"\x05"  # the first byte of MIT's and Heimdal's format


class SecretFolder:
    """`path` None: there is none, and no secret can be named. Tokens that secrets were exchanged for are kept in
    `tokens`, for all connections of who has the folder."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.tokens = TokenCache()

    @classmethod
    def of_environment(cls) -> SecretFolder:
        """Return the folder of a process that is no member: $GUARDIAN_SECRETS."""
        named = os.environ.get(ENVIRONMENT, "")
        return cls(Path(named) if named else None)

    def password(self, security: ClusterSecurity) -> str:
        """The password of `security.password_secret`, without the line end that editors add.

        Raises InvalidInput when the file can't be read or holds nothing.
        """
        return self._line("security.password_secret", security.password_secret)

    def token(self, security: ClusterSecurity) -> str:
        """Return the token of `security.token_secret`, without its line end.

        Raises InvalidInput when the file can't be read or holds nothing.
        """
        return self._line("security.token_secret", security.token_secret)

    def token_source(self, security: ClusterSecurity) -> TokenSource:
        """Return where the token of this login comes from: its file, as it is then, or its endpoint, of which one is
        kept in `tokens`. Raises InvalidInput when a secret can't be read."""
        if security.token_secret:

            def of_file() -> str:
                return require_token(f"security.token_secret {security.token_secret!r}", self.token(security))

            return TokenSource(lambda _: of_file(), of_file, lambda: life_s({}, of_file(), time.time()))
        request = TokenRequest(
            security.token_endpoint,
            security.username,
            self.password(security),
            security.token_scope,
            self.token_ca(security),
            secret_name=security.password_secret,
            ca_secret=security.token_ca_secret,
        )
        kept = self.tokens
        return TokenSource(
            lambda left_s: kept.renewed(request, left_s),
            lambda: kept.current(request),
            lambda: kept.left_s(request),
        )

    def ca(self, security: ClusterSecurity) -> str:
        """Return the certificates of `security.ca_secret`; empty when none is named. Raises InvalidInput as
        `ca_file`."""
        return self._authorities("security.ca_secret", security.ca_secret)[1] if security.ca_secret else ""

    def token_ca(self, security: ClusterSecurity) -> str:
        """Return those of `security.token_ca_secret`. Raises InvalidInput as `ca_file`."""
        name = security.token_ca_secret
        return self._authorities("security.token_ca_secret", name)[1] if name else ""

    def certificate_files(self, security: ClusterSecurity) -> tuple[str, str] | None:
        """Return where the certificate and the key are that Guardian shows; None: it shows none. Raises InvalidInput
        when one can't be read."""
        if not security.certificate_secret:
            return None
        certificate, _ = self._text("security.certificate_secret", security.certificate_secret)
        key, _ = self._text("security.key_secret", security.key_secret)
        return str(certificate), str(key)

    def keytab_file(self, security: ClusterSecurity) -> str:
        """Return where the keytab is. Raises InvalidInput when it can't be read or is none."""
        path, content = self._read("security.keytab_secret", security.keytab_secret)
        if not content.startswith(_KEYTAB):
            raise InvalidInput(
                f"security.keytab_secret is {security.keytab_secret!r}: it is no keytab; make one by ktadd"
            )
        return str(path)

    def ca_file(self, security: ClusterSecurity) -> str:
        """Return where the certificates of `security.ca_secret` are; empty when none is named.

        Raises InvalidInput when the file can't be read, or holds no certificate.
        """
        if not security.ca_secret:
            return ""
        return str(self._authorities("security.ca_secret", security.ca_secret)[0])

    def _authorities(self, field: str, name: str) -> tuple[Path, str]:
        path, text = self._text(field, name)
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
        except (ssl.SSLError, ValueError) as error:
            raise InvalidInput(
                f"{field} is {name!r}: it holds no certificate; use one or more in PEM format"
            ) from error
        return path, text

    def _line(self, field: str, name: str) -> str:
        line = self._text(field, name)[1].rstrip("\r\n")
        if not line:
            raise InvalidInput(f"{field} is {name!r}: the file is empty")
        return line

    def _text(self, field: str, name: str) -> tuple[Path, str]:
        path, content = self._read(field, name)
        try:
            return path, content.decode()
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{field} is {name!r}: it is not UTF-8 text; write it anew as text") from error

    def _read(self, field: str, name: str) -> tuple[Path, bytes]:
        require_secret_name(field, name)
        if self._path is None:
            raise InvalidInput(
                f"{field} is {name!r}, and there is no folder of secrets; set `secrets` in the member's configuration "
                f"(elsewhere ${ENVIRONMENT})"
            )
        try:
            folder = self._path.resolve(strict=True)
            path = (folder / name).resolve(strict=True)
            if not path.is_relative_to(folder):
                raise InvalidInput(f"{field} is {name!r}, which leads out of {self._path}; put the file itself there")
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                return path, file.read(_MAX_BYTES)
        except OSError as error:
            raise InvalidInput(
                f"{field} is {name!r}: {self._path / name} can't be read ({error.strerror}); create it, readable by "
                "Guardian"
            ) from error
