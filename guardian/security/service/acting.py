"""How a member asks the group's API on somebody's behalf. Each person has a client of his own, which tells the member
that it asks, sealed by the members' key, for whom. So what he may is decided in one place, on whichever member.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Protocol

from guardian.client import ClientTls, GuardianClient
from guardian.client.bearing import Bearing
from guardian.model.actor import Proof
from guardian.security.model.identity import Identity
from guardian.security.service.proving import ACTING, Prover

_MOST = 200


class _Named(Protocol):
    @property
    def name(self) -> str: ...


class ActingClients:
    """Thread-safe. Clients are kept, and closed by `close`; channels to one member share its connection. One that has
    been pushed out by others is left to those who still use it."""

    def __init__(
        self, address: str, prover: Prover, tls: ClientTls | None = None, timeout_s: float = 15.0, most: int = _MOST
    ) -> None:
        self._address = address
        self._prover = prover
        self._tls = tls
        self._timeout_s = timeout_s
        self._most = most
        self._lock = threading.Lock()
        self._clients: OrderedDict[tuple[str, Proof, tuple[str, ...]], GuardianClient] = OrderedDict()
        self.own = self._client("guardian", lambda: ((ACTING, prover.acting_for_itself()),))

    def client_for(self, user: _Named) -> GuardianClient:
        """Return the client whose calls are made, and recorded, under the user's name."""
        if not isinstance(user, Identity) or user.proof is Proof.NONE:
            return self.own
        key = (user.name, user.proof, user.groups)
        with self._lock:
            client = self._clients.pop(key, None)
            if client is None:
                client = self._client(user.name, self._bearing(user))
            self._clients[key] = client
            if len(self._clients) > self._most:
                self._clients.popitem(last=False)
            return client

    def close(self) -> None:
        with self._lock:
            clients, self._clients = [self.own, *self._clients.values()], OrderedDict()
        for client in clients:
            client.close()

    def _bearing(self, user: Identity) -> Bearing:
        return lambda: ((ACTING, self._prover.acting_for(user)),)

    def _client(self, name: str, bearing: Bearing) -> GuardianClient:
        return GuardianClient([self._address], self._timeout_s, actor=name, tls=self._tls, bearing=bearing)
