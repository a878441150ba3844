"""The running checksum: the same past gives the same one, any other past another one."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from metastore import checksum as module
from metastore.checksum import NOTHING, RunningChecksum
from metastore.memory import MemoryStore
from metastore.records import Record
from metastore.rocksdb import RocksDbStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import records_pb2 as pb

Step = list[Record]
records = st.lists(st.tuples(st.binary(max_size=3), st.none() | st.binary(max_size=3)), max_size=3)
steps = st.lists(records, max_size=4)


def of(history: list[Step]) -> bytes:
    running = RunningChecksum(0, NOTHING)
    for index, changed in enumerate(history, start=1):
        running.add(index, running.following(index, changed))
    found = running.at(len(history))
    assert found is not None
    return found


@given(steps, steps)
def test_checksums_are_equal_when_the_histories_are(one: list[Step], other: list[Step]) -> None:
    assert (of(one) == of(other)) == (one == other)


def test_the_past_is_remembered_for_a_while() -> None:
    running = RunningChecksum(5, b"at 5")
    assert running.at(4) is None
    assert running.at(5) == b"at 5"
    assert running.at(7) == b"at 5"  # entries that are no commands change nothing
    running.add(8, b"at 8")
    assert (running.at(7), running.at(8), running.at(80)) == (b"at 5", b"at 8", b"at 8")
    for index in range(9, 9 + 2 * module.KEPT):
        running.add(index, b"later")
    assert running.at(8) is None


def command(number: int) -> bytes:
    return pb.Command(expire_sessions=pb.ExpireSessions(), proposed_at_ms=number).SerializeToString()


def test_it_is_part_of_the_state_and_travels_with_it(tmp_path: Path) -> None:
    twin = MetastoreStateMachine(MemoryStore())
    machine = MetastoreStateMachine(RocksDbStore(tmp_path / "store"))
    for index in (2, 3, 7):
        for each in (machine, twin):
            each.apply(index, command(index))
    assert machine.checksum_at(7) == twin.checksum_at(7)
    assert machine.checksum_at(6) == twin.checksum_at(3) != machine.checksum_at(7)
    machine.save(tmp_path / "copy")
    machine.sync()
    machine.close()

    again = MetastoreStateMachine(RocksDbStore(tmp_path / "store"))
    assert again.checksum_at(7) == twin.checksum_at(7)
    again.close()
    other = MetastoreStateMachine(RocksDbStore(tmp_path / "other"))
    other.apply(2, command(99))
    other.install(tmp_path / "copy")
    assert other.checksum_at(7) == twin.checksum_at(7)
    for each in (other, twin):
        each.apply(8, command(8))
    assert other.checksum_at(8) == twin.checksum_at(8)
    other.close()
