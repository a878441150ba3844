"""Answers of HTTP are printable, and of JSON the same value."""

from __future__ import annotations

import json

from guardian.model.text import is_printable
from guardian.rest.problems import problem
from guardian.web.answers import JsonAnswer, TextAnswer

EVIL = "a\x1b[2Jb\u202ec\x9b\x7fé"


def test_json_is_the_same_value() -> None:
    body = bytes(JsonAnswer({"reason": EVIL}).body).decode()
    assert is_printable(body)
    assert json.loads(body) == {"reason": EVIL}


def test_a_problem_is_printable() -> None:
    body = bytes(problem(400, "invalid-input", EVIL).body).decode()
    assert is_printable(body)
    assert json.loads(body)["detail"] == EVIL


def test_text_is_written_out() -> None:
    assert bytes(TextAnswer(f"{EVIL}\n").body).decode() == "a\\x1b[2Jb\\u202ec\\x9b\\x7fé\n"
