"""A state machine in memory that is told commands, one after another."""

from __future__ import annotations

from guardian.model.topology import Cluster
from guardian.model.wire.federation import cluster_to_proto
from metastore.commands import SessionUse, content_of
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import records_pb2 as pb

USER = b"certificate:kafka-1"


def in_session(
    session_id: int, sequence: int, below: int = 1, request: bytes = b"a request", user: bytes = USER
) -> SessionUse:
    """A command's place in a session, as the member that takes the request proposes it."""
    return SessionUse(session_id, sequence, below, user, content_of(request))


class Group:
    """`now_ms` is the proposers' clock."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.machine = MetastoreStateMachine(self.store)
        self.now_ms = 1000
        self._opened = 0

    def open_session(self, window: int = 1, owner: str = "", user: bytes = USER) -> pb.CommandReply:
        """Propose a session; the ids count from 1, though members draw them."""
        self._opened += 1
        command = pb.OpenSession(session_id=self._opened, window=window, owner=owner, user=user)
        return self.propose(open_session=command)

    def propose(self, **command: object) -> pb.CommandReply:
        message = pb.Command(proposed_at_ms=self.now_ms, **command)  # type: ignore[arg-type]
        return self.apply(message.SerializeToString())

    def apply(self, entry: bytes) -> pb.CommandReply:
        return pb.CommandReply.FromString(self.machine.apply(self.machine.applied_index + 1, entry))

    def register(self, name: str, cluster_id: str) -> None:
        cluster = cluster_to_proto(Cluster(name, "b:1", cluster_id))
        assert not self.propose(put_cluster=pb.PutCluster(cluster=cluster)).error

    def content(self) -> list[tuple[bytes, bytes]]:
        """All that is stored but Guardian's own marks: the applied index and totals."""
        return [(key, value) for key, value in self.store.scan(b"") if key[0]]
