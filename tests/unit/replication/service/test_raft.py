"""The Raft service over a replica of one, and what its answers are made of."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from guardian.errors import Conflict, InvalidInput, Unavailable
from guardian.replication.service.raft import SCRATCH, RaftServicer, change_from_proto, status_to_proto
from guardian.replication.store.store import ReplicatedStore, now_ms
from guardian.serving.grpc_server import start_grpc
from metastore import levels
from metastore.rocksdb import RocksDbStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import raft_pb2 as pb
from protos.guardian.v1 import raft_pb2_grpc, records_pb2
from raft.configuration import Role
from raft.errors import ChangeRefused, NoLeader, RaftError
from raft.inmem import InMemoryReplica
from raft.protocol import AddLearner, LastWords, MemberStatus, Promote, Remove, ReplicaStatus, StopCause
from raft.snapshotting import snapshots
from raft.snapshotting.archive import unpack, verify_archive
from raft.snapshotting.snapshots import MANIFEST, Manifest
from tests.patience import PATIENCE_S, until

PUT = records_pb2.Command(open_session=records_pb2.OpenSession(window=1, session_id=1)).SerializeToString()


class Context:
    """As much of grpc.ServicerContext as the service asks of it."""

    def auth_context(self) -> dict[str, list[bytes]]:
        return {}

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        return ()

    def time_remaining(self) -> float | None:
        return 5.0


CONTEXT: grpc.ServicerContext = Context()  # type: ignore[assignment]


@pytest.fixture
def machine(tmp_path: Path) -> MetastoreStateMachine:
    return MetastoreStateMachine(RocksDbStore(tmp_path / "store"))


@pytest.fixture
def replica(machine: MetastoreStateMachine) -> Iterator[InMemoryReplica]:
    replica = InMemoryReplica("g1", machine)
    yield replica
    replica.close()


@pytest.fixture
def servicer(replica: InMemoryReplica, machine: MetastoreStateMachine, tmp_path: Path) -> RaftServicer:
    return RaftServicer(replica, "h1:9750", tmp_path, ReplicatedStore(replica, machine, now_ms))


@pytest.fixture
def served(servicer: RaftServicer) -> Iterator[raft_pb2_grpc.RaftStub]:
    """A client of the service, whose server's threads end with it."""
    server = start_grpc(
        "127.0.0.1:0", lambda grpc_server: raft_pb2_grpc.add_RaftServicer_to_server(servicer, grpc_server)
    )
    with grpc.insecure_channel(f"127.0.0.1:{server.port}", [("grpc.enable_http_proxy", 0)]) as channel:
        yield raft_pb2_grpc.RaftStub(channel)
    server.stop()
    until(lambda: not [each.name for each in threading.enumerate() if each.name.startswith(("rpc", "grpc"))])


def wait_until_nothing_is_left(data: Path) -> None:
    def left() -> list[Path]:
        return list((data / SCRATCH).iterdir())

    until(lambda: not left(), story=left)


def test_a_status_says_all_that_the_member_knows() -> None:
    status = ReplicaStatus(
        name="g2",
        leader="g1",
        term=3,
        applied_index=8,
        live_members=("g1", "g2"),
        group_id="id",
        state="follower",
        first_index=2,
        last_index=10,
        commit_index=9,
        staleness_s=0.0625,
        members=(
            MemberStatus("g1", "h1:1", Role.VOTER, is_connected=True, client_address="h1:2"),
            MemberStatus("g2", "h2:1", Role.LEARNER, is_connected=False, match_index=7),
            MemberStatus("g3", "h3:1", Role.VOTER, False, last_words=LastWords(StopCause.DAMAGED, "a file")),
        ),
        disk_free_bytes=5,
        disk_reserve_bytes=4,
        is_refusing_writes=True,
        is_outvoted=True,
        counters={"elections": 2},
    )
    assert status_to_proto(status, "h2:2", level=1) == pb.RaftStatus(
        name="g2",
        group_id="id",
        state="follower",
        leader="g1",
        leader_endpoint="h1:2",
        term=3,
        first_index=2,
        last_index=10,
        commit_index=9,
        applied_index=8,
        staleness_ms=62,
        members=[
            pb.RaftMember(name="g1", raft="h1:1", endpoint="h1:2", is_voter=True, is_connected=True),
            pb.RaftMember(name="g2", raft="h2:1", endpoint="h2:2", is_connected=True, match_index=7),
            pb.RaftMember(
                name="g3", raft="h3:1", is_voter=True, stop_cause=pb.STOP_CAUSE_DAMAGED, stop_reason="a file"
            ),
        ],
        disk_free_bytes=5,
        disk_reserve_bytes=4,
        is_refusing_writes=True,
        is_outvoted=True,
        counters={"elections": 2},
        level=1,
        known_level=levels.LEVEL,
    )


def test_what_is_unknown_is_not_told_as_known() -> None:
    status = status_to_proto(ReplicaStatus("g1", None, 1, 0, ("g1",)), "h1:2")
    assert (status.leader, status.leader_endpoint, status.staleness_ms) == ("", "", -1)


def test_a_change_is_what_was_asked_for() -> None:
    add = pb.ChangeMembershipRequest(add=pb.AddMember(name="g4", raft="h4:1"))
    assert change_from_proto(add) == AddLearner("g4", "h4:1")
    assert change_from_proto(pb.ChangeMembershipRequest(promote="g4")) == Promote("g4")
    assert change_from_proto(pb.ChangeMembershipRequest(remove="g4")) == Remove("g4")


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (pb.ChangeMembershipRequest(), "change is empty"),
        (pb.ChangeMembershipRequest(promote=""), "name is empty"),
        (pb.ChangeMembershipRequest(remove=""), "name is empty"),
        (pb.ChangeMembershipRequest(add=pb.AddMember(raft="h:1")), "name is empty"),
        (pb.ChangeMembershipRequest(add=pb.AddMember(name="g4", raft="h")), "raft is 'h': use host:port"),
    ],
)
def test_a_change_that_is_none_is_refused(request_: pb.ChangeMembershipRequest, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        change_from_proto(request_)


def test_a_group_of_one_has_nobody_to_hand_over_to_and_does_not_lose_its_last_voter(servicer: RaftServicer) -> None:
    with pytest.raises(Conflict, match="nobody to hand leadership to"):
        servicer.TransferLeader(pb.TransferLeaderRequest(), CONTEXT)
    assert servicer.TransferLeader(pb.TransferLeaderRequest(to="g1"), CONTEXT).leader == "g1"
    with pytest.raises(Conflict, match="last voter"):
        servicer.ChangeMembership(pb.ChangeMembershipRequest(remove="g1"), CONTEXT)
    again = servicer.ChangeMembership(pb.ChangeMembershipRequest(promote="g1"), CONTEXT)
    assert [member.name for member in again.members] == ["g1"]


@pytest.mark.parametrize(("failure", "kind"), [(NoLeader("x"), Unavailable), (ChangeRefused("it lags"), Conflict)])
def test_what_raft_says_becomes_an_error_for_the_caller(
    servicer: RaftServicer,
    replica: InMemoryReplica,
    monkeypatch: pytest.MonkeyPatch,
    failure: RaftError,
    kind: type[Exception],
) -> None:
    def refuse(*_: object) -> None:
        raise failure

    monkeypatch.setattr(replica, "change_membership", refuse)
    with pytest.raises(kind):
        servicer.ChangeMembership(pb.ChangeMembershipRequest(promote="g1"), CONTEXT)


def test_a_snapshot_comes_as_an_archive_with_its_index_first(
    served: raft_pb2_grpc.RaftStub, replica: InMemoryReplica, tmp_path: Path
) -> None:
    for _ in range(3):
        replica.propose(PUT, 1)
    first, *rest = served.SaveSnapshot(pb.SaveSnapshotRequest(), timeout=PATIENCE_S)
    assert (first.index, first.data) == (3, b"")
    archive = b"".join(piece.data for piece in rest)
    manifest = unpack(io.BytesIO(archive), tmp_path / "unpacked")
    assert manifest.index == 3
    (tmp_path / "archive.tar").write_bytes(archive)
    assert verify_archive(tmp_path / "archive.tar") == manifest
    wait_until_nothing_is_left(tmp_path)


def test_a_snapshot_that_nobody_takes_to_the_end_is_given_up(
    served: raft_pb2_grpc.RaftStub, replica: InMemoryReplica, tmp_path: Path
) -> None:
    replica.propose(PUT, 1)
    (tmp_path / "large").write_bytes(os.urandom(64 << 20))
    save = replica.save_snapshot

    def save_large(directory: Path) -> None:
        save(directory)
        (directory / "state" / "large").hardlink_to(tmp_path / "large")
        manifest = Manifest.from_bytes((directory / MANIFEST).read_bytes())
        (directory / MANIFEST).unlink()
        snapshots.write(directory, manifest.index, manifest.term, manifest.configuration)

    replica.save_snapshot = save_large  # type: ignore[method-assign]
    replies = served.SaveSnapshot(pb.SaveSnapshotRequest(), timeout=PATIENCE_S)
    assert next(replies).index == 1
    assert next(replies).data
    assert list((tmp_path / SCRATCH).iterdir()), "it is under way: more of it than what gRPC keeps for the client"
    replies.cancel()
    wait_until_nothing_is_left(tmp_path)


def test_an_empty_state_has_no_snapshot(served: raft_pb2_grpc.RaftStub, tmp_path: Path) -> None:
    with pytest.raises(grpc.RpcError, match="write first"):
        list(served.SaveSnapshot(pb.SaveSnapshotRequest(), timeout=PATIENCE_S))
    wait_until_nothing_is_left(tmp_path)


@pytest.mark.parametrize(
    ("level", "known_by", "kind", "message"),
    [
        (1, {}, Conflict, "feature level 1 is unknown to g1"),
        (1, {"g1": 0, "g2": 1}, Conflict, "feature level 1 is unknown to g1"),
        (2, {"g1": 2}, InvalidInput, "level is 2: this version of Guardian knows levels up to 1"),
    ],
)
def test_a_level_that_somebody_does_not_know_is_not_raised(
    servicer: RaftServicer,
    level: int,
    known_by: dict[str, int],
    kind: type[Exception],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(levels, "LEVEL", 1)
    with pytest.raises(kind, match=message):
        servicer.RaiseLevel(pb.RaiseLevelRequest(level=level, known_by=known_by), CONTEXT)
    assert servicer.GetRaftStatus(pb.GetRaftStatusRequest(), CONTEXT).level == 0


def test_a_level_that_all_know_is_raised_and_told(servicer: RaftServicer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "LEVEL", 1)
    request = pb.RaiseLevelRequest(level=1, known_by={"g1": 1})
    for _ in range(2):
        assert servicer.RaiseLevel(request, CONTEXT).level == 1
    status = servicer.GetRaftStatus(pb.GetRaftStatusRequest(), CONTEXT)
    assert (status.level, status.known_level) == (1, 1)
