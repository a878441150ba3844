"""A reporter's answer, as protection sees it; and which brokers the lake makes suspect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from guardian.collection.rules.names import MetricNames, values_by_name
from guardian.errors import ClusterUnavailable
from guardian.health.rules.disk_limits import DiskCounters
from guardian.lake.model.schema import DISK_SAMPLES, LOG_DIR_SAMPLES, TABLES
from guardian.lake.store.writer import LakeWriter
from guardian.model.quota import QuotaClient
from guardian.model.topology import Broker, Cluster, TopicPartition
from guardian.protection.loop.protection import LooksAtBrokers, Suspects, _Known, _look, lake_suspects
from guardian.protection.rules.disk_doings import LogFacts
from guardian.protection.rules.protecting import ProtectionSettings
from protos.guardian.v1 import reporter_pb2 as pb

T0 = TopicPartition("a-b", 0)
NOW = 1_000_000


def batch(**more: Any) -> pb.MetricBatch:
    names = {
        "kafka.log:type=Log,name=Size,topic=a-b,partition=0:Value": 500.0,
        "kafka.log:type=Log,name=LogStartOffset,topic=a-b,partition=0:Value": 2.0,
        "kafka.log:type=Log,name=LogEndOffset,topic=a-b,partition=0:Value": 12.0,
        "kafka.log:type=Log,name=Size,topic=a-b,partition=0,is-future=true:Value": 77.0,
    }
    disk = pb.DiskFacts(name="sda", bytes_read=1, bytes_written=2, reads_completed=3, writes_completed=4, busy_ms=5)
    host = pb.HostFacts(
        disks=[disk],
        memory=pb.MemoryFacts(available_bytes=99),
        log_dirs=[pb.LogDirFacts(path="/d", disk="sda", replicas=["a-b-0"])],
    )
    return pb.MetricBatch(
        broker_id=7, dictionary_id=1, names=list(names), ids=range(4), values=names.values(), host=host, **more
    )


def slice_of(*entries: tuple[str, str, str, str], number: int = 1) -> pb.ActivitySlice:
    """(principal, client id, topic, operation)"""
    strings = ["TOPIC", *(text for entry in entries for text in entry)]
    found = pb.ActivitySlice(number=number, strings=strings)
    for position in range(len(entries)):
        principal, client_id, topic, operation = (1 + 4 * position + part for part in range(4))
        found.principals.append(principal)
        found.client_ids.append(client_id)
        found.resource_types.append(0)
        found.resources.append(topic)
        found.operations.append(operation)
        found.allowed.append(3)
    return found


def test_an_answer_becomes_a_look() -> None:
    message = batch()
    look = _look(message, values_by_name(message, MetricNames(1, tuple(message.names))), _Known(), NOW)
    assert (look.broker, look.at_ms, look.memory_available_bytes) == (7, NOW, 99)
    assert look.disks == {"sda": DiskCounters(NOW, 1, 2, 7, 0, 5)}
    # The log of a copy on its way to another log dir is none of these.
    assert look.logs == {T0: LogFacts(500, 2, 12, NOW)}
    assert (look.replicas, look.log_dirs) == ({T0: "/d"}, {"/d": "sda"})


def test_since_when_a_log_has_its_end_is_remembered_from_look_to_look() -> None:
    known, other = _Known(), TopicPartition("b", 0)
    assert known.ends_since_ms({T0: 12, other: 7}, NOW) == {T0: NOW, other: NOW}
    assert known.ends_since_ms({T0: 12, other: 8}, NOW + 5) == {T0: NOW, other: NOW + 5}
    # Truncated, and gone for a look: what was known of it is of another log.
    assert known.ends_since_ms({T0: 11}, NOW + 9) == {T0: NOW + 9}
    assert known.ends_since_ms({T0: 11, other: 8}, NOW + 20) == {T0: NOW + 9, other: NOW + 20}


def test_users_of_client_ids_and_writers_of_topics_are_remembered_for_a_while() -> None:
    known = _Known()
    read, write = ("User:alice", "etl", "t", "READ"), ("User:bob", "app", "t", "WRITE")
    other = ("Group:ops", "x", "t", "WRITE")
    known.remember(batch(activity=[slice_of(read, write, other)], broker_started_at_ms=5), NOW)
    assert (known.life_ms, known.after) == (5, 1)
    message = batch()
    look = _look(message, {}, known, NOW)
    assert look.users == {"etl": frozenset({"alice"}), "app": frozenset({"bob"})}
    assert look.writers == {"t": frozenset({QuotaClient("app", "bob")})}
    known.remember(batch(), NOW + 899_999)
    assert known.users
    known.remember(batch(), NOW + 900_000)
    assert not known.users
    assert not known.writers


def test_how_often_clients_read_a_topic_counts_for_three_minutes() -> None:
    known, message = _Known(), batch()
    assert _look(message, {}, known, NOW).readers is None
    etl, bi = ("User:alice", "etl", "t", "READ"), ("User:bob", "bi", "t", "READ")
    old, new = slice_of(etl, number=1), slice_of(etl, etl, bi, number=2)
    old.to_ms, new.to_ms = 10_000, 190_000
    known.remember(batch(activity=[old, new], collected_at_ms=190_000), NOW)
    assert _look(message, {}, known, NOW).readers == {("t", "etl"): 6, ("t", "bi"): 3}
    known.remember(batch(), NOW + 180_000)
    assert _look(message, {}, known, NOW).readers == {}


def test_a_broker_that_was_restarted_is_asked_for_the_slices_of_its_new_life() -> None:
    known = _Known()
    read = ("User:alice", "etl", "t", "READ")
    known.remember(batch(activity=[slice_of(read, number=number) for number in (39, 40)], broker_started_at_ms=5), NOW)
    assert (known.life_ms, known.after) == (5, 40)
    known.remember(batch(broker_started_at_ms=9), NOW)
    assert (known.life_ms, known.after) == (9, 0)
    known.remember(batch(activity=[slice_of(read)], broker_started_at_ms=9), NOW)
    assert (known.life_ms, known.after) == (9, 1)


def test_a_reporter_that_is_not_there_is_named() -> None:
    looks = LooksAtBrokers(None, 0.2)
    with pytest.raises(ClusterUnavailable, match=r"the reporter of broker 7 at 127.0.0.1:1: UNAVAILABLE|DEADLINE"):
        looks.look(Cluster("live", "h:1"), Broker(7, reporter="127.0.0.1:1"), NOW)


def rows(table: str, values: Sequence[Mapping[str, object]]) -> pa.Table:
    schema = TABLES[table]
    return pa.Table.from_pylist([{name: each.get(name) for name in schema.names} for each in values], schema=schema)


def test_the_brokers_whose_disks_the_lake_shows_over_their_limits_are_suspect(tmp_path: Path) -> None:
    writer = LakeWriter(str(tmp_path), "m1", 0.0)
    for second in range(0, 65, 5):
        at_ms = NOW + 1000 * second
        disks = [
            {
                "at_ms": at_ms,
                "broker": broker,
                "disk": "sda",
                "bytes_read": 1000 * second,
                "bytes_written": 0,
                "reads_completed": 100 * second,
                "writes_completed": 0,
                "busy_ms": int(1000 * second * busy),
                "read_ms": 500 * second,
                "write_ms": 0,
                "in_flight": 0,
            }
            for broker, busy in ((1, 0.3), (2, 0.95))
        ]
        log_dirs = [
            {
                "at_ms": at_ms,
                "broker": broker,
                "log_dir": "/d",
                "disk": "sda",
                "total_bytes": 1,
                "usable_bytes": 1,
                "offline": False,
            }
            for broker in (1, 2)
        ]
        writer.write(
            "live", {DISK_SAMPLES: rows(DISK_SAMPLES, disks), LOG_DIR_SAMPLES: rows(LOG_DIR_SAMPLES, log_dirs)}
        )
    writer.flush()
    suspects = lake_suspects(str(tmp_path), ProtectionSettings(window_s=60), 5000, 5000)
    assert suspects("live", NOW + 62_000) == Suspects(over=frozenset({2}), judged=frozenset({1, 2}))
    assert suspects("live", NOW + 3_600_000) == Suspects()
    assert suspects("other", NOW + 62_000) == Suspects()
