"""The state machine: whatever bytes come, the index advances; only a failing store stops it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from metastore import keys, state_machine
from metastore.memory import MemoryStore
from metastore.records import Record
from metastore.state_machine import MetastoreStateMachine
from metastore.store import ReadView, StoreError
from metastore.tables.proposal import Proposal
from protos.guardian.v1 import federation_pb2, tiering_pb2
from protos.guardian.v1 import records_pb2 as pb
from tests.patience import PATIENCE_S

IDS = pb.Command(
    allocate_ids=tiering_pb2.AllocateIdsRequest(cluster_id="c", kind=tiering_pb2.TOPIC_ID, count=1)
).SerializeToString()
PUT = pb.Command(
    put_cluster=pb.PutCluster(cluster=federation_pb2.Cluster(name="live", bootstrap="b:1", cluster_id="id"))
).SerializeToString()


@pytest.fixture
def machine() -> MetastoreStateMachine:
    return MetastoreStateMachine(MemoryStore())


def reply(data: bytes) -> pb.CommandReply:
    return pb.CommandReply.FromString(data)


@pytest.mark.parametrize(
    "command", [b"\xff\xff\xff", b"", b"\x08\x05", b"\x9a\x06\x00", IDS[:-1], b"\x00", b"\x00\x01" + bytes(31)]
)
def test_garbage_and_unknown_commands_are_invalid_and_advance_the_index(
    machine: MetastoreStateMachine, command: bytes
) -> None:
    answer = reply(machine.apply(3, command))
    assert (answer.error_kind, bool(answer.error)) == (pb.INVALID, True)
    assert machine.applied_index == 3
    assert not reply(machine.apply(4, IDS)).error


def test_a_command_is_applied_once(machine: MetastoreStateMachine) -> None:
    machine.apply(5, PUT)
    before = machine.read()
    assert machine.apply(5, pb.Command(drop_cluster=pb.DropCluster(name="live")).SerializeToString()) == b""
    assert machine.read().clusters() == before.clusters() != ()
    assert machine.applied_index == 5


def test_the_index_is_written_with_the_records() -> None:
    class Counting(MemoryStore):
        batches: list[tuple[int, int]]

        def write(self, records: Sequence[Record], applied_index: int) -> None:
            self.batches.append((len(records), applied_index))
            super().write(records, applied_index)

    store = Counting()
    store.batches = []
    machine = MetastoreStateMachine(store)
    for index, command in enumerate([PUT, IDS, b"\xff"], start=1):
        machine.apply(index, command)
    assert store.batches == [
        (4, 1),
        (3, 2),
        (1, 3),
    ]  # the entry, its id, its audit; counter, highest id; nothing: a checksum


def test_a_failing_store_is_raised_and_nothing_is_answered(machine: MetastoreStateMachine) -> None:
    machine.close()
    with pytest.raises(StoreError):
        machine.apply(1, PUT)


def test_a_tables_bug_refuses_the_command_and_changes_nothing(
    machine: MetastoreStateMachine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def buggy(command: tiering_pb2.AllocateIdsRequest, view: ReadView, proposal: Proposal) -> None:
        raise KeyError("oops")

    monkeypatch.setitem(state_machine._HANDLERS, "allocate_ids", buggy)
    answer = reply(machine.apply(1, IDS))
    assert (answer.error_kind, "report this as a bug" in answer.error) == (pb.INVALID, True)
    assert machine.applied_index == 1
    assert "oops" in caplog.text


def test_every_command_of_the_proto_has_a_handler() -> None:
    kinds = {field.name for field in pb.Command.DESCRIPTOR.oneofs_by_name["command"].fields}
    assert kinds == state_machine._HANDLERS.keys()


def test_a_read_does_not_move_while_commands_are_applied(machine: MetastoreStateMachine) -> None:
    before = machine.read()
    machine.apply(1, PUT)
    assert (before.applied_index, before.clusters()) == (0, ())
    assert (machine.read().applied_index, len(machine.read().clusters())) == (1, 1)


def test_a_watcher_is_woken_by_the_next_command(machine: MetastoreStateMachine) -> None:
    seen: list[int] = []
    watcher = threading.Thread(target=lambda: seen.append(machine.wait_for_change(0, PATIENCE_S)))
    watcher.start()
    machine.apply(1, IDS)
    watcher.join(PATIENCE_S)
    assert seen == [1]
    assert machine.wait_for_change(0, PATIENCE_S) == 1
    assert machine.wait_for_change(1, 0.01) == 1


def test_closing_wakes_watchers(machine: MetastoreStateMachine) -> None:
    watcher = threading.Thread(target=lambda: machine.wait_for_change(0, PATIENCE_S * 10))
    watcher.start()
    machine.close()
    watcher.join(PATIENCE_S)
    assert not watcher.is_alive()


def test_listeners_hear_of_each_change_once_it_is_stored(machine: MetastoreStateMachine) -> None:
    heard: list[tuple[int, int, list[bytes]]] = []

    def listener(index: int, records: Sequence[Record] | None) -> None:
        assert records is not None
        heard.append((index, machine.applied_index, [key for key, _ in records]))

    machine.add_listener(listener)
    machine.apply(1, PUT)
    machine.apply(4, IDS)
    machine.apply(4, IDS)
    machine.apply(5, b"")
    ids = [keys.id_counter(tiering_pb2.TOPIC_ID), keys.highest_id("c", tiering_pb2.TOPIC_ID)]
    clusters = [keys.cluster("live"), keys.cluster_by_id("id"), keys.audit(0, 1)]
    assert heard == [(1, 1, clusters), (4, 4, ids), (5, 5, [])]
    machine.remove_listener(listener)
    machine.apply(6, IDS)
    assert len(heard) == 3


def test_a_saved_state_can_be_installed_and_is_heard_of(machine: MetastoreStateMachine, tmp_path: Path) -> None:
    machine.apply(1, PUT)
    machine.apply(2, IDS)
    assert machine.save(tmp_path / "saved") == 2
    machine.apply(3, IDS)
    other = MetastoreStateMachine(MemoryStore())
    heard: list[tuple[int, object]] = []
    other.add_listener(lambda index, records: heard.append((index, records)))
    other.install(tmp_path / "saved")
    assert (other.applied_index, heard) == (2, [(2, None)])
    assert other.read().clusters() == machine.read().clusters()
    assert reply(other.apply(3, IDS)).ids.first == 2
    assert other.sync() == 3
