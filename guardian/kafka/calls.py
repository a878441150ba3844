"""Calls on one cluster: each is one coroutine on kafka-python's IO thread, while the calling thread holds the clock.

When the deadline passes, the caller goes on with one sentence and the connections are thrown away: the next call
connects anew, from the bootstrap endpoints.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from guardian.errors import ClusterUnavailable, InvalidInput, Undecided
from guardian.kafka import witness
from guardian.kafka.credentials import SecretFolder
from guardian.kafka.gate import Gate, Prove, needs_no_proof
from guardian.kafka.kafka_python import Connections, KafkaError, KafkaTimeoutError, Login, login_of
from guardian.kafka.kerberos import KerberosRefused
from guardian.kafka.reasons import is_mute, is_passing, kerberos_sentence, tls_refusal, unavailable_sentence
from guardian.kafka.session import BrokerSession, WitnessSession
from guardian.kafka.tokens import TokenRefused
from guardian.kafka.witness import ClusterMemory
from guardian.model.topology import Cluster

_PAUSE_S = 0.1
_RENEWAL_SHARE = 1 / 3  # of a call's time
_GRACE_S = 1.0  # the IO thread keeps the deadline itself; past this it is stuck

T = TypeVar("T")


class ClusterCalls:
    """Calls on one cluster, for one thread at a time. Connects at the first one.

    Raises, from every call, ClusterUnavailable when the cluster can't be reached in time or refuses us. Raises
    InvalidInput when a secret can't be read or is not what it should be, and Undecided with the name of the cluster.
    """

    def __init__(self, cluster: Cluster, timeout_s: float, memory: ClusterMemory, secrets: SecretFolder) -> None:
        self.gate = Gate()
        self._cluster = cluster
        self._timeout_s = timeout_s
        self._memory = memory
        self._secrets = secrets
        self._endpoints = cluster.bootstrap.split(",")
        self._connections: Connections | None = None
        self._login: Login | None = None  # of the connections
        self._closed = False

    def ask(self, work: Callable[[BrokerSession], Awaitable[T]], prove: Prove = needs_no_proof) -> T:
        """Return what `work` makes of a session, each request of which is proven by `prove`."""
        if self._closed:
            raise ClusterUnavailable(f"the connection to cluster {self._cluster.name} is closed: open another")
        deadline = time.monotonic() + self._timeout_s
        try:
            if self._login is not None:
                # Connections that live need no new login yet: what hinders one is told when there is none left.
                with suppress(TokenRefused, InvalidInput):
                    self._login.renew((deadline - time.monotonic()) * _RENEWAL_SHARE)
            if self._connections is None:
                self._connections = self._connect(deadline)
            session = BrokerSession(self._connections, deadline, self._timeout_s, prove, self._memory)
            try:
                return self._connections.run(lambda: work(session), deadline + _GRACE_S)
            finally:
                session.end()
        except Undecided as error:
            raise Undecided(f"cluster {self._cluster.name}: {error}") from None
        except TokenRefused as error:
            self._disconnect()
            raise ClusterUnavailable(f"cluster {self._cluster.name}: {error}") from error
        except KerberosRefused as error:
            self._disconnect()
            raise ClusterUnavailable(kerberos_sentence(self._cluster, error)) from error
        except KafkaError as error:
            self._disconnect()
            raise ClusterUnavailable(unavailable_sentence(self._cluster, self._timeout_s, error)) from error

    def change(self, work: Callable[[BrokerSession], Awaitable[T]]) -> T:
        """Do as `ask`, with each request proven by what the gate says of this thread."""
        return self.ask(work, self.gate.prove)

    def ask_controllers(
        self, work: Callable[[WitnessSession], Awaitable[T]], subject: str, prove: Prove = needs_no_proof
    ) -> T:
        """Ask what a broker forwards to the controllers, or knows from them, of one that reaches them. Raises Undecided
        at once where none does: `subject` is unknown then."""

        async def ask(session: BrokerSession) -> T:
            return await witness.ask_witness(
                session, self._memory, lambda broker: work(WitnessSession(session, broker)), subject
            )

        return self.ask(ask, prove)

    def close(self) -> None:
        """End the connections; calls are refused from then on."""
        self._closed = True
        self._disconnect()

    def _connect(self, deadline: float) -> Connections:
        login = self._login = login_of(self._cluster.security, self._timeout_s, self._secrets)
        login.renew(deadline - time.monotonic())
        failure: KafkaError = KafkaTimeoutError()
        distrusting: set[str] = set()  # one broker's certificate may be wrong; where all are, time changes nothing
        while True:
            for tried, endpoint in enumerate(list(self._endpoints)):
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    raise failure
                connections = Connections(endpoint, login)
                try:
                    connections.log_in(connecting_share_s(left_s, len(self._endpoints) - tried))
                except KafkaError as error:
                    connections.close()
                    if tls_refusal(error):
                        distrusting.add(endpoint)
                    if not is_passing(error) or len(distrusting) == len(self._endpoints):
                        raise
                    # The next call may have no more time than this one: it begins with others.
                    self._endpoints.remove(endpoint)
                    self._endpoints.append(endpoint)
                    # What the deadline cut off says less than what came of an attempt before it.
                    if is_mute(failure) or time.monotonic() < deadline:
                        failure = error
                except BaseException:
                    connections.close()
                    raise
                else:
                    return connections
            time.sleep(_PAUSE_S)

    def _disconnect(self) -> None:
        connections, self._connections, self._login = self._connections, None, None
        if connections is not None:
            connections.close()


def connecting_share_s(left_s: float, endpoints: int) -> float:
    """Return what the next of so many endpoints gets of the seconds that are left.

    One that swallows packets must leave some to each of the others. But a busy broker takes seconds: in equal shares of
    a short time none of many would be reached, so the first get more than the last.
    """
    return 2 * left_s / (endpoints + 1)
