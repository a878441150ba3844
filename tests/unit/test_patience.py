from __future__ import annotations

import re
import time
from itertools import count
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S, until, wait_for

TESTS = Path(__file__).parent.parent


class Gone(Exception):
    pass


def test_what_holds_is_given_at_once() -> None:
    assert wait_for("the number", lambda: 7, deadline_s=0) == 7


def test_it_asks_until_the_answer_is_true_and_does_what_is_to_be_done_meanwhile() -> None:
    numbers, done = count(), []
    assert wait_for(
        "the third", lambda: [n] if (n := next(numbers)) == 2 else [], meanwhile=lambda: done.append(1)
    ) == [2]
    assert len(done) == 2


def test_a_failure_says_what_was_waited_for_the_last_answer_and_the_story() -> None:
    with pytest.raises(AssertionError) as caught:
        wait_for("the tide", list, deadline_s=0.02, story=lambda: "the log")
    assert str(caught.value) == "the tide: not so after 0.02 s; the last answer was [] the log"


def test_an_error_ends_it_unless_it_is_one_to_wait_out() -> None:
    answers = iter([Gone("early"), "here"])

    def ask() -> object:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert wait_for("it", ask, despite=(Gone,)) == "here"

    def gone() -> bool:
        raise Gone("late")

    with pytest.raises(Gone):
        wait_for("it", gone, deadline_s=60)
    with pytest.raises(AssertionError, match=r"Gone\('late'\)"):
        wait_for("it", gone, deadline_s=0.02, despite=(Gone,))


def test_a_last_look_comes_after_the_deadline_however_long_the_machine_slept(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def sleep(_: float) -> None:
        now[0] += 1000

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)
    assert wait_for("it", lambda: now[0] > 0, deadline_s=5)


@pytest.mark.parametrize(("every_s", "pauses"), [(None, [7.0, 7.0]), (0.2, [0.2, 0.2])])
def test_a_dear_look_is_taken_less_often_unless_told(
    monkeypatch: pytest.MonkeyPatch, every_s: float | None, pauses: list[float]
) -> None:
    now, slept = [0.0], list[float]()

    def look() -> bool:
        now[0] += 7
        return len(slept) == 2

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", slept.append)
    assert wait_for("it", look, every_s=every_s)
    assert slept == pauses


def test_without_words_the_failure_shows_the_source() -> None:
    nothing: list[int] = []
    with pytest.raises(AssertionError, match="len\\(nothing\\) == 3"):
        until(lambda: len(nothing) == 3, deadline_s=0.02)


def test_pytest_lets_a_test_wait_more_than_once(pytestconfig: pytest.Config) -> None:
    assert float(pytestconfig.getini("timeout")) >= 3 * PATIENCE_S


def test_no_other_file_has_a_deadline_of_its_own() -> None:
    """Those of benches and screenshots are theirs; the soak's sweep ends a ticket that does not get on."""
    own = ("bench", "screenshots", "soak")
    declared = re.compile(r"^_?(SERVING_|STOP_|CLI_)?DEADLINE_M?S = [0-9]", re.MULTILINE)
    files = [path for path in TESTS.rglob("*.py") if path.relative_to(TESTS).parts[0] not in own]
    assert len(files) > 500
    assert [str(path) for path in files if declared.search(path.read_text())] == []
