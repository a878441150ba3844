"""A sink that is written wrongly is refused with its field, its value and the fix; a secret is never shown."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.model.sink import sinks_of

GOOD = {"name": "s", "kind": "webhook", "url": "http://h:1/x"}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"name": "A B"}, "sinks[1].name is 'A B': use up to 63 of a-z, 0-9, '_' and '-'"),
        ({"kind": "mail"}, "sinks[1].kind is 'mail': use one of webhook, slack, alertmanager"),
        ({"url": "ftp://h/secret"}, "sinks[1].url is no address: use http://host:port/path, or https"),
        ({"url": "http://h:99999/secret"}, "sinks[1].url is no address: use http://host:port/path, or https"),
        ({"url_file": "/x"}, "sinks[1] has both or neither of url and url_file: give one of them"),
        (
            {"kind": "slack", "template": "x"},
            "sinks[1].template is given, but slack has a form of its own: leave it out",
        ),
        ({"states": ["DONE"]}, "sinks[1].states has 'DONE': use DRAFT, PENDING, "),
        ({"kinds": "TICKET_MOVED"}, "sinks[1].kinds is 'TICKET_MOVED': give a list of names"),
        ({"timeout_s": 0}, "sinks[1].timeout_s is 0: use more than 0 and at most 60"),
        ({"timeout_s": float("nan")}, "sinks[1].timeout_s is nan: use more than 0 and at most 60"),
        ({"retries": 3}, "sinks[1].retries is not a setting: use one of name, kind, url, "),
        ({"template": "{sumary}"}, "sinks[1].template has {sumary}: use id, at_ms, time, "),
    ],
)
def test_a_mistake_is_named(changed: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        sinks_of([{**GOOD, **changed}])
    assert str(refused.value).startswith(sentence)
    assert "secret" not in str(refused.value)


def test_two_sinks_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidInput, match="name 's' twice"):
        sinks_of([GOOD, GOOD])


def test_what_is_no_list_of_sections_is_refused() -> None:
    with pytest.raises(InvalidInput, match="write each as a section"):
        sinks_of({"name": "s"})
    with pytest.raises(InvalidInput, match="write each as a section"):
        sinks_of(["s"])
