"""Who asks: what was shown is proven here, and becomes an identity with what the roles file grants now.

    x-guardian-actor      a member speaks for a person: sealed by the members' own key
    Authorization         Bearer gdn_...: a token of the tokens file; Bearer eyJ...: an ID token of the OIDC provider;
                          Basic name:token or Basic :token: at HTTP, where programs ask that know nothing else
    a client certificate  that TLS has verified: its first DNS name, or its common name; its URIs broker:CLUSTER/ID are
                          the brokers that it may speak for

The first that is there must be good: nobody falls back to being somebody else.
"""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from guardian.errors import InvalidInput, NotSignedIn
from guardian.model.actor import Actor, Proof, require_name
from guardian.security.model.identity import Grant, Identity, Role, brokers_in
from guardian.security.rules.ended_sessions import EndedSessions
from guardian.security.rules.sealing import seal, unseal, until_of
from guardian.security.rules.tokens import PREFIX, Token, find_token, require_fresh
from guardian.security.service.watched_file import WatchedFile

ACTING = "x-guardian-actor"
AUTHORIZATION = "authorization"
SESSION_COOKIE = "guardian_session"
_ACTING_MS = 300_000  # members' clocks differ
_ACTING = "word of a member"
_SESSION = "session"
_MEMBER = "member"
_MAX_HEADER_CHARS = 16_384
_MAX_NAME_CHARS = 100
_MAX_COOKIE_CHARS = 4096  # browsers drop longer ones without a word


class Certificate(Protocol):
    """What a certificate says of its holder (guardian.security.certificates.facts)."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def uris(self) -> tuple[str, ...]: ...

    @property
    def not_after_ms(self) -> int: ...


class RolesNow(Protocol):
    """Who has which role at this moment (guardian.security.model.roles)."""

    def identity(self, name: str, proof: Proof, groups: tuple[str, ...] = ()) -> Identity: ...

    def signed_out_at_ms(self, identity: Identity) -> int: ...


class RolesSource(Protocol):
    """Where the roles are read (guardian.security.service.roles)."""

    def current(self) -> RolesNow:
        """Raises NotSignedIn when they can't be used."""


class EndedEverywhere(Protocol):
    """Which sessions were ended on any member (guardian.security.store)."""

    def end(self, cookie: str, until_ms: int, who: Actor) -> None:
        """Raises GuardianError where the group does not take it."""

    def has(self, cookie: str, until_ms: int) -> bool: ...


class IdTokens(Protocol):
    """Who an OIDC provider says that somebody is (guardian.security.service.oidc)."""

    def person(self, id_token: str, nonce: str = "") -> Person:
        """Raises NotSignedIn when the provider did not make it, for us, or its time is over."""


@dataclass(frozen=True, slots=True)
class Person:
    """As a provider of identities tells it."""

    name: str
    groups: tuple[str, ...] = ()
    expires_at_ms: int = 0


class Prover:
    """Any thread may ask. `tokens`, `id_tokens` and `ended_everywhere` are None where there are none."""

    def __init__(
        self,
        roles: RolesSource,
        tokens: WatchedFile[tuple[Token, ...]] | None,
        key: bytes,
        now_ms: Callable[[], int],
        id_tokens: IdTokens | None = None,
        ended_everywhere: EndedEverywhere | None = None,
    ) -> None:
        self._ended_everywhere = ended_everywhere
        self._roles = roles
        self._tokens = tokens
        self._key = key
        self._now_ms = now_ms
        self._id_tokens = id_tokens
        self._ended = EndedSessions()
        self._ended_lock = threading.Lock()

    def of_call(self, metadata: Iterable[tuple[str, str | bytes]], certificate: Certificate | None) -> Identity:
        """Find out who makes a gRPC call, with what TLS has verified. Raises NotSignedIn."""
        headers = {key: _text(value) for key, value in metadata if key in (ACTING, AUTHORIZATION)}
        if ACTING in headers:
            return self._acting(headers[ACTING])
        if AUTHORIZATION in headers:
            return self.of_authorization(headers[AUTHORIZATION])
        if certificate is not None and certificate.names:
            return self._of_certificate(certificate)
        raise NotSignedIn(
            "nobody knows who asks: show a token (guardian login, GUARDIAN_TOKEN_FILE) or a client certificate",
            is_attempt=False,
        )

    def _of_certificate(self, certificate: Certificate) -> Identity:
        try:
            name = require_name("the certificate's name", certificate.names[0])
            brokers = brokers_in(certificate.uris)
        except InvalidInput as error:
            raise NotSignedIn(str(error)) from None
        return replace(self._identity(name, Proof.CERTIFICATE, until_ms=certificate.not_after_ms), brokers=brokers)

    def of_authorization(self, header: str, *, takes_basic: bool = False) -> Identity:
        """Find out who sends this header. Raises NotSignedIn."""
        kind, _, rest = header.partition(" ")
        user, presented = "", rest.strip()
        if len(header) > _MAX_HEADER_CHARS:
            raise NotSignedIn("the header Authorization is too long to be a token of ours")
        if kind.lower() == "basic" and takes_basic:
            user, presented = _user_and_password(presented)
        elif kind.lower() == "basic":
            raise NotSignedIn("Authorization: Basic is for programs, at REST and Cruise Control routes: send Bearer")
        elif kind.lower() != "bearer":
            raise NotSignedIn("the header Authorization is neither Bearer nor Basic: send Bearer and a token")
        identity = self._of_token(presented)
        if user not in ("", identity.name):
            raise NotSignedIn(
                f"the user of Basic is {user[:_MAX_NAME_CHARS]!r}, and the token is of {identity.name}: "
                "give that name, or none",
                credential=identity.name,
            )
        return identity

    def _of_token(self, presented: str) -> Identity:
        if presented.startswith(PREFIX):
            token = self.token(presented)
            return self._identity(token.name, Proof.TOKEN, until_ms=token.expires_at_ms)
        if self._id_tokens is None:
            raise NotSignedIn("the token is none of Guardian's: ask an admin for one (guardian token create)")
        person = self._id_tokens.person(presented)
        return self._identity(person.name, Proof.OIDC, person.groups, person.expires_at_ms)

    def token(self, presented: str) -> Token:
        """The stored token that this text is. Raises NotSignedIn."""
        if self._tokens is None:
            raise NotSignedIn("this member has no tokens file, so that no token is good: sign in another way")
        return find_token(self._tokens.current(), presented, self._now_ms())

    def session_of_text(self, presented: str, until_ms: int) -> str:
        """A cookie for whoever typed this token: one of Guardian's, or a provider's. Raises NotSignedIn."""
        if presented.startswith(PREFIX):
            return self.session_of_token(self.token(presented), until_ms)
        if self._id_tokens is None:
            raise NotSignedIn("the token is none of Guardian's: ask an admin for one (guardian token create)")
        person = self._id_tokens.person(presented)
        return self.session_of_person(person, min(until_ms, person.expires_at_ms))

    def session_of_token(self, token: Token, until_ms: int) -> str:
        """A cookie for whoever came with the token; good no longer than the token."""
        until_ms = min(until_ms, token.expires_at_ms) if token.expires_at_ms else until_ms
        value = {
            "name": token.name,
            "proof": Proof.TOKEN.value,
            "token": token.id,
            "hash": token.hash,
            "at": self._now_ms(),
        }
        return seal(self._key, _SESSION, value, until_ms)

    def session_of_person(self, person: Person, until_ms: int) -> str:
        """Return a cookie for whom the provider has told us of. Raises NotSignedIn when his groups do not fit."""
        value = {"name": person.name, "proof": Proof.OIDC.value, "groups": list(person.groups), "at": self._now_ms()}
        session = seal(self._key, _SESSION, value, until_ms)
        if len(f"{SESSION_COOKIE}={session}") > _MAX_COOKIE_CHARS:
            raise NotSignedIn(
                f"session of {person.name}: longer than a browser's cookie may be (got {len(person.groups)} groups); "
                "let the provider send only those that the roles file names",
                credential=person.name,
            )
        return session

    def of_session(self, cookie: str) -> Identity:
        """Return who holds the session. Raises NotSignedIn when it is over, the token that it came from is, or he was
        signed out.
        """
        value = unseal(self._key, _SESSION, cookie, self._now_ms())
        identity = replace(self._of_session(value), until_ms=until_of(cookie))
        if self._is_ended(cookie):
            raise NotSignedIn(
                f"this session of {identity.name} was signed out: sign in again", credential=identity.name
            )
        if _whole(value.get("at")) <= self._roles.current().signed_out_at_ms(identity):
            raise NotSignedIn(
                f"the sessions of {identity.name} were ended by an admin: sign in again", credential=identity.name
            )
        return identity

    def end_session(self, cookie: str) -> None:
        """Let a session be good no longer on all members, with all that is open by it. One that is no good stays so.

        Raises GuardianError where the others can't be told: then it is over at this member only."""
        try:
            identity = self.of_session(cookie)
        except NotSignedIn:
            return
        with self._ended_lock:
            self._ended.end(cookie, until_of(cookie), self._now_ms())
        if self._ended_everywhere is not None:
            self._ended_everywhere.end(cookie, until_of(cookie), Actor(identity.name, identity.proof))

    def _is_ended(self, cookie: str) -> bool:
        with self._ended_lock:
            is_ended_here = self._ended.has(cookie)
        elsewhere = self._ended_everywhere
        return is_ended_here or (elsewhere is not None and elsewhere.has(cookie, until_of(cookie)))

    def _of_session(self, value: Mapping[str, object]) -> Identity:
        if value["proof"] == Proof.TOKEN.value:
            known = self._tokens.current() if self._tokens is not None else ()
            token = next((each for each in known if (each.id, each.hash) == (value["token"], value["hash"])), None)
            if token is None:
                raise NotSignedIn(
                    "the token of this session was revoked: sign in again", credential=f"token {value['token']}"
                )
            require_fresh(token, self._now_ms())
            return self._identity(token.name, Proof.TOKEN)
        return self._identity(str(value["name"]), Proof.OIDC, _groups(value))

    def acting_for(self, identity: Identity) -> str:
        """Return the sealed header by which this member tells another one who asks."""
        value = {"name": identity.name, "proof": identity.proof.value, "groups": list(identity.groups)}
        return seal(self._key, _ACTING, value, self._now_ms() + _ACTING_MS)

    def acting_for_itself(self) -> str:
        """The same where the member itself asks: it may look at everything."""
        return seal(self._key, _ACTING, {"name": _MEMBER, "proof": _MEMBER}, self._now_ms() + _ACTING_MS)

    def _acting(self, sealed: str) -> Identity:
        value = unseal(self._key, _ACTING, sealed, self._now_ms())
        if value["proof"] == _MEMBER:
            return Identity("guardian", (Grant(Role.VIEWER),))
        return self._identity(str(value["name"]), Proof(value["proof"]), _groups(value))

    def _identity(self, name: str, proof: Proof, groups: tuple[str, ...] = (), until_ms: int = 0) -> Identity:
        return replace(self._roles.current().identity(name, proof, groups), until_ms=until_ms)


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _groups(value: Mapping[str, object]) -> tuple[str, ...]:
    groups = value.get("groups", [])
    return tuple(str(group) for group in groups) if isinstance(groups, list) else ()


def _user_and_password(encoded: str) -> tuple[str, str]:
    try:
        user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
        return user, password
    except (binascii.Error, ValueError):
        raise NotSignedIn("the header Authorization: Basic is damaged: send the token as the password") from None


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
