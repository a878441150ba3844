"""The Raft group behind Guardian: what it looks like, its membership, and snapshots of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import grpc

from guardian.client.calls import Calls
from guardian.client.errors import from_rpc
from guardian.errors import InvalidInput, OutcomeUnknown, Unavailable
from protos.guardian.v1 import federation_pb2, raft_pb2

STATUS_TIMEOUT_S = 3.0
SNAPSHOT_TIMEOUT_S = 3600.0


@dataclass(frozen=True, slots=True)
class SavedSnapshot:
    """`index` and `term` are the log's at the moment that the snapshot shows."""

    index: int
    term: int
    size_bytes: int


class RaftCalls:
    """Part of GuardianClient."""

    _calls: Calls

    def raft_status(self, endpoint: str = "", timeout_s: float = STATUS_TIMEOUT_S) -> raft_pb2.RaftStatus:
        """Return the group's status as one member sees it: the one at `endpoint`, else the leader if it is known, else
        any of a group.

        Raises Unavailable when it does not answer.
        """
        request = raft_pb2.GetRaftStatusRequest()
        if not endpoint:
            # One that waits to be added knows of nobody: the next one in turn is asked.
            for _ in self._calls.known_endpoints():
                found = self._calls.ask_leader(lambda stubs: stubs.raft.GetRaftStatus, request)
                if found.group_id:
                    return found
            raise Unavailable(f"{found.name} belongs to no group yet: add it, or ask a member of the group")
        try:
            return self._calls.at(endpoint).raft.GetRaftStatus(request, timeout=timeout_s)
        except grpc.RpcError as error:
            raise from_rpc(error) from None

    def read_at(self, endpoint: str, timeout_s: float = STATUS_TIMEOUT_S) -> None:
        """Returns once that very member has answered a linearizable read. Raises Unavailable when it does not."""
        request = federation_pb2.ListFederationRequest(table=federation_pb2.TENANTS, page_size=1)
        try:
            self._calls.at(endpoint).federation.ListFederation(request, timeout=timeout_s)
        except grpc.RpcError as error:
            raise from_rpc(error) from None

    def raft_members(self) -> tuple[raft_pb2.RaftMember, ...]:
        """The group's configuration as the leader knows it, by name."""
        return tuple(self.raft_status().members)

    def transfer_leader(self, to: str = "") -> str:
        """Hands leadership to a voter that has caught up (empty: whichever has the most) and returns its name.

        Raises Conflict when `to` is no such voter.
        """
        request = raft_pb2.TransferLeaderRequest(to=to)
        return self._calls.change(lambda stubs: stubs.raft.TransferLeader, request).leader

    def add_member(self, name: str, raft: str) -> tuple[raft_pb2.RaftMember, ...]:
        """Adds a learner, whose Raft port is at `raft` (host:port); returns the members after it.

        This and the two below are done when the call returns, and repeating one changes nothing. They raise Conflict
        when the change does not fit the group as it is now.
        """
        return self._change_membership(add=raft_pb2.AddMember(name=name, raft=raft))

    def promote_member(self, name: str) -> tuple[raft_pb2.RaftMember, ...]:
        """Makes a voter of a learner that has caught up."""
        return self._change_membership(promote=name)

    def remove_member(self, name: str) -> tuple[raft_pb2.RaftMember, ...]:
        """A leader that is removed hands its leadership over first."""
        return self._change_membership(remove=name)

    def save_snapshot(
        self, path: Path, endpoint: str = "", progress: Callable[[int], None] = lambda _: None
    ) -> SavedSnapshot:
        """Writes a member's state, as of one index, to a tar file; `progress` is told of the bytes so far.

        Without an endpoint, members that do not answer are passed over. The file appears whole or not at all. Raises
        InvalidInput when it can't be written, Unavailable when nobody sent a snapshot.
        """
        if endpoint:
            return self._save_snapshot_of(endpoint, path, progress)
        tried: set[str] = set()
        while True:
            member = self._calls.any_member()
            try:
                return self._save_snapshot_of(member, path, progress)
            except Unavailable:
                tried.add(member)
                self._calls.failed(member)
                if self._calls.any_member() in tried:
                    raise

    def snapshot_parts(self) -> Iterator[bytes]:
        """Yield a member's state, as of one index, as a tar archive in parts. Raises GuardianError: what came so far is
        no archive then."""
        member = self._calls.any_member()
        call = self._calls.at(member).raft.SaveSnapshot(raft_pb2.SaveSnapshotRequest(), timeout=SNAPSHOT_TIMEOUT_S)
        try:
            for part in call:
                yield part.data
        except grpc.RpcError as error:
            self._calls.failed(member)
            raise from_rpc(error) from None
        finally:
            call.cancel()

    def _save_snapshot_of(self, member: str, path: Path, progress: Callable[[int], None]) -> SavedSnapshot:
        request = raft_pb2.SaveSnapshotRequest()
        part = path.with_name(path.name + ".part")
        index = term = size = 0
        try:
            with part.open("wb") as file:
                for chunk in self._calls.at(member).raft.SaveSnapshot(request, timeout=SNAPSHOT_TIMEOUT_S):
                    index, term = chunk.index or index, chunk.term or term
                    size += file.write(chunk.data)
                    progress(size)
            part.replace(path)
        except grpc.RpcError as error:
            failure = from_rpc(error)
            if not isinstance(failure, Unavailable | OutcomeUnknown):
                raise failure from None
            raise Unavailable(f"no snapshot from the member at {member} ({failure}): ask another one") from None
        except OSError as error:
            raise InvalidInput(f"snapshot {path} can't be written: {error.strerror}") from None
        finally:
            part.unlink(missing_ok=True)
        return SavedSnapshot(index, term, size)

    def raise_level(self, level: int, known_by: Mapping[str, int]) -> int:
        """Lets commands have what the level brought; `known_by` has each member's `known_level`.

        Raises Conflict when a member of the group does not know it or is not named, InvalidInput when the level does
        not exist or is below the one in force.
        """
        request = raft_pb2.RaiseLevelRequest(level=level, known_by=known_by)
        return self._calls.change(lambda stubs: stubs.raft.RaiseLevel, request).level

    def _change_membership(
        self, *, add: raft_pb2.AddMember | None = None, promote: str | None = None, remove: str | None = None
    ) -> tuple[raft_pb2.RaftMember, ...]:
        request = raft_pb2.ChangeMembershipRequest(add=add, promote=promote, remove=remove)
        return tuple(self._calls.change(lambda stubs: stubs.raft.ChangeMembership, request).members)
