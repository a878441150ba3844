"""Errors of guardian.errors as gRPC status codes.

InvalidInput        INVALID_ARGUMENT      OutOfRange           OUT_OF_RANGE
NotFound            NOT_FOUND             Overloaded           RESOURCE_EXHAUSTED
Conflict            ABORTED               SessionExpired       DATA_LOSS (nothing else is answered with it)
ClusterUnavailable  FAILED_PRECONDITION   NotSignedIn          UNAUTHENTICATED
NotAllowed          PERMISSION_DENIED     all others           UNAVAILABLE
"""

from __future__ import annotations

import grpc

from guardian.errors import (
    ClusterUnavailable,
    Conflict,
    GuardianError,
    InvalidInput,
    NotAllowed,
    NotFound,
    NotSignedIn,
    OutOfRange,
    Overloaded,
    SessionExpired,
)

_STATUS: dict[type[GuardianError], grpc.StatusCode] = {
    InvalidInput: grpc.StatusCode.INVALID_ARGUMENT,
    NotFound: grpc.StatusCode.NOT_FOUND,
    Conflict: grpc.StatusCode.ABORTED,
    ClusterUnavailable: grpc.StatusCode.FAILED_PRECONDITION,
    OutOfRange: grpc.StatusCode.OUT_OF_RANGE,
    Overloaded: grpc.StatusCode.RESOURCE_EXHAUSTED,
    SessionExpired: grpc.StatusCode.DATA_LOSS,
    NotSignedIn: grpc.StatusCode.UNAUTHENTICATED,
    NotAllowed: grpc.StatusCode.PERMISSION_DENIED,
}

# A status travels in a header, and gRPC drops the whole answer when its headers are over 8 KiB; percent-encoding makes
# up to three bytes of one.
_MAX_DETAIL_BYTES = 2000


def status_of(error: Exception) -> grpc.StatusCode:
    """What the client may conclude; UNAVAILABLE for what is no GuardianError."""
    return next((code for kind, code in _STATUS.items() if isinstance(error, kind)), grpc.StatusCode.UNAVAILABLE)


def sentence_of(error: Exception) -> str:
    """The error's sentence, cut to what a status can carry."""
    sentence = str(error)
    encoded = sentence.encode(errors="replace")
    if len(encoded) <= _MAX_DETAIL_BYTES:
        return sentence
    return encoded[:_MAX_DETAIL_BYTES].decode(errors="ignore") + "..."
