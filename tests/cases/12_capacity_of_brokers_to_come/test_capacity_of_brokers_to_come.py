"""A capacity.json that clusters share, or that was written before the brokers joined, as Cruise Control's wiki says.

The entry of a broker that is not there yet must not make the others worthless. Fractions of cores are Strimzi's (500m).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from guardian.errors import GuardianError
from guardian.interop import capacity_json
from guardian.interop.json_file import read_json
from guardian.model.topology import Broker, Cluster

FILE = Path(__file__).parent / "capacity.json"
CLUSTER = Cluster("live", "h:9092", "id", brokers=(Broker(1), Broker(2), Broker(3)))


def is_imported(capacities: Mapping[int, object]) -> bool:
    try:
        capacity_json.machines_of(capacities, CLUSTER, [], "kafka-{broker}")  # type: ignore[arg-type]
    except GuardianError:
        return False
    return True


def test_the_entry_of_a_broker_to_come_does_not_refuse_the_others() -> None:
    assert is_imported(capacity_json.capacities_of(read_json(FILE, "capacity file")))


def test_fractions_of_cores_are_kept_or_told() -> None:
    capacities = capacity_json.capacities_of(read_json(FILE, "capacity file"))
    known = {broker: each for broker, each in capacities.items() if broker != 7}
    found = capacity_json.machines_of(known, CLUSTER, [], "kafka-{broker}")
    told = [remark for remark in found.remarks if "core" in remark]
    assert any(word in remark for remark in told for word in ("0.5", "3.5", "whole"))
