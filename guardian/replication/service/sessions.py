"""The Sessions service: a client opens a session, and its numbered changes are carried out once each."""

from __future__ import annotations

import secrets

import grpc

from guardian.replication.store.store import ReplicatedStore
from guardian.serving.requests import user_of
from metastore.tables.sessions import MAX_WINDOW
from protos.guardian.v1 import records_pb2, sessions_pb2, sessions_pb2_grpc

DEFAULT_WINDOW = 64


def new_session_id() -> int:
    """Draw an id that nobody can guess; 0 stands for no session."""
    return secrets.randbits(64) or new_session_id()


class SessionsServicer(sessions_pb2_grpc.SessionsServicer):
    """`idle_s`: seconds without use after which a session is forgotten."""

    def __init__(self, store: ReplicatedStore, idle_s: float) -> None:
        self._store = store
        self._idle_s = idle_s

    def OpenSession(
        self, request: sessions_pb2.OpenSessionRequest, context: grpc.ServicerContext
    ) -> sessions_pb2.OpenSessionReply:
        window = min(request.window or DEFAULT_WINDOW, MAX_WINDOW)
        command = records_pb2.OpenSession(
            window=window, owner=request.owner, session_id=new_session_id(), user=user_of(context)
        )
        reply = self._store.propose(records_pb2.Command(open_session=command))
        return sessions_pb2.OpenSessionReply(
            session_id=reply.session_id, window=window, expires_after_ms=int(self._idle_s * 1000)
        )
