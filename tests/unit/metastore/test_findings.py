"""What detectors see is kept by cluster, replaced whole, and goes with its cluster."""

from __future__ import annotations

import pytest

from guardian.model.event import MAX_KEPT_FINDINGS
from guardian.model.topology import Cluster
from guardian.model.wire.federation import cluster_to_proto
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import records_pb2 as pb


@pytest.fixture
def machine() -> MetastoreStateMachine:
    machine = MetastoreStateMachine(MemoryStore())
    propose(machine, put_cluster=pb.PutCluster(cluster=cluster_to_proto(Cluster("live", "b:1", "id-1"))))
    return machine


def propose(machine: MetastoreStateMachine, **command: object) -> str:
    entry = pb.Command(proposed_at_ms=7, **command).SerializeToString()  # type: ignore[arg-type]
    return pb.CommandReply.FromString(machine.apply(machine.applied_index + 1, entry)).error


def kept(cluster: str, *subjects: str) -> pb.KeptFindings:
    return pb.KeptFindings(cluster=cluster, at_ms=5, findings=[pb.KeptFinding(subject=each) for each in subjects])


def test_the_last_of_each_cluster_are_kept_and_none_are_nothing(machine: MetastoreStateMachine) -> None:
    assert propose(machine, put_findings=kept("live", "a", "b")) == ""
    assert propose(machine, put_findings=kept("", "line")) == ""
    assert propose(machine, put_findings=kept("live", "b")) == ""
    assert machine.read().kept_findings() == [kept("", "line"), kept("live", "b")]
    assert propose(machine, put_findings=kept("live")) == ""
    assert propose(machine, put_findings=kept("live")) == ""
    assert machine.read().kept_findings() == [kept("", "line")]


def test_a_cluster_takes_them_with_it(machine: MetastoreStateMachine) -> None:
    propose(machine, put_findings=kept("live", "a"))
    assert propose(machine, drop_cluster=pb.DropCluster(name="live")) == ""
    assert machine.read().kept_findings() == []
    assert "is not registered" in propose(machine, put_findings=kept("live", "a"))
    assert machine.read().kept_findings() == []


def test_too_many_are_refused(machine: MetastoreStateMachine) -> None:
    refused = propose(machine, put_findings=kept("live", *map(str, range(MAX_KEPT_FINDINGS + 1))))
    assert refused == f"findings: too many (got {MAX_KEPT_FINDINGS + 1}); send up to {MAX_KEPT_FINDINGS}"
