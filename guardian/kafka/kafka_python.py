"""kafka-python 3.0.12. The one module that imports the library: its errors, its messages, connections to a cluster.

kafka-python's own admin client is left aside for the layer below it. That client hides a refused login behind a
time-out, asks brokers one after the other, and can't send the guard against changes of the replication factor. This
layer is not public: tests/unit/kafka/test_kafka_python.py names what is needed of it, and says what a newer version
lacks.

What the library does otherwise than Guardian needs, and what is done about it here:

    a refused login is asked again in silence           the first contact is a login whose failure is raised
    what comes with the end of a stream is dropped      the end is read again, after what came with it
    a request is written in a later round of its loop   it is written at once, while what was proven holds
    a TLS handshake may take for ever                   it takes no longer than the connection may
    an address that swallows packets takes all the time  the others of its name are tried beside it
    certificates are read from paths kept since the login  they are read by name for each connection
    "=" and "," in a SCRAM user's name break the login  they are escaped, as RFC 5802 has it
    Kerberos takes whatever ticket the process has      it takes one by the cluster's own keytab
    a broker's TLS alert is forgotten                   it is read where writing fails
"""

from __future__ import annotations

import logging
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka import errors as kafka_errors
from kafka.coordinator.assignors.abstract import ConsumerProtocolAssignment
from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.sasl import register_sasl_mechanism
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.net.sasl.scram import SaslMechanismScram
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport
from kafka.protocol.admin import (
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    AlterClientQuotasRequest,
    AlterPartitionReassignmentsRequest,
    AlterReplicaLogDirsRequest,
    CreateAclsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteAclsRequest,
    DeleteTopicsRequest,
    DescribeAclsRequest,
    DescribeClientQuotasRequest,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    DescribeLogDirsRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeTopicPartitionsRequest,
    ElectionType,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    ListGroupsRequest,
    ListPartitionReassignmentsRequest,
    UpdateFeaturesRequest,
)
from kafka.protocol.api_header import ResponseClassRegistry
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse

from guardian.kafka.addresses import connect_to_any
from guardian.kafka.credentials import SecretFolder
from guardian.kafka.kerberos import KerberosLogin, KerberosMechanism
from guardian.kafka.tls import brokers_context
from guardian.model.topology import KERBEROS_SERVICE, ClusterSecurity

__all__ = [
    "ACLOperation",
    "ACLPermissionType",
    "ACLResourcePatternType",
    "AlterClientQuotasRequest",
    "AlterPartitionReassignmentsRequest",
    "AlterReplicaLogDirsRequest",
    "ApiVersionsRequest",
    "ApiVersionsResponse",
    "Connections",
    "ConsumerGroupDescribeRequest",
    "ConsumerProtocolAssignment",
    "CreateAclsRequest",
    "CreatePartitionsRequest",
    "CreateTopicsRequest",
    "DeleteAclsRequest",
    "DeleteTopicsRequest",
    "DescribeAclsRequest",
    "DescribeClientQuotasRequest",
    "DescribeClusterRequest",
    "DescribeClusterResponse",
    "DescribeConfigsRequest",
    "DescribeGroupsRequest",
    "DescribeLogDirsRequest",
    "DescribeQuorumRequest",
    "DescribeQuorumResponse",
    "DescribeTopicPartitionsRequest",
    "ElectLeadersRequest",
    "ElectionType",
    "IncrementalAlterConfigsRequest",
    "KafkaError",
    "KafkaTimeoutError",
    "ListGroupsRequest",
    "ListPartitionReassignmentsRequest",
    "Login",
    "MetadataRequest",
    "MetadataResponse",
    "OffsetFetchRequest",
    "ServerNotProven",
    "UnregisterBrokerRequest",
    "UpdateFeaturesRequest",
    "answer_to",
    "kafka_errors",
    "login_of",
    "send_now",
]

# kafka-python logs each failed attempt; without a handler Python would print that to stderr, beside our one sentence.
logging.getLogger("kafka").addHandler(logging.NullHandler())

_METADATA_MAX_AGE_MS = 10_000
_RECONNECT_BACKOFF_MAX_MS = 250
_RECEIVE_MAX_BYTES = 100_000_000
_JOIN_S = 2.0

T = TypeVar("T")


class ConsumerGroupDescribeRequest(ApiMessage, load_json="guardian.kafka.schemas"):  # type: ignore[call-arg,misc]
    """Asks for the members of groups (Kafka 3.7); kafka-python has no class for it."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json="guardian.kafka.schemas"):  # type: ignore[call-arg,misc]
    """Answers it. That the class is there is enough: kafka-python finds it by its API key."""


class UnregisterBrokerRequest(ApiMessage, load_json="guardian.kafka.schemas"):  # type: ignore[call-arg,misc]
    """Takes a broker out of the cluster (Kafka 2.8); kafka-python has no class for it."""


class UnregisterBrokerResponse(ApiMessage, load_json="guardian.kafka.schemas"):  # type: ignore[call-arg,misc]
    """Answers it."""


def answer_to(request: Any, values: Mapping[str, Any]) -> Any:
    """Return the answer to a request with a header, in its version: what simulated brokers say.

    `values` are by field, structures in them as mappings again; what a version lacks is left out. Raises ValueError
    for a field that no version has.
    """
    kind = ResponseClassRegistry.get_response_class(request.header)
    response = _made(kind, request.API_VERSION, values)
    response.with_header(correlation_id=request.header.correlation_id)
    return response


def _made(kind: Any, version: int, values: Mapping[str, Any]) -> Any:
    found = {}
    for name, value in values.items():
        field = kind.fields.get(name)
        if field is not None and not field.for_version_q(version):
            continue
        if value is None or field is None:
            found[name] = value
        elif field.is_struct_array():
            found[name] = [_made(field.data_class, version, each) for each in value]
        else:
            found[name] = _made(field.data_class, version, value) if field.is_struct() else value
    return kind(version=version, **found)


@dataclass(frozen=True, slots=True)
class Login:
    """Hold how connections to a cluster are made. `settings` are in kafka-python's words, `tls` makes the context of
    each new connection from the files as they are then. `renew` is called on the calling thread, with the seconds that
    are left, before each call: what takes long is not done on the IO thread."""

    settings: Mapping[str, Any]
    tls: Callable[[], ssl.SSLContext] | None = None
    server_name: str = ""
    renew: Callable[[float], object] = lambda _left_s: None


def login_of(security: ClusterSecurity, timeout_s: float, secrets: SecretFolder) -> Login:
    """Return how to connect and log in. Raises InvalidInput when a secret can't be read or is not what it should be."""
    settings: dict[str, Any] = {
        "client_id": "guardian",
        "request_timeout_ms": timeout_s * 1000,
        "socket_connection_setup_timeout_ms": timeout_s * 1000,
        "reconnect_backoff_max_ms": _RECONNECT_BACKOFF_MAX_MS,
        "metadata_max_age_ms": _METADATA_MAX_AGE_MS,
        "receive_message_max_bytes": _RECEIVE_MAX_BYTES,
        "security_protocol": security.protocol.value,
    }

    def tls() -> ssl.SSLContext:
        return brokers_context(security, secrets.ca(security), secrets.certificate_files(security))

    if security.protocol.uses_tls:
        tls()  # what is wrong with the files is said before anything is connected
    how = tls if security.protocol.uses_tls else None
    if not security.protocol.uses_sasl:
        return Login(settings, how, security.tls_server_name)
    settings["sasl_mechanism"] = security.sasl_mechanism
    if security.sasl_mechanism == "OAUTHBEARER":
        tokens = secrets.token_source(security)
        settings["sasl_oauth_token_provider"] = _TokenProvider(tokens.current)
        return Login(settings, how, security.tls_server_name, tokens.renewed)
    if security.sasl_mechanism == "GSSAPI":
        settings["sasl_kerberos_name"] = KerberosLogin(
            security.username, secrets.keytab_file(security), security.kerberos_service or KERBEROS_SERVICE
        )
    else:
        settings["sasl_plain_username"] = security.username
        settings["sasl_plain_password"] = secrets.password(security)
    return Login(settings, how, security.tls_server_name)


class _TokenProvider(AbstractTokenProvider):  # type: ignore[misc]
    """Is asked for the token of each new connection and re-authentication."""

    def __init__(self, source: Callable[[], str]) -> None:
        super().__init__()
        self.source = source

    def token(self) -> str:
        return self.source()


class _Scram(SaslMechanismScram):  # type: ignore[misc]
    """Logs in users whose names have "=" or ",", and tells a server that does not know the password."""

    def __init__(self, **config: Any) -> None:
        name = config["sasl_plain_username"].replace("=", "=3D").replace(",", "=2C")
        super().__init__(**{**config, "sasl_plain_username": name})

    def receive(self, auth_bytes: bytes) -> Any:
        try:
            return super().receive(auth_bytes)
        except (ValueError, KeyError) as error:
            raise ServerNotProven(str(error)) from error


class ServerNotProven(kafka_errors.SaslAuthenticationFailedError):  # type: ignore[misc]
    """The server does not prove that it knows the password: it may not be the cluster's."""


register_sasl_mechanism("SCRAM-SHA-256", _Scram, overwrite=True)
register_sasl_mechanism("SCRAM-SHA-512", _Scram, overwrite=True)
register_sasl_mechanism("GSSAPI", KerberosMechanism, overwrite=True)


class Connections:
    """The connections to one cluster and the IO thread that drives them.

    `log_in`, `run` and `close` are for the calling thread, the rest is for coroutines on the IO thread.
    """

    def __init__(self, endpoint: str, login: Login) -> None:
        self._net = NetworkSelector(client_id=login.settings["client_id"])
        self._manager = _Manager(self._net, login, bootstrap_servers=endpoint)
        self._net.start()

    def log_in(self, timeout_s: float) -> None:
        """Connect and learn the brokers. Raises the broker's refusal, where kafka-python would retry in silence."""

        async def first_contact() -> None:
            await self._rehearse_login(time.monotonic() + timeout_s)
            await self._manager.bootstrap_async(timeout_s * 1000)

        self.run(first_contact, time.monotonic() + timeout_s)

    async def _rehearse_login(self, deadline: float) -> None:
        connection = await self.connection_to(self._manager.cluster.bootstrap_brokers()[0], deadline)
        connection.close()

    def run(self, work: Callable[[], Awaitable[T]], deadline: float) -> T:
        """Run a coroutine on the IO thread. Raises KafkaTimeoutError at the deadline, whatever that thread does."""
        done = threading.Event()
        future = self._net.call_soon_with_future(work)
        future.add_both(lambda _: done.set())
        if not done.wait(max(0.0, deadline - time.monotonic())):
            raise KafkaTimeoutError
        if future.exception is not None:
            raise future.exception
        result: T = future.value
        return result

    def close(self) -> None:
        """End the connections and the IO thread."""
        with suppress(RuntimeError):  # the IO thread is dead, or stuck in a DNS lookup that outlives the deadline
            self._net.call_soon_threadsafe(self._manager.close)
            self._net.stop(timeout_ms=_JOIN_S * 1000)
            self._net.close()

    def start(self, work: Callable[..., Any], *args: Any) -> Any:
        """Begin a coroutine; what it returns or raises is in the future."""
        return self._manager.call_soon(work, *args)

    async def wait_for(self, future: Any, limit_s: float) -> Any:
        """Return what comes of the future. Raises what it raises, and KafkaTimeoutError."""
        return await self._manager.wait_for(future, limit_s * 1000)

    async def sleep(self, seconds: float) -> None:
        """Let others run meanwhile."""
        await self._net.sleep(seconds)

    def known_brokers(self) -> list[int]:
        """Return those that a connection can be made to."""
        return [broker.node_id for broker in self._manager.cluster.brokers()]

    def least_loaded_broker(self) -> int | None:
        """Return the broker with the fewest requests on their way; None: none can be asked now."""
        broker: int | None = self._manager.least_loaded_node()
        return broker

    def connection_delay_s(self, broker: int) -> float:
        """Return how long to wait until the broker may be connected to again."""
        delay_s: float = self._manager.connection_delay(broker)
        return delay_s

    def refresh_metadata(self) -> Awaitable[None]:
        """Learn the brokers anew."""
        refreshed: Awaitable[None] = self._manager.cluster.refresh_metadata()
        return refreshed

    async def connection(self, broker: int | None) -> Any:
        """Return the connection to a broker once it is up. Raises KafkaError."""
        return await self._manager.get_connection(broker)

    async def connection_to(self, node: Any, deadline: float) -> Any:
        """Return a connection of its own to any node, which the caller has to close. Raises KafkaError."""
        transport = await self._manager._build_transport(node, timeout_at=deadline)
        _deliver_last_words(transport)
        connection = KafkaConnection(self._net, node_id=node.node_id, **self._manager.config)
        connection.connection_made(transport)
        await connection.initialize(timeout_at=deadline)
        await connection
        return connection


def send_now(connection: Any, request: Any, limit_s: float) -> Awaitable[Any]:
    """Send the request at once and return the answer to come. What the socket takes is written before this returns.
    kafka-python 3.0.12 itself writes in a later round of its loop, when what was proven right before need not be so any
    more.
    """
    answer: Awaitable[Any] = connection.send_request(request, request_timeout_ms=limit_s * 1000)
    transport = connection.transport
    if transport is not None:
        _, error = transport._sock_send()
        if error is not None:
            transport.abort(error)
    return answer


def _deliver_last_words(transport: Any) -> None:
    """Make a transport hand on what came before the end of the stream.

    A broker refuses a login and closes the connection at once. kafka-python 3.0.12 drops bytes that it reads together
    with the end of the stream, so that the refusal looks like a lost connection.
    """
    receive = transport._sock_recv

    def receive_all() -> tuple[bytes, Exception | None]:
        data, error = receive()
        return data, None if data else error  # the end of the stream is read again

    transport._sock_recv = receive_all


class _Manager(KafkaConnectionManager):  # type: ignore[misc]
    """Makes connections as its parent does, but tries all addresses of a name; a TLS handshake takes no longer than the
    connection may.

    kafka-python 3.0.12 gives all the time to the first address, waits for the other side's part of the handshake
    without a limit, and keeps the socket. A broker that accepts connections and says nothing would cost a file
    descriptor each time that it is asked.
    """

    def __init__(self, net: NetworkSelector, login: Login, **configs: Any) -> None:
        super().__init__(net, **login.settings, **configs)
        self.login = login

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> Any:
        if timeout_at is None:
            timeout_at = time.monotonic() + self.config["socket_connection_setup_timeout_ms"] / 1000
        sock = await self._connect_to(node.host, node.port, timeout_at)
        if self.login.tls is None:
            return KafkaTCPTransport(self._net, sock, host=node.host)
        try:
            transport = _TlsTransport(
                self._net, sock, host=self.login.server_name or node.host, ssl_context=self.login.tls()
            )
        except BaseException:
            sock.close()
            raise
        transport.host = node.host  # Kerberos names the broker by it
        try:
            await transport.shake_hands(timeout_at)
        except BaseException as error:
            transport.end()
            if isinstance(error, OSError | KafkaError):
                raise KafkaConnectionError(f"Handshake failed: {error}") from error
            raise
        return transport

    async def _connect_to(self, host: str, port: int, timeout_at: float) -> socket.socket:
        """Return a socket connected to one of the host's addresses. Raises KafkaConnectionError."""

        async def wait(selector: Any, until: float) -> None:
            with suppress(KafkaTimeoutError):
                await self._net.wait_read(selector, until)

        try:
            addresses = socket.getaddrinfo(host, port, socket.AF_UNSPEC, socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise KafkaConnectionError(f"{host} is no known host") from error
        try:
            return await connect_to_any(addresses, self.config["socket_options"], timeout_at, wait)
        except TimeoutError:
            tried = ", ".join(str(each[4][0]) for each in addresses)
            raise KafkaConnectionError(f"no connection to {host}, of {tried}") from None
        except OSError as error:
            raise KafkaConnectionError(f"unable to connect: {error}") from error


class _TlsTransport(KafkaSSLTransport):  # type: ignore[misc]
    """Says why a broker ended the connection: kafka-python 3.0.12 forgets the alert with which a broker refuses a
    client's certificate if a request meets the closed connection first."""

    async def shake_hands(self, timeout_at: float | None) -> None:
        while True:
            try:
                self._sock.do_handshake()
            except ssl.SSLWantReadError:
                await self._net.wait_read(self._sock, timeout_at)
            except ssl.SSLWantWriteError:
                await self._net.wait_write(self._sock, timeout_at)
            else:
                return

    def _sock_send(self) -> tuple[int, Exception | None]:
        sent, error = super()._sock_send()
        if error is None or self._sock is None:
            return sent, error
        _, alert = self._sock_recv()
        return sent, alert if _is_alert(alert) else error

    def end(self) -> None:
        """Close the socket of a handshake that failed: nobody else knows it."""
        self._sock.close()


def _is_alert(error: Exception | None) -> bool:
    cause = error.args[0] if error is not None and error.args else None
    return isinstance(cause, ssl.SSLError) and "ALERT" in (cause.reason or "")
