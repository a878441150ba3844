"""A sink that is written wrongly is refused with its field, its value and the fix; a secret is never shown."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.events.model import sinks_of

GOOD = {"name": "s", "kind": "webhook", "url": "http://h:1/x"}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"name": "A B"}, "sinks[0].name is 'A B': use up to 63 of a-z, 0-9, '_' and '-'"),
        ({"kind": "mail"}, 'sinks[0].kind is \'mail\': use "webhook", "slack" or "alertmanager"'),
        ({"url": "ftp://h/secret"}, "sinks[0].url is no address: use http://host:port/path, or https"),
        ({"url": "http://h:99999/secret"}, "sinks[0].url is no address: use http://host:port/path, or https"),
        ({"url_file": "/x"}, "sinks[0].url and url_file are both given or both missing: give one of them"),
        (
            {"kind": "slack", "template": "x"},
            "sinks[0].template is given, but slack has a form of its own: leave it out",
        ),
        ({"states": ["DONE"]}, 'sinks[0].states has \'DONE\': use "DRAFT", "PENDING", '),
        ({"kinds": "TICKET_MOVED"}, "sinks[0].kinds is 'TICKET_MOVED': give a list, such as"),
        ({"timeout_s": 0}, "sinks[0].timeout_s is 0: use more than 0, up to 60"),
        ({"timeout_s": float("nan")}, "sinks[0].timeout_s is nan: give a number"),
        ({"retries": 3}, "sinks[0].retries is not a setting: use one of clusters, content_type, "),
        ({"template": "{sumary}"}, "sinks[0].template has {sumary}: use id, at_ms, time, "),
    ],
)
def test_a_mistake_is_named(changed: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        sinks_of("sinks", [{**GOOD, **changed}])
    assert str(refused.value).startswith(sentence)
    assert "secret" not in str(refused.value)


def test_two_sinks_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidInput, match="name 's' twice"):
        sinks_of("sinks", [GOOD, GOOD])


def test_what_is_no_list_of_sections_is_refused() -> None:
    with pytest.raises(InvalidInput, match="write each as a section"):
        sinks_of("sinks", {"name": "s"})
    with pytest.raises(InvalidInput, match=r"sinks\[0\] is 's': write it as a section, \[\[sinks\]\]"):
        sinks_of("sinks", ["s"])
