"""What is held to protect disks, and what people are told: there and back."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.model.owned_setting import OwnedSetting
from guardian.model.protection import (
    Behaviour,
    ClientUse,
    DiskCondition,
    DiskKey,
    DiskState,
    Doing,
    Hold,
    Lever,
    LeverKind,
    Protection,
)
from guardian.model.quota import QuotaClient
from guardian.model.topology import TopicPartition
from guardian.model.wire.fields import read
from guardian.model.wire.protection import (
    condition_to_proto,
    doing_to_proto,
    lever_to_proto,
    protection_from_proto,
    protection_to_proto,
)
from protos.guardian.v1 import protection_pb2 as pb

SDB = DiskKey(1, "sdb")


def lever(kind: LeverKind) -> Lever:
    return Lever(SDB, kind, "user=a,client-id=b", "consumer_byte_rate", 5, 9, ("t:0:1",), 3, "b", "late", 11, 12)


@pytest.mark.parametrize("kind", LeverKind)
def test_a_lever_of_each_kind_comes_back(kind: LeverKind) -> None:
    assert read(Lever, pb.ProtectionLever.FromString(lever_to_proto(lever(kind)).SerializeToString())) == lever(kind)


def test_all_that_is_held_comes_back() -> None:
    held = Protection(
        "live",
        (lever(LeverKind.CLIENT_QUOTA), lever(LeverKind.LOG_DIR_RATE)),
        (OwnedSetting("CLIENT", "x", "k", ("5",), "7"), OwnedSetting("BROKER", "1", "k", ("5",), None)),
        (Hold(SDB, 99, "ann"),),
        "cut",
        4,
        ((SDB, 5), (DiskKey(2, "sda"), 6)),
        7,
    )
    assert protection_from_proto(pb.ProtectionState.FromString(protection_to_proto(held).SerializeToString())) == held
    assert protection_from_proto(protection_to_proto(Protection("live"))) == Protection("live")


def test_a_lever_of_a_newer_guardian_is_refused() -> None:
    with pytest.raises(InvalidInput, match="kind of ProtectionLever is 0: this version of Guardian knows CLIENT_QUOTA"):
        read(Lever, pb.ProtectionLever(disk=pb.ProtectedDisk()))


@pytest.mark.parametrize("behaviour", Behaviour)
def test_a_doing_is_told_with_what_is_known_and_no_more(behaviour: Behaviour) -> None:
    use = ClientUse(QuotaClient("etl"), 3.0, "g")
    told = doing_to_proto(Doing(SDB, TopicPartition("t", 2), behaviour, 3.0, None, True, True, "late", (use,)))
    assert (told.disk.broker, told.disk.disk, told.topic, told.partition, int(told.behaviour)) == (
        1,
        "sdb",
        "t",
        2,
        behaviour,
    )
    assert not told.HasField("expected_bytes_per_s")
    assert not told.clients[0].HasField("user")
    known = ClientUse(QuotaClient("etl", ""), 3.0)
    told = doing_to_proto(Doing(SDB, TopicPartition("t", 2), behaviour, 3.0, 0.0, clients=(known,)))
    assert told.HasField("expected_bytes_per_s")
    assert told.clients[0].HasField("user")


@pytest.mark.parametrize("state", DiskState)
def test_a_disk_in_each_state_is_told(state: DiskState) -> None:
    told = condition_to_proto(DiskCondition(SDB, ("/d",), state, 0.5, 7.0, 1.0, 2.0, 0, "so"))
    assert (int(told.state), told.utilisation, told.await_ms, told.why, list(told.log_dirs)) == (
        state,
        0.5,
        7.0,
        "so",
        ["/d"],
    )
