"""KafkaControl without a broker: what it refuses by itself, and how it says that a cluster is of no use."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import kafka.errors as kafka_errors
import pytest
from kafka.protocol.admin import DescribeClusterRequest, DescribeConfigsResponse, DescribeLogDirsResponse
from kafka.protocol.metadata import MetadataResponse

from guardian.errors import ClusterUnavailable, InvalidInput
from guardian.kafka import control as module
from guardian.kafka.admin import BROKER, TOPIC
from guardian.kafka.control import KafkaControl, replication_factor_changes, require_writable, unavailable_sentence
from guardian.kafka.controllers import Node
from guardian.kafka.credentials import ENVIRONMENT, SecretFolder
from guardian.kafka.gate import needs_no_proof
from guardian.kafka.metadata import read_answer
from guardian.model.cluster_state import LogDirReplica, PartitionState, Reassignment
from guardian.model.topology import Cluster, ClusterSecurity, SecurityProtocol, TopicPartition

PARTITION = TopicPartition("t", 0)
SASL = ClusterSecurity(SecurityProtocol.SASL_PLAINTEXT, "SCRAM-SHA-256", "guardian", "password")


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Takes connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.fixture
def closed_port() -> Iterator[int]:
    """Bound, so that nobody else takes it, but not listening."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def sentence_of(cluster: Cluster, timeout_s: float) -> str:
    started = time.monotonic()
    with closing(KafkaControl(cluster, timeout_s)) as control, pytest.raises(ClusterUnavailable) as failure:
        control.describe_cluster()
    assert time.monotonic() - started < timeout_s + 5
    return str(failure.value)


def test_a_cluster_that_is_down_is_told_in_one_sentence(closed_port: int) -> None:
    assert sentence_of(Cluster("live", f"127.0.0.1:{closed_port}"), 0.5) == (
        f"cluster live can't be reached at 127.0.0.1:{closed_port} within 0.5 s: connection refused"
    )


class Attempts:
    """Instead of connections: each attempt to log in does what the test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, log_in: Callable[[str, float], None]) -> None:
        self.endpoints: list[str] = []
        attempts = self

        class Wire:
            def __init__(self, endpoint: str, _settings: object) -> None:
                attempts.endpoints.append(endpoint)

            def log_in(self, share_s: float) -> None:
                log_in(attempts.endpoints[-1], share_s)

            def close(self) -> None:
                """Nothing is open."""

        monkeypatch.setattr(module, "_Wire", Wire)


def test_what_the_deadline_cuts_off_does_not_hide_what_an_attempt_before_it_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = 0.0

    def passes(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds

    def is_late_the_second_time(_endpoint: str, share_s: float) -> None:
        if len(attempts.endpoints) == 1:
            raise kafka_errors.KafkaConnectionError("connection refused")
        passes(share_s)
        raise kafka_errors.KafkaTimeoutError

    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now_s, sleep=passes))
    attempts = Attempts(monkeypatch, is_late_the_second_time)
    assert sentence_of(Cluster("live", "a:1"), 5.0).endswith("connection refused")
    assert len(attempts.endpoints) == 2


@pytest.mark.parametrize("endpoints", range(1, 9))
def test_each_endpoint_gets_time_to_connect_and_the_first_more_than_its_share(endpoints: int) -> None:
    left_s = 6.0
    shares = []
    for number in range(endpoints):
        shares.append(module.connecting_share_s(left_s, endpoints - number))
        left_s -= shares[-1]
    assert left_s == pytest.approx(0)
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] > 0
    assert shares[0] == pytest.approx(6.0 * 2 / (endpoints + 1))


def test_who_did_not_answer_is_asked_last_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def only_b_answers(endpoint: str, _share_s: float) -> None:
        if endpoint == "b:1":
            raise kafka_errors.SaslAuthenticationFailedError("it answers")
        raise kafka_errors.KafkaConnectionError("connection refused")

    attempts = Attempts(monkeypatch, only_b_answers)
    with closing(KafkaControl(Cluster("live", "a:1,b:1,c:1"), 60.0)) as control:
        for _ in range(2):
            with pytest.raises(ClusterUnavailable):
                control.describe_cluster()
    assert attempts.endpoints == ["a:1", "b:1", "b:1"]


def test_a_time_out_without_a_login_asks_for_the_port_too(silent_port: int) -> None:
    assert sentence_of(Cluster("live", f"127.0.0.1:{silent_port}"), 0.5) == (
        f"cluster live can't be reached at 127.0.0.1:{silent_port} within 0.5 s: no answer; "
        "either it is down or that port does not speak PLAINTEXT"
    )


def test_a_time_out_with_a_login_names_both_possibilities(
    silent_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KAFKA.md, trap 10."""
    (tmp_path / "password").write_text("s3cret\n")
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    security = ClusterSecurity(SecurityProtocol.SASL_PLAINTEXT, "SCRAM-SHA-512", "guardian", "password")
    assert sentence_of(Cluster("live", f"127.0.0.1:{silent_port}", security=security), 0.5) == (
        f"cluster live can't be reached at 127.0.0.1:{silent_port} within 0.5 s: no answer; "
        "either it is down or it does not accept the login of 'guardian': "
        "check the brokers, then the password in the secret password"
    )


def test_a_missing_password_is_invalid_input_before_any_connection(tmp_path: Path) -> None:
    security = ClusterSecurity(SecurityProtocol.SASL_SSL, "PLAIN", "guardian", "none")
    secrets = SecretFolder(tmp_path)
    with (
        closing(KafkaControl(Cluster("live", "127.0.0.1:1", security=security), secrets=secrets)) as control,
        pytest.raises(InvalidInput, match=r"security\.password_secret"),
    ):
        control.describe_cluster()


def test_failures_leave_no_thread_behind(closed_port: int, silent_port: int) -> None:
    before = set(threading.enumerate())
    for port in (closed_port, silent_port):
        sentence_of(Cluster("live", f"127.0.0.1:{port}"), 0.3)
    assert set(threading.enumerate()) <= before


def test_a_node_that_never_shakes_hands_costs_no_descriptor(silent_port: int) -> None:
    """A broker that hangs accepts connections: a probe every few seconds must not keep its socket."""
    security = ClusterSecurity(SecurityProtocol.SSL)
    wire = module._Wire(f"127.0.0.1:{silent_port}", module._settings(security, 1.0, SecretFolder(None)))
    node = Node(1, "127.0.0.1", silent_port)

    async def probe() -> None:
        deadline = time.monotonic() + 0.1
        with pytest.raises(kafka_errors.KafkaError):
            await wire.ask_node(node, DescribeClusterRequest(), deadline, needs_no_proof)

    try:
        wire.run(probe, time.monotonic() + 10.0)
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(10):
            wire.run(probe, time.monotonic() + 10.0)
        assert len(list(Path("/proc/self/fd").iterdir())) <= before
    finally:
        wire.close()


def test_a_closed_control_says_so(closed_port: int) -> None:
    control = KafkaControl(Cluster("live", f"127.0.0.1:{closed_port}"))
    control.close()
    control.close()
    with pytest.raises(ClusterUnavailable, match="is closed"):
        control.describe_cluster()


def test_nothing_to_alter_or_elect_asks_nobody(closed_port: int) -> None:
    with closing(KafkaControl(Cluster("live", f"127.0.0.1:{closed_port}"), 0.1)) as control:
        assert control.alter_reassignments({}) == {}
        assert control.elect_preferred_leaders([]) == {}


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (
            kafka_errors.SaslAuthenticationFailedError("Invalid username or password"),
            "refuses the login of 'guardian': check username, sasl_mechanism and the password in the secret password",
        ),
        (
            kafka_errors.UnsupportedSaslMechanismError(),
            "does not offer security.sasl_mechanism SCRAM-SHA-256: use one that its listener enables",
        ),
        (
            kafka_errors.IllegalSaslStateError(),
            "asks for no login, but security.protocol is SASL_PLAINTEXT: "
            "use the protocol of that port, or the port of that protocol",
        ),
        (
            kafka_errors.ClusterAuthorizationFailedError("alter"),
            "refuses the request: CLUSTER_AUTHORIZATION_FAILED: alter",
        ),
    ],
)
def test_each_refusal_says_what_to_check(error: kafka_errors.KafkaError, end: str) -> None:
    assert unavailable_sentence(Cluster("live", "b1:9092", security=SASL), 10.0, error) == (
        f"cluster live at b1:9092 {end}"
    )


def test_a_refused_connection_does_not_blame_the_password() -> None:
    error = kafka_errors.KafkaConnectionError("unable to connect: 111 ECONNREFUSED")
    assert unavailable_sentence(Cluster("live", "b1:9092", security=SASL), 10.0, error) == (
        "cluster live can't be reached at b1:9092 within 10 s: connection refused"
    )


@pytest.mark.parametrize("key", ["leader.replication.throttled.rates", "remote.storage.enable", ""])
def test_only_the_keys_of_the_allow_list_may_be_written(key: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        require_writable({(TOPIC, "t"): {key: "1"}})
    assert str(refusal.value).startswith(
        f"configuration key of topic t is {key!r}: use one of cleanup.policy, compression.type, cordoned.log.dirs, "
    )


def test_a_key_of_topics_is_written_to_no_broker() -> None:
    require_writable({(TOPIC, "t"): {"retention.ms": "1"}})
    with pytest.raises(InvalidInput, match=r"of broker 1 is 'retention.ms': use one of cordoned.log.dirs, follower"):
        require_writable({(BROKER, "1"): {"retention.ms": "1"}})


@pytest.mark.parametrize("name", ["", "one", "-1", "1,2"])
def test_a_broker_configuration_is_of_one_broker(name: str) -> None:
    """An empty name would be the default of all brokers."""
    with pytest.raises(InvalidInput, match=r"use a broker id, such as '1'"):
        require_writable({(BROKER, name): {"leader.replication.throttled.rate": "1"}})


def test_other_kinds_of_resources_are_refused() -> None:
    with pytest.raises(InvalidInput, match="'GROUP': use TOPIC or BROKER"):
        require_writable({("GROUP", "g"): {}})


def test_the_guard_for_old_brokers_compares_with_the_present_replication_factor() -> None:
    partitions = {PARTITION: PartitionState(1, (1, 2), (1, 2))}
    assert replication_factor_changes({PARTITION: (3, 2)}, partitions, {}) == {}
    assert replication_factor_changes({PARTITION: None}, partitions, {}) == {}
    assert replication_factor_changes({TopicPartition("none", 0): (1,)}, partitions, {}) == {}
    assert replication_factor_changes({PARTITION: (1,)}, partitions, {}) == {
        PARTITION: "INVALID_REPLICATION_FACTOR: the replication factor would change from 2 to 1"
    }


def test_the_guard_for_old_brokers_counts_the_target_of_a_reassignment_in_flight() -> None:
    partitions = {PARTITION: PartitionState(1, (3, 2, 1), (1, 2))}
    in_flight = {PARTITION: Reassignment((3, 2, 1), (3,), (1,))}
    assert replication_factor_changes({PARTITION: (1, 3)}, partitions, in_flight) == {}
    assert replication_factor_changes({PARTITION: (1, 2, 3)}, partitions, in_flight).keys() == {PARTITION}


def test_a_failed_log_dir_shows_its_error_and_a_copy_on_its_way_shows_apart() -> None:
    topic = DescribeLogDirsResponse.DescribeLogDirsResult.DescribeLogDirsTopic
    replica = topic.DescribeLogDirsPartition
    failed = DescribeLogDirsResponse.DescribeLogDirsResult(
        error_code=56, log_dir="/disk1", topics=[], total_bytes=-1, usable_bytes=-1
    )
    assert module._read_log_dir(1, failed).error.startswith("KAFKA_STORAGE_ERROR: ")
    online = DescribeLogDirsResponse.DescribeLogDirsResult(
        error_code=0,
        log_dir="/disk2",
        topics=[
            topic(
                name="t",
                partitions=[
                    replica(partition_index=0, partition_size=10, offset_lag=0, is_future_key=False),
                    replica(partition_index=1, partition_size=4, offset_lag=7, is_future_key=True),
                ],
            )
        ],
        total_bytes=100,
        usable_bytes=60,
    )
    log_dir = module._read_log_dir(1, online)
    assert (log_dir.error, log_dir.total_bytes, log_dir.usable_bytes) == ("", 100, 60)
    assert log_dir.replicas == {TopicPartition("t", 0): LogDirReplica(10, 0, is_future=False)}
    assert log_dir.future_replicas == {TopicPartition("t", 1): LogDirReplica(4, 7, is_future=True)}


def test_a_topic_that_we_may_not_see_is_a_refusal_and_not_a_missing_topic() -> None:
    topic = MetadataResponse.MetadataResponseTopic
    response = MetadataResponse(topics=[topic(error_code=29, name="secret", partitions=[])])
    with pytest.raises(kafka_errors.TopicAuthorizationFailedError):
        read_answer(response)


def test_only_what_is_set_on_the_very_resource_counts_as_its_configuration() -> None:
    result = DescribeConfigsResponse.DescribeConfigsResult
    config = result.DescribeConfigsResourceResult
    response = DescribeConfigsResponse(
        results=[
            result(
                error_code=0,
                resource_type=4,
                resource_name="1",
                configs=[
                    config(name="own", value="1", config_source=2),
                    config(name="default of all brokers", value="2", config_source=3),
                    config(name="server.properties", value="3", config_source=4),
                    config(name="secret", value=None, config_source=2),
                ],
            )
        ]
    )
    assert module._read_configs(BROKER, response, None, in_force=False) == {"1": {"own": "1"}}
    keys = frozenset({"own", "server.properties", "secret", "unknown"})
    in_force = module._read_configs(BROKER, response, keys, in_force=True)
    assert in_force == {"1": {"own": "1", "server.properties": "3"}}
    assert module._read_configs(BROKER, response, keys, in_force=False) == {"1": {"own": "1"}}
    assert module._read_configs(BROKER, response, keys - {"own"}, in_force=False) == {"1": {}}


def test_what_a_broker_says_before_it_hangs_up_is_heard() -> None:
    """A refused login is followed by the end of the stream, often in the same read."""
    end = kafka_errors.KafkaConnectionError("socket disconnected")
    reads = iter([(b"refused", end), (b"", end)])
    transport = SimpleNamespace(_sock_recv=lambda: next(reads))
    module._deliver_last_words(transport)
    assert transport._sock_recv() == (b"refused", None)
    assert transport._sock_recv() == (b"", end)


def test_after_a_failure_the_next_call_starts_from_the_bootstrap_endpoints(closed_port: int) -> None:
    class LostWire:
        manager = None
        is_closed = False

        def run(self, *_: object) -> None:
            raise kafka_errors.KafkaTimeoutError

        def close(self) -> None:
            self.is_closed = True

    lost = LostWire()
    with closing(KafkaControl(Cluster("live", f"127.0.0.1:{closed_port}"), 0.3)) as control:
        control._wire = lost  # type: ignore[assignment]
        with pytest.raises(ClusterUnavailable, match="no answer"):
            control.describe_cluster()
        assert lost.is_closed
        with pytest.raises(ClusterUnavailable, match="connection refused"):
            control.describe_cluster()


class ScriptedSession(module._Session):
    """Brokers that know topics or lag behind, without a network."""

    def __init__(self, known_by_broker: dict[int, set[str]]) -> None:
        nodes = [SimpleNamespace(node_id=broker) for broker in known_by_broker]
        manager = SimpleNamespace(cluster=SimpleNamespace(brokers=lambda: nodes))
        super().__init__(SimpleNamespace(manager=manager), 0.0, 1.0, needs_no_proof)  # type: ignore[arg-type]
        self.known_by_broker = known_by_broker
        self.asked: list[tuple[int, set[str]]] = []

    async def ask_any(self, request: Callable[[], Any]) -> Any:
        return self._answer(min(self.known_by_broker), request())

    async def _ask_in_parallel(
        self,
        brokers: Iterable[int],
        request: Callable[[int], Any],
        limit_s: float | Mapping[int, float] | None = None,
    ) -> tuple[dict[int, Any], dict[int, kafka_errors.KafkaError]]:
        assert limit_s is not None, "a broker that hangs must not take the time of all"
        return {broker: self._answer(broker, request(broker)) for broker in brokers}, {}

    def _answer(self, broker: int, names: Collection[str]) -> dict[str, int]:
        self.asked.append((broker, set(names)))
        return {name: broker for name in names if name in self.known_by_broker[broker]}

    def ask(self, *names: str) -> dict[str, int]:
        return asyncio.run(self.ask_until_known(names, lambda names: names, lambda answer: answer))


def test_a_topic_that_one_broker_does_not_know_yet_is_asked_of_the_others() -> None:
    """KAFKA.md, trap 9."""
    session = ScriptedSession({1: {"old"}, 2: {"old", "new"}, 3: {"old"}})
    assert session.ask("old", "new", "none") == {"old": 1, "new": 2}
    assert session.asked == [(1, {"old", "new", "none"}), *((broker, {"new", "none"}) for broker in (1, 2, 3))]


def test_known_topics_are_asked_of_one_broker_only_and_none_of_nobody() -> None:
    session = ScriptedSession({1: {"old"}, 2: {"old"}})
    assert session.ask("old") == {"old": 1}
    assert session.ask() == {}
    assert session.asked == [(1, {"old"})]


class RestartedBrokerSession(module._Session):
    """Broker 2 answers only after the metadata has been read anew; broker 3 never."""

    def __init__(self) -> None:
        async def sleep(seconds: float) -> None:
            assert seconds <= 1.0

        manager = SimpleNamespace(connection_delay={1: 0.1, 2: 0.1, 3: 0.1}.__getitem__)
        wire = SimpleNamespace(manager=manager, sleep=sleep)
        super().__init__(wire, time.monotonic() + 60, 60.0, needs_no_proof)  # type: ignore[arg-type]
        self.is_fresh = False
        self.asked: list[set[int]] = []

    async def refresh_metadata(self) -> None:
        self.is_fresh = True

    async def _ask_in_parallel(
        self,
        brokers: Iterable[int],
        request: Callable[[int], Any],
        limit_s: float | Mapping[int, float] | None = None,
    ) -> tuple[dict[int, Any], dict[int, kafka_errors.KafkaError]]:
        self.asked.append(set(brokers))
        able = {1, 2} if self.is_fresh else {1}
        assert limit_s is None
        return (
            {broker: request(broker) for broker in self.asked[-1] & able},
            {broker: kafka_errors.UnknownBrokerIdError(broker) for broker in self.asked[-1] - able},
        )


def test_a_broker_that_stale_metadata_hides_is_asked_again() -> None:
    """KAFKA.md, trap 3."""
    session = RestartedBrokerSession()
    answers, failures = asyncio.run(session.ask_each([1, 2, 3], lambda broker: f"answer of {broker}"))
    assert answers == {1: "answer of 1", 2: "answer of 2"}
    assert failures.keys() == {3}
    assert session.asked == [{1, 2, 3}, {2, 3}]


def test_what_still_waits_when_a_call_has_failed_is_not_sent() -> None:
    """Of several brokers one fails the call, and another's connection comes up after that."""

    async def connected(broker: int) -> None:
        assert broker == 1

    proofs: list[int] = []
    wire = SimpleNamespace(manager=SimpleNamespace(get_connection=connected))
    session = module._Session(wire, time.monotonic() + 60, 60.0, lambda: proofs.append(1))  # type: ignore[arg-type]
    session.end()
    with pytest.raises(kafka_errors.KafkaTimeoutError):
        asyncio.run(session._send(1, "request", time.monotonic() + 60))
    assert not proofs


class GroupsSession:
    """Broker 1 coordinates groups a and b and tells a alone, 2 tells its group, 3 does not answer at all."""

    names: ClassVar = {1: ["a", "b"], 2: ["c"]}

    async def ask_recent(self, _request: object) -> object:
        return SimpleNamespace(brokers=[SimpleNamespace(broker_id=broker) for broker in (1, 2, 3)])

    async def ask_each(
        self, brokers: Iterable[int], request: Callable[[int], object]
    ) -> tuple[dict[int, object], dict[int, kafka_errors.KafkaError]]:
        of_brokers = {broker: request(broker) for broker in brokers}
        silent = {3: kafka_errors.KafkaTimeoutError()} if 3 in of_brokers else {}
        return {broker: self.answer(broker, each) for broker, each in of_brokers.items() if broker != 3}, silent

    def answer(self, broker: int, request: object) -> object:
        kind = type(request).__name__
        if kind.startswith("ListGroups"):
            return SimpleNamespace(
                groups=[
                    SimpleNamespace(group_id=name, protocol_type="consumer", group_state="Stable")
                    for name in self.names[broker]
                ]
            )
        return SimpleNamespace(
            groups=[
                SimpleNamespace(group_id=name, error_code=16 if name == "b" else 0, topics=[], members=[])
                for name in self.names[broker]
            ]
        )


def test_coordinators_that_do_not_tell_all_of_their_groups_are_named(
    closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(KafkaControl(Cluster("live", f"127.0.0.1:{closed_port}"))) as control:
        monkeypatch.setattr(control, "_call", lambda ask: asyncio.run(ask(GroupsSession())))
        offsets = control.committed_offsets()
        assert offsets.by_group == {"a": {}, "c": {}}
        assert offsets.silent == {1, 3}
        assert control.group_members().silent == {3}
