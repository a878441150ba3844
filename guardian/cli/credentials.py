"""What the CLI shows of who it is, besides a certificate: a token, by file or environment, never by an option.

    1. --token-file          3. $GUARDIAN_TOKEN, the token itself      5. what `guardian login` got for these endpoints
    2. $GUARDIAN_TOKEN_FILE  4. the context's token_file

What a login got is kept beside the configuration file, readable by its owner only, for the endpoints that it was got
for: no other members ever see it.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from guardian.cli.contexts import Context, config_file
from guardian.client.bearing import Bearing, bearer
from guardian.errors import InvalidInput, NotSignedIn, Unavailable

_TIMEOUT_S = 10.0
_MAX_BYTES = 1 << 20
_SOON_S = 30.0
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def bearing_of(token_file: str, context: Context | None, endpoints: Sequence[str]) -> Bearing | None:
    """Return what is shown to the members at these endpoints; None: no token. Raises InvalidInput."""
    given = token_file or os.environ.get("GUARDIAN_TOKEN_FILE", "")
    if given:
        return bearer(_read_token(Path(given).expanduser()))
    from_environment = os.environ.get("GUARDIAN_TOKEN", "").strip()
    if from_environment:
        return bearer(from_environment)
    of_context = context.path("token_file") if context is not None else None
    if of_context is not None:
        return bearer(_read_token(of_context))
    login = find_login(endpoints)
    return Renewing(login).bearing if login is not None else None


def logins_file() -> Path:
    return config_file().with_name("logins.json")


def find_login(endpoints: Sequence[str]) -> dict[str, Any] | None:
    """Find the login that was got for one of these members; None: there is none."""
    return next((login for login in _logins() if set(login.get("endpoints", ())) & set(endpoints)), None)


def keep_login(login: dict[str, Any]) -> None:
    """Keep the login in place of what was there for these endpoints."""
    _write([*_without(login["endpoints"]), login])


def forget_login(endpoints: Sequence[str]) -> bool:
    """Forget the login of these endpoints and return whether there was one."""
    before, kept = _logins(), _without(endpoints)
    _write(kept)
    return len(kept) < len(before)


class Renewing:
    """An ID token, renewed by its refresh token when it is over. Thread-safe."""

    def __init__(self, login: dict[str, Any]) -> None:
        self._login = login
        self._lock = threading.Lock()

    def bearing(self) -> tuple[tuple[str, str], ...]:
        """Raises NotSignedIn when it can't be renewed."""
        with self._lock:
            if time.time() + _SOON_S >= float(self._login.get("expires_at", 0)):
                self._renew()
            return (("authorization", f"Bearer {self._login['id_token']}"),)

    def _renew(self) -> None:
        refresh = self._login.get("refresh_token")
        if not refresh:
            raise NotSignedIn("your login is over: run guardian login")
        form = {"grant_type": "refresh_token", "refresh_token": refresh, "client_id": self._login["client_id"]}
        status, told = post_form(str(self._login["token_endpoint"]), form)
        if status != 200 or not told.get("id_token"):
            raise NotSignedIn(f"your login can't be renewed ({told.get('error', status)}): run guardian login")
        self._login = {**self._login, **kept_of(told, str(refresh))}
        keep_login(self._login)


def kept_of(told: dict[str, Any], refresh: str = "") -> dict[str, Any]:
    """Return what is kept of a token endpoint's answer."""
    return {
        "id_token": str(told["id_token"]),
        "refresh_token": str(told.get("refresh_token") or refresh),
        "expires_at": time.time() + float(told.get("expires_in", 300)),
    }


def get_json(url: str) -> dict[str, Any]:
    """Raises InvalidInput for a URL that others can read along, Unavailable when there is no answer."""
    status, told = _ask(urllib.request.Request(_private(url), headers={"Accept": "application/json"}))  # noqa: S310
    if status != 200:
        raise Unavailable(f"{url} answered {status}: check the address")
    return told


def post_form(url: str, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
    """The status, and the answer. Raises as `get_json`."""
    data = urllib.parse.urlencode(form).encode()
    return _ask(urllib.request.Request(_private(url), data=data, headers={"Accept": "application/json"}))  # noqa: S310


def _private(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise InvalidInput(f"{url!r} is not https://: nobody signs in where others read along")
    return url


def _ask(request: urllib.request.Request) -> tuple[int, dict[str, Any]]:
    try:
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310  https, or this host
                status, body = answer.status, answer.read(_MAX_BYTES)
        except urllib.error.HTTPError as error:
            status, body = error.code, error.read(_MAX_BYTES)
        told = json.loads(body)
    except (OSError, ValueError) as error:
        raise Unavailable(f"{request.full_url} gave no answer that can be used: {error}") from None
    return status, told if isinstance(told, dict) else {}


def _read_token(file: Path) -> str:
    try:
        token = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"token file {file} can't be read: {error}") from None
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidInput(f"token file {file} holds no token: put one line there, as guardian token create makes it")
    return token


def _logins() -> list[dict[str, Any]]:
    try:
        told = json.loads(logins_file().read_text())
    except (OSError, ValueError):
        return []
    return [each for each in told if isinstance(each, dict)] if isinstance(told, list) else []


def _without(endpoints: Sequence[str]) -> list[dict[str, Any]]:
    return [login for login in _logins() if not set(login.get("endpoints", ())) & set(endpoints)]


def _write(logins: list[dict[str, Any]]) -> None:
    file = logins_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=".logins.")  # made with mode 600
        with os.fdopen(descriptor, "w") as new:
            json.dump(logins, new)
        Path(name).replace(file)
    except OSError as error:
        raise InvalidInput(f"{file} can't be written: {error.strerror}") from None
