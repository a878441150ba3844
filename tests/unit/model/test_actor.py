"""Names: what people could take for one of Guardian's own actors is nobody's."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.model import actor
from guardian.model.actor import Agent, require_claimed_name, require_name

LOOK_ALIKES = [
    "healing",
    "Healing",
    "HEALING",
    "healing ",
    "\theaLing\u00a0",
    "\uff48\uff45\uff41\uff4c\uff49\uff4e\uff47",  # fullwidth
    "\U0001d4f1\U0001d4ee\U0001d4ea\U0001d4f5\U0001d4f2\U0001d4f7\U0001d4f0",  # mathematical script
    "h\u0435aling",  # Cyrillic ie
    "he\u0430ling",  # Cyrillic a
    "hea\u04cfing",  # palochka
    "heal\u0456ng",  # Ukrainian i
    "heal\u0131ng",  # dotless i
    "hea1ing",
    "heaIing",
    "heali\u0301ng",  # a mark above
    "h\u00e9aling",
    "heal\u200bing",  # zero width space
    "heal\u00ading",  # soft hyphen
    "\u202ehealing",  # right-to-left override
    "exec\u03c5tor",  # Greek upsilon
    "p\u043elicy",
    "\u0440\u043e\u04cf\u0456\u0441\u0443",  # policy, all in Cyrillic
    "placement",
    "p1acement",
    "guard\u0456an",
    "Guardian",
    "\u029c\u1d07\u1d00\u029f\u026a\u0274\u0262",  # small capitals
    "".join(chr(0x1F170 + ord(letter) - ord("A")) for letter in "HEALING"),  # squared
    "\ua4d6\ua4f4\ua4ee\ua4e3\ua4d3\ua4f2\ua4ee\ua4e0",  # guardian, all in Lisu
    "healing\u3164",  # Hangul filler
    "\u115fhealing",
    "heal\u1160ing",
    "heal\uffa0ing",
    "heal\u2800ing",  # Braille blank
    "heal\u034fing",  # combining grapheme joiner
    "healing\ufe0f",  # variation selector
    "placernent",
    "guarclian",
    "giiardian",
    "execiitor",
    "heallng",
    "healling",
    "healiing",
    "\u0127ealing",  # a stroke through the h
    "guar\u0111ian",
    "h\u0247aling",
    "\u13bb\u13ac\u13aa\u13de\u13c6\u2115\u13c0",  # Cherokee
    "\u157c\u142f\u15e9\u14aa",  # Canadian syllabics
    "hea\u05dfing",  # Hebrew nun
    "hea\u0627ing",  # Arabic alef
    "hea\u0661ing",  # Arabic one
    "p\u0d20licy",
    "p\u0d02licy",
    "hea\u4e28ing",  # a stroke of Han
    "hea\u3163ing",  # a vowel of Hangul
    "healin9",
    "quardian",
    "hea|ing",
]
LETTERS = {unicodedata.name(letter, ""): letter for letter in map(chr, range(0x80, 0xAC00))}
LATIN = {name: letter for name, letter in LETTERS.items() if "LATIN" in name and " WITH SMALL LETTER" not in name}
ORDINARY = [
    "ann",
    "Ann O'Brien",
    "Jos\u00e9 \u00c1lvarez",
    "\u0141ukasz \u017b\u00f3\u0142\u0107",
    "S\u00f8ren \u00c6gir",
    "J\u00fcrgen Gro\u00dfmann",
    "\u0130brahim Y\u0131ld\u0131z",
    "Nguy\u1ec5n V\u0103n An",
    "Kalani\u02bbopu\u02bbu",
    "\u0410\u043d\u043d\u0430 \u041a\u0443\u0437\u043d\u0435\u0446\u043e\u0432\u0430",
    "\u041c\u0430\u0440'\u044f\u043d\u0430 \u0407\u0436\u0430\u043a",
    "\u0393\u03b9\u03ce\u03c1\u03b3\u03bf\u03c2",
    "\u0531\u0580\u0561\u0574",
    "\u10d2\u10d8\u10dd\u10e0\u10d2\u10d8",
    "\u05d3\u05d5\u05d3 \u05db\u05d4\u05df",
    "\u0645\u062d\u0645\u062f \u0639\u0644\u064a",
    "\u067e\u0631\u06cc\u0633\u0627 \u06f1\u06f2",
    "\u0905\u0928\u093f\u0932 \u0915\u0941\u092e\u093e\u0930",
    "\u0985\u09a8\u09c0\u09a4\u09be",
    "\u0ba4\u0bae\u0bbf\u0bb4\u0bcd",
    "\u0e2a\u0e21\u0e0a\u0e32\u0e22",
    "\uae40\ubbfc\uc900",
    "\u7530\u4e2d\u592a\u90ce",
    "\u4f50\u3005\u6728 taro",
    "\u845b\U000e0100\u57ce",  # as people of that name write it, with a variation selector
    "\u30b8\u30a7\u30fc\u30f3",
    "\u738b\u5c0f\u660e (Ming)",
    "\u1270\u1235\u134b\u12ec",
    "ann@example.net",
    "first.last+kafka@mail.example.com",
    "CN=ann,OU=Streaming,O=Example \u2013 Z\u00fcrich,C=CH",
    "CN=kafka-1.example.net",
    "ci-bot",
    "svc_kafka_deploy",
    "system:serviceaccount:kafka:guardian-operator",
    "certificate:ops-1",
    "Hea Ung",
    "Guardianne",
    "policy-team",
    "Clara Arnold",
    "William Navvab",
    "ill-will",
    "a=b <c> ~d^e`",
]


@pytest.mark.parametrize("name", LOOK_ALIKES, ids=ascii)
def test_a_name_that_reads_like_guardians_own_is_refused_everywhere(name: str) -> None:
    for require in (require_name, require_claimed_name):
        with pytest.raises(InvalidInput, match=r"^name is "):
            require("name", name)


@pytest.mark.parametrize("name", ["unknown", "Local", "n\u043ebody", "\u217c\u043e\u0441\u0430\u217c"], ids=ascii)
def test_nobody_proves_a_name_that_stands_for_nobody(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"^name is "):
        require_name("name", name)


@pytest.mark.parametrize("name", ["", "   ", "\u00a0", "a\nb", "x" * 129, "x\u0000", None, 7])
def test_what_is_no_name_is_refused(name: object) -> None:
    with pytest.raises(InvalidInput, match="printable"):
        require_name("name", name)


def test_letters_of_two_scripts_that_look_alike_are_not_mixed() -> None:
    with pytest.raises(InvalidInput, match="mixes letters that look alike"):
        require_name("name", "\u0430nn")
    with pytest.raises(InvalidInput, match="mixes letters that look alike"):
        require_name("name", "\u03bfscar@example.net")


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        (" ann ", "ann"),
        ("\uff41\uff4e\uff4e", "ann"),
        ("Ann", "Ann"),
        ("Зоя", "Зоя"),
        ("Ωmega".replace("mega", "\u03bc\u03ad\u03b3\u03b1"), "Ωμέγα"),
        ("Jose\u0301", "José"),
        ("田中 taro", "田中 taro"),
        ("kafka-1.example.net", "kafka-1.example.net"),
        ("healer", "healer"),
        ("self-healing", "self-healing"),
        ("ann@guardian.example", "ann@guardian.example"),
    ],
)
def test_names_of_people_are_folded_and_trimmed(name: str, folded: str) -> None:
    assert require_name("name", name) == require_claimed_name("name", name) == folded


@pytest.mark.parametrize("name", ORDINARY, ids=ascii)
def test_ordinary_names_stay_names(name: str) -> None:
    folded = unicodedata.normalize("NFKC", name)
    assert require_name("name", name) == require_claimed_name("name", name) == folded


def written_like(letter: str) -> list[str]:
    """All that looks like it, as far as the model knows, and Latin letters that have something added to it."""
    alike = [each for known in ("il" if letter in "il" else letter) for each in actor.LOOK_ALIKES[known]]
    for kind in ("LATIN SMALL LETTER", "LATIN CAPITAL LETTER", "LATIN LETTER SMALL CAPITAL"):
        name = f"{kind} {letter.upper()}"
        alike += [each for known, each in LATIN.items() if known == name or known.startswith(f"{name} WITH ")]
    alike += [letter + mark for mark in "\u0301\u0337\u034f\ufe0f\u20dd\u02bc"]
    return alike + [several for several, one in actor.SEQUENCES if one == letter]


@pytest.mark.parametrize("agent", Agent)
def test_a_letter_replaced_by_one_that_looks_like_it_makes_no_other_name(agent: Agent) -> None:
    for place, letter in enumerate(agent):
        others = written_like(letter)
        assert len(others) > 10, letter
        for other in others:
            name = agent[:place] + other + agent[place + 1 :]
            assert actor.reads_as_agent(name), ascii(name)
            with pytest.raises(InvalidInput):
                require_claimed_name("name", name)


@pytest.mark.parametrize(("name", "why"), [("\U0001f177", "U+1F177"), ("ann \u2800", "U+2800"), ("\ua4d6", "LISU")])
def test_what_no_name_needs_is_named(name: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(why)):
        require_name("name", name)


@given(st.text(max_size=20))
def test_folding_is_done_once(name: str) -> None:
    try:
        folded = require_name("name", name)
    except InvalidInput:
        return
    assert require_name("name", folded) == folded
    assert folded not in set(Agent)
