"""What is held to protect disks, in the store: by compare and set, and audited."""

from __future__ import annotations

from dataclasses import replace

from guardian.model.owned_setting import OwnedSetting
from guardian.model.protection import DiskKey, Hold, Lever, LeverKind, Protection
from guardian.model.wire.protection import protection_to_proto
from metastore import keys
from metastore.records import Delete
from protos.guardian.v1 import records_pb2 as pb
from tests.unit.metastore.proposing import Group

LEVER = Lever(
    DiskKey(1, "sdb"), LeverKind.CLIENT_QUOTA, "client-id=etl", "consumer_byte_rate", 5, 9, (), 1, "etl", "late"
)
HELD = Protection(
    "live",
    (LEVER,),
    (OwnedSetting("CLIENT", "client-id=etl", "consumer_byte_rate", ("5",), None),),
    (Hold(DiskKey(2, "sda"), 7000, "ann"),),
    "etl was cut",
    0,
    ((DiskKey(1, "sdb"), 900),),
    900,
)


def put(group: Group, protection: Protection, did: str = "", actor: str = "") -> pb.CommandReply:
    command = pb.PutProtection(
        protection=protection_to_proto(protection), expected_revision=protection.revision, did=did
    )
    return group.propose(put_protection=command, actor=actor)


def group_with_cluster() -> Group:
    group = Group()
    group.register("live", "live-id")
    return group


def test_what_is_held_is_read_back_with_its_revision() -> None:
    group = group_with_cluster()
    assert group.machine.read().protection("live") == Protection("live")
    assert group.machine.read().protections() == ()
    reply = put(group, HELD)
    assert reply.protection.revision == 1
    assert group.machine.read().protection("live") == replace(HELD, revision=1)
    assert group.machine.read().protections() == (replace(HELD, revision=1),)


def test_whoever_saw_an_older_revision_is_refused() -> None:
    group = group_with_cluster()
    put(group, HELD)
    reply = put(group, replace(HELD, levers=()))
    assert reply.error_kind == pb.CONFLICT
    assert reply.error == "protection of cluster live is at revision 1 and no longer at 0: decide anew"
    assert group.machine.read().protection("live").levers == (LEVER,)
    assert not put(group, replace(HELD, levers=(), revision=1)).error
    assert group.machine.read().protection("live").levers == ()


def test_nothing_begins_in_a_cluster_that_is_not_registered_but_what_is_held_can_be_taken_back() -> None:
    group = Group()
    assert put(group, HELD).error_kind == pb.NOT_FOUND
    group = group_with_cluster()
    put(group, HELD)
    group.store.write([Delete(keys.cluster("live"))], group.machine.applied_index + 1)  # as earlier versions did
    assert not put(group, replace(HELD, levers=(), intents=(), revision=1)).error
    assert group.machine.read().protection("live").is_idle


def test_a_cluster_without_a_name_and_a_lever_of_an_unknown_kind_are_refused() -> None:
    group = group_with_cluster()
    assert put(group, replace(HELD, cluster="")).error_kind == pb.INVALID
    command = pb.PutProtection(protection=protection_to_proto(HELD))
    command.protection.levers[0].kind = 99  # type: ignore[assignment]
    reply = group.propose(put_protection=command)
    assert reply.error.startswith("kind of ProtectionLever is 99: this version of Guardian knows CLIENT_QUOTA, ")


def test_what_was_done_is_audited_and_what_only_keeps_the_record_is_not() -> None:
    group = group_with_cluster()
    put(group, HELD, did="etl was cut to 5 B/s")
    put(group, replace(HELD, revision=1))
    put(group, replace(HELD, levers=(), revision=2), did="ann released disk sdb of broker 1", actor="ann")
    records, _ = group.machine.read().audit_page(0, 0, "", b"", 10)
    told = [(record.actor, record.subject, record.detail) for record in records if "protection" in record.subject]
    assert told == [
        ("ann", "protection of cluster live", "ann released disk sdb of broker 1"),
        ("guardian", "protection of cluster live", "etl was cut to 5 B/s"),
    ]
