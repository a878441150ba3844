"""Healing by the clock: a broker gets kill -9 and stays away, and nobody lifts a finger.

    kill -9 ──── grace period ────┬──────────── heal_s ────────────▶ every partition whole, none on that broker
         Kafka's session time-out comes before Guardian's grace period begins, so its ticket comes later: that counts

`heal_s`    three members in mode act; four brokers in four racks, with the plugin: copies between brokers that tell no
            metrics go at the throttle's floor; 40 partitions with three replicas. From kill -9 plus the grace period
            until each partition has three replicas in sync elsewhere. Twice, each time the broker that holds most; the
            slower counts. A ticket that was made too soon, that did not succeed, an offset that changed or a throttle
            that is left: the figure does not count
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deploy.local import leftovers
from deploy.local.kafka_cluster import ClusterSpec
from guardian.kafka import data
from guardian.model.actor import Agent
from guardian.model.ticket import Ticket, TicketState
from protos.guardian.v1 import insight_pb2
from tests.bench.execute.stage import Stage, fill, staged, until
from tests.bench.report import Figures

_GRACE_S = 20.0
_ROUNDS = 2
_BROKERS = 4
_PARTITIONS = 40
_RECORDS = 250
_RECORD_BYTES = 10_000
_TOPIC = "orders"
_SPEC = ClusterSpec(
    "healed",
    brokers=_BROKERS,
    log_dirs=2,
    racks=("a", "b", "c", "d"),
    settings={"min.insync.replicas": "2"},
)
_HEALING = f'[healing]\nmode = "act"\nbroker_grace_s = {_GRACE_S}\n'

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Healed:
    """What became of one broker. Seconds are since kill -9, but for `heal_s`."""

    broker: int
    replicas: int
    heal_s: float
    ticket_s: float
    over_s: float
    fault: str


def measured(tell: Tell) -> tuple[dict[str, Figures], dict[str, Any]]:
    """The figure, and each round. Raises BenchFailed when the partitions do not become whole."""
    with tempfile.TemporaryDirectory(prefix="guardian-bench-") as folder:
        tell(f"{_BROKERS} brokers and three members start")
        with staged(_SPEC, Path(folder), _HEALING) as stage:
            replicas = {n: tuple((n + step) % _BROKERS + 1 for step in range(3)) for n in range(_PARTITIONS)}
            fill(stage.kafka, _TOPIC, replicas, _RECORDS, _RECORD_BYTES)
            until("a first look", lambda: bool(stage.client.healing(_SPEC.name).clusters[0].looked_at_ms))
            rounds = [_healed(stage, tell) for _ in range(_ROUNDS)]
    slowest = max(rounds, key=lambda each: each.heal_s)
    how = (
        f"after a grace period of {_GRACE_S:g} s, {slowest.replicas} replicas of "
        f"{_RECORDS * _RECORD_BYTES / 1e6:g} MB; the slower of {_ROUNDS}"
    )
    fault = "; ".join(each.fault for each in rounds if each.fault)
    return {"heal_s": Figures(slowest.heal_s, None, how, fault)}, {"rounds": [asdict(each) for each in rounds]}


def _healed(stage: Stage, tell: Tell) -> Healed:
    """Kills the broker that holds most, waits until others hold it, and starts it again."""
    known = {ticket.id for ticket in _tickets(stage)}
    held = Counter(broker for state in stage.admin.describe_partitions().values() for broker in state.replicas)
    ((victim, replicas),) = held.most_common(1)
    offsets = data.end_offsets(stage.kafka.to_cluster(), [_TOPIC])
    configs = leftovers.dynamic_configs(stage.admin)

    began, began_ms = time.monotonic(), time.time() * 1000
    stage.kafka.kill_broker(victim)
    until(f"the healing of broker {victim}", lambda: _is_whole_without(stage, victim))
    whole_s = time.monotonic() - began

    def new() -> list[Ticket]:
        return [ticket for ticket in _tickets(stage) if ticket.id not in known]

    until("the end of its ticket", lambda: bool(new()) and all(ticket.state.is_over for ticket in new()))
    over_s = time.monotonic() - began
    tickets = new()
    ticket_s = (min(ticket.created_at_ms for ticket in tickets) - began_ms) / 1000
    faults = []
    if [(ticket.kind, ticket.state) for ticket in tickets] != [("heal", TicketState.SUCCEEDED)]:
        faults.append(f"its tickets ended {[f'{each.kind}: {each.state.name}' for each in tickets]}")
    if ticket_s < _GRACE_S:
        faults.append(f"its ticket was made after {ticket_s:.1f} s, within the grace period")
    if data.end_offsets(stage.kafka.to_cluster(), [_TOPIC]) != offsets:
        faults.append("offsets have changed")
    stage.kafka.start_broker(victim)
    until("the end of the finding", lambda: not _is_found(stage))
    faults += leftovers.of_cluster(stage.admin, configs)
    healed = Healed(victim, replicas, whole_s - _GRACE_S, ticket_s, over_s, "; ".join(faults))
    tell(
        f"heal_s: {healed.heal_s:.1f} s after the grace period; broker {victim} had {replicas} replicas, "
        f"the ticket came {ticket_s:.1f} s after its death"
    )
    return healed


def _is_whole_without(stage: Stage, victim: int) -> bool:
    partitions = stage.admin.describe_partitions([_TOPIC])
    return len(partitions) == _PARTITIONS and all(
        victim not in state.replicas and len(state.replicas) == len(state.isr) == 3 for state in partitions.values()
    )


def _is_found(stage: Stage) -> bool:
    found = stage.client.findings(_SPEC.name).findings
    return any(finding.kind == insight_pb2.BROKER_DOWN for finding in found)


def _tickets(stage: Stage) -> list[Ticket]:
    return [ticket for ticket in stage.client.tickets(_SPEC.name) if ticket.author is Agent.HEALING]
