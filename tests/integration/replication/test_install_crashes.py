"""A crash at any step of an install, of a store's making and of a restore leaves the old or the new, whole; and a
store that is killed between two of its flushes has lost last commands only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from metastore.rocksdb import RocksDbStore
from raft.configuration import Configuration
from raft.snapshotting import snapshots
from raft.snapshotting.archive import packed
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[3]
OLD = {"index": 5, "value": "old", "keys": 50}
NEW = {"index": 900, "value": "new", "keys": 200}


def filled(path: Path, content: dict[str, Any]) -> RocksDbStore:
    store = RocksDbStore(path)
    pairs = [(b"k%d" % number, os.urandom(100)) for number in range(content["keys"])]
    store.write([(b"a", content["value"].encode()), *pairs], content["index"])
    return store


def crashed(action: str, template: Path, work: Path) -> list[dict[str, Any]]:
    """What was found after a crash before each change; the last one came to its end."""
    work.mkdir()
    script = Path(__file__).parents[1] / "crash_points.py"
    done = subprocess.run(
        [sys.executable, script, action, template, work],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert results[-1]["is_done"], done.stderr
    assert not any(result["is_done"] for result in results[:-1])
    return results


def test_an_install_that_is_cut_short_leaves_the_old_or_the_new_state(tmp_path: Path) -> None:
    template = tmp_path / "template"
    filled(template / "store", OLD).close()
    other = filled(tmp_path / "other", NEW)
    other.save(template / "copy")
    other.close()
    results = crashed("install", template, tmp_path / "work")
    states = []
    for result in results:
        directories = result["found"].pop("directories")
        assert result["found"] in (OLD, NEW), result
        assert directories == ["gen-1" if result["found"] == OLD else "gen-2"]
        states.append(result["found"]["value"])
    assert states == sorted(states, reverse=True)  # old, old, ..., new, new
    assert {"old", "new"} == set(states)
    assert len(states) > 10


def test_a_store_whose_making_is_cut_short_is_made_at_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "template").mkdir()
    results = crashed("create", tmp_path / "template", tmp_path / "work")
    for result in results:
        assert result["found"] == {"index": 0, "value": None, "keys": 0, "directories": ["gen-1"]}
    assert len(results) > 5


def test_a_restore_that_is_cut_short_is_nothing_that_a_member_could_start_with(tmp_path: Path) -> None:
    template = tmp_path / "template"
    template.mkdir()
    store = filled(tmp_path / "store", NEW)
    (tmp_path / "snapshot").mkdir()
    store.save(tmp_path / "snapshot" / "state")
    store.close()
    snapshots.write(tmp_path / "snapshot", 900, 7, Configuration.of_voters("old", {"a": "a:1", "b": "b:1"}))
    with (template / "archive").open("wb") as archive:
        archive.writelines(packed(tmp_path / "snapshot"))
    whole = {"first": 900, "last": 900, "term": 7, "group": "new", "voters": ["z"], "index": 900, "keys": 200}
    results = crashed("restore", template, tmp_path / "work")
    for result in results:
        assert result["found"] == whole or set(result["found"].get("parts", ["odd"])) <= {"restoring", "store"}, result
    assert results[-1]["found"] == whole
    assert len(results) > 20


WRITER = """
import sys
from pathlib import Path
from metastore import rocksdb
rocksdb._WRITE_BUFFER_BYTES = 1 << 20  # so that it flushes of its own accord, too
store = rocksdb.RocksDbStore(Path(sys.argv[1]))
index = store.applied_index
while True:
    index += 1
    old = b"n%d" % (index - 500)
    store.write([(b"k%d" % (index % 1000), b"%d" % index), (b"n%d" % index, bytes(2000)), (old, None)], index)
    if index % 400 == 0:
        print(store.sync(), flush=True)
"""


def test_a_killed_store_is_as_it_was_after_some_command_and_keeps_what_was_synced(tmp_path: Path) -> None:
    synced = 0
    for round_ in range(5):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, tmp_path / "store"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert writer.stdout
        for _ in range(3 + round_):
            synced = int(writer.stdout.readline())
        writer.kill()
        synced = max([synced, *map(int, writer.stdout.read().split())])
        writer.wait()
        store = RocksDbStore(tmp_path / "store")
        index = store.applied_index
        assert index >= synced
        newest = {b"k%d" % (each % 1000): b"%d" % each for each in range(max(1, index - 999), index + 1)}
        assert dict(store.scan(b"k")) == newest
        assert {key for key, _ in store.scan(b"n")} == {b"n%d" % each for each in range(max(1, index - 499), index + 1)}
        store.close()
