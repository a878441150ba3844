"""What each error of guardian.errors is called where it leaves a process: by gRPC, by HTTP, and by REST's problems.

The one table of it: members answer by it, the client makes errors of answers again, the REST API and the console tell
programs and browsers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import grpc

from guardian.errors import (
    ClusterUnavailable,
    Conflict,
    Damaged,
    GuardianError,
    InvalidInput,
    NotAllowed,
    NotFound,
    NotSignedIn,
    OutcomeUnknown,
    OutOfRange,
    Overloaded,
    SessionExpired,
    Unavailable,
    Undecided,
)

_Code = grpc.StatusCode


@dataclass(frozen=True, slots=True)
class Told:
    """`name` is for programs: urn:guardian:NAME."""

    code: grpc.StatusCode
    http: int
    name: str


# Classes that others are made of come last. DATA_LOSS answers nothing else.
TOLD: Mapping[type[GuardianError], Told] = MappingProxyType(
    {
        InvalidInput: Told(_Code.INVALID_ARGUMENT, 400, "invalid-input"),
        NotSignedIn: Told(_Code.UNAUTHENTICATED, 401, "not-signed-in"),
        NotAllowed: Told(_Code.PERMISSION_DENIED, 403, "not-allowed"),
        NotFound: Told(_Code.NOT_FOUND, 404, "not-found"),
        Conflict: Told(_Code.ABORTED, 409, "conflict"),
        SessionExpired: Told(_Code.DATA_LOSS, 409, "session-expired"),
        OutOfRange: Told(_Code.OUT_OF_RANGE, 410, "out-of-range"),
        Overloaded: Told(_Code.RESOURCE_EXHAUSTED, 429, "overloaded"),
        # Who knows the code alone takes it for the error that it is a kind of.
        Undecided: Told(_Code.FAILED_PRECONDITION, 503, "undecided"),
        ClusterUnavailable: Told(_Code.FAILED_PRECONDITION, 502, "cluster-unavailable"),
        OutcomeUnknown: Told(_Code.UNAVAILABLE, 504, "outcome-unknown"),
        Damaged: Told(_Code.UNAVAILABLE, 503, "damaged"),
        Unavailable: Told(_Code.UNAVAILABLE, 503, "unavailable"),
    }
)
# UNAVAILABLE leaves open which of several it is; what else comes with it tells.
_BY_CODE: dict[grpc.StatusCode, type[GuardianError]] = {
    told.code: kind for kind, told in TOLD.items() if told.code is not _Code.UNAVAILABLE
}
_OTHERS = Told(_Code.UNAVAILABLE, 500, "internal")

# A status travels in a header, and gRPC drops the whole answer when its headers are over 8 KiB; percent-encoding makes
# up to three bytes of one.
_MAX_DETAIL_BYTES = 2000


def told_of(error: Exception) -> Told:
    """Return what the error is called. What is no GuardianError is UNAVAILABLE by gRPC, since another member may
    answer, and 500 by HTTP.
    """
    return next((told for kind, told in TOLD.items() if isinstance(error, kind)), _OTHERS)


def status_of(error: Exception) -> grpc.StatusCode:
    """Return the status code from which the client may conclude what to do."""
    return told_of(error).code


def kind_of(code: grpc.StatusCode) -> type[GuardianError] | None:
    """The error that a code stands for; None where it alone does not tell."""
    return _BY_CODE.get(code)


def sentence_of(error: Exception) -> str:
    """The error's sentence, cut to what a status can carry."""
    sentence = str(error)
    encoded = sentence.encode(errors="replace")
    if len(encoded) <= _MAX_DETAIL_BYTES:
        return sentence
    return encoded[:_MAX_DETAIL_BYTES].decode(errors="ignore") + "..."
