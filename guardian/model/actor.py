"""Under whom a change is recorded: one of Guardian's own actors, or somebody with a name.

Guardian's own are of a type of their own, in the model and in records: what is told apart by them never looks at a
name. All names of people, programs and certificates pass `require_name` or `require_claimed_name`.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import lru_cache
from itertools import groupby

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
# Scripts of names in everyday use (Unicode's UAX 31, "recommended scripts"), as the names of characters begin.
_SCRIPTS = frozenset(
    "LATIN GREEK CYRILLIC ARMENIAN GEORGIAN HEBREW ARABIC ARABIC-INDIC EXTENDED THAANA ETHIOPIC DEVANAGARI BENGALI "  # noqa: SIM905
    "GURMUKHI GUJARATI ORIYA TAMIL TELUGU KANNADA MALAYALAM SINHALA THAI LAO TIBETAN MYANMAR KHMER HANGUL HIRAGANA "
    "KATAKANA KATAKANA-HIRAGANA BOPOMOFO CJK IDEOGRAPHIC MODIFIER".split()
)
# Letters that look alike are mixed with Latin ones only to deceive (Unicode's UTS 39, "moderately restrictive").
_LOOKING_LIKE_LATIN = frozenset({"CYRILLIC", "GREEK", "ARMENIAN"})
# ... and others only in words of their own, but for these, and the apostrophes among the modifiers.
_BESIDE_LATIN = frozenset(
    {"LATIN", "CJK", "IDEOGRAPHIC", "HANGUL", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "BOPOMOFO", "MODIFIER"}
)
_HANGUL_FILLERS = "\u115f\u1160"  # to NFKC the others are the same
# What looks like letters of the words above, in lower case unless the capital looks like another one. Latin letters
# with a stroke, a hook and the like, small capitals, and accents need no entry (`_plain`).
LOOK_ALIKES = {
    "a": "\u0430\u03b1\u0251",
    "b": "\u0412\u0392\u0432\u042c\u044c\u03b2\u0185",
    "c": "\u0441\u03f2\u03c2\u1d04",
    "d": "\u0501\u217e\u00f0\u0256",
    "e": "\u0435\u0454\u0451\u04bd\u212e\u03b5\u025b\uab32",
    "g": "9q\u0261\u050d\u0581\u0563\u0566\u018d",
    "h": "\u04bb\u0570\u043d\u041d\u0397\u0572",
    "i": "\u0456\u03b9\u0131\u04cf\u00a1\u0269\ua647",
    "k": "\u043a\u03ba",
    "l": "1|!\u04c0\u0399\u05c0\u01c0\u01c3\u0196\u05d5\u05df\u0627\u0661\u06f1\u0964\u4e28\u1175\u5de5\u30a8",
    "m": "\u043c\u1d0d\u03fb\u028d",
    "n": "\u043f\u0578\u057c\u03b7\u039d\u0438\u05d7",
    "o": (
        "0\u043e\u03bf\u0585\u0d20\u05e1\u03c3\u0b20\u101d\u10ff\u12d0\u0665\u06f5\u0647\u3007\u53e3\u30ed\u110b\u1106"
        "\u0c02\u0c82\u0d02\u0d82"
    ),
    "p": "\u0440\u03c1\u03f1\u00fe\u01bf\u03f8",
    "r": "\u0433\u1d26\uab47\uab48\u01a6",
    "t": "\u0442\u03c4",
    "u": "\u0446\u03c5\u057d\u1d1c\u028a\u028b\u054d\u1200\ua79f",
    "v": "\u03bd\u0475\u06f7",
    "w": "\u0461\u051d\u0448\u026f\u0561\u03c9",
    "x": "\u0445\u03c7\u00d7\ua7b3\u166e",
    "y": "\u03a5\u0443\u04af\u03b3\u10e7\u0263\u04b1\u1d8c",
    "ll": "\u2016\u01c1\u0965",
}
_LETTER_OF = str.maketrans({alike: letter for letter, all_alike in LOOK_ALIKES.items() for alike in all_alike})
# Several letters that look like another one, once i is l.
SEQUENCES = (("rn", "m"), ("cl", "d"), ("vv", "w"))
_LATIN_BASE = re.compile(r"LATIN (?:.* )?([A-Z])(?: BAR)?")
_UNSEEN = frozenset({"Mn", "Me", "Cf", "Zs", "Lm"})
_MIDDLE_DOTS = "\u00b7\u2027\u30fb\u0387"


def require_name(field_name: str, name: object) -> str:
    """Return the name that somebody proves, NFKC-folded and trimmed. Raises InvalidInput.

    One that reads like an actor of Guardian's, or like what stands for nobody, is refused.
    """
    folded = require_claimed_name(field_name, name)
    if _reads_as_one_of(folded, _STANDING_FOR_NOBODY):
        raise InvalidInput(f"{field_name} is {folded!r}, which stands for nobody in the audit; use another name")
    return folded


def require_claimed_name(field_name: str, name: object) -> str:
    """Return the name that a client gives itself without [security], folded likewise. Raises InvalidInput."""
    folded = unicodedata.normalize("NFKC", name).strip() if isinstance(name, str) else ""
    if not folded or not folded.isprintable() or len(folded) > MAX_NAME_CHARS:
        raise InvalidInput(f"{field_name} is {str(name)[:MAX_NAME_CHARS]!r}: use up to {MAX_NAME_CHARS} printable ones")
    _require_letters(field_name, folded)
    if reads_as_agent(folded):
        raise InvalidInput(f"{field_name} is {folded!r}, which Guardian calls itself in the audit; use another name")
    return folded


def reads_as_agent(name: str) -> bool:
    """Return whether people could take the name for one of Guardian's own actors."""
    return _reads_as_one_of(name, _AGENTS)


def _require_letters(field_name: str, name: str) -> None:
    """Raises InvalidInput where the name has what no name needs, or mixes letters that look alike."""
    for letter in name:
        if not letter.isascii() and not _is_of_names(letter):
            described = f"U+{ord(letter):04X} {unicodedata.name(letter, '')}".rstrip()
            raise InvalidInput(f"{field_name} is {name!r}, which has {described}; use letters, digits and punctuation")
    words = [frozenset(map(_script, word)) - {""} for is_word, word in groupby(name, _is_of_words) if is_word]
    scripts = frozenset[str]().union(*words)
    is_mixed = any("LATIN" in word and word - _BESIDE_LATIN for word in words)
    if is_mixed or ("LATIN" in scripts and scripts & _LOOKING_LIKE_LATIN):
        raise InvalidInput(f"{field_name} is {name!r}, which mixes letters that look alike; use those of one script")


def _is_of_names(letter: str) -> bool:
    """Return whether names of people, programs or certificates may need it: no symbol, no blank, no rare script."""
    kind = unicodedata.category(letter)[0]
    if kind in "LN":
        return unicodedata.name(letter, "").partition(" ")[0] in _SCRIPTS and letter not in _HANGUL_FILLERS
    return kind != "S"


def _is_of_words(letter: str) -> bool:
    return unicodedata.category(letter)[0] in "LMN"


def _script(letter: str) -> str:
    """Return the script of a letter, or of a digit or a mark that is a script's own; empty: it is of all."""
    script = unicodedata.name(letter, "").partition(" ")[0]
    return script if letter.isalpha() or (script in _SCRIPTS and not letter.isascii()) else ""


def _reads_as_one_of(name: str, words: frozenset[str]) -> bool:
    skeleton = _skeleton(name)
    # "ii" is a u to a quick eye, and in "healing" it is none.
    return not _joined(words).isdisjoint({_join(skeleton), _join(skeleton.replace("ll", "u"))})


@lru_cache
def _joined(words: frozenset[str]) -> frozenset[str]:
    return frozenset(_join(_skeleton(word)) for word in words)


def _join(skeleton: str) -> str:
    """Return the skeleton with one letter for several that look like it; nobody counts the l in a row."""
    for several, one in SEQUENCES:
        skeleton = skeleton.replace(several, one)
    return re.sub("l+", "l", skeleton)


def _skeleton(name: str) -> str:
    """Return what is alike for names that look alike: no case, no marks, one letter for all that look like it."""
    # Capitals first: some of them look like another letter than the small one does.
    capitals = "".join(map(_plain, _visible(unicodedata.normalize("NFKC", name)))).translate(_LETTER_OF)
    small = "".join(map(_plain, _visible(capitals.casefold()))).translate(_LETTER_OF)
    # I and l look alike, so that both count as l.
    return small.replace("i", "l")


def _visible(text: str) -> str:
    spread = unicodedata.normalize("NFKD", text)
    return "".join(
        letter for letter in spread if unicodedata.category(letter) not in _UNSEEN and letter not in _MIDDLE_DOTS
    )


@lru_cache(maxsize=4096)
def _plain(letter: str) -> str:
    """Return the letter without strokes and hooks: "LATIN SMALL LETTER H WITH STROKE" is an h, a small capital too."""
    if letter.isascii() or ord(letter) in _LETTER_OF:
        return letter
    if unicodedata.category(letter) == "Nd" and unicodedata.digit(letter) <= 1:
        return str(unicodedata.digit(letter))
    base, has_more, _ = unicodedata.name(letter, "").partition(" WITH ")
    latin = _LATIN_BASE.fullmatch(base)
    if latin:
        return latin[1].lower()
    try:
        return unicodedata.lookup(base) if has_more else letter
    except KeyError:
        return letter
