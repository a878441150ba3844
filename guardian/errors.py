"""The error tree, split by what the caller can do about it.

    GuardianError
    ├── InvalidInput        fix the input: the message names the field, the value and the fix
    ├── NotFound            the thing named does not exist
    ├── Conflict            somebody else was first: look again, then decide
    ├── ClusterUnavailable  a Kafka cluster can't be reached, or refuses us: fix it or wait
    │   └── Undecided       its brokers answer, and nobody can say which of them is right: wait for the controllers
    ├── OutOfRange          what was asked for is no longer kept, or not there yet: start from a snapshot
    ├── NotSignedIn         nobody knows who asks: sign in, or show a certificate or token that is still good
    ├── NotAllowed          it is known who asks, and he may not: somebody who may must ask, or give him the role
    ├── Unavailable         Guardian itself can't answer now: retry
    │   ├── OutcomeUnknown  a change may or may not have been made: look, before you ask for it again
    │   └── Damaged         what this member stored is damaged: ask another one, and replace it
    ├── Overloaded          too much is waiting, or the disk is nearly full; nothing changed: retry after the hint
    └── SessionExpired      Guardian forgot the session: whether its unanswered changes were made must be looked up

Each message is one sentence that can be shown to a person as it is.
"""

from __future__ import annotations


class GuardianError(Exception):
    """Anything that Guardian tells its caller in one sentence."""


class InvalidInput(GuardianError):
    """The caller's input is wrong, and stays wrong until the caller changes it."""


class NotFound(GuardianError):
    """The thing that was named does not exist."""


class Conflict(GuardianError):
    """The request does not fit the state that is stored now."""


class ClusterUnavailable(GuardianError):
    """A Kafka cluster did not answer, or refused Guardian's credentials."""


class Undecided(ClusterUnavailable):
    """Brokers of a Kafka cluster answer, but what they say may be stale: the state asked for is unknown."""


class Unavailable(GuardianError):
    """Guardian has no leader, or no member could be reached, within the deadline."""


class OutOfRange(GuardianError):
    """An event id is below the first that is kept, or above the next one."""


class NotSignedIn(GuardianError):
    """There is no proof of who asks, or it is not good (any more). `credential` names the known one that failed; empty:
    none is known by what was shown. `is_attempt` False: nothing was shown."""

    def __init__(self, message: str, *, credential: str = "", is_attempt: bool = True) -> None:
        super().__init__(message)
        self.credential = credential
        self.is_attempt = is_attempt


class NotAllowed(GuardianError):
    """Who asks is known, and his roles do not let him."""


class Overloaded(GuardianError):
    """Nothing changed: too much is waiting, or too little disk is left. `retry_after_ms` is when to try again."""

    def __init__(self, message: str, retry_after_ms: int = 0) -> None:
        super().__init__(message)
        self.retry_after_ms = retry_after_ms


class SessionExpired(GuardianError):
    """The session was not used for too long and is forgotten, with the answers to its changes."""


class Damaged(Unavailable):
    """What a member stored is not what it wrote: it stops, and has to be replaced."""


class OutcomeUnknown(Unavailable):
    """A change may or may not have been made: look, before it is asked for again."""
