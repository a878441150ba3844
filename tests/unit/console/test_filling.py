"""Forms: what is typed becomes values, and what can't be read is refused in the words of the page."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.console.filling import Field, Shape, values_of
from guardian.errors import InvalidInput
from guardian.model.tasks import LogDir


@pytest.mark.parametrize(
    ("shape", "text", "value"),
    [
        (Shape.TEXT, " orders ", "orders"),
        (Shape.WORDS, "a, b  c,", ("a", "b", "c")),
        (Shape.COUNT, "12", 12),
        (Shape.COUNTS, "3 7,1", (3, 7, 1)),
        (Shape.NUMBER, "0.25", 0.25),
        (Shape.BYTES, "500GB", 500 * 10**9),
        (Shape.RATE, "50MB", 50_000_000),
        (Shape.DURATION, "1.5h", 5_400_000),
        (Shape.TICK, "true", True),
        (Shape.CHOICE, "b", "b"),
        (Shape.LOG_DIRS, "3:/data/a 4:/data/b", (LogDir(3, "/data/a"), LogDir(4, "/data/b"))),
        (Shape.PAIRS, "a=1\n\n b = x=y ", (("a", "1"), ("b", "x=y"))),
    ],
)
def test_each_shape_is_read(shape: Shape, text: str, value: object) -> None:
    assert values_of([Field("f", "Field", shape, choices=("a", "b"))], {"f": text}) == {"f": value}


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (Shape.COUNT, "-1"),
        (Shape.COUNT, "\N{FULLWIDTH DIGIT ONE}"),
        (Shape.COUNTS, "3, x"),
        (Shape.NUMBER, "nan"),
        (Shape.NUMBER, "1e400"),
        (Shape.BYTES, "many"),
        (Shape.RATE, "0"),
        (Shape.DURATION, "soon"),
        (Shape.CHOICE, "c"),
        (Shape.LOG_DIRS, "/data/a"),
        (Shape.LOG_DIRS, "3:data"),
        (Shape.PAIRS, "retention"),
        (Shape.TEXT, "x" * 5000),
    ],
)
def test_what_can_not_be_read_is_refused_by_name(shape: Shape, text: str) -> None:
    with pytest.raises(InvalidInput):
        values_of([Field("f", "How many", shape, choices=("a", "b"))], {"f": text})


def test_nothing_typed_is_no_value_unless_it_is_needed() -> None:
    assert values_of([Field("f", "Field")], {"f": "  ", "other": "x"}) == {}
    with pytest.raises(InvalidInput, match="Brokers: nothing is given; their ids"):
        values_of([Field("brokers", "Brokers", Shape.COUNTS, "their ids", is_required=True)], {})


@given(st.sampled_from(Shape), st.text(max_size=40))
def test_no_text_ends_in_anything_but_a_value_or_a_refusal(shape: Shape, text: str) -> None:
    with suppress(InvalidInput):
        values_of([Field("f", "Field", shape, choices=("a",))], {"f": text})
