"""The data plane of a cluster: the only module that imports confluent_kafka.

Thin and typed: a producer, a consumer, topics with explicit placement, and offsets. Brokers lag behind one another
after topics change, so creating and deleting return only when every broker says the same.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as _WireTopicPartition

# Public names, but re-exported in a way that mypy does not accept from a typed package.
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    NewTopic,
    OffsetSpec,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from guardian.errors import ClusterUnavailable, Conflict, InvalidInput, NotFound
from guardian.kafka.control import KafkaControl
from guardian.kafka.credentials import SecretFolder
from guardian.model.cluster_state import PartitionState
from guardian.model.topology import KERBEROS_SERVICE, Cluster, ClusterSecurity, TopicPartition

__all__ = [
    "Consumer",
    "KafkaError",
    "KafkaException",
    "Message",
    "Producer",
    "Record",
    "client_config",
    "consumer",
    "create_topics",
    "delete_topics",
    "end_offsets",
    "producer",
    "put_scram_user",
    "records_between",
    "start_offsets",
]

Setting = str | int | float | bool

# librdkafka writes each failed attempt to stderr unless it is given a logger.
_LOGGER = logging.getLogger("confluent_kafka")
_LOGGER.addHandler(logging.NullHandler())

# A leader that was just elected answers these until its followers have told it how far they are, and a broker that has
# yet to hear of an election of which the client knows.
_NEW_LEADER = (
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
)
# A broker that restarts.
_UNREACHED = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE)
_EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]

_READ_AT_ONCE = 1000
_TIMEOUT_S = 30.0
_TOKEN_TIMEOUT_S = 10.0
_GRACE_S = 2.0  # librdkafka keeps the time-out itself; the future's is a second line
_POLL_S = 0.2

# A broker that has just died is named as controller for as long as its session lasts, and librdkafka waits for that
# one until it asks for metadata again: five minutes later, unless told.
_FOLLOW_CONTROLLER: dict[str, Setting] = {"topic.metadata.refresh.interval.ms": 1000}


def client_config(cluster: Cluster) -> dict[str, Any]:
    """Bootstrap and security settings in librdkafka's words; secrets are those of $GUARDIAN_SECRETS.

    Raises InvalidInput when a secret can't be read, or for what librdkafka does not have.
    """
    secrets = SecretFolder.of_environment()
    security = cluster.security
    config: dict[str, Any] = {
        "bootstrap.servers": cluster.bootstrap,
        "client.id": "guardian",
        "security.protocol": security.protocol.value,
    }
    if security.protocol.uses_sasl:
        config |= {"sasl.mechanism": security.sasl_mechanism, **_login(security, secrets)}
    if security.protocol.uses_tls and (ca_file := secrets.ca_file(security)):
        config["ssl.ca.location"] = ca_file
    if files := secrets.certificate_files(security):
        config["ssl.certificate.location"], config["ssl.key.location"] = files
    if security.tls_server_name:
        raise InvalidInput(
            f"security.tls_server_name is {security.tls_server_name!r}, which librdkafka does not have; use a "
            "bootstrap by that name"
        )
    return config


def _login(security: ClusterSecurity, secrets: SecretFolder) -> dict[str, Any]:
    if security.sasl_mechanism == "OAUTHBEARER":
        tokens = secrets.token_source(security)

        def token(_config: str) -> tuple[str, float]:
            """Return the token and its end, in seconds since the epoch: librdkafka asks again before it."""
            return tokens.renewed(_TOKEN_TIMEOUT_S), time.time() + tokens.left_s()

        return {"oauth_cb": token}
    if security.sasl_mechanism == "GSSAPI":
        return {
            "sasl.kerberos.principal": security.username,
            "sasl.kerberos.keytab": secrets.keytab_file(security),
            "sasl.kerberos.service.name": security.kerberos_service or KERBEROS_SERVICE,
        }
    return {"sasl.username": security.username, "sasl.password": secrets.password(security)}


def producer(cluster: Cluster, **settings: Setting) -> Producer:
    """A producer; settings are librdkafka's, with '_' for '.': `linger_ms=50`.

    Raises InvalidInput for a setting that librdkafka does not take.
    """
    with _settings_checked():
        return Producer(producer_config(cluster, **settings), logger=_LOGGER)


def producer_config(cluster: Cluster, **settings: Setting) -> dict[str, Setting]:
    """librdkafka's configuration of a producer that keeps its order through retries.

    With one request in flight to a broker a batch that is refused, as by a broker that does not lead yet, is not
    overtaken by the one behind it. A record can be there twice where an answer was lost, as with a broker that died.
    `enable_idempotence=True` is without that. But its threads turn in a circle, a core for each broker, while more
    batches wait than may be in flight (librdkafka 2.11 to 2.16), which starves a busy machine.
    """
    ordered: dict[str, Setting] = {"enable.idempotence": False, "max.in.flight": 1}
    return {**client_config(cluster), **({} if "enable_idempotence" in settings else ordered), **_dotted(settings)}


def consumer(cluster: Cluster, group: str, **settings: Setting) -> Consumer:
    """A consumer of a group; settings are librdkafka's, with '_' for '.': `auto_offset_reset="earliest"`.

    Raises InvalidInput for a setting that librdkafka does not take.
    """
    with _settings_checked():
        return Consumer({**client_config(cluster), "group.id": group, **_dotted(settings)}, logger=_LOGGER)


def put_scram_user(cluster: Cluster, user: str, password: str, timeout_s: float = _TIMEOUT_S) -> None:
    """Gives a user a SCRAM-SHA-512 password. Raises ClusterUnavailable, and InvalidInput where it is refused."""
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    change = UserScramCredentialUpsertion(user, credential, password.encode())
    with _admin(cluster, timeout_s) as admin:
        _settle(admin.alter_user_scram_credentials([change], request_timeout=timeout_s), "changed", timeout_s)


def create_topics(
    cluster: Cluster,
    assignments: Mapping[str, Mapping[int, tuple[int, ...]]],
    config: Mapping[str, str],
    timeout_s: float = _TIMEOUT_S,
) -> None:
    """Creates topics with these replicas per partition, and waits until every broker shows them with leaders.

    Raises Conflict when a topic exists, InvalidInput when the cluster refuses a topic, ClusterUnavailable when it does
    not answer or its brokers do not all show the topics in time.
    """
    topics = [
        NewTopic(topic, len(partitions), replica_assignment=_replica_lists(topic, partitions), config=dict(config))
        for topic, partitions in assignments.items()
    ]
    deadline = time.monotonic() + timeout_s
    with _admin(cluster, timeout_s) as admin:
        _settle(admin.create_topics(topics, request_timeout=timeout_s), "created", timeout_s)
    wanted = {
        TopicPartition(topic, number): replicas
        for topic, partitions in assignments.items()
        for number, replicas in partitions.items()
    }

    def shows_all(seen: Mapping[TopicPartition, PartitionState]) -> bool:
        return all(
            partition in seen and seen[partition].replicas == replicas and seen[partition].leader >= 0
            for partition, replicas in wanted.items()
        )

    _await_every_broker(cluster, assignments, shows_all, deadline)


def delete_topics(cluster: Cluster, topics: Collection[str], timeout_s: float = _TIMEOUT_S) -> None:
    """Deletes topics, and waits until no broker shows them. A topic that does not exist is no error.

    Raises ClusterUnavailable when the cluster does not answer or its brokers still show a topic in time.
    """
    if not topics:
        return
    deadline = time.monotonic() + timeout_s
    with _admin(cluster, timeout_s) as admin:
        futures = admin.delete_topics(list(topics), request_timeout=timeout_s)
        _settle(futures, "deleted", timeout_s, ignored=KafkaError.UNKNOWN_TOPIC_OR_PART)
    _await_every_broker(cluster, topics, lambda seen: not seen, deadline)


def start_offsets(
    cluster: Cluster, topics: Collection[str], timeout_s: float = _TIMEOUT_S
) -> dict[TopicPartition, int]:
    """The first offset of every partition. Raises NotFound for a topic that does not exist, ClusterUnavailable."""
    return _offsets(cluster, topics, _EARLIEST, timeout_s)


def end_offsets(cluster: Cluster, topics: Collection[str], timeout_s: float = _TIMEOUT_S) -> dict[TopicPartition, int]:
    """The offset that the next record of every partition gets. Raises NotFound, ClusterUnavailable."""
    return _offsets(cluster, topics, _LATEST, timeout_s)


class Record(NamedTuple):
    """A record as it is in a topic."""

    partition: int
    offset: int
    value: bytes | None


def records_between(
    cluster: Cluster,
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    timeout_s: float = _TIMEOUT_S,
) -> Iterator[Record]:
    """Yield one topic's records from the start offset of each partition to below its end, in order in each partition.

    No group is joined, and no offset committed. Raises ClusterUnavailable when nothing comes for so long or a broker
    refuses.
    """
    open_ends = {partition: end for partition, end in ends.items() if starts[partition] < end}
    settings: dict[str, Setting] = {
        "auto_offset_reset": "error",
        "enable_auto_commit": False,
        "enable_partition_eof": True,  # where what comes before the end is no record, such as a transaction's mark
    }
    with closing(consumer(cluster, "guardian-reads-once", **settings)) as reader:
        reader.assign([_WireTopicPartition(*partition, starts[partition]) for partition in open_ends])
        deadline = time.monotonic() + timeout_s
        while open_ends:
            for message in reader.consume(_READ_AT_ONCE, _POLL_S):
                if not _is_passing(message.error()):
                    deadline = time.monotonic() + timeout_s
                    yield from _taken(cluster, message, open_ends)
            if time.monotonic() > deadline:
                left = ", ".join(map(str, sorted(open_ends)))
                raise ClusterUnavailable(f"cluster {cluster.name} gave no records of {left} for {timeout_s:.0f} s")


def _is_passing(error: KafkaError | None) -> bool:
    """Return whether the client tries again by itself, as where a broker restarts."""
    return error is not None and (error.retriable() or error.code() in _UNREACHED)


def _taken(cluster: Cluster, message: Message, open_ends: dict[TopicPartition, int]) -> Iterator[Record]:
    """Yield the record, if it is one from before the end; a partition leaves `open_ends` at its end.

    A new leader may say that its log ends earlier than it does, until its followers have told it how far they are.
    """
    topic, number, offset, error = message.topic(), message.partition(), message.offset(), message.error()
    if error is not None and error.code() != KafkaError._PARTITION_EOF:
        raise ClusterUnavailable(f"cluster {cluster.name} refuses to be read: {error.str()}")
    if topic is None or number is None or offset is None:
        raise ClusterUnavailable(f"cluster {cluster.name} gave a record without its place: read again")
    partition = TopicPartition(topic, number)
    end = open_ends.get(partition)
    if end is None:
        return
    if error is None and offset < end:
        yield Record(number, offset, message.value())
    following = offset if error is not None else offset + 1
    if following >= end:
        del open_ends[partition]


def _offsets(
    cluster: Cluster, topics: Collection[str], spec: OffsetSpec, timeout_s: float
) -> dict[TopicPartition, int]:
    with closing(KafkaControl(cluster, timeout_s)) as control:
        partitions = control.describe_partitions(topics)
    if missing := set(topics) - {partition.topic for partition in partitions}:
        raise NotFound(f"topic {min(missing)} does not exist on cluster {cluster.name}: check its name")
    if not partitions:
        return {}
    deadline = time.monotonic() + timeout_s
    with _admin(cluster, timeout_s) as admin:
        while True:
            futures = admin.list_offsets(
                {_WireTopicPartition(topic, number): spec for topic, number in partitions}, request_timeout=timeout_s
            )
            try:
                found = {
                    TopicPartition(partition.topic, partition.partition): future.result(timeout_s + _GRACE_S).offset
                    for partition, future in futures.items()
                }
            except KafkaException as error:
                if error.args[0].code() not in _NEW_LEADER or time.monotonic() > deadline:
                    raise
            else:
                # A leader that moves leaves librdkafka without an answer, and without an error.
                if min(found.values()) >= 0 or time.monotonic() > deadline:
                    return found
            time.sleep(_POLL_S)


@contextmanager
def _admin(cluster: Cluster, timeout_s: float) -> Iterator[AdminClient]:
    """Held until its answers are in: an AdminClient that is collected takes its requests along.

    The control plane is asked first: it tells a refused login at once, where librdkafka would only time out.
    """
    with closing(KafkaControl(cluster, timeout_s)) as control:
        control.describe_cluster()
    admin = AdminClient({**client_config(cluster), **_FOLLOW_CONTROLLER}, logger=_LOGGER)
    try:
        yield admin
    except (KafkaException, TimeoutError) as error:
        cause = error.args[0].str() if isinstance(error, KafkaException) else "no answer"
        raise ClusterUnavailable(
            f"cluster {cluster.name} at {cluster.bootstrap} did not complete the request: {cause}"
        ) from error


@contextmanager
def _settings_checked() -> Iterator[None]:
    try:
        yield
    except KafkaException as error:
        raise InvalidInput(f"a client setting is wrong: {error.args[0].str()}") from error


def _dotted(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    return {name.replace("_", "."): value for name, value in settings.items()}


def _replica_lists(topic: str, partitions: Mapping[int, tuple[int, ...]]) -> list[list[int]]:
    if sorted(partitions) != list(range(len(partitions))) or not partitions:
        raise InvalidInput(f"partitions of topic {topic} is {sorted(partitions)}: number them from 0 without gaps")
    return [list(partitions[number]) for number in range(len(partitions))]


def _settle(futures: Mapping[str, Future[None]], done: str, timeout_s: float, ignored: int | None = None) -> None:
    for topic, future in futures.items():
        try:
            future.result(timeout_s + _GRACE_S)
        except KafkaException as error:
            failure: KafkaError = error.args[0]
            if failure.code() == ignored:
                continue
            if failure.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                raise Conflict(f"topic {topic} exists: choose another name or delete it first") from error
            if failure.code() < 0 or failure.retriable():
                raise
            raise InvalidInput(f"topic {topic} can't be {done}: {failure.str()}") from error


def _await_every_broker(
    cluster: Cluster,
    topics: Collection[str],
    is_settled: Callable[[Mapping[TopicPartition, PartitionState]], bool],
    deadline: float,
) -> None:
    with closing(KafkaControl(cluster, _TIMEOUT_S)) as control:
        lagging = set(control.describe_cluster().brokers)
        while True:
            for broker in sorted(lagging):
                seen = control.partitions_seen_by(broker, topics)
                if seen is not None and is_settled(seen):
                    lagging.discard(broker)
            # A broker that has died meanwhile is not waited for.
            lagging &= set(control.describe_cluster().brokers)
            if not lagging:
                return
            if time.monotonic() > deadline:
                raise ClusterUnavailable(
                    f"cluster {cluster.name}: brokers {sorted(lagging)} do not show the change of topics "
                    f"{', '.join(sorted(topics))} yet: look at those brokers, then try again"
                )
            time.sleep(_POLL_S)
