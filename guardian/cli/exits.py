"""What a process says by its exit code, for scripts.

A script that tries again on 3, looks first on 4 and stops on all else can't do harm.
"""

from __future__ import annotations

from guardian.errors import Damaged, GuardianError, NotAllowed, NotSignedIn, OutcomeUnknown, Overloaded, Unavailable

DONE = 0
NO = 1
WRONG = 2
NOT_NOW = 3
UNKNOWN = 4
NOT_ALLOWED = 5
DAMAGED = 65
FAILED = 70
INTERRUPTED = 130

MEANINGS: dict[int, str] = {
    DONE: "Done.",
    NO: "The answer is no: the ticket watched did not succeed, --fail or a check found something, or you said no.",
    WRONG: "The request is wrong, or Kafka can't carry it out: fix what the sentence names. Nothing was changed.",
    NOT_NOW: "Guardian can't answer now (no member reached, no leader, overloaded). Nothing was changed: try again.",
    UNKNOWN: "It is not known: nobody looked at what was asked for, or a change may or may not have been made. Look.",
    NOT_ALLOWED: "Not signed in, or not allowed to do this. Nothing was changed.",
    DAMAGED: "Of `guardian server`: what the member stored is damaged. Never start it again on that data: replace it.",
    FAILED: "Of `guardian server`: its disk or its store failed. Never start it again on that data: replace it.",
    INTERRUPTED: "Interrupted by Ctrl-C. What was asked for before goes on.",
}

# The first that fits: OutcomeUnknown is an Unavailable too.
_CODES: tuple[tuple[type[GuardianError], int], ...] = (
    (NotSignedIn, NOT_ALLOWED),
    (NotAllowed, NOT_ALLOWED),
    (OutcomeUnknown, UNKNOWN),
    (Damaged, DAMAGED),
    (Unavailable, NOT_NOW),
    (Overloaded, NOT_NOW),
)


def exit_code_of(error: GuardianError) -> int:
    """Return the exit code of an error that ends a command."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), WRONG)
