"""What travels beside a gRPC message, in its headers and trailers.

request header   guardian-session-bin       a serialised SessionRef: makes the change exactly-once (sessions.proto)
request header   guardian-max-staleness-ms  a read may be answered from the member's own state, if that is no older
request header   guardian-actor             who asks, for the audit; a request with a field of its own needs none
trailer          guardian-staleness-ms      how old what was read may be; 0: linearizable
trailer          guardian-error             the class of guardian.errors: more exact than the status code
trailer          retry-after-ms             with RESOURCE_EXHAUSTED: when to try again
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf.message import DecodeError

from guardian.errors import InvalidInput
from protos.guardian.v1.sessions_pb2 import SessionRef

SESSION = "guardian-session-bin"
MAX_STALENESS_MS = "guardian-max-staleness-ms"
ACTOR = "guardian-actor"
STALENESS_MS = "guardian-staleness-ms"
ERROR = "guardian-error"
RETRY_AFTER_MS = "retry-after-ms"

_MAX_ACTOR_CHARS = 128
_MAX_STALENESS_DIGITS = 12

Metadata = Iterable[Any]  # pairs of a key and a value, for which grpc has more than one type


def session_in(metadata: Metadata | None) -> SessionRef | None:
    """The session that a request's headers name, or None. Raises InvalidInput when it is none."""
    value = _value(metadata, SESSION)
    if value is None:
        return None
    try:
        session = SessionRef.FromString(value if isinstance(value, bytes) else value.encode())
    except DecodeError:
        raise InvalidInput(f"{SESSION} is no serialised SessionRef: open a session and send its reference") from None
    if not session.id or not session.sequence:
        raise InvalidInput(
            f"{SESSION} has id {session.id} and sequence {session.sequence}: "
            "use the id that OpenSession gave, and number changes from 1"
        )
    return session


def max_staleness_s_in(metadata: Metadata | None) -> float | None:
    """Seconds, or None for a linearizable read. Raises InvalidInput when it is no number."""
    value = _text(metadata, MAX_STALENESS_MS)
    if value is None:
        return None
    if not (value.isascii() and value.isdecimal()) or len(value) > _MAX_STALENESS_DIGITS:
        raise InvalidInput(f"{MAX_STALENESS_MS} is {value!r}: use milliseconds, as 2000")
    return int(value) / 1000


def actor_in(metadata: Metadata | None) -> str:
    """Return who asks; empty when it is not said. Raises InvalidInput for what could not be shown to people."""
    value = _text(metadata, ACTOR) or ""
    if len(value) > _MAX_ACTOR_CHARS or not value.isprintable():
        raise InvalidInput(
            f"{ACTOR} is {value[:_MAX_ACTOR_CHARS]!r}: use up to {_MAX_ACTOR_CHARS} printable characters"
        )
    return value


def retry_after_ms_in(metadata: Metadata | None) -> int:
    """Milliseconds; 0 when there is no hint."""
    value = _text(metadata, RETRY_AFTER_MS) or "0"
    return int(value) if value.isascii() and value.isdecimal() else 0


def staleness_s_in(metadata: Metadata | None) -> float:
    """Seconds; 0 when the answer does not say, as a linearizable one."""
    value = _text(metadata, STALENESS_MS) or "0"
    return int(value) / 1000 if value.isascii() and value.isdecimal() else 0.0


def error_in(metadata: Metadata | None) -> str:
    """The name of the error's class; empty when the answer does not come from Guardian's own code."""
    return _text(metadata, ERROR) or ""


def _text(metadata: Metadata | None, key: str) -> str | None:
    value = _value(metadata, key)
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _value(metadata: Metadata | None, key: str) -> str | bytes | None:
    found: str | bytes | None = next((value for name, value in metadata or () if name == key), None)
    return found
