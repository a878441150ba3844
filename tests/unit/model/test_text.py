"""Text from others moves no cursor, ends no line and turns no direction of reading, and says what it held."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.model.text import escaped, escaped_tree, is_printable, json_escaped, require_printable

_TURNING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
_JOINERS = "\u200c\u200d"


def test_every_character_is_judged_by_its_kind() -> None:
    for code in range(sys.maxunicode + 1):
        letter, kind = chr(code), unicodedata.category(chr(code))
        if kind in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(letter) in _TURNING:
            assert not is_printable(letter), hex(code)
        elif kind[0] in "LNMPS" or kind == "Zs" or letter in _JOINERS:
            assert is_printable(letter), hex(code)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("nightly\n09:12 APPROVED", r"nightly\n09:12 APPROVED"),
        ("\x1b[8A\x1b[2K", r"\x1b[8A\x1b[2K"),
        ("\x9b2J\x7f", r"\x9b2J\x7f"),
        ("a\u202eb\u2028c\u2069", r"a\u202eb\u2028c\u2069"),
        ("tag \U000e0041", r"tag \U000e0041"),
        ("half \ud83d", r"half \ud83d"),
        ("Zoë 安 👩\u200d🔧", "Zoë 安 👩\u200d🔧"),
    ],
)
def test_what_is_unsafe_is_written_out(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_what_is_kept_stays() -> None:
    assert escaped("a\n\tb\r", "\n\t") == "a\n\tb\\r"
    assert is_printable("a\nb", keep="\n")


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_json_stays_the_same_value_and_is_printable(text: str) -> None:
    document = json_escaped(json.dumps({text: [text]}, ensure_ascii=False, indent=2))
    assert is_printable(document, keep="\n")
    assert json.loads(document) == json.loads(json.dumps({text: [text]}))


def test_trees_are_escaped_to_their_leaves() -> None:
    assert escaped_tree({"\x1b": ["\x07", 1, None, ("\u202e",)]}) == {r"\x1b": [r"\x07", 1, None, [r"\u202e"]]}


def test_a_refusal_names_the_field_the_character_and_is_itself_printable() -> None:
    with pytest.raises(InvalidInput) as refused:
        require_printable("reason", f"{'x' * 500}\x1b[2J{'y' * 500}")
    sentence = str(refused.value)
    assert is_printable(sentence)
    assert sentence.startswith("reason: U+001B is not printable (got 'xxx")
    assert r"\x1b[2J" in sentence
    assert len(sentence) < 200
    require_printable("evidence", "one\ntwo", "\n")
