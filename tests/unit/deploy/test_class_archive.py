from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.local import class_archive
from deploy.local.class_archive import class_archive as archive_of


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    monkeypatch.setattr(class_archive, "TARGET", tmp_path / "target")
    monkeypatch.setattr(class_archive, "require_java", lambda: str(tmp_path / "java"))
    files = [tmp_path / name for name in ("java", "kafka.jar", "plugin.jar")]
    for file in files:
        file.write_bytes(b"1")
    return files[1:]


def recording(text: str) -> Callable[[Path], None]:
    def record(path: Path) -> None:
        path.write_text(text)

    return record


def test_an_archive_is_recorded_once(jars: list[Path]) -> None:
    assert archive_of(jars, recording("first")).read_text() == "first"
    assert archive_of(jars, recording("second")).read_text() == "first"


def test_other_jars_have_an_archive_of_their_own(jars: list[Path]) -> None:
    whole = archive_of(jars, recording("both"))
    assert archive_of(jars[:1], recording("one")).read_text() == "one"
    jars[1].write_bytes(b"12")
    assert archive_of(jars, recording("changed")).read_text() == "changed"
    assert whole.read_text() == "both"


def test_a_recording_that_fails_leaves_no_archive(jars: list[Path]) -> None:
    def fail(path: Path) -> None:
        path.write_text("half")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk is full"):
        archive_of(jars, fail)
    assert archive_of(jars, recording("whole")).read_text() == "whole"


def test_without_a_recording_the_next_one_tries_again(jars: list[Path]) -> None:
    """A broker that had to be killed before it had written its archive."""
    assert not archive_of(jars, lambda _: None).exists()
    assert archive_of(jars, recording("whole")).read_text() == "whole"
