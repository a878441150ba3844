"""What Guardian needs of kafka-python below its public API: of a version that lacks some, a sentence here says what.

guardian/kafka/kafka_python.py is imported by no test that looks for what is missing: it may not be importable then.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from kafka.version import __version__ as version

from guardian.model.topology import SASL_MECHANISMS, ClusterSecurity, SecurityProtocol

WRAPPER = Path("guardian/kafka/kafka_python.py")

NET = "kafka.net.selector.NetworkSelector"
MANAGER = "kafka.net.manager.KafkaConnectionManager"
CLUSTER = "kafka.cluster.ClusterMetadata"
CONNECTION = "kafka.net.connection.KafkaConnection"
TCP, TLS = "kafka.net.transport.KafkaTCPTransport", "kafka.net.transport.KafkaSSLTransport"
SASL = "kafka.net.sasl"
FUTURE = "kafka.future.Future"
ERROR = "kafka.errors.BrokerResponseError"
MESSAGE = "kafka.protocol.api_message.ApiMessage"
DATA = "kafka.protocol.metadata.MetadataResponse"
REGISTRY = "kafka.protocol.api_header.ResponseClassRegistry"
ADMIN, CONSUMER, METADATA = "kafka.protocol.admin", "kafka.protocol.consumer", "kafka.protocol.metadata"


class Need(NamedTuple):
    """`purpose` ends the sentence "it is needed to"; `parameters` are those of a function, `version` of a message."""

    purpose: str
    parameters: tuple[str, ...] = ()
    version: int = 0


NEEDED: Mapping[str, Need] = {
    NET: Need("drive connections on a thread of their own", ("configs",)),
    f"{NET}.start": Need("run the IO thread"),
    f"{NET}.stop": Need("end the IO thread in time", ("timeout_ms",)),
    f"{NET}.close": Need("end the IO thread"),
    f"{NET}.call_soon_threadsafe": Need("close connections from the calling thread", ("callback",)),
    f"{NET}.call_soon_with_future": Need("begin a call from the calling thread", ("coro",)),
    f"{NET}.sleep": Need("pause between two attempts", ("delay",)),
    f"{NET}.wait_read": Need("bound a TLS handshake", ("fileobj", "timeout_at")),
    f"{NET}.wait_write": Need("bound a TLS handshake", ("fileobj", "timeout_at")),
    MANAGER: Need("keep a connection to each broker", ("net", "configs")),
    f"{MANAGER}.config": Need("give a connection of its own the same settings"),
    f"{MANAGER}.cluster": Need("know the brokers"),
    f"{MANAGER}._net": Need("build TLS transports"),
    f"{MANAGER}.ssl_enabled": Need("tell TLS from plain text"),
    f"{MANAGER}._build_transport": Need("connect to a controller, and bound a TLS handshake", ("node", "timeout_at")),
    f"{MANAGER}.bootstrap_async": Need("learn the brokers within a time", ("timeout_ms",)),
    f"{MANAGER}.call_soon": Need("ask brokers beside one another", ("coro", "args")),
    f"{MANAGER}.wait_for": Need("wait for a broker no longer than it may take", ("future", "timeout_ms")),
    f"{MANAGER}.get_connection": Need("send to one broker", ("node_id",)),
    f"{MANAGER}.least_loaded_node": Need("choose a broker where any may answer"),
    f"{MANAGER}.connection_delay": Need("wait until a broker may be connected to again", ("node_id",)),
    f"{MANAGER}.close": Need("end the connections"),
    f"{CLUSTER}.brokers": Need("know the brokers"),
    f"{CLUSTER}.bootstrap_brokers": Need("rehearse the login"),
    f"{CLUSTER}.refresh_metadata": Need("find a broker that has moved"),
    CONNECTION: Need("connect to a node that is no broker", ("net", "node_id", "configs")),
    f"{CONNECTION}.connection_made": Need("log in over a transport", ("transport",)),
    f"{CONNECTION}.initialize": Need("log in within a time", ("timeout_at",)),
    f"{CONNECTION}.__await__": Need("learn why a login was refused"),
    f"{CONNECTION}.send_request": Need("send a request", ("request", "request_timeout_ms")),
    f"{CONNECTION}.transport": Need("write a request at once"),
    f"{CONNECTION}.close": Need("end a connection of its own"),
    TCP: Need("speak over a socket that is connected", ("net", "sock", "host")),
    TLS: Need("bound a TLS handshake", ("net", "sock", "host", "configs")),
    **{f"{each}.host": Need("name a broker to Kerberos") for each in (TCP, TLS)},
    "kafka.net.sasl.register_sasl_mechanism": Need("log in by mechanisms of its own", ("name", "klass", "overwrite")),
    f"{SASL}.oauth.AbstractTokenProvider": Need("log in with a token"),
    f"{SASL}.oauth.AbstractTokenProvider.token": Need("log in with a token"),
    f"{SASL}.scram.SaslMechanismScram": Need("escape names of users", ("config",)),
    f"{SASL}.scram.SaslMechanismScram.receive": Need("tell a server that is not proven", ("auth_bytes",)),
    **{f"{each}._net": Need("bound a TLS handshake") for each in (TCP, TLS)},
    **{f"{each}._sock": Need("bound a TLS handshake, and hear a broker's alert") for each in (TCP, TLS)},
    **{f"{each}._sock_recv": Need("hear what a broker says before it hangs up") for each in (TCP, TLS)},
    **{f"{each}._sock_send": Need("write a request while its proof holds") for each in (TCP, TLS)},
    **{f"{each}.abort": Need("end a connection that can't be written to", ("error",)) for each in (TCP, TLS)},
    f"{FUTURE}.add_both": Need("wake the calling thread", ("f",)),
    f"{FUTURE}.is_done": Need("see who has answered"),
    f"{FUTURE}.exception": Need("see why there is no answer"),
    f"{FUTURE}.value": Need("read an answer"),
    f"{FUTURE}.__await__": Need("wait for an answer"),
    "kafka.errors": Need("name errors"),
    "kafka.errors.for_code": Need("name the error of a code", ("error_code",)),
    "kafka.errors.KafkaError": Need("name errors"),
    "kafka.errors.KafkaError.retriable": Need("ask again what failed in passing"),
    "kafka.errors.KafkaConnectionError": Need("tell a handshake that failed"),
    "kafka.errors.KafkaTimeoutError": Need("keep deadlines"),
    **{f"{ERROR}.{each}": Need("say why a request was refused") for each in ("errno", "message", "description")},
    MESSAGE: Need("add messages that kafka-python does not bring", ("args", "kwargs")),
    f"{MESSAGE}.API_VERSION": Need("answer as a simulated broker"),
    f"{MESSAGE}.with_header": Need("answer as a simulated broker", ("correlation_id",)),
    REGISTRY: Need("find the message that answers a request"),
    f"{REGISTRY}.get_response_class": Need("find the message that answers a request", ("request_header",)),
    f"{DATA}.fields": Need("make an answer of plain values"),
    f"{MESSAGE}.encode": Need("answer as a simulated broker", ("header",)),
    f"{MESSAGE}.decode": Need("answer as a simulated broker", ("data", "version", "header")),
    "kafka.coordinator.assignors.abstract.ConsumerProtocolAssignment": Need("read what a group's member reads"),
    "kafka.coordinator.assignors.abstract.ConsumerProtocolAssignment.decode": Need("read what a group's member reads"),
    f"{ADMIN}.ACLOperation": Need("name access rules"),
    f"{ADMIN}.ACLPermissionType": Need("name access rules"),
    f"{ADMIN}.ACLResourcePatternType": Need("name access rules"),
    f"{ADMIN}.DescribeAclsRequest": Need("list access rules", version=1),
    f"{ADMIN}.CreateAclsRequest": Need("add access rules of a pattern type", version=1),
    f"{ADMIN}.CreateAclsRequest.AclCreation": Need("add access rules"),
    f"{ADMIN}.DeleteAclsRequest": Need("delete access rules of a pattern type", version=1),
    f"{ADMIN}.DeleteAclsRequest.DeleteAclsFilter": Need("delete access rules"),
    f"{ADMIN}.DescribeClientQuotasRequest": Need("list client quotas"),
    f"{ADMIN}.AlterClientQuotasRequest": Need("set client quotas"),
    f"{ADMIN}.ListPartitionReassignmentsRequest": Need("list reassignments"),
    f"{ADMIN}.AlterPartitionReassignmentsRequest": Need("guard replication factors", version=1),
    f"{ADMIN}.ElectLeadersRequest": Need("elect preferred leaders", version=1),
    f"{ADMIN}.ElectionType.PREFERRED": Need("elect preferred leaders"),
    f"{ADMIN}.ElectionType": Need("elect preferred leaders"),
    f"{ADMIN}.DescribeLogDirsRequest": Need("know the size of log dirs", version=4),
    f"{ADMIN}.AlterReplicaLogDirsRequest": Need("move replicas between log dirs"),
    f"{ADMIN}.DescribeConfigsRequest": Need("tell whence a value comes", version=1),
    f"{ADMIN}.IncrementalAlterConfigsRequest": Need("set configuration"),
    f"{ADMIN}.CreateTopicsRequest": Need("validate a topic without creating it", version=1),
    f"{ADMIN}.CreateTopicsRequest.CreatableTopic": Need("create topics"),
    f"{ADMIN}.CreatePartitionsRequest": Need("add partitions"),
    f"{ADMIN}.CreatePartitionsRequest.CreatePartitionsTopic": Need("add partitions"),
    f"{ADMIN}.DeleteTopicsRequest": Need("delete topics by their ids", version=6),
    f"{ADMIN}.DeleteTopicsRequest.DeleteTopicState": Need("delete topics by their ids"),
    f"{ADMIN}.ListGroupsRequest": Need("tell groups that have members", version=4),
    f"{ADMIN}.DescribeGroupsRequest": Need("list the members of groups", version=5),
    f"{CONSUMER}.OffsetFetchRequest": Need("fetch the offsets of several groups", version=8),
    f"{CONSUMER}.OffsetFetchRequest.OffsetFetchRequestGroup": Need("fetch the offsets of several groups"),
    f"{ADMIN}.DescribeClusterRequest": Need("tell fenced brokers", version=2),
    f"{ADMIN}.DescribeClusterResponse": Need("answer as a simulated broker"),
    f"{ADMIN}.DescribeClusterResponse.DescribeClusterBroker": Need("answer as a simulated broker"),
    f"{ADMIN}.DescribeQuorumRequest": Need("tell where controllers listen", version=2),
    f"{ADMIN}.DescribeQuorumResponse": Need("answer as a simulated broker"),
    f"{ADMIN}.DescribeQuorumResponse.TopicData.PartitionData.ReplicaState": Need("answer as a simulated broker"),
    f"{ADMIN}.DescribeTopicPartitionsRequest": Need("tell eligible leader replicas"),
    f"{ADMIN}.DescribeTopicPartitionsRequest.TopicRequest": Need("tell eligible leader replicas"),
    f"{ADMIN}.DescribeTopicPartitionsRequest.Cursor": Need("read on where an answer ended"),
    f"{ADMIN}.UpdateFeaturesRequest": Need("validate a metadata.version without raising it", version=1),
    f"{ADMIN}.UpdateFeaturesRequest.FeatureUpdateKey": Need("raise metadata.version"),
    f"{METADATA}.ApiVersionsRequest": Need("tell what a broker has applied", version=3),
    f"{METADATA}.ApiVersionsRequest.max_version": Need("answer as a simulated broker"),
    f"{METADATA}.ApiVersionsResponse": Need("answer as a simulated broker"),
    f"{METADATA}.ApiVersionsResponse.ApiVersion": Need("answer as a simulated broker"),
    f"{METADATA}.MetadataRequest": Need("ask for topics by their ids", version=12),
    f"{METADATA}.MetadataRequest.MetadataRequestTopic": Need("ask for topics by their ids"),
    f"{METADATA}.MetadataResponse": Need("answer as a simulated broker"),
    f"{METADATA}.MetadataResponse.MetadataResponseBroker": Need("answer as a simulated broker"),
    f"{METADATA}.MetadataResponse.MetadataResponseTopic.MetadataResponsePartition": Need(
        "answer as a simulated broker"
    ),
}

# What the wrapper puts in the place of a method is called by nobody unless kafka-python goes on calling that method.
CALLED_IN = {
    "_build_transport": f"{MANAGER}._connect",
    "_sock_recv": f"{TCP}._read_from_sock",
    "_sock_send": f"{TCP}._write_to_sock",
}

# Of what the wrapper takes from kafka-python: names of variables and attributes in its source.
LIBRARY_OBJECTS = {"_manager", "_net", "_sock", "cluster", "connection", "future", "transport"}
OF_SOCKETS = {"do_handshake", "close"}


def found(name: str) -> Any:
    """Return the module, class or function of this name. Raises ImportError or AttributeError where there is none."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            thing = getattr(thing, part)
        return thing
    raise ImportError(name)


def instance(kind: str, stack: ExitStack) -> Any:
    """Return an object of one of kafka-python's classes, for attributes that only objects have."""
    net = found(NET)(client_id="test")
    stack.callback(net.close)
    if kind in (TCP, TLS):
        ours, _ = (stack.enter_context(each) for each in socket.socketpair())
        ours.setblocking(False)
        transport = found(kind)(net, ours, host="localhost")
        stack.enter_context(transport._sock)
        return transport
    makers = {
        MANAGER: lambda: found(MANAGER)(net, bootstrap_servers="localhost:1"),
        CONNECTION: lambda: found(CONNECTION)(net, node_id=1),
        FUTURE: found(FUTURE),
    }
    return makers[kind]() if kind in makers else None


def exists(name: str) -> bool:
    try:
        found(name)
    except (ImportError, AttributeError):
        owner, _, attribute = name.rpartition(".")
        with ExitStack() as stack:
            return exists(owner) and hasattr(instance(owner, stack), attribute)
    return True


def gaps(name: str, need: Need) -> Iterator[str]:
    """Yield what is gone, in a sentence each."""
    why = f"{WRAPPER} needs it to {need.purpose}"
    if not exists(name):
        yield f"kafka-python {version} has no {name}; {why}"
        return
    if need.parameters:
        parameters = inspect.signature(found(name)).parameters
        for parameter in need.parameters:
            if parameter not in parameters:
                yield f"{name} of kafka-python {version} takes no {parameter}; {why}"
    last = found(name).max_version if need.version else 0
    if last < need.version:
        yield f"{name} of kafka-python {version} ends at version {last}, before {need.version}; {why}"


def told(sentences: Iterator[str]) -> None:
    """Fail with the sentences, where there are some."""
    if text := "\n".join(sentences):
        pytest.fail(text, pytrace=False)


@pytest.mark.parametrize("name", NEEDED)
def test_kafka_python_has(name: str) -> None:
    told(gaps(name, NEEDED[name]))


@pytest.mark.parametrize("method", CALLED_IN)
def test_kafka_python_calls_what_is_put_in_the_place_of(method: str) -> None:
    caller = CALLED_IN[method]
    if method not in found(caller).__code__.co_names:
        pytest.fail(f"kafka-python {version} calls no {method} in {caller}; {WRAPPER} overrides it", pytrace=False)


@pytest.mark.parametrize("kind", [TCP, TLS])
def test_a_transport_tells_what_came_and_went_with_the_error(kind: str) -> None:
    with ExitStack() as stack:
        transport = instance(kind, stack)
        assert transport._sock_recv() == (b"", None)
        assert transport._sock_send() == (0, None)


@pytest.mark.parametrize("mechanism", SASL_MECHANISMS)
def test_kafka_python_knows_every_setting(mechanism: str, tmp_path: Path) -> None:
    """It ignores one that it does not know, in silence."""
    from guardian.kafka.credentials import SecretFolder
    from guardian.kafka.kafka_python import login_of

    (tmp_path / "secret").write_text("\x05 of a keytab, or a password\n")
    secret = {"OAUTHBEARER": "token_secret", "GSSAPI": "keytab_secret"}.get(mechanism, "password_secret")
    user = "" if mechanism == "OAUTHBEARER" else "guardian"
    security = ClusterSecurity(SecurityProtocol.SASL_SSL, mechanism, user, **{secret: "secret"})
    login = login_of(security, 1.0, SecretFolder(tmp_path))
    settings = {*login.settings, "bootstrap_servers", "socket_options"}
    told(
        f"kafka-python {version} has no setting {each}; {WRAPPER} sets it"
        for each in sorted(settings - found(MANAGER).DEFAULT_CONFIG.keys())
    )


def test_kafka_python_has_every_error_that_is_named() -> None:
    errors = found("kafka.errors")
    told(
        f"kafka-python {version} has no kafka.errors.{name}; {path} names it"
        for path in sorted(WRAPPER.parent.glob("*.py"))
        for name in sorted(set(re.findall(r"\bkafka_errors\.(\w+)", path.read_text())))
        if not hasattr(errors, name)
    )


def test_all_that_the_wrapper_takes_from_kafka_python_is_named_here() -> None:
    tree = ast.parse(WRAPPER.read_text())
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    imported = {
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kafka"
        for alias in node.names
    }
    assert imported - NEEDED.keys() == set()
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and (node.attr.startswith("_") or _base(node.value) in LIBRARY_OBJECTS)
    }
    named = {name.rpartition(".")[2] for name in NEEDED}
    assert used - own - named - OF_SOCKETS - {"_manager", "node_id"} == set()


def _base(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def test_what_is_gone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(found(MANAGER), "wait_for")
    assert list(gaps(f"{MANAGER}.wait_for", NEEDED[f"{MANAGER}.wait_for"])) == [
        f"kafka-python {version} has no kafka.net.manager.KafkaConnectionManager.wait_for; "
        "guardian/kafka/kafka_python.py needs it to wait for a broker no longer than it may take"
    ]
    assert list(gaps(f"{MANAGER}.close", Need("end the connections", ("slowly",)))) == [
        f"{MANAGER}.close of kafka-python {version} takes no slowly; {WRAPPER} needs it to end the connections"
    ]
    (sentence,) = gaps(f"{METADATA}.MetadataRequest", Need("ask", version=99))
    assert sentence.endswith(f"before 99; {WRAPPER} needs it to ask")
