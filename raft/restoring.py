"""A group after a disaster: one member, made from a snapshot's archive, under a new group id.

The new id keeps members of the old group out: they would bring another history. The restored member is alone in its
configuration and leads at once; others join it as learners.

Everything is built aside, in `<data>/restoring`, and moved into place at the end: state first, log last. A crash leaves
a directory that is not empty, which both the next restore and (state without its log) a member refuse.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from raft.configuration import Configuration
from raft.errors import CannotStart, DamagedSnapshot
from raft.protocol import StateMachine
from raft.snapshotting.archive import unpack, verify_archive
from raft.snapshotting.snapshots import STATE, Manifest
from raft.storage.files import sync_directory, sync_tree
from raft.storage.identity import create_identity
from raft.storage.journal import Journal

__all__ = ["restore_snapshot", "verify_archive"]

RAFT = "raft"
STORE = "store"


def restore_snapshot(
    archive: Path,
    data: Path,
    *,
    name: str,
    address: str,
    group_id: str,
    open_state_machine: Callable[[Path], StateMachine],
) -> Manifest:
    """Builds the data directory of member `name` at `address` (host:port), durable on return.

    `open_state_machine` opens an empty one in the directory that it is given. Raises CannotStart when `data` holds
    anything, or the group id is the old group's; DamagedSnapshot; OSError; what the state machine raises. The data
    directory is left empty then.
    """
    data.mkdir(parents=True, exist_ok=True)
    surplus = next(data.iterdir(), None)
    if surplus is not None:
        raise CannotStart(f"data directory {data} is not empty (it has {surplus.name}): restore into an empty one")
    aside = data / "restoring"
    aside.mkdir()
    try:
        manifest = _build(archive, aside, Configuration.of_voters(group_id, {name: address}), open_state_machine)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    for part in (STORE, RAFT):
        (aside / part).rename(data / part)
        sync_directory(data)
    aside.rmdir()
    sync_directory(data)
    sync_directory(data.parent)
    return manifest


def _build(
    archive: Path, aside: Path, configuration: Configuration, open_state_machine: Callable[[Path], StateMachine]
) -> Manifest:
    unpacked = aside / "unpacked"
    with archive.open("rb") as source:
        manifest = unpack(source, unpacked)
    if manifest.configuration.group_id == configuration.group_id:
        raise CannotStart(
            f"group id {configuration.group_id} is that of the snapshot's group: choose a new one, so that members of "
            f"the old group can't meet the new"
        )
    state_machine = open_state_machine(aside / STORE)
    try:
        state_machine.install(unpacked / STATE)
        if state_machine.applied_index != manifest.index:
            raise DamagedSnapshot(
                f"snapshot {archive} says index {manifest.index}, and its state is of {state_machine.applied_index}: "
                f"take a new one"
            )
    finally:
        state_machine.close()
    shutil.rmtree(unpacked)
    journal = Journal(aside / RAFT, configuration)
    try:
        (name,) = configuration.voters
        identity = create_identity(aside / RAFT, name)
        journal.reset(manifest.index, manifest.term, configuration.founded({name: identity.incarnation}))
    finally:
        journal.close()
    sync_tree(aside)
    return manifest
