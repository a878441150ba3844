"""What voters confirmed is remembered, also over a restart, and never less than before."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from raft.configuration import Configuration
from raft.errors import CannotStart
from raft.rules.admission import DOUBT_PAUSE_S, DOUBT_S, Introduction, Lapse, doubt, find_lapse
from raft.storage.confirmed import CONFIRMED, ConfirmedIndexes

GROUP = Configuration.of_voters("g", {"a": "a:1", "b": "b:1"}).founded({"a": "a-1", "b": "b-1"})


def test_the_highest_is_kept_over_a_restart_and_others_are_forgotten(tmp_path: Path) -> None:
    confirmed = ConfirmedIndexes(tmp_path)
    confirmed.raise_to({"a-1": 7, "b-1": 9, "gone": 3})
    confirmed.raise_to({"a-1": 5})
    assert ConfirmedIndexes(tmp_path).get("a-1") == 0  # not saved yet
    confirmed.save({"a-1", "b-1"})
    again = ConfirmedIndexes(tmp_path)
    assert [again.get(name) for name in ("a-1", "b-1", "gone", "never")] == [7, 9, 0, 0]


def test_it_is_written_only_when_it_has_changed(tmp_path: Path) -> None:
    confirmed = ConfirmedIndexes(tmp_path)
    confirmed.save({"a-1"})
    assert not (tmp_path / CONFIRMED).exists()
    confirmed.raise_to({"a-1": 7})
    confirmed.save({"a-1"})
    (tmp_path / CONFIRMED).unlink()
    confirmed.raise_to({"a-1": 7})
    confirmed.save({"a-1"})
    assert not (tmp_path / CONFIRMED).exists()


@pytest.mark.parametrize("content", ["", "[]", '{"confirmed": {"a": 1}, "crc32": 0}', '{"confirmed": 7, "crc32": 0}'])
def test_a_damaged_file_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / CONFIRMED).write_text(content)
    with pytest.raises(CannotStart, match=r"confirmed\.json is damaged"):
        ConfirmedIndexes(tmp_path)


def test_a_full_disk_puts_it_off_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(number: int) -> Callable[[Path, bytes], None]:
        def write(_path: Path, _content: bytes) -> None:
            raise OSError(number, "it fails")

        return write

    confirmed = ConfirmedIndexes(tmp_path)
    confirmed.raise_to({"a-1": 7})
    with monkeypatch.context() as patch:
        patch.setattr("raft.storage.confirmed.write_durably", fails(errno.ENOSPC))
        confirmed.save({"a-1"})
        confirmed.save({"a-1"})
        assert len(caplog.records) == 1
        patch.setattr("raft.storage.confirmed.write_durably", fails(errno.EIO))
        with pytest.raises(OSError, match="it fails"):
            confirmed.save({"a-1"})
    confirmed.save({"a-1"})
    assert ConfirmedIndexes(tmp_path).get("a-1") == 7


def sentence_of(lapse: Lapse | None) -> str:
    return lapse.sentence if lapse is not None else ""


def test_a_lapse_of_a_log_that_has_grown_since_is_outdated() -> None:
    shorter = find_lapse(Introduction("b", "b-1", 8, 2), GROUP, 2, 9)
    assert shorter is not None
    assert (shorter.is_outdated(8), shorter.is_outdated(9)) == (False, True)
    emptied = find_lapse(Introduction("b", "b-2", 9, 2), GROUP, 2, 9)
    assert emptied is not None
    assert not emptied.is_outdated(90)


def test_a_voter_with_another_folder_or_a_shorter_log_has_a_lapse() -> None:
    assert find_lapse(Introduction("b", "b-1", 9, 2), GROUP, 2, 9) is None
    assert "forgotten its votes" in sentence_of(find_lapse(Introduction("b", "b-2", 9, 2), GROUP, 2, 0))
    assert "log ends at 8" in sentence_of(find_lapse(Introduction("b", "b-1", 8, 2), GROUP, 2, 9))


def test_a_voter_that_was_let_in_anew_is_heard_by_one_that_lags() -> None:
    assert find_lapse(Introduction("b", "b-2", 90, 70), GROUP, 2, 0) is None
    assert "forgotten its votes" in sentence_of(find_lapse(Introduction("b", "b-2", 90, 2), GROUP, 2, 0))


def test_nothing_is_expected_of_a_learner_a_stranger_or_before_the_group_is_founded() -> None:
    learner = Introduction("c", "c-2", 0, 0)
    assert find_lapse(learner, GROUP.with_learner("c", "c:1"), 2, 9) is None
    assert find_lapse(learner, GROUP, 2, 9) is None
    assert find_lapse(learner, None, 0, 9) is None
    assert find_lapse(Introduction("b", "b-2", 1, 0), Configuration.of_voters("g", {"b": "b:1"}), 0, 0) is None


def test_a_new_folder_is_believed_after_refusals_without_a_leader_and_an_older_copy_at_once() -> None:
    known = None
    for second in range(int(DOUBT_S) + 1):
        assert known is None or not known.is_over
        known = doubt(known, 100.0 + second, is_fed=False)
    assert known is not None
    assert known.is_over
    assert doubt(known, known.last_at, is_fed=True) is None
    anew = doubt(known, known.last_at + DOUBT_PAUSE_S + 0.1, is_fed=False)
    assert anew is not None
    assert not anew.is_over
    assert (Lapse("a new folder").is_proven, Lapse("an older copy", 7).is_proven) == (False, True)
