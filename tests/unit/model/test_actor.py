"""Names: what people could take for one of Guardian's own actors is nobody's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import InvalidInput
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


@given(st.text(max_size=20))
def test_folding_is_done_once(name: str) -> None:
    try:
        folded = require_name("name", name)
    except InvalidInput:
        return
    assert require_name("name", folded) == folded
    assert folded not in set(Agent)
