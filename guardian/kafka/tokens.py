"""Access tokens for OAUTHBEARER, by the client credentials grant (RFC 6749, section 4.4), kept until they are renewed.

obtained |------------- used -------------|-- renewed, or used on where that fails --| end
         0 %                             80 %                                      100 %   of its life
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote_plus

import httpx

from guardian.kafka.tls import trusting, untrusted

__all__ = [
    "Token",
    "TokenCache",
    "TokenRefused",
    "TokenRequest",
    "TokenSource",
    "fetch_token",
    "life_s",
    "require_token",
]

_USED = 0.8  # of its life; Kafka's own clients renew then, too (sasl.login.refresh.window.factor)
_UNKNOWN_LIFE_S = 300.0
_PAUSE_S = 10.0  # after an attempt to renew that failed while the old token is still good
_CONNECT_SHARE = 0.4  # of the time for a request; several addresses may stand behind a name
_MAX_BYTES = 1 << 16
_BEARER = re.compile(r"[A-Za-z0-9\-._~+/]+=*", re.ASCII)  # RFC 6750, section 2.1
_ERROR_CODE = re.compile(r"[ -~]{1,60}", re.ASCII)

# What to do about the codes of RFC 6749, section 5.2; of others: what the endpoint says.
_FIXES = {
    "invalid_client": "check username, which is the client's id, and the secret {secret}, which is the client's",
    "unauthorized_client": "allow the client the grant client_credentials there",
    "unsupported_grant_type": "name an endpoint that knows client_credentials in security.token_endpoint",
    "invalid_scope": "check security.token_scope",
}


class TokenRefused(Exception):
    """There is no token, why and what to do, in one sentence."""


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """Hold what is asked of which endpoint. `secret_name` is for sentences, `authorities` in PEM; empty: the
    system's."""

    endpoint: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str = ""
    authorities: str = ""
    secret_name: str = ""
    ca_secret: str = ""


class Token(NamedTuple):
    """`life_s`: the seconds that it is good for, from when it was asked for."""

    text: str
    life_s: float


@dataclass(slots=True)
class _Kept:
    lock: threading.Lock = field(default_factory=threading.Lock)
    token: str = ""
    renew_at_s: float = 0.0
    ends_at_s: float = 0.0


@dataclass(frozen=True, slots=True)
class TokenSource:
    """Where a login's token comes from. `renewed` takes the seconds that asking for one may take, `current` never asks,
    `left_s` is how long that one is good. The first two raise TokenRefused."""

    renewed: Callable[[float], str]
    current: Callable[[], str]
    left_s: Callable[[], float]


Fetch = Callable[[TokenRequest, float], Token]


class TokenCache:
    """Any thread may use it. What is asked for by one is waited for by others that need the same token."""

    def __init__(self, fetch: Fetch | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._fetch = fetch_token if fetch is None else fetch
        self._clock = clock
        self._kept: dict[TokenRequest, _Kept] = {}
        self._lock = threading.Lock()

    def renewed(self, request: TokenRequest, timeout_s: float) -> str:
        """Return a token that is good, asking for it where that is due. Raises TokenRefused."""
        kept = self._of(request)
        if not kept.lock.acquire(timeout=max(0.0, timeout_s)):
            raise TokenRefused(f"security.token_endpoint {request.endpoint} did not answer in time; check that it runs")
        try:
            now_s = self._clock()
            if now_s >= kept.renew_at_s:
                self._renew(request, kept, now_s, timeout_s)
                with self._lock:
                    self._kept[request] = kept  # it may have been forgotten while it was asked for
            return kept.token
        finally:
            kept.lock.release()

    def current(self, request: TokenRequest) -> str:
        """Return the token that was fetched last, without asking for one. Raises TokenRefused when it has ended."""
        kept = self._of(request)
        if self._clock() >= kept.ends_at_s:
            raise TokenRefused(f"the token of security.token_endpoint {request.endpoint} has ended; try again")
        return kept.token

    def left_s(self, request: TokenRequest) -> float:
        """Return how long the token that was fetched last is good, in seconds."""
        return max(0.0, self._of(request).ends_at_s - self._clock())

    def _of(self, request: TokenRequest) -> _Kept:
        with self._lock:
            now_s = self._clock()
            # A secret that was exchanged makes another request: what nobody asks for any more goes when it has ended.
            for each in [each for each, kept in self._kept.items() if each != request and now_s >= kept.ends_at_s]:
                del self._kept[each]
            return self._kept.setdefault(request, _Kept())

    def _renew(self, request: TokenRequest, kept: _Kept, now_s: float, timeout_s: float) -> None:
        try:
            token = self._fetch(request, timeout_s)
        except TokenRefused:
            if now_s >= kept.ends_at_s:
                raise
            kept.renew_at_s = min(kept.ends_at_s, self._clock() + _PAUSE_S)
            return
        kept.token = token.text
        kept.renew_at_s, kept.ends_at_s = now_s + _USED * token.life_s, now_s + token.life_s


def require_token(source: str, text: str) -> str:
    """Return the token. Raises TokenRefused unless it can stand in a SASL message."""
    if not _BEARER.fullmatch(text):
        raise TokenRefused(f"{source} gives what is no bearer token (RFC 6750); store the token alone")
    return text


def fetch_token(request: TokenRequest, timeout_s: float) -> Token:
    """Ask the endpoint for a token, for at most `timeout_s`. Raises TokenRefused."""
    subject = f"security.token_endpoint {request.endpoint}"
    if timeout_s <= 0:
        raise TokenRefused(f"{subject} was not asked, as no time is left; try again")
    form = {"grant_type": "client_credentials", **({"scope": request.scope} if request.scope else {})}
    # RFC 6749, section 2.3.1: both are encoded as a form is before they become a header.
    login = (quote_plus(request.client_id), quote_plus(request.client_secret))
    limits = httpx.Timeout(timeout_s, connect=timeout_s * _CONNECT_SHARE)
    try:
        with (
            httpx.Client(verify=trusting(request.authorities), timeout=limits, follow_redirects=False) as client,
            client.stream(
                "POST", request.endpoint, data=form, auth=login, headers={"Accept": "application/json"}
            ) as answer,
        ):
            body = _body(answer, time.monotonic() + timeout_s)
            status = answer.status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise TokenRefused(f"{subject} {_why_no_answer(request, error)}") from None
    told = _object(body)
    if status != httpx.codes.OK:
        raise TokenRefused(f"{subject} {_refusal(request, status, told)}")
    text = told.get("access_token")
    if not isinstance(text, str):
        raise TokenRefused(f"{subject} answers without access_token; name an endpoint that gives tokens")
    return Token(require_token(subject, text), life_s(told, text, time.time()))


def life_s(told: Mapping[str, Any], text: str, now_s: float) -> float:
    """Return how long a token is good, in seconds: as the answer says (expires_in), else the token itself, where it is
    a JWT; else five minutes. `now_s` is since the epoch."""
    says = told.get("expires_in")
    if isinstance(says, str) and says.isascii() and says.isdecimal():
        says = int(says)
    if isinstance(says, int | float) and not isinstance(says, bool) and says > 0:
        return float(says)
    parts = text.split(".")
    ends = _object(_decoded(parts[1])).get("exp") if len(parts) == 3 else None
    if isinstance(ends, int | float) and not isinstance(ends, bool):
        return max(0.0, ends - now_s)
    return _UNKNOWN_LIFE_S


def _body(answer: httpx.Response, deadline_s: float) -> bytes:
    body = b""
    for part in answer.iter_bytes():
        body += part
        if len(body) > _MAX_BYTES:
            raise httpx.DecodingError(f"more than {_MAX_BYTES} bytes")
        if time.monotonic() > deadline_s:
            raise httpx.ReadTimeout("the answer did not end in time")
    return body


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _decoded(part: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except (binascii.Error, ValueError):
        return b""


def _refusal(request: TokenRequest, status: int, told: Mapping[str, Any]) -> str:
    code = str(told.get("error", ""))
    code = code if _ERROR_CODE.fullmatch(code) else ""
    got = f"(got HTTP {status}{', ' + code if code else ''})"
    if not code and status == httpx.codes.UNAUTHORIZED:
        code = "invalid_client"
    fix = _FIXES.get(code, "look into its log").format(secret=request.secret_name)
    return f"refuses a token to {request.client_id!r} {got}; {fix}"


def _why_no_answer(request: TokenRequest, error: Exception) -> str:
    cause = _below(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return untrusted(cause, "security.token_ca_secret", request.ca_secret)
    if isinstance(cause, ssl.SSLError):
        return f"does not shake hands by TLS (got {cause.reason or type(cause).__name__}); check its port"
    if isinstance(error, httpx.TimeoutException):
        return "does not answer in time; check that it runs and that members reach it"
    if isinstance(cause, OSError) and cause.strerror:
        return f"can't be reached (got {cause.strerror!r}); check that it runs and that members reach it"
    return f"gives no answer that can be used (got {type(error).__name__}); check its address"


def _below(error: BaseException) -> BaseException:
    """Return the operating system's or OpenSSL's error that it comes from, else the error itself."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError):
            return seen
        seen = seen.__cause__ or seen.__context__
    return error
