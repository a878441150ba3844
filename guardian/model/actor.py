"""Under whom a change is recorded: one of Guardian's own actors, or somebody with a name.

Guardian's own are of a type of their own, in the model and in records: what is told apart by them never looks at a
name. All names of people, programs and certificates pass `require_name` or `require_claimed_name`.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import Enum, StrEnum

from guardian.errors import InvalidInput

MAX_NAME_CHARS = 128


class Agent(StrEnum):
    """Guardian's own actors. Compare with `is`: a person's name that reads the same is none."""

    GUARDIAN = "guardian"
    HEALING = "healing"
    POLICY = "policy"
    EXECUTOR = "executor"
    PLACEMENT = "placement"


class Proof(Enum):
    """How it was proven who somebody is."""

    NONE = "none"  # security is off
    CERTIFICATE = "certificate"
    TOKEN = "token"  # noqa: S105  a word, no secret
    OIDC = "oidc"


@dataclass(frozen=True, slots=True)
class Actor:
    """Somebody by name; Proof.NONE: nobody has proven it, it is what a client says of itself."""

    name: str
    proof: Proof = Proof.NONE


UNKNOWN = Actor("unknown")
# What stands in records for somebody without a name. Without [security] "local" is the name of everybody.
_STANDING_FOR_NOBODY = frozenset({"unknown", "local", "nobody"})
_AGENTS = frozenset(agent.value for agent in Agent)
# Letters that look like others are mixed with them only to deceive (Unicode's UTS 39, "single script").
_LOOKING_LIKE_LATIN = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
# Of Unicode's confusables those that look like letters of the words above, in lower case.
_LOOK_ALIKES = str.maketrans(
    {
        look_alike: letter
        for letter, look_alikes in {
            "a": "\u0430\u03b1\u0251",
            "b": "\u0432\u042c\u044c",
            "c": "\u0441\u03f2\u1d04",
            "d": "\u0501\u217e",
            "e": "\u0435\u0454\u0451\u04bd\u212e",
            "g": "\u0261\u050d\u0581",
            "h": "\u04bb\u0570\u043d",
            "i": "\u0456\u03b9\u0131\u04cf\u00a1",
            "k": "\u043a\u03ba",
            "l": "1|\u04c0\u0399\u05c0\u01c0",
            "m": "\u043c",
            "n": "\u043f\u0578\u057c\u03b7",
            "o": "0\u043e\u03bf\u0585\u0d20\u05e1\u03c3",
            "p": "\u0440\u03c1\u03f1",
            "r": "\u0433\u1d26",
            "t": "\u0442\u03c4",
            "u": "\u0446\u03c5\u057d\u1d1c",
            "w": "\u0461\u051d\u0448",
            "x": "\u0445\u03c7\u00d7",
            "y": "\u0443\u04af\u03b3",
        }.items()
        for look_alike in look_alikes
    }
)


def require_name(field_name: str, name: object) -> str:
    """Return the name that somebody proves, NFKC-folded and trimmed. Raises InvalidInput.

    One that reads like an actor of Guardian's, or like what stands for nobody, is refused.
    """
    folded = require_claimed_name(field_name, name)
    if _skeleton(folded) in _skeletons(_STANDING_FOR_NOBODY):
        raise InvalidInput(f"{field_name} is {folded!r}, which stands for nobody in the audit; use another name")
    return folded


def require_claimed_name(field_name: str, name: object) -> str:
    """Return the name that a client gives itself without [security], folded likewise. Raises InvalidInput."""
    folded = unicodedata.normalize("NFKC", name).strip() if isinstance(name, str) else ""
    if not folded or not folded.isprintable() or len(folded) > MAX_NAME_CHARS:
        raise InvalidInput(f"{field_name} is {str(name)[:MAX_NAME_CHARS]!r}: use up to {MAX_NAME_CHARS} printable ones")
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in folded if letter.isalpha()}
    if "LATIN" in scripts and scripts & _LOOKING_LIKE_LATIN:
        raise InvalidInput(f"{field_name} is {folded!r}, which mixes letters that look alike; use those of one script")
    if reads_as_agent(folded):
        raise InvalidInput(f"{field_name} is {folded!r}, which Guardian calls itself in the audit; use another name")
    return folded


def reads_as_agent(name: str) -> bool:
    """Whether people could take the name for one of Guardian's own actors."""
    return _skeleton(name) in _skeletons(_AGENTS)


def _skeletons(words: frozenset[str]) -> frozenset[str]:
    return frozenset(map(_skeleton, words))


def _skeleton(name: str) -> str:
    """What is alike for names that look alike: no case, no marks, one letter for all that look like it."""
    spread = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    visible = "".join(letter for letter in spread if unicodedata.category(letter) not in ("Mn", "Me", "Cf", "Zs"))
    # I and l look alike, so that both count as l.
    return visible.translate(_LOOK_ALIKES).replace("i", "l")
