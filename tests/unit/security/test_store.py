"""A member's audit file: what the audit has, once and in its order, over restarts, crashes and a full disk."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from guardian.errors import InvalidInput
from guardian.model.topology import Cluster
from guardian.model.wire.federation import cluster_to_proto
from guardian.replication.store.store import ReplicatedStore
from guardian.security import store as audit_file
from guardian.security.rules.audit_chain import START, check_lines
from guardian.security.service.refusals import Refusals, Why
from guardian.security.store import AuditFile
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from raft.inmem import InMemoryReplica
from tests.patience import until


class Audited:
    """A store whose audit grows, and the file of a member that is started and stopped."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "audit.jsonl"
        self.now_ms = 1000
        self.machine = MetastoreStateMachine(MemoryStore())
        self.store = ReplicatedStore(InMemoryReplica("g1", self.machine), self.machine, lambda: self.now_ms)
        self._clusters = 0

    def change(self, times: int = 1) -> None:
        for _ in range(times):
            self._clusters += 1
            self.now_ms += 1
            self.store.put_cluster(cluster_to_proto(Cluster(f"c{self._clusters}", "h:9092", f"x{self._clusters}")))

    def refuse(self, times: int) -> None:
        """One command of several records."""
        refusals = Refusals(self.store, lambda: self.now_ms)
        for number in range(times):
            refusals.note(Why.NOT_ALLOWED, f"n{number}", "/x", "no", "a:1")
        refusals.flush()

    def run(self) -> None:
        """A member's life: it appends what is new, and ends."""
        running = AuditFile(self.path, self.machine)
        running.start()
        running.stop()

    def lines(self) -> list[str]:
        return self.path.read_text().splitlines()

    def recorded(self) -> list[tuple[int, str]]:
        return [(told["index"], told["subject"]) for told in map(json.loads, self.lines())]

    def in_the_audit(self) -> list[tuple[int, str]]:
        records, _ = self.store.read_local().audit_page(0, 0, "", b"", 1000)
        return [(each.index, each.subject) for each in sorted(records, key=lambda each: (each.index, each.at_ms))]


@pytest.fixture
def audited(tmp_path: Path) -> Audited:
    return Audited(tmp_path)


def test_what_comes_while_it_runs_is_appended_at_once(audited: Audited) -> None:
    running = AuditFile(audited.path, audited.machine)
    running.start()
    try:
        audited.change(3)
        until(lambda: audited.recorded() == audited.in_the_audit())
    finally:
        running.stop()


def test_a_restart_goes_on_where_the_file_ends(audited: Audited) -> None:
    for round_ in range(4):
        audited.change(3)
        audited.refuse(round_)
        before = audited.lines() if audited.path.exists() else []
        audited.run()
        audited.run()  # nothing is new
        assert audited.lines()[: len(before)] == before
    checked = check_lines(audited.lines())
    assert (checked.lines, checked.first_previous) == (len(audited.in_the_audit()), START)
    assert audited.recorded() == audited.in_the_audit()


def test_what_came_while_it_was_down_is_more_than_a_page(audited: Audited, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_file, "_PAGE", 5)
    audited.change(2)
    audited.run()
    audited.change(23)
    audited.refuse(7)
    audited.run()
    assert audited.recorded() == audited.in_the_audit()


@pytest.mark.parametrize("kept_lines", range(1, 8))
@pytest.mark.parametrize("torn", [0, 3, 30])
def test_a_crash_between_any_two_bytes_loses_and_repeats_nothing(audited: Audited, kept_lines: int, torn: int) -> None:
    audited.change(3)
    audited.refuse(5)  # of one command: all of these have one index
    audited.run()
    whole = audited.path.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 8
    audited.path.write_bytes(b"".join(lines[:kept_lines]) + lines[kept_lines][:torn])
    audited.run()
    assert audited.path.read_bytes() == whole


def test_a_crash_in_the_first_line(audited: Audited) -> None:
    audited.change()
    audited.path.write_bytes(b'{"at_ms":10')
    audited.run()
    assert audited.recorded() == audited.in_the_audit()
    check_lines(audited.lines())


def test_the_end_of_a_long_file_is_enough(audited: Audited, monkeypatch: pytest.MonkeyPatch) -> None:
    audited.change(4)
    audited.refuse(6)
    audited.run()
    whole = audited.path.read_bytes()
    monkeypatch.setattr(audit_file, "_TAIL_BYTES", len(whole) - 200)
    audited.path.write_bytes(b"".join(whole.splitlines(keepends=True)[:-2]))
    audited.run()
    assert audited.path.read_bytes() == whole


def test_a_full_disk_leaves_no_half_line(audited: Audited, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    audited.change(2)
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda file, line: real(file, line[: len(line) // 2]))
        audited.run()
    assert audited.path.read_bytes() == b""
    audited.run()
    assert audited.recorded() == audited.in_the_audit()
    check_lines(audited.lines())


@pytest.mark.parametrize("content", [b"a diary\n", b"a diary", b'{"index":"x"}\n', b'{"a":1}\n', b"[]\n"])
def test_a_file_of_somebody_else_is_left_as_it_is(audited: Audited, content: bytes) -> None:
    audited.path.write_bytes(content)
    with pytest.raises(InvalidInput, match="none of Guardian's"):
        AuditFile(audited.path, audited.machine)
    assert audited.path.read_bytes() == content
