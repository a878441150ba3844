from __future__ import annotations

from pathlib import Path

import pytest

from guardian.errors import InvalidInput
from spark_analytics.jobs import session
from spark_analytics.jobs.balance import main
from spark_analytics.lake.listing import table_path


def java(directory: Path, version: str) -> str:
    """A JAVA_HOME whose java says that it has this version."""
    program = directory / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
    program.chmod(0o755)
    return str(directory)


@pytest.mark.parametrize("version", ["17.0.15", "21.0.1", "25"])
def test_a_java_that_is_new_enough_passes(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, version))
    session.require_java()


@pytest.mark.parametrize(("version", "found"), [("1.8.0_402", "1"), ("11.0.2", "11"), ("x", "of an unknown version")])
def test_an_old_java_is_refused(version: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, version))
    with pytest.raises(InvalidInput, match=rf"needs Java 17 or newer, .*java is {found}: apt-get install openjdk-17"):
        session.require_java()


def test_a_missing_java_is_refused_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidInput, match="java does not run: apt-get install openjdk-17-jre-headless"):
        session.require_java()


def test_a_missing_extra_is_one_sentence_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(session, "find_spec", lambda module: None if module == "pyspark" else object())
    assert main(["--lake", str(tmp_path), "--cluster", "live", "--out", str(tmp_path / "plans.json")]) == 2
    assert capsys.readouterr().err == (
        "planning needs the analyze extra (pyspark is missing): pip install 'kafka-guardian[analyze]'\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--window", "soon"], "window is 'soon'"), (["--target-spread", "-1"], "target_spread is -1.0")],
)
def test_bad_options_are_one_sentence_and_exit_code_2(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--lake", str(tmp_path), "--cluster", "live", "--out", "plans.json", *arguments]) == 2
    assert capsys.readouterr().err.startswith(message)


@pytest.mark.parametrize(
    ("lake", "path"),
    [
        ("/var/lake/", "/var/lake/t"),
        ("file:///var/lake", "file:///var/lake/t"),
        ("hdfs://nn:8020/lake", "hdfs://nn:8020/lake/t"),
        ("s3://bucket/lake", "s3a://bucket/lake/t"),
        ("s3a://bucket/lake", "s3a://bucket/lake/t"),
    ],
)
def test_the_members_url_of_the_lake_is_put_in_hadoops_words(lake: str, path: str) -> None:
    assert table_path(lake, "t") == path
