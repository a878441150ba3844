from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from guardian.errors import ClusterUnavailable, InvalidInput
from guardian.kafka import data
from guardian.kafka.credentials import ENVIRONMENT
from guardian.model.topology import Cluster, ClusterSecurity, SecurityProtocol, TopicPartition

CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBdTCCARugAwIBAgIUE3uCrV4FXQ9MqAxoFrsfeg8lyLQwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjEwNTM4MzlaGA8yMTI2MTAyODA1Mzgz
OVowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABPys
9vL1sgkl6PiWRpseDshznOYgnSImgOKgQMFwLyhHvv/xzfumxzvhadsWys4nW6WE
9RsenUWXdMBaHX/it/GjUzBRMB0GA1UdDgQWBBS/ww3S9KjSMsqjXlA4c8K6qtjj
TDAfBgNVHSMEGDAWgBS/ww3S9KjSMsqjXlA4c8K6qtjjTDAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0gAMEUCIF7auWJ1VMIzdArhCEjc+NUlUq2RwPtHMb/M
+4gd/AiLAiEA4Pm5yOzbX1lkOpPyXDB7iQlOGmyPaGhIV2/sbQdgwuE=
-----END CERTIFICATE-----
"""
CLUSTER = Cluster("live", "b1:9092,b2:9092")


def test_a_plain_cluster_needs_its_bootstrap_only() -> None:
    assert data.client_config(CLUSTER) == {
        "bootstrap.servers": "b1:9092,b2:9092",
        "client.id": "guardian",
        "security.protocol": "PLAINTEXT",
    }


def test_the_login_and_the_ca_come_from_the_secrets_that_the_cluster_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "password").write_text("s3cret\n")
    (tmp_path / "ca.pem").write_text(CERTIFICATE)
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    security = ClusterSecurity(SecurityProtocol.SASL_SSL, "SCRAM-SHA-512", "guardian", "password", "ca.pem")
    config = data.client_config(Cluster("live", "b1:9092", security=security))
    assert config["security.protocol"] == "SASL_SSL"
    assert (config["sasl.mechanism"], config["sasl.username"], config["sasl.password"]) == (
        "SCRAM-SHA-512",
        "guardian",
        "s3cret",
    )
    assert config["ssl.ca.location"] == str(tmp_path / "ca.pem")


def test_certificates_keytabs_and_tokens_come_from_the_secrets_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {"crt": CERTIFICATE, "key": "key", "keytab": "\x05key", "token": "a.b.c"}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    shown = {"certificate_secret": "crt", "key_secret": "key"}

    def config_of(mechanism: str, username: str = "", **more: str) -> dict[str, Any]:
        security = ClusterSecurity(SecurityProtocol.SASL_SSL, mechanism, username, **shown, **more)
        return data.client_config(Cluster("live", "b1:9092", security=security))

    kerberos = config_of("GSSAPI", "ann@A.B", keytab_secret="keytab")
    assert kerberos["sasl.kerberos.principal"] == "ann@A.B"
    assert kerberos["sasl.kerberos.keytab"] == str(tmp_path / "keytab")
    assert kerberos["sasl.kerberos.service.name"] == "kafka"
    assert (kerberos["ssl.certificate.location"], kerberos["ssl.key.location"]) == (
        str(tmp_path / "crt"),
        str(tmp_path / "key"),
    )
    given, ends_s = config_of("OAUTHBEARER", token_secret="token")["oauth_cb"]("")
    assert given == "a.b.c"
    assert ends_s > time.time()
    with pytest.raises(InvalidInput, match=r"tls_server_name is 'b\.test', which librdkafka does not have"):
        config_of("OAUTHBEARER", token_secret="token", tls_server_name="b.test")


@pytest.mark.parametrize("partitions", [{}, {1: (1, 2)}, {0: (1,), 2: (1,)}])
def test_partitions_with_gaps_are_refused(partitions: dict[int, tuple[int, ...]]) -> None:
    with pytest.raises(InvalidInput, match="number them from 0 without gaps"):
        data.create_topics(CLUSTER, {"t": partitions}, {})


def test_an_unknown_client_setting_is_refused_in_one_sentence() -> None:
    with pytest.raises(InvalidInput, match=r"no\.such\.setting"):
        data.producer(CLUSTER, no_such_setting=1)


@pytest.mark.parametrize(
    ("settings", "idempotent", "in_flight"),
    [
        ({}, False, 1),
        ({"acks": "1"}, False, 1),
        ({"acks": "all", "enable_idempotence": True}, True, None),
        ({"acks": "all", "enable_idempotence": False}, False, None),
    ],
)
def test_a_producer_keeps_its_order_through_retries_unless_told_otherwise(
    settings: dict[str, data.Setting], idempotent: bool, in_flight: int | None
) -> None:
    config = data.producer_config(CLUSTER, **settings)
    assert (config["enable.idempotence"], config.get("max.in.flight")) == (idempotent, in_flight)
    data.producer(CLUSTER, **settings)


def test_deleting_no_topics_asks_nobody() -> None:
    data.delete_topics(Cluster("live", "127.0.0.1:1"), [])


def test_offsets_of_a_cluster_that_is_down_say_so() -> None:
    with pytest.raises(ClusterUnavailable, match=r"^cluster live can't be reached at 127\.0\.0\.1:1 within 0.3 s: "):
        data.end_offsets(Cluster("live", "127.0.0.1:1"), ["t"], timeout_s=0.3)


class Handed:
    """A consumer of librdkafka, which gives the next of these lists each time that it is asked."""

    def __init__(self, *answers: list[Any]) -> None:
        self._answers = list(answers)
        self.assigned: list[tuple[str, int, int]] = []
        self.is_closed = False

    def assign(self, partitions: list[Any]) -> None:
        self.assigned = [(each.topic, each.partition, each.offset) for each in partitions]

    def consume(self, _most: int, _timeout_s: float) -> list[Any]:
        return self._answers.pop(0) if self._answers else []

    def close(self) -> None:
        self.is_closed = True


class Message:
    def __init__(self, partition: int, offset: int, value: bytes | None = b"v", error: int | None = None) -> None:
        self._fields = (partition, offset, value)
        self._error = None if error is None else data.KafkaError(error)

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return self._fields[0]

    def offset(self) -> int:
        return self._fields[1]

    def value(self) -> bytes | None:
        return self._fields[2]

    def error(self) -> data.KafkaError | None:
        return self._error


def between(monkeypatch: pytest.MonkeyPatch, reader: Handed, *bounds: tuple[int, int]) -> list[data.Record]:
    monkeypatch.setattr(data, "consumer", lambda *_arguments, **_settings: reader)
    starts = {TopicPartition("t", number): start for number, (start, _) in enumerate(bounds)}
    ends = {TopicPartition("t", number): end for number, (_, end) in enumerate(bounds)}
    try:
        return list(data.records_between(CLUSTER, starts, ends, timeout_s=0.05))
    finally:
        assert reader.is_closed


def test_records_are_read_up_to_the_ends_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Handed([Message(0, 5), Message(1, 0)], [], [Message(0, 6, None), Message(0, 7), Message(1, 1)])
    assert between(monkeypatch, reader, (5, 7), (0, 2), (3, 3)) == [
        (0, 5, b"v"),
        (1, 0, b"v"),
        (0, 6, None),
        (1, 1, b"v"),
    ]
    assert reader.assigned == [("t", 0, 5), ("t", 1, 0)]


def test_a_partition_ends_where_it_ends_though_no_record_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    end = Message(0, 9, error=data.KafkaError._PARTITION_EOF)
    assert between(monkeypatch, Handed([Message(0, 5), end]), (5, 9)) == [(0, 5, b"v")]
    early = Message(0, 6, error=data.KafkaError._PARTITION_EOF)
    reader = Handed([Message(0, 5), early], [Message(0, 6), end])
    assert between(monkeypatch, reader, (5, 9)) == [(0, 5, b"v"), (0, 6, b"v")], "it ended too soon"


def test_a_broker_that_restarts_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    away = Message(0, 0, error=data.KafkaError._ALL_BROKERS_DOWN)
    assert between(monkeypatch, Handed([away], [Message(0, 5)]), (5, 6)) == [(0, 5, b"v")]
    with pytest.raises(ClusterUnavailable, match="gave no records"):
        between(monkeypatch, Handed([away]), (5, 6))


def test_who_gives_nothing_or_refuses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClusterUnavailable, match="cluster live gave no records of t-0 for 0 s"):
        between(monkeypatch, Handed([Message(0, 5)]), (5, 9))
    refused = Message(0, 5, error=data.KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(ClusterUnavailable, match="cluster live refuses to be read: "):
        between(monkeypatch, Handed([refused]), (5, 9))
