"""A provider of identities, as OpenID Connect has it: authorization code with PKCE for the console; and ID tokens,
which the CLI gets by the device flow, are verified here.

What verification needs (the provider's keys) is fetched by a thread of its own. No call ever waits for the provider,
and who sends tokens with unknown keys makes the member ask at most once in a while.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ssl
import threading
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import httpx
import structlog
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from guardian.errors import InvalidInput, NotSignedIn, Unavailable
from guardian.security.model.security_config import OidcConfig, require_private_url
from guardian.security.rules.claims import groups_in, name_in
from guardian.security.service.proving import Person
from guardian.security.service.watched_file import read_secret

_log = structlog.get_logger(__name__)

_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA", "Ed25519"]
_TIMEOUT_S = 5.0
_MAX_BYTES = 1 << 20
_REFRESH_S = 600.0
_RETRY_S = 2.0
_LEEWAY_MS = 60_000
_MAX_SUBJECT = 255


class Provider:
    """Any thread may use it. `start`, then `stop`."""

    def __init__(self, config: OidcConfig, now_ms: Callable[[], int]) -> None:
        """Raises InvalidInput when a file can't be used."""
        self.config = config
        self._now_ms = now_ms
        secret = config.client_secret_file
        self._secret = read_secret("security.oidc.client_secret_file", secret).decode() if secret is not None else ""
        self._client = httpx.Client(verify=_trust(config), timeout=_TIMEOUT_S, follow_redirects=False)
        self._found: Mapping[str, Any] | None = None
        self._keys: KeySet | None = None
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="oidc", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._wanted.set()
        if self._thread.is_alive():
            self._thread.join()
        self._client.close()

    def authorization_url(self, redirect_uri: str, state: str, nonce: str, verifier: str) -> str:
        """Return where a person's browser goes to sign in. Raises Unavailable."""
        query = {
            "response_type": "code",
            "client_id": self.config.client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(self.config.scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": _challenge(verifier),
            "code_challenge_method": "S256",
        }
        endpoint = str(self._discovered()["authorization_endpoint"])
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    def exchange(self, code: str, redirect_uri: str, nonce: str, verifier: str) -> Person:
        """Return who came back with the code. Raises NotSignedIn and Unavailable."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "client_id": self.config.client_id,
            "code_verifier": verifier,
        }
        if self._secret:
            form["client_secret"] = self._secret
        endpoint = str(self._discovered()["token_endpoint"])
        try:
            answer = self._client.post(endpoint, data=form, headers={"Accept": "application/json"})
            told = answer.json() if len(answer.content) <= _MAX_BYTES else {}
        except (httpx.HTTPError, ValueError) as error:
            raise Unavailable(
                f"the provider of identities gave no answer ({type(error).__name__}): try again"
            ) from None
        id_token = told.get("id_token") if isinstance(told, dict) else None
        if answer.status_code != httpx.codes.OK or not isinstance(id_token, str):
            why = str(told.get("error", answer.status_code))[:100] if isinstance(told, dict) else answer.status_code
            raise NotSignedIn(f"the provider of identities refused the sign-in ({why}): sign in again")
        return self.person(id_token, nonce)

    def person(self, id_token: str, nonce: str = "") -> Person:
        """Return whom an ID token is of. Raises NotSignedIn unless the provider made it, for us, and its time is not
        over.
        """
        keys = self._keys
        if keys is None:
            raise NotSignedIn(
                "the provider of identities was not reached yet, so that nobody is known by it: try again"
            )
        try:
            claims = jwt.decode(id_token, keys, algorithms=_ALGORITHMS).claims
        except (JoseError, ValueError, TypeError, KeyError, AttributeError):
            self._wanted.set()  # its keys may have changed
            raise NotSignedIn("the ID token was not signed by the provider of identities: sign in again") from None
        try:
            return self._person(claims, nonce)
        except NotSignedIn as error:
            raise NotSignedIn(str(error), credential=f"subject {str(claims.get('sub', ''))[:_MAX_SUBJECT]}") from None

    def refresh(self) -> None:
        """Reads what the provider tells of itself, and its keys. Raises NotSignedIn, Unavailable and InvalidInput."""
        found = self._get(f"{self.config.issuer.rstrip('/')}/.well-known/openid-configuration")
        if found.get("issuer") != self.config.issuer:
            raise InvalidInput(
                f"security.oidc.issuer is {self.config.issuer!r}, but the provider calls itself {found.get('issuer')!r}"
            )
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            require_private_url(f"the provider's {name}", str(found.get(name, "")).partition("?")[0])
        try:
            self._keys = KeySet.import_key_set(self._get(str(found["jwks_uri"])))  # type: ignore[arg-type]
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise InvalidInput(f"the provider's keys can't be used: {error}") from None
        self._found = found

    def _discovered(self) -> Mapping[str, Any]:
        if self._found is None:
            raise Unavailable(f"the provider of identities, {self.config.issuer}, was not reached yet: try again")
        return self._found

    def _person(self, claims: Mapping[str, Any], nonce: str) -> Person:
        config, now_ms = self.config, self._now_ms()
        audience = claims.get("aud")
        audiences = [audience] if isinstance(audience, str) else audience if isinstance(audience, list) else []
        ours = {config.client_id, config.cli_client_id or config.client_id}
        if claims.get("iss") != config.issuer or not ours & {each for each in audiences if isinstance(each, str)}:
            raise NotSignedIn("the ID token is of another provider, or for another application: sign in again")
        if len(audiences) > 1 and claims.get("azp") not in ours:
            raise NotSignedIn("the ID token was given to another application: sign in again")
        expires_at_ms = _ms(claims.get("exp"))
        if now_ms >= expires_at_ms:
            raise NotSignedIn("the ID token has expired: sign in again (guardian login)")
        if max(_ms(claims.get("nbf", 0)), _ms(claims.get("iat", 0))) > now_ms + _LEEWAY_MS:
            raise NotSignedIn("the ID token is of the future: compare this host's clock with the provider's")
        if nonce and not hmac.compare_digest(str(claims.get("nonce", "")), nonce):
            raise NotSignedIn("the ID token belongs to another sign-in: sign in again")
        name, groups = name_in(claims, config.name_claim), groups_in(claims, config.groups_claim)
        return Person(name, groups, expires_at_ms)

    def _get(self, url: str) -> dict[str, Any]:
        try:
            answer = self._client.get(url)
            answer.raise_for_status()
            if len(answer.content) > _MAX_BYTES:
                raise ValueError
            told = answer.json()
            if not isinstance(told, dict):
                raise TypeError
        except (httpx.HTTPError, ValueError, TypeError) as error:
            raise Unavailable(f"{url} gave no answer that can be used ({type(error).__name__})") from None
        return told

    def _keep(self) -> None:
        while not self._stopping.is_set():
            try:
                self.refresh()
                pause_s = _REFRESH_S
            except (Unavailable, InvalidInput, NotSignedIn) as error:
                _log.warning("the provider of identities can't be used", issuer=self.config.issuer, why=str(error))
                pause_s = _RETRY_S
            self._wanted.wait(pause_s)
            self._wanted.clear()
            self._stopping.wait(_RETRY_S)  # whoever sends bad tokens does not decide how often we ask


def _trust(config: OidcConfig) -> ssl.SSLContext | bool:
    if config.ca is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(config.ca))
    except (OSError, ssl.SSLError):
        raise InvalidInput(f"security.oidc.ca {config.ca} can't be used: give a PEM file of authorities") from None


def _challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _ms(value: object) -> int:
    return int(value * 1000) if isinstance(value, int | float) and abs(value) < 1e12 else 0
