"""A reassignment file has a partition whose only replica is on a dead broker: Kafka takes it, and it never ends."""

from __future__ import annotations

import json

from guardian.client import GuardianClient
from guardian.interop import reassignment_json
from tests.unit.member.member import Member

FILE = json.dumps(
    {
        "version": 1,
        "partitions": [
            {"topic": "old", "partition": 0, "replicas": [2]},
            {"topic": "old", "partition": 1, "replicas": [2]},
        ],
    }
)


def test_a_move_that_has_nothing_to_copy_from_is_told() -> None:
    member = Member()
    try:
        member.kafka.create_topic("old", {0: [3], 1: [1]}, 500)
        member.kafka.kill_broker(3)
        with GuardianClient([member.endpoint]) as client:
            _, plan = client.create_ticket(reassignment_json.read(FILE, "live"), author="ann", dry_run=True)
            preview = client.preview_plan(reassignment_json.read(FILE, "live"))
    finally:
        member.stop()
    told = " ".join((preview.first, preview.remark, *(each.sentence for each in preview.rounds)))
    assert plan.notes or plan.unmet or "leader" in told
