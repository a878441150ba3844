"""Runs an action again and again, each time ending its process a little later: just before its n-th change of a file.

    python crash_points.py ACTION TEMPLATE WORK      ACTION: install | create | restore

For each n, a copy of TEMPLATE is acted upon by a child that ends by os._exit before the n-th call that opens for
writing, makes, renames or removes a file or directory, or syncs one; then another child looks at what is there. Prints
one JSON object per line: {"n", "is_done": the action came to its end, "found": what was seen, or the error}.

The parent never opens a store, so that forking is safe.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from metastore.rocksdb import RocksDbStore
from metastore.store import StoreError
from raft.errors import RaftError
from raft.restoring import restore_snapshot
from raft.storage.journal import Journal

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}


def install(root: Path) -> None:
    store = RocksDbStore(root / "store")
    store.install(root / "copy")
    store.close()


def look_at_store(root: Path) -> Any:
    store = RocksDbStore(root / "store")
    value = store.get(b"a")
    found = {"index": store.applied_index, "value": value.decode() if value else None, "keys": len(store.scan(b"k"))}
    store.write([(b"after", b"1")], store.applied_index + 1)
    store.close()
    return {**found, "directories": sorted(path.name for path in (root / "store").iterdir() if path.is_dir())}


class StateMachine(RocksDbStore):
    def apply(self, index: int, command: bytes) -> bytes:
        raise AssertionError(f"a restore applies nothing, not {command!r} at {index}")

    def checksum_at(self, index: int) -> bytes | None:
        raise AssertionError(f"a restore compares nothing, not index {index}")


def restore(root: Path) -> None:
    restore_snapshot(
        root / "archive",
        root / "data",
        name="z",
        address="z:1",
        group_id="new",
        open_state_machine=StateMachine,
    )


def look_at_data(root: Path) -> Any:
    data = root / "data"
    if not (data / "raft").exists():
        return {"parts": sorted(path.name for path in data.iterdir()) if data.exists() else []}
    journal = Journal(data / "raft")
    store = RocksDbStore(data / "store")
    found = {
        "first": journal.first_index,
        "last": journal.last_index,
        "term": journal.last_term,
        "group": journal.configuration.group_id if journal.configuration else None,
        "voters": sorted(journal.configuration.voters) if journal.configuration else [],
        "index": store.applied_index,
        "keys": len(store.scan(b"k")),
    }
    journal.close()
    store.close()
    return found


ACTIONS: dict[str, tuple[Callable[[Path], None], Callable[[Path], Any]]] = {
    "install": (install, look_at_store),
    "create": (lambda root: RocksDbStore(root / "store").close(), look_at_store),
    "restore": (restore, look_at_data),
}


def exit_before(change: int) -> None:
    left = change

    def count() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os._exit(9)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in CHANGES or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
            count()

    sync = os.fsync

    def counted_sync(handle: int) -> None:
        count()
        sync(handle)

    os.fsync = counted_sync  # type: ignore[assignment]
    sys.addaudithook(hook)


def in_child(action: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            action()
            code = 0
        finally:
            if code:
                traceback.print_exc()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    name, template, work = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    act, look = ACTIONS[name]
    change, code = 0, 9
    while code == 9:
        change += 1
        root = work / str(change)
        shutil.copytree(template, root)

        def crash(root: Path = root, change: int = change) -> None:
            exit_before(change)
            act(root)

        def report(root: Path = root) -> None:
            try:
                found = look(root)
            except (StoreError, RaftError, OSError) as error:
                found = repr(error)
            (work / "found").write_text(json.dumps(found))

        code = in_child(crash)
        if in_child(report) != 0:
            sys.exit(1)
        result = {"n": change, "is_done": code == 0, "code": code, "found": json.loads((work / "found").read_text())}
        sys.stdout.write(json.dumps(result) + "\n")
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
