"""Login secrets are read from files at the moment of connecting, so that a rotated password needs no restart."""

from __future__ import annotations

import ssl
from pathlib import Path

from guardian.errors import InvalidInput
from guardian.model.topology import ClusterSecurity


def read_password(security: ClusterSecurity) -> str:
    """The password of `security.password_file`, without the line end that editors add.

    Raises InvalidInput when the file can't be read or holds nothing.
    """
    password = _read("security.password_file", security.password_file).rstrip("\r\n")
    if not password:
        raise InvalidInput(f"security.password_file is {security.password_file!r}: the file is empty")
    return password


def require_ca_file(security: ClusterSecurity) -> None:
    """Raises InvalidInput when a CA file is configured and can't be read, or holds no certificate."""
    if not security.ca_file:
        return
    text = _read("security.ca_file", security.ca_file)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        raise InvalidInput(
            f"security.ca_file is {security.ca_file!r}: it holds no certificate; use one or more in PEM format"
        ) from error


def _read(field: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            f"{field} is {path!r}: it can't be read ({error.strerror}); create it, readable by Guardian"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{field} is {path!r}: it is not UTF-8 text; write it anew as text") from error
