"""A snapshot out of a stopped member's folder, for a group that has lost its majority: nobody is left to ask.

<data>/store ── the state ─────────────┐
<data>/raft  ── entries the state lacks ┴─▶ applied to a copy ─▶ an archive, as of a running member

The log may end with entries of which this member never learned whether a majority has them. They are applied: one of
them may have been acknowledged, and who proposed another one got no answer.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from raft.entries import command_in
from raft.errors import CannotStart
from raft.node.installing import repair
from raft.protocol import StateMachine
from raft.restoring import RAFT, STORE
from raft.snapshotting import snapshots
from raft.snapshotting.archive import packed
from raft.snapshotting.snapshots import STATE, Manifest
from raft.storage.files import sync_directory
from raft.storage.journal import Journal


def salvage(data: Path, archive: Path, open_state_machine: Callable[[Path], StateMachine]) -> tuple[Manifest, int]:
    """Writes the archive, durable on return; returns its manifest and how many commands only the log had.

    `data` stays as it is: what is opened is a copy beside the archive, removed again. The member must not run. Raises
    CannotStart for a folder that no member could start on, FileExistsError, OSError, and what the state machine raises.
    """
    for part in (STORE, RAFT):
        if not (data / part).is_dir():
            raise CannotStart(f"data directory {data} has no {part}: name the folder of a stopped member")
    if archive.exists():
        raise FileExistsError(f"{archive} is there already")
    aside = Path(tempfile.mkdtemp(prefix=f"{archive.name}-", dir=archive.parent))
    try:
        for part in (STORE, RAFT):
            shutil.copytree(data / part, aside / part)
        manifest, found = _snapshot(aside, open_state_machine)
        with (aside / archive.name).open("xb") as output:
            output.writelines(packed(aside / "snapshot"))
            output.flush()
            os.fsync(output.fileno())
        (aside / archive.name).rename(archive)
        sync_directory(archive.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return manifest, found


def _snapshot(aside: Path, open_state_machine: Callable[[Path], StateMachine]) -> tuple[Manifest, int]:
    journal = Journal(aside / RAFT)
    try:
        state_machine = open_state_machine(aside / STORE)
        try:
            repair(aside / RAFT, state_machine.applied_index, journal)
            found = _catch_up(state_machine, journal)
            (aside / "snapshot").mkdir()
            index = state_machine.save(aside / "snapshot" / STATE)
        finally:
            state_machine.close()
        term, configuration = journal.term_at(index), journal.configuration_at(index)
        if term is None or configuration is None:
            raise CannotStart(f"the state is of index {index}, which the log lacks: salvage another member")
        return snapshots.write(aside / "snapshot", index, term, configuration), found
    finally:
        journal.close()


def _catch_up(state_machine: StateMachine, journal: Journal) -> int:
    found = 0
    for entry, index, _ in journal[max(0, state_machine.applied_index + 1 - journal.first_index) :]:
        command = command_in(entry)
        if command is not None:
            state_machine.apply(index, command)
            found += 1
    return found
