"""What a gRPC failure means to whoever called: one of guardian.errors, and whether the call may have had an effect."""

from __future__ import annotations

import grpc

from guardian.errors import GuardianError, InvalidInput, OutcomeUnknown, Overloaded, Unavailable
from guardian.model.wire import metadata
from guardian.model.wire.status import kind_of

_BY_NUMBER = {int(code.value[0]): code for code in grpc.StatusCode}
# What the library says when it could not even open a connection, so that nothing was sent.
_NEVER_SENT = "failed to connect to all addresses"
# What it says, on either side, with RESOURCE_EXHAUSTED: sending the same again would not help.
_TOO_LARGE = "message larger than max"
# What it says when the server's own code raised something that is none of guardian.errors: so would another member's.
_BUGS = ("Exception calling application", "Exception iterating", "Unexpected <class")


def from_rpc(error: grpc.RpcError) -> GuardianError:
    """Unavailable only when the call certainly had no effect; OutcomeUnknown when a change may have been made."""
    status, details = error.code(), error.details() or error.code().name
    trailers = error.trailing_metadata()
    kind = kind_of(status)
    if kind is Overloaded:
        if _TOO_LARGE in details:
            return InvalidInput(f"the message is too large ({details}): send less at a time")
        return Overloaded(details, metadata.retry_after_ms_in(trailers))
    if kind is not None:
        return kind(details)
    if details.startswith(_BUGS):
        return GuardianError(f"Guardian failed over this request, report it as a bug: {details}")
    certain = (
        metadata.error_in(trailers) == Unavailable.__name__
        or details.startswith(_NEVER_SENT)
        or status is grpc.StatusCode.UNIMPLEMENTED  # a member of another version
    )
    return Unavailable(_with_hint(details)) if certain else OutcomeUnknown(details)


def is_from_member(error: grpc.RpcError) -> bool:
    """Return whether Guardian's own code gave this answer: a member was reached, and has said why it can't."""
    return bool(metadata.error_in(error.trailing_metadata()))


def _with_hint(details: str) -> str:
    """Add what a person may do about a connection that did not come about. The library tells no more of a member that
    refuses a certificate, or wants one, than that it hung up.
    """
    if not details.startswith(_NEVER_SENT):
        return details
    if "handshake failed" in details:
        return f"{details}; does the member speak TLS, and is --ca its authority?"
    if "Socket closed" in details:
        return f"{details}; if the member speaks TLS, give --ca, --certificate and --key that are still good"
    return details


def from_code(code: int, details: str, retry_after_ms: int) -> GuardianError:
    """The same for a refusal inside a stream, where a number stands for the status."""
    kind = kind_of(_BY_NUMBER.get(code, grpc.StatusCode.UNKNOWN))
    if kind is Overloaded:
        return Overloaded(details, retry_after_ms)
    return kind(details) if kind is not None else OutcomeUnknown(details)


def is_worth_another_member(error: GuardianError) -> bool:
    """Return whether another attempt may end better: the member is gone, has no leader, or has too much to do."""
    return isinstance(error, Unavailable | Overloaded)
