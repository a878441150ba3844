"""What takes long says so once, on stderr; what answers at once says nothing."""

from __future__ import annotations

import time

import pytest

from guardian.cli.waiting import Progress, told_if_slow


def test_what_takes_long_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    with told_if_slow("Reading the lake", silent_s=0.01):
        deadline = time.monotonic() + 10
        while not (written := capsys.readouterr()).err and time.monotonic() < deadline:
            time.sleep(0.01)
    assert (written.out, written.err) == ("", "Reading the lake...\n")


def test_what_answers_at_once_or_fails_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with told_if_slow("Reading the lake", silent_s=0.2):
        pass
    with pytest.raises(ZeroDivisionError), told_if_slow("Reading the lake", silent_s=0.2):
        raise ZeroDivisionError
    time.sleep(0.3)
    assert capsys.readouterr().err == ""


def test_progress_is_told_every_other_second(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, 1.9, 2.0, 3.9, 4.0])
    progress = Progress("Read {done} of {total} records", 5000, lambda: next(times))
    for done in (1, 1000, 1500, 5000):
        progress.at(done)
    assert capsys.readouterr().err == "Read 1,000 of 5,000 records\nRead 5,000 of 5,000 records\n"
