"""What a member knows of the federation is decoded once, and the leader decides only when there is something to do."""

from __future__ import annotations

import time
from typing import Any

import pytest

from guardian.collection.rules.assigning import assign
from guardian.collection.service import CollectionAssigner, ReplicatedCollectionGroup
from guardian.collection.store import KnownFederation
from guardian.errors import Unavailable
from guardian.model.collection import BrokerKey, CollectionAssignment
from guardian.model.topology import Broker, Cluster
from guardian.model.wire.federation import cluster_to_proto
from guardian.replication.store.store import ReplicatedStore
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from raft.inmem import InMemoryReplica


@pytest.fixture
def machine() -> MetastoreStateMachine:
    return MetastoreStateMachine(MemoryStore())


@pytest.fixture
def store(machine: MetastoreStateMachine) -> ReplicatedStore:
    return ReplicatedStore(InMemoryReplica("g1", machine), machine, lambda: time.time_ns() // 1_000_000)


def register(store: ReplicatedStore, name: str, brokers: int) -> None:
    found = tuple(Broker(number, reporter=f"h{number}:1") for number in range(1, brokers + 1))
    store.put_cluster(cluster_to_proto(Cluster(name, "h:1", f"id-{name}", brokers=found)))


def test_only_the_cluster_that_changed_is_decoded_again(store: ReplicatedStore) -> None:
    told: list[int] = []
    known = KnownFederation(store, lambda clusters: told.append(len(clusters)))
    assert known.clusters() == ()
    register(store, "a", 2)
    register(store, "b", 2)
    a, b = known.clusters()
    assert (a.name, b.name) == ("a", "b")
    register(store, "b", 3)
    again, changed = known.clusters()
    assert again is a
    assert len(changed.brokers) == 3
    store.drop_cluster("a")
    assert known.clusters() == (changed,)
    assert told == [2, 2, 1]


def test_what_has_not_changed_is_the_same_object_whatever_else_is_stored(store: ReplicatedStore) -> None:
    known = KnownFederation(store)
    register(store, "a", 2)
    ReplicatedCollectionGroup(store, known).join("g1", "p1")
    before = known.registered()
    ReplicatedCollectionGroup(store, known).join("g1", "p1")  # a command that changes nothing
    assert known.registered() is before
    ReplicatedCollectionGroup(store, known).join("g2", "p2")
    after = known.registered()
    assert after.clusters is before.clusters
    assert list(after.assignment.seats) == ["g1", "g2"]
    assert after.assignment == store.read_local().collection()


def test_a_store_that_is_closed_is_away(store: ReplicatedStore, machine: MetastoreStateMachine) -> None:
    known = KnownFederation(store)
    machine.close()
    with pytest.raises(Unavailable):
        known.registered()


def test_the_leader_decides_again_only_when_brokers_members_or_seats_have_changed(
    store: ReplicatedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided: list[int] = []

    def noted(now: CollectionAssignment, *given: Any) -> CollectionAssignment:
        decided.append(now.generation)
        return assign(now, *given)

    monkeypatch.setattr("guardian.collection.service.assign", noted)
    known = KnownFederation(store)
    assigner = CollectionAssigner(store, known, 30.0, lambda: 1000)
    register(store, "a", 2)
    known_group = ReplicatedCollectionGroup(store, known)
    known_group.join("g1", "p1")
    assigner.tick()
    assert set(known_group.assignment().owners) == {BrokerKey("a", 1), BrokerKey("a", 2)}
    assigner.tick()
    at_rest = len(decided)
    assigner.tick()
    assigner.tick()
    assert len(decided) == at_rest
    register(store, "a", 3)
    assigner.tick()
    assert len(decided) == at_rest + 1
    assert BrokerKey("a", 3) in known_group.assignment().owners


def test_a_member_that_is_gone_is_looked_at_again_until_its_brokers_are_others(store: ReplicatedStore) -> None:
    now = [1000]
    known = KnownFederation(store)
    assigner = CollectionAssigner(store, known, 30.0, lambda: now[0])
    register(store, "a", 2)
    group = ReplicatedCollectionGroup(store, known)
    group.join("gone", "p0")  # nobody hears from it
    group.join("g1", "p1")
    for _ in range(3):
        assigner.tick()
    assert group.assignment().seats["gone"].gone_since_ms == 1000
    assert set(group.assignment().owners.values()) == {"g1"}
    now[0] += 29_999
    assert assigner.tick() == []
    now[0] += 1
    assert assigner.tick() == ["gone has been gone for 30 s: its 0 brokers go to others"]
    assert list(group.assignment().seats) == ["g1"]
