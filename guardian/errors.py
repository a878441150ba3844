"""The error tree, split by what the caller can do about it.

    GuardianError
    ├── InvalidInput        fix the input: the message names the field, the value and the fix
    ├── NotFound            the thing named does not exist
    ├── Conflict            somebody else was first: look again, then decide
    ├── ClusterUnavailable  a Kafka cluster can't be reached, or refuses us: fix it or wait
    └── Unavailable         Guardian itself can't answer now: retry

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


class Unavailable(GuardianError):
    """Guardian has no leader, or no member could be reached, within the deadline."""
