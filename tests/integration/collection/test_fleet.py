"""A simulated fleet as an operator starts it, and a member that collects it into the lake."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from typer.testing import CliRunner

from deploy.local import ports, processes
from deploy.local.members import Member, plan_members, start_member, wait_ready
from deploy.local.processes import LocalProcess
from guardian.client import GuardianClient
from guardian.kafka.admin import BROKER
from guardian.kafka.control import KafkaControl
from guardian.lake.model.schema import BROKER_SAMPLES, DISK_SAMPLES, PARTITION_SAMPLES
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import TicketState
from guardian.model.topology import Cluster, TopicPartition
from tests.command_line import app
from tests.patience import CALL_S, CONTROL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

BROKERS, REPLICAS, CLUSTERS = 10, 30, 2


@pytest.fixture
def member(tmp_path: Path) -> Iterator[Member]:
    group = plan_members(1, tmp_path)
    started = start_member(group[0], group, tmp_path / "lake", tmp_path / "g1.log")
    try:
        wait_ready([started])
        yield started
    finally:
        if started.process:
            processes.stop_all([started.process])


def command(base_port: int, *more: str) -> list[str]:
    sizes = [f"--brokers={BROKERS}", f"--partitions={REPLICAS}", f"--clusters={CLUSTERS}", f"--base-port={base_port}"]
    return [sys.executable, "-m", "guardian.cli.main", "local", "fleet", *sizes, *more]


def started_fleet(member: Member, base_port: int, log: Path) -> LocalProcess:
    return processes.spawn(command(base_port, f"--endpoints={member.grpc}"), log)


def rows(lake: Path, table: str) -> pa.Table:
    if not any((lake / table).glob("*/*/[!.]*")):
        return pa.table({"cluster": [], "broker": []})
    return ds.dataset(lake / table, format="parquet", partitioning="hive").to_table()


def rounds(lake: Path) -> int:
    """How often the broker that was collected least was collected."""
    return rounds_of(lake, BROKERS)


def rounds_of(lake: Path, brokers: int) -> int:
    """The same, of a fleet of so many."""
    found = rows(lake, BROKER_SAMPLES)
    if "error" not in found.column_names:
        return 0
    counts = (
        found.filter(pa.compute.equal(found["error"], ""))
        .group_by(["cluster", "broker"])
        .aggregate([([], "count_all")])
    )
    return min(counts["count_all"].to_pylist()) if counts.num_rows == brokers else 0


def test_a_fleet_registers_itself_is_collected_and_goes_on_after_a_restart(member: Member, tmp_path: Path) -> None:
    base_port = ports.pick_pair()
    lake = tmp_path / "lake"
    fleet = started_fleet(member, base_port, tmp_path / "fleet.log")
    try:
        wait_for("two rounds in the lake", lambda: rounds(lake) >= 2 or not processes.is_alive(fleet))
        assert processes.is_alive(fleet), processes.last_lines(fleet)
        with GuardianClient([member.grpc], timeout_s=CALL_S) as client:
            clusters = {cluster.name: cluster for cluster in client.list_clusters()}
        assert sorted(clusters) == ["sim-1", "sim-2"]
        assert [broker.id for broker in clusters["sim-2"].brokers] == [1, 2, 3, 4, 5]
        assert {broker.idc for broker in clusters["sim-1"].brokers} == {"shanghai", "suzhou", "hangzhou"}
        asked = [
            "broker",
            "metrics",
            "--cluster",
            "sim-1",
            "2",
            "--filter",
            "name=LeaderCount",
            "--endpoints",
            member.grpc,
        ]
        told = CliRunner().invoke(app, [*asked, "-o", "json"])
        assert told.exit_code == 0, told.output
        (leaders,) = json.loads(told.stdout)["values"].items()
        assert leaders[0] == "kafka.server:type=ReplicaManager,name=LeaderCount:Value"
        assert 0 < leaders[1] <= REPLICAS

        processes.stop_all([fleet], deadline_s=PATIENCE_S)
        assert "ended after" in processes.last_lines(fleet)
        before = rounds(lake)
        fleet = started_fleet(member, base_port, tmp_path / "again.log")
        wait_for("a round after the restart", lambda: rounds(lake) >= before + 1 or not processes.is_alive(fleet))
        assert processes.is_alive(fleet), processes.last_lines(fleet)
    finally:
        processes.stop_all([fleet])

    replicas = rows(lake, PARTITION_SAMPLES).sort_by("at_ms").to_pylist()
    assert {(row["cluster"], row["broker"]) for row in replicas} == {
        (f"sim-{n}", b) for n in (1, 2) for b in range(1, 6)
    }
    ends: dict[tuple[object, ...], int] = {}
    for row in replicas:
        key = (row["cluster"], row["broker"], row["topic"], row["partition"])
        assert row["log_end_offset"] >= ends.get(key, 0)
        ends[key] = row["log_end_offset"]
    assert set(rows(lake, DISK_SAMPLES)["disk"].to_pylist()) >= {"sdb", "sdc", "sdd", "sde"}


def test_a_ticket_runs_on_a_simulated_cluster_and_no_detector_fails_to_look(member: Member, tmp_path: Path) -> None:
    base_port = ports.pick_pair()
    fleet = started_fleet(member, base_port, tmp_path / "fleet.log")
    try:
        wait_for("fleet that serves", lambda: "serving" in processes.output(fleet) or not processes.is_alive(fleet))
        with (
            GuardianClient([member.grpc], timeout_s=CALL_S) as client,
            closing(KafkaControl(Cluster("sim-1", f"127.1.0.1:{base_port + 1}"), CONTROL_S)) as kafka,
        ):
            # Brokers 1 and 4 are in one data centre.
            partition, target = _smallest_move(kafka, 1, 4)
            moves = (PartitionMove(partition, (), tuple(map(ReplicaPlacement, target))),)
            ticket, _ = client.create_ticket(Plan("sim-1", "run-plan", moves), author="ann", submit=True)
            client.approve(ticket.id, "ben", "wanted")
            wait_for(
                "the end of the ticket",
                lambda: client.ticket(ticket.id)[0].state is TicketState.SUCCEEDED,
                story=lambda: client.ticket(ticket.id),
            )
            state = kafka.describe_partitions([partition.topic])[partition]
            assert (state.replicas, set(state.isr)) == (target, set(target))
            assert kafka.describe_configs([(BROKER, "1"), (BROKER, "4")]) == {(BROKER, "1"): {}, (BROKER, "4"): {}}

            def failed() -> list[str]:
                looks = [look for look in client.findings().looks if look.cluster]
                waits = [f"{look.detector} of {look.cluster}" for look in looks if not look.looked_at_ms]
                return [f"{look.detector} of {look.cluster}: {look.error}" for look in looks if look.error] + waits

            wait_for("looks of all detectors", lambda: not failed() and client.findings().looks, story=failed)
    finally:
        processes.stop_all([fleet])


def _smallest_move(kafka: KafkaControl, source: int, target: int) -> tuple[TopicPartition, tuple[int, ...]]:
    """Return the smallest partition that is on one of the brokers alone, and its replicas with the other instead."""
    states = kafka.describe_partitions()
    sizes = {
        name: held.size_bytes for each in kafka.describe_log_dirs([source]) for name, held in each.replicas.items()
    }
    able = [name for name in sizes if target not in states[name].replicas]
    found = min(able, key=lambda name: (sizes[name], name))
    return found, tuple(target if each == source else each for each in states[found].replicas)


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    base_port = ports.pick_pair()
    first = processes.spawn(command(base_port, "--no-register"), tmp_path / "first.log")
    try:
        wait_for("fleet that serves", lambda: "serving" in processes.output(first))
        second = subprocess.run(
            command(base_port, "--no-register"), capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert second.returncode == 2
        assert f"base-port is {base_port}" in second.stderr
        os.kill(first.pid, signal.SIGINT)
        wait_for("end of the fleet by Ctrl-C", lambda: not processes.is_alive(first))
        assert "ended after 0 answers" in processes.output(first)
    finally:
        processes.stop_all([first])


def test_a_fleet_ends_quietly_while_clients_are_connected(tmp_path: Path) -> None:
    base_port = ports.pick_pair()
    fleet = processes.spawn(command(base_port, "--no-register"), tmp_path / "fleet.log")
    try:
        wait_for("fleet that serves", lambda: "serving" in processes.output(fleet))
        with closing(KafkaControl(Cluster("sim-1", f"127.1.0.1:{base_port + 1}"), CONTROL_S)) as connected:
            assert connected.describe_cluster().cluster_id
            os.kill(fleet.pid, signal.SIGTERM)
            wait_for("end of the fleet", lambda: not processes.is_alive(fleet))
        assert "ended after" in processes.last_lines(fleet)
        assert "Traceback" not in processes.output(fleet)
    finally:
        processes.stop_all([fleet])
