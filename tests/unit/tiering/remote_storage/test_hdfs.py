"""The listing of the plugin's HdfsTool, told by a `java` that only prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guardian.errors import InvalidInput
from guardian.tiering.model import FileKind, SegmentName, StoredFile, uuid_bytes
from guardian.tiering.remote_storage import hdfs
from guardian.tiering.remote_storage.stores import open_store

TOPIC_ID, SEGMENT_ID = "LWgrMmVrT0a__7a4SasuPA", "bCqX9U--S-6U8XUM9II25Q"
URL = "hdfs://nn:8020/guardian"
FILE = {
    "path": f"/guardian/orders-{TOPIC_ID}/3/00000000000000000011-{SEGMENT_ID}.log",
    "bytes": 123,
    "modifiedMs": 1700000000000,
    "topic": "orders",
    "topicId": TOPIC_ID,
    "partition": 3,
    "segmentId": SEGMENT_ID,
    "kind": "log",
    "startOffset": 11,
}
NAME = SegmentName(uuid_bytes(TOPIC_ID), 3, uuid_bytes(SEGMENT_ID))
END = {"end": True, "files": 1}


class Java:
    """Put first on the PATH; remembers its arguments."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def says(self, *lines: Any, stderr: str = "", exit_code: int = 0) -> None:
        text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
        (self._directory / "out").write_text(text)
        (self._directory / "err").write_text(stderr)
        script = f'cd {self._directory}; echo "$@" > arguments; cat > in; cat out; cat err >&2'
        java = self._directory / "java"
        java.write_text(f"#!/bin/sh\n{script}\nexit {exit_code}\n")
        java.chmod(0o755)

    @property
    def arguments(self) -> str:
        return (self._directory / "arguments").read_text().strip()

    @property
    def stdin(self) -> str:
        return (self._directory / "in").read_text()


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Java:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return Java(tmp_path)


def test_the_files_are_those_that_the_tool_lists(java: Java) -> None:
    java.says(FILE, {"path": "/guardian/x", "bytes": 5, "modifiedMs": 7}, {"end": True, "files": 2}, stderr="WARN\n")
    assert list(open_store(URL, "plugin.jar:/etc/hadoop").files()) == [
        StoredFile(str(FILE["path"]), 123, 1700000000000, NAME, FileKind.LOG),
        StoredFile("/guardian/x", 5, 7),
    ]
    assert java.arguments == f"-cp plugin.jar:/etc/hadoop guardian.kafka.hdfs.HdfsTool list {URL}"


def test_the_brokers_own_settings_are_passed_on(java: Java) -> None:
    java.says({"end": True, "files": 0})
    assert list(open_store(URL, "plugin.jar", Path("/etc/kafka/server.properties")).files()) == []
    assert "--config /etc/kafka/server.properties list hdfs" in java.arguments


@pytest.mark.parametrize("kind", ["log", "indexes", "partial"])
def test_every_kind_of_the_layout_is_known(kind: str) -> None:
    found = hdfs.parse(json.dumps({**FILE, "kind": kind}), hdfs.stored_file)
    assert isinstance(found, StoredFile)
    assert found.kind is FileKind(kind)


def test_a_listing_that_is_cut_off_is_an_error_and_not_a_store_with_less(java: Java) -> None:
    for lines, count in (([FILE], 1), ([], 0), ([FILE, FILE, END], 2)):
        java.says(*lines)
        with pytest.raises(InvalidInput, match=rf"{URL} can't be listed: .* cut off after {count} files"):
            list(open_store(URL, "plugin.jar").files())


def test_what_the_tool_says_is_told(java: Java) -> None:
    java.says(stderr="log4j: noise\nnn:8020 can't be reached: Connection refused\n\n", exit_code=2)
    with pytest.raises(InvalidInput, match=r"can't be listed: nn:8020 can't be reached: Connection refused$"):
        list(open_store(URL, "plugin.jar").files())
    java.says(FILE, END, stderr="it failed after all\n", exit_code=1)
    with pytest.raises(InvalidInput, match="it failed after all"):
        list(open_store(URL, "plugin.jar").files())


def test_a_jar_that_is_missing_is_named(java: Java) -> None:
    said = "Error: Could not find or load main class X\nCaused by: java.lang.ClassNotFoundException: org.apache.X\n"
    java.says(stderr=said, exit_code=1)
    with pytest.raises(InvalidInput, match=r"--classpath is 'plugin.jar', which lacks org\.apache\.X: add its jar"):
        list(open_store(URL, "plugin.jar").files())


@pytest.mark.parametrize(
    "line",
    [
        "SLF4J: hello",
        "[]",
        "3",
        json.dumps({"path": "/x"}),
        json.dumps({**FILE, "kind": "video"}),
        json.dumps({**FILE, "segmentId": "short"}),
        json.dumps({**FILE, "partition": None}),
        json.dumps({"end": True}),
    ],
)
def test_a_line_that_is_none_of_a_listing_is_named(java: Java, line: str) -> None:
    java.says(line, END)
    with pytest.raises(InvalidInput, match=r"HdfsTool printed .*, which is no line of its output"):
        list(open_store(URL, "plugin.jar").files())


def test_the_process_is_gone_when_nobody_reads_on(java: Java, tmp_path: Path) -> None:
    (tmp_path / "java").write_text(f"#!/bin/sh\necho '{json.dumps(FILE)}'; echo $$ > {tmp_path}/pid; exec sleep 600\n")
    (tmp_path / "java").chmod(0o755)
    files = open_store(URL, "plugin.jar").files()
    next(files)
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        pass
    files.close()  # type: ignore[attr-defined]
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_what_it_needs_is_said_before_anything_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="--classpath is empty: give the plugin's jar"):
        list(open_store(URL).files())
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InvalidInput, match="java can't be run: No such file or directory; install a JDK 17"):
        list(open_store(URL, "plugin.jar").files())


LISTED = [StoredFile(f"/guardian/{name}", 5, 7) for name in ("a", "b \u00e9", "c")]


def test_files_of_a_listing_are_deleted_by_the_tool_and_those_that_were_there_are_told(java: Java) -> None:
    outcomes = [{"path": file.path, "deleted": file is not LISTED[1]} for file in LISTED]
    java.says(*outcomes, {"end": True, "files": 3})
    store = open_store(URL, "plugin.jar", Path("/etc/kafka/server.properties"))
    assert list(store.delete(LISTED)) == [LISTED[0], LISTED[2]]
    assert "--config /etc/kafka/server.properties delete hdfs" in java.arguments
    assert [json.loads(line) for line in java.stdin.splitlines()] == [{"path": file.path} for file in LISTED]


def test_a_deletion_that_is_cut_off_tells_what_is_gone_and_that_the_rest_may_be_there(java: Java) -> None:
    java.says({"path": LISTED[0].path, "deleted": True}, stderr="HDFS failed: connection reset\n", exit_code=1)
    deleted = open_store(URL, "plugin.jar").delete(LISTED)
    assert next(deleted) == LISTED[0]
    with pytest.raises(InvalidInput, match=f"{URL} can't be swept: HDFS failed: connection reset"):
        next(deleted)


def test_nothing_to_delete_needs_no_tool() -> None:
    assert list(open_store(URL, "plugin.jar").delete([])) == []


def test_an_outcome_of_a_file_that_was_not_named_is_no_line_of_its_output(java: Java) -> None:
    java.says({"path": "/guardian/other", "deleted": True}, {"end": True, "files": 1})
    with pytest.raises(InvalidInput, match="which is no line of its output"):
        list(open_store(URL, "plugin.jar").delete(LISTED))
