"""Full disks: a clear refusal, and recovery without anybody's help. Failing disks: an end that loses nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import grpc
import pytest

from deploy.local import ports
from metastore.rocksdb import RocksDbStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import records_pb2, tiering_pb2
from raft.errors import LowDisk, OutcomeUnknown, RaftError
from raft.replica import RaftReplica
from tests.integration.faults import probes
from tests.integration.faults.disks import SmallDisk
from tests.integration.faults.event_load import EventLoad, Refusal
from tests.integration.faults.group import Group
from tests.integration.faults.shims import FailingFsync
from tests.patience import wait_for

pytestmark = pytest.mark.integration

_SIZE_MIB = 256
_RESERVE_MIB = 48
_LEFT_MIB = 24
_FAIL_STOP = 70


@pytest.fixture
def disks(make: Callable[..., Group]) -> Iterator[tuple[Group, dict[str, SmallDisk]]]:
    """A group that serves, each member on a small disk of its own."""
    group = make({"disk": {"reserve_mb": _RESERVE_MIB}})
    with ExitStack() as stack:
        small = {name: stack.enter_context(SmallDisk(group.data(name), _SIZE_MIB)) for name in group.names}
        group.start()
        group.wait_serving()
        yield group, small
        group.kill(group.names)


def _is_refusing(group: Group, name: str) -> bool:
    status = group.status(name)
    return status is not None and status.is_refusing_writes


@pytest.mark.long
def test_a_follower_with_a_full_disk_lives_on_and_catches_up(disks: tuple[Group, dict[str, SmallDisk]]) -> None:
    group, small = disks
    full = group.followers()[0]
    others = [name for name in group.names if name != full]
    with EventLoad([group.channel(name) for name in others], writers=2, batch=10) as load:
        small[full].fill(leave_mib=_LEFT_MIB)
        wait_for("it has no room", lambda: _is_refusing(group, full))
        load.wait_more(2000)
        assert group.is_running(full), group.log(full)
        small[full].free()
        load.wait_more(200)
    group.wait_equal()
    load.require_all(group.channel(full))
    group.require_identical()


@pytest.mark.parametrize(
    "with_leader",
    [pytest.param(True, id="the leader among them"), pytest.param(False, id="the followers", marks=pytest.mark.soak)],
)
def test_a_majority_with_full_disks_refuses_clearly_and_recovers_by_itself(
    disks: tuple[Group, dict[str, SmallDisk]], with_leader: bool
) -> None:
    group, small = disks
    leader = group.leader()
    full = [leader, group.followers()[0]] if with_leader else group.followers()
    probes.put(group.channel(leader), "register", "kept")
    with EventLoad([group.channel(name) for name in group.names], writers=2, batch=10) as load:
        load.wait_more(200)
        for name in full:
            small[name].fill(leave_mib=_LEFT_MIB)
        wait_for(
            "writes are refused with RESOURCE_EXHAUSTED",
            lambda: all(
                probes.refusal_of_put(group.channel(name), "new", str(time.monotonic()))
                is grpc.StatusCode.RESOURCE_EXHAUSTED
                for name in group.names
            ),
        )
        wait_for("a refusal names the disk", lambda: _names_the_disk(load.refusals()))
        # Reads need no disk, but at a member that had to drop what others have, which can't know what is newest.
        assert probes.get(group.channel(group.leader()), "register") == "kept"
        for name in group.names:
            assert group.is_running(name), group.log(name)

        for name in full:
            small[name].free()
        load.wait_more(200)
        wait_for("nobody refuses", lambda: not any(_is_refusing(group, name) for name in group.names))
    for name in group.names:
        load.require_all(group.channel(name))
    group.require_identical()


def test_a_leader_whose_disk_takes_not_a_byte_more_lives_on_without_the_lead_until_there_is_space(
    make: Callable[..., Group],
) -> None:
    group = make({"disk": {"reserve_mb": 0}})
    with ExitStack() as stack:
        small = {name: stack.enter_context(SmallDisk(group.data(name), _SIZE_MIB)) for name in group.names}
        group.start()
        group.wait_serving()
        stack.callback(group.kill, group.names)
        full = group.leader()
        others = [name for name in group.names if name != full]
        with EventLoad([group.channel(name) for name in others], writers=2, batch=10) as load:
            load.wait_more(200)
            small[full].fill(leave_mib=0)
            wait_for("another one leads", lambda: group.leader(others) != full)
            load.wait_more(1000)
            assert group.is_running(full), group.log(full)
            assert f"member {full} takes part again once it can write" in group.log(full, 1000)
            small[full].free()
            load.wait_more(200)
        group.wait_equal()
        load.require_all(group.channel(full))
        group.require_identical()
        assert f"member {full} can write again" in group.log(full, 1000)


@pytest.mark.parametrize("role", ["leader", pytest.param("follower", marks=pytest.mark.soak)])
def test_a_member_whose_fsync_fails_ends_and_acknowledges_nothing_more(group: Group, tmp_path: Path, role: str) -> None:
    group.kill(group.names)
    shims = {name: FailingFsync(_made(tmp_path / f"shim-{name}"), group.data(name)) for name in group.names}
    for name, shim in shims.items():
        group.set_environment(name, shim.environment)
    group.start()
    group.wait_serving()
    broken = group.leader() if role == "leader" else group.followers()[0]
    with EventLoad([group.channel(name) for name in group.names], writers=4, batch=10) as load:
        load.wait_more(200)
        shims[broken].break_disk()
        assert group.wait_exit(broken) == _FAIL_STOP, group.log(broken)
        load.wait_more(1000)
        shims[broken].repair_disk()
        group.start([broken])
        group.wait_serving()
        load.wait_more(200)
    for name in group.names:
        load.require_all(group.channel(name))
    group.require_identical()


@pytest.mark.long
def test_a_group_whose_every_fsync_fails_acknowledges_nothing_and_is_sound_after_a_restart(
    group: Group, tmp_path: Path
) -> None:
    group.kill(group.names)
    shims = {name: FailingFsync(_made(tmp_path / f"shim-{name}"), group.data(name)) for name in group.names}
    for name, shim in shims.items():
        group.set_environment(name, shim.environment)
    group.start()
    group.wait_serving()
    probes.put(group.channel("g1"), "register", "kept")
    for shim in shims.values():
        shim.break_disk()
    assert probes.refusal_of_put(group.channel("g1"), "register", "not acknowledged") is not None
    wait_for("a member has ended", lambda: not all(map(group.is_running, group.names)))
    codes = {group.wait_exit(name) for name in group.names if not group.is_running(name)}
    assert codes == {_FAIL_STOP}
    group.kill(group.names)
    for shim in shims.values():
        shim.repair_disk()
    group.start()
    group.wait_serving()
    # The write that was not acknowledged may be there, as any of unknown outcome.
    assert probes.get(group.channel("g2"), "register") in ("kept", "not acknowledged")
    group.require_identical()


def _names_the_disk(refusals: Sequence[Refusal]) -> bool:
    return any(refusal.code is grpc.StatusCode.RESOURCE_EXHAUSTED and "disk" in refusal.text for refusal in refusals)


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory


def test_a_store_without_space_for_a_flush_is_opened_anew_and_applies_again_what_it_lost(tmp_path: Path) -> None:
    with SmallDisk(tmp_path / "disk", 60) as disk:
        machine = MetastoreStateMachine(RocksDbStore(tmp_path / "disk" / "store"))
        address = f"127.0.0.1:{ports.pick(1)[0]}"
        with closing(RaftReplica("g1", address, {}, machine, tmp_path / "raft", disk_reserve_bytes=0)) as replica:
            wait_for("it leads", replica.is_leader)
            for number in range(50):
                replica.propose(_allocation(number), 30.0)
            machine.sync()
            for number in range(50, 1500):
                replica.propose(_allocation(number), 30.0)
            before = machine.read().applied_index
            disk.fill(leave_mib=0)
            with pytest.raises(OSError, match="No space left on device"):
                machine.sync()
            with pytest.raises((LowDisk, OutcomeUnknown)):
                replica.propose(_allocation(1500), 2.0)
            wait_for("it says what it lacks", lambda: _lacks_room(replica))
            disk.free()
            wait_for("it takes commands", lambda: _takes(replica, _allocation(1501)))
            views = machine.read()
            assert views.applied_index > before
            found = [views.highest_id(_cluster(number), tiering_pb2.TOPIC_ID) for number in range(1500)]
            assert found == list(range(1, 1501))  # each applied once
            assert machine.sync() == machine.applied_index
        again = MetastoreStateMachine(RocksDbStore(tmp_path / "disk" / "store"))
        assert again.read().highest_id(_cluster(1501), tiering_pb2.TOPIC_ID) > 1500
        again.close()


def _cluster(number: int) -> str:
    return f"{number}".rjust(200, "-")  # so that a flush needs some hundred kilobytes


def _allocation(number: int) -> bytes:
    request = tiering_pb2.AllocateIdsRequest(cluster_id=_cluster(number), kind=tiering_pb2.TOPIC_ID, count=1)
    return records_pb2.Command(proposed_at_ms=1, allocate_ids=request).SerializeToString()


def _lacks_room(replica: RaftReplica) -> bool:
    try:
        replica.propose(_allocation(1500), 1.0)
    except LowDisk as error:
        return "No space left on device" in str(error)
    except OutcomeUnknown:
        return False
    return False


def _takes(replica: RaftReplica, command: bytes) -> bool:
    try:
        replica.propose(command, 5.0)
    except RaftError:
        return False
    return True
