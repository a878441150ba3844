"""Login secrets are read from files at the moment of connecting, so that a rotated password needs no restart.

Clusters name them; the files are in one folder of the member (`secrets` of its configuration), and nothing else of the
member's can be named. What hangs together may be a symbolic link, as Kubernetes mounts secrets, if it ends in there.
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path

from guardian.errors import InvalidInput
from guardian.model.topology import ClusterSecurity, require_secret_name

ENVIRONMENT = "GUARDIAN_SECRETS"
_MAX_BYTES = 1 << 20


class SecretFolder:
    """`path` None: there is none, and no secret can be named."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    @classmethod
    def of_environment(cls) -> SecretFolder:
        """Of a process that is no member: $GUARDIAN_SECRETS."""
        named = os.environ.get(ENVIRONMENT, "")
        return cls(Path(named) if named else None)

    def password(self, security: ClusterSecurity) -> str:
        """The password of `security.password_secret`, without the line end that editors add.

        Raises InvalidInput when the file can't be read or holds nothing.
        """
        password = self._read("security.password_secret", security.password_secret)[1].rstrip("\r\n")
        if not password:
            raise InvalidInput(f"security.password_secret is {security.password_secret!r}: the file is empty")
        return password

    def ca_file(self, security: ClusterSecurity) -> str:
        """Where the certificates of `security.ca_secret` are; empty when none is named.

        Raises InvalidInput when the file can't be read, or holds no certificate.
        """
        if not security.ca_secret:
            return ""
        path, text = self._read("security.ca_secret", security.ca_secret)
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
        except (ssl.SSLError, ValueError) as error:
            raise InvalidInput(
                f"security.ca_secret is {security.ca_secret!r}: it holds no certificate; use one or more in PEM format"
            ) from error
        return str(path)

    def _read(self, field: str, name: str) -> tuple[Path, str]:
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
                return path, file.read(_MAX_BYTES).decode()
        except OSError as error:
            raise InvalidInput(
                f"{field} is {name!r}: {self._path / name} can't be read ({error.strerror}); create it, readable by "
                "Guardian"
            ) from error
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{field} is {name!r}: it is not UTF-8 text; write it anew as text") from error
