"""The Raft service: people look at the group, change who belongs to it, and take snapshots of what it keeps."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

import grpc

from guardian.config import require_member_name
from guardian.errors import Conflict, InvalidInput, Unavailable
from guardian.model.topology import require_endpoint
from guardian.model.wire.fields import filled
from guardian.replication.store.store import ReplicatedStore, from_raft
from guardian.replication.store.verification import VerificationStatus
from guardian.serving.requests import actor_of
from metastore import levels
from protos.guardian.v1 import raft_pb2 as pb
from protos.guardian.v1 import raft_pb2_grpc
from raft.configuration import Role
from raft.errors import RaftError
from raft.protocol import AddLearner, Change, MemberStatus, Promote, Remove, Replica, ReplicaStatus, StopCause
from raft.snapshotting.archive import packed
from raft.snapshotting.snapshots import MANIFEST, Manifest

DEFAULT_TIMEOUT_S = 10.0
MAX_TIMEOUT_S = 60.0
SCRATCH = "saving"
_STOP_CAUSES = {StopCause.DAMAGED: pb.STOP_CAUSE_DAMAGED, StopCause.DIVERGED: pb.STOP_CAUSE_DIVERGED}


class RaftServicer(raft_pb2_grpc.RaftServicer):
    """`client_address` is where clients reach this member; snapshots are made in the folder `data`, on the file system
    of the store, and removed again."""

    def __init__(
        self,
        replica: Replica,
        client_address: str,
        data: Path,
        store: ReplicatedStore,
        verification: Callable[[], VerificationStatus] = VerificationStatus,
    ) -> None:
        self._replica = replica
        self._verification = verification
        self._store = store
        self._client_address = client_address
        self._scratch = data / SCRATCH

    def GetRaftStatus(self, request: pb.GetRaftStatusRequest, context: grpc.ServicerContext) -> pb.RaftStatus:
        status = status_to_proto(self._replica.status(), self._client_address, self._store.level())
        status.clock_ms = self._store.read_local().clock_ms
        filled(status.verification, self._verification())
        return status

    def TransferLeader(
        self, request: pb.TransferLeaderRequest, context: grpc.ServicerContext
    ) -> pb.TransferLeaderReply:
        timeout_s = _time_left(context)
        try:
            return pb.TransferLeaderReply(leader=self._replica.transfer_leadership(request.to or None, timeout_s))
        except RaftError as error:
            raise from_raft(error, timeout_s) from None

    def ChangeMembership(
        self, request: pb.ChangeMembershipRequest, context: grpc.ServicerContext
    ) -> pb.ChangeMembershipReply:
        timeout_s = _time_left(context)
        try:
            self._replica.change_membership(change_from_proto(request), timeout_s)
        except RaftError as error:
            raise from_raft(error, timeout_s) from None
        return pb.ChangeMembershipReply(members=status_to_proto(self._replica.status(), self._client_address).members)

    def RaiseLevel(self, request: pb.RaiseLevelRequest, context: grpc.ServicerContext) -> pb.RaiseLevelReply:
        require_known_by(request, [member.name for member in self._replica.status().members])
        self._store.raise_level(request.level, actor=actor_of(context))
        return pb.RaiseLevelReply(level=request.level)

    async def SaveSnapshot(
        self,
        request: pb.SaveSnapshotRequest,
        context: grpc.aio.ServicerContext[pb.SaveSnapshotRequest, pb.SaveSnapshotReply],
    ) -> AsyncIterator[pb.SaveSnapshotReply]:
        replies = self._snapshot()
        while (reply := await asyncio.to_thread(next, replies, None)) is not None:
            yield reply

    def _snapshot(self) -> Iterator[pb.SaveSnapshotReply]:
        """Yield a snapshot in pieces. What it makes is removed when the client has taken the last reply, or the
        iterator is let go.
        """
        try:
            self._scratch.mkdir(exist_ok=True)
            scratch = Path(tempfile.mkdtemp(dir=self._scratch))
        except OSError as error:
            raise Unavailable(f"a snapshot can't be made in {self._scratch}: {error.strerror}") from None
        try:
            directory = scratch / "snapshot"
            try:
                self._replica.save_snapshot(directory)
            except LookupError as error:
                raise Unavailable(str(error)) from None
            manifest = Manifest.from_bytes((directory / MANIFEST).read_bytes())
            yield pb.SaveSnapshotReply(index=manifest.index, term=manifest.term)
            for piece in packed(directory):
                yield pb.SaveSnapshotReply(data=piece)
        except RaftError as error:
            raise from_raft(error, DEFAULT_TIMEOUT_S) from None
        except OSError as error:
            raise Unavailable(f"a snapshot can't be made in {self._scratch}: {error.strerror}") from None
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def status_to_proto(status: ReplicaStatus, client_address: str, level: int = 0) -> pb.RaftStatus:
    """`client_address` is this member's own, which others tell it of and it tells itself of not."""
    members = [_member_to_proto(member, status, client_address) for member in status.members]
    leader_endpoint = next((member.endpoint for member in members if member.name == status.leader), "")
    return pb.RaftStatus(
        name=status.name,
        group_id=status.group_id,
        state=status.state,
        leader=status.leader or "",
        leader_endpoint=leader_endpoint,
        term=status.term,
        first_index=status.first_index,
        last_index=status.last_index,
        commit_index=status.commit_index,
        applied_index=status.applied_index,
        staleness_ms=-1 if status.staleness_s is None else int(status.staleness_s * 1000),
        members=members,
        disk_free_bytes=status.disk_free_bytes,
        disk_reserve_bytes=status.disk_reserve_bytes,
        is_refusing_writes=status.is_refusing_writes,
        is_outvoted=status.is_outvoted,
        counters=status.counters,
        level=level,
        known_level=levels.LEVEL,
    )


def require_known_by(request: pb.RaiseLevelRequest, members: Sequence[str]) -> None:
    """Raises InvalidInput for a level that this version does not know, and Conflict when some member does not, or was
    not asked: members may have come since the caller looked."""
    if request.level > levels.LEVEL:
        raise InvalidInput(f"level is {request.level}: this version of Guardian knows levels up to {levels.LEVEL}")
    behind = sorted(name for name in members if request.known_by.get(name, 0) < request.level)
    if behind:
        raise Conflict(
            f"feature level {request.level} is unknown to {', '.join(behind)}, or it was not reached: bring"
            " every member of the group to the new version first, or remove it"
        )


def change_from_proto(request: pb.ChangeMembershipRequest) -> Change:
    """Raises InvalidInput when it is no change, or a name or address could be nobody's."""
    match request.WhichOneof("change"):
        case "add":
            require_endpoint("raft", request.add.raft)
            return AddLearner(_new_name(request.add.name), request.add.raft)
        case "promote":
            return Promote(_named(request.promote))
        case "remove":
            return Remove(_named(request.remove))
        case _:
            raise InvalidInput("change is empty: add, promote or remove a member")


def _named(name: str) -> str:
    if not name:
        raise InvalidInput("name is empty: give the member's name")
    return name


def _new_name(name: str) -> str:
    """A name that the member's own configuration would take. (Others can still be removed.)"""
    require_member_name("name", _named(name))
    return name


def _member_to_proto(member: MemberStatus, status: ReplicaStatus, client_address: str) -> pb.RaftMember:
    is_self = member.name == status.name
    return pb.RaftMember(
        name=member.name,
        raft=member.address,
        endpoint=client_address if is_self else member.client_address,
        is_voter=member.role is Role.VOTER,
        is_connected=is_self or member.is_connected,
        match_index=member.match_index or 0,
        stop_cause=_STOP_CAUSES[member.last_words.cause] if member.last_words else pb.STOP_CAUSE_UNSPECIFIED,
        stop_reason=member.last_words.reason if member.last_words else "",
        clock_ms=member.clock_ms or 0,
    )


def _time_left(context: grpc.ServicerContext) -> float:
    left = context.time_remaining()
    return min(left, MAX_TIMEOUT_S) if left is not None else DEFAULT_TIMEOUT_S
