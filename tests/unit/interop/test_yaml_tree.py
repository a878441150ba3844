"""Whatever is wrong with a file of YAML is one sentence with its place."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.interop.yaml_tree import Node, parse, parse_all


def test_values_are_what_they_look_like_and_know_their_line() -> None:
    root = parse('a: 1\nb:\n  - "1"\n  - no\n  - 1.5\n  - 2026-01-01\n  - ~\nc: {d: x}\n', "f")
    fields = dict(root.mapping(""))
    assert fields["a"].value == 1
    assert [item.value for item in fields["b"].list("")] == ["1", False, 1.5, "2026-01-01", None]
    (name, deep), *_ = fields["c"].mapping("")
    assert (name, deep.where, deep.path, deep.value) == ("d", "f:8", "c.d", "x")
    assert fields["b"].list("")[1].path == "b[1]"


def test_json_is_yaml() -> None:
    assert dict(parse('{"a": [1, true, "x"]}', "f").mapping(""))["a"].list("")[2].value == "x"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2", "f:2: a is in line 1 too: keep one"),
        ("{a: 1, a: 2}", "f:1: a is in line 1 too"),
        ("a: &x 1\nb: *x", "f:1: 'x' is an anchor or an alias"),
        ("a: !!python/object:os.system x", "is a tag: leave it out"),
        ("a: [1", "f:1: not YAML|f:2: not YAML"),
        ("a: b: c", "f:1: not YAML"),
        ("a: \x00", "not YAML"),
        ("a: \ud800", "not "),
        ("? [a, b]\n: 1", "f:1: a key of the file is no text"),
        ("a: 007", "f:1: a is 007: write it without the 0"),
        ("[" * 30 + "]" * 30, "nested deeper than 20"),
        ("a: 1\n---\nb: 2", "f holds 2 documents: give one"),
        ("", "f holds 0 documents"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse(text, "f")


def test_a_bomb_of_aliases_is_refused_before_it_is_built() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    with pytest.raises(InvalidInput, match="anchor or an alias"):
        parse("\n".join(lines), "f")


def test_a_long_file_is_refused() -> None:
    with pytest.raises(InvalidInput, match="split it below"):
        parse("a" * (16 * 1024 * 1024 + 1), "f")


@pytest.mark.parametrize(
    ("text", "read", "message"),
    [
        ("a: 5", lambda node: node.string("use a text"), 'f:1: a is 5: use a text, in quotes: "5"'),
        ("a: [1]", lambda node: node.string(), "f:1: a is a list: use a text"),
        ("a: x", lambda node: node.whole(0, 9), "f:1: a is 'x': use a whole number from 0 to 9"),
        ("a: true", lambda node: node.whole(0, 9), "a is true"),
        ("a: 1e400", lambda node: node.number(), "a is '1e400': use a number from 0"),
        ("a: .nan", lambda node: node.number(), "a is '.nan'"),
        ("a: 1", lambda node: node.flag(), "a is 1: use true or false"),
        ("a: 1", lambda node: node.list("use a list"), "a is 1: use a list"),
        ("a: {b: 1}", lambda node: node.only(("c",)), "f:1: a.b is not known: use c"),
        ("a: " + "x" * 100, lambda node: node.mapping("use"), r"a is 'x{59}\.\.\."),
    ],
)
def test_a_value_of_another_kind_is_refused(text: str, read: object, message: str) -> None:
    (_, node), *_ = parse(text, "f").mapping("")
    with pytest.raises(InvalidInput, match=message):
        read(node)  # type: ignore[operator]


TEXTS = st.text(st.characters(codec=None) | st.sampled_from("{}[]:,-?&*!|>'\"%@#\n \t~"), max_size=80)


@given(TEXTS)
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InvalidInput):
        for document in parse_all(text, "f"):
            assert isinstance(document, Node)
