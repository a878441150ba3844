"""What a failure is called in Cruise Control's words, and the status it has there. Pure.

    the request itself   400 it is wrong; 401, 403 who asks may not; 404, 405, 501 there is no such endpoint or cluster
    carrying it out      500, whatever failed, with the reason

Clients look no further than that: Strimzi reads the reason of a 500 alone. It knows a broker that is gone by the name
of an exception of Java's in it, and that there is no room for more tasks by Cruise Control's sentence.
"""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from guardian.errors import GuardianError, InvalidInput, NotAllowed, NotFound, NotSignedIn
from guardian.model.wire.status import told_of
from guardian.planning.model import LineFull

_SHOWN_CHARS = 60
_UNKNOWN = "Guardian failed over this request: its log says more, report it as a bug"
_WHO = (NotSignedIn, NotAllowed)
_REQUEST = (InvalidInput, NotFound, *_WHO)


class NoEndpoint(GuardianError):
    """Say that there is no endpoint of this name, or of this method: `status` tells which."""

    def __init__(self, message: str, status: HTTPStatus) -> None:
        super().__init__(message)
        self.status = status


class NoSuchBrokers(InvalidInput):
    """Say that the request names brokers which the cluster does not have."""

    def __init__(self, message: str, brokers: Iterable[int]) -> None:
        super().__init__(message)
        self.brokers = tuple(sorted(brokers))


def status_of(error: BaseException, *, has_begun: bool) -> int:
    """Return the status; `has_begun`: the request was well, and failed as it was carried out."""
    if isinstance(error, NoEndpoint):
        return error.status
    told = _WHO if has_begun else _REQUEST
    return told_of(error).http if isinstance(error, told) else HTTPStatus.INTERNAL_SERVER_ERROR


def reason_of(error: GuardianError) -> str:
    """Return the error's sentence, after what clients look for in one of Cruise Control."""
    if isinstance(error, LineFull):
        return f"There are already {error.active} active user tasks, which has reached the servlet capacity. {error}"
    if not isinstance(error, NoSuchBrokers):
        return str(error)
    sentences = " ".join(f"Broker {broker} does not exist." for broker in error.brokers)
    return f"java.lang.IllegalArgumentException: {sentences} {error}"


def document_of(error: BaseException, method: str, endpoint: str) -> dict[str, Any]:
    """Return the answer; a failure that is none of Guardian's own is told without its words."""
    reason = reason_of(error) if isinstance(error, GuardianError) else _UNKNOWN
    message = f"Error processing {method} request '/{endpoint[:_SHOWN_CHARS]}' due to: '{reason}'."
    return {"version": 1, "stackTrace": "", "errorMessage": message}
