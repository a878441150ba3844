"""Tickets on real brokers, by the clock: three members, three brokers, and work that takes time.

`execute_41_s`    41 partitions of 1.1 MB go from broker 3 to brokers 1 and 2, unthrottled; from the approval until the
                  ticket says SUCCEEDED, which it does once Kafka has shown every partition in its place
`resume_s`        broker 3, which holds 81 partitions, is removed at 300 kB/s (`guardian brokers remove`, with a hook);
                  after 22 s the leader gets kill -9; until Kafka shows the next move, one that was not under way when
                  the leader died. In the end the broker is gone from the cluster, and nothing of the ticket is left on
                  any broker, itself included, or the figure does not count
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from deploy.local import broker_hook, leftovers, processes
from deploy.local.kafka_cluster import ClusterSpec
from guardian.kafka import data
from guardian.kafka.admin import BROKER
from guardian.kafka.control import KafkaControl
from guardian.model.execution import Execution
from guardian.model.operation import Ask, AskKind
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from protos.guardian.v1 import federation_pb2
from tests.bench.execute.bars import CRUISE_CONTROL_41_S
from tests.bench.execute.stage import Stage, fill, hooked, reassignment, staged, until, until_succeeded
from tests.bench.report import BenchFailed, Figures

_SPEC = ClusterSpec("moved", brokers=3)
_LEAVING = 3
_RECORD_BYTES = 10_000
_QUICK, _SLOW = "quick", "slow"
_KILL_AFTER_S = 22.0
_RATE = 300_000
_LOOK_EVERY_S = 0.05

Tell = Callable[[str], None]


def measured(tell: Tell) -> tuple[dict[str, Figures], dict[str, Any]]:
    """Both figures. Raises BenchFailed when a ticket does not end as it should."""
    with tempfile.TemporaryDirectory(prefix="guardian-bench-") as folder:
        home = Path(folder)
        hooks = home / "hooks"
        tell("three brokers and three members start")
        with staged(_SPEC, home, broker_hook.config_section(hooks)) as stage, hooked(stage.kafka, hooks):
            fill(stage.kafka, _QUICK, _replicas(41), 110, _RECORD_BYTES)
            configs = leftovers.dynamic_configs(stage.admin)
            taken = [_moved_away(stage, 41) for _ in range(3)]
            left = leftovers.of_cluster(stage.admin, configs)
            tell(f"execute_41_s: {', '.join(f'{seconds:.1f}' for seconds in taken)} s")
            fill(stage.kafka, _SLOW, _replicas(81), 50, _RECORD_BYTES)
            resumed, whole, fault = _resumed(stage, hooks, tell)
    return {
        "execute_41_s": Figures(
            sorted(taken)[1], CRUISE_CONTROL_41_S, "median of 3; the peer's figure is stored", "; ".join(left)
        ),
        "resume_s": Figures(resumed, None, f"the whole took {whole:.0f} s; Cruise Control forgot it", fault),
    }, {"execute_41_s": taken, "slow_whole_s": whole}


def _replicas(partitions: int) -> dict[int, tuple[int, ...]]:
    """All on the broker that is to leave, and half of them on each of the others."""
    return {number: (_LEAVING, 1 + number % 2) for number in range(partitions)}


def _moved_away(stage: Stage, partitions: int) -> float:
    """The broker loses what it has, or gets it back where it has nothing; seconds from the approval."""
    places = stage.admin.describe_partitions([_QUICK])
    has_it = _LEAVING in places[TopicPartition(_QUICK, 0)].replicas
    targets = {n: (1 + n % 2, 2 - n % 2) if has_it else (_LEAVING, 1 + n % 2) for n in range(partitions)}
    ticket, _ = stage.client.create_ticket(
        reassignment(_SPEC.name, _QUICK, targets), author="bench", unthrottled=True, submit=True
    )
    began = time.monotonic()
    stage.client.approve(ticket.id, "bench", "")
    until_succeeded(stage.client, ticket.id)
    seconds = time.monotonic() - began
    now = stage.admin.describe_partitions([_QUICK])
    wrong = [n for n, brokers in targets.items() if now[TopicPartition(_QUICK, n)].replicas != tuple(brokers)]
    if wrong:
        raise BenchFailed(f"{len(wrong)} partitions of {_QUICK} are not where ticket {ticket.id} says")
    return seconds


def _resumed(stage: Stage, hooks: Path, tell: Tell) -> tuple[float, float, str]:
    """Seconds from kill -9 of the leader until Kafka moves on, and from the approval to the end; what is wrong then."""
    ask = Ask(AskKind.REMOVE, (_LEAVING,), shutdown=True, hook="local")
    tell("a removal is tried out, until the lake knows all brokers")
    until("a removal that would be carried out", lambda: bool(_planned(stage, ask)))
    known = stage.kafka.to_cluster()
    configs, offsets = leftovers.dynamic_configs(stage.admin), data.end_offsets(known, [_SLOW])
    ticket, _ = stage.client.ask_for(_SPEC.name, ask, author="bench", throttle=_RATE, submit=True)
    began = time.monotonic()
    stage.client.approve(ticket.id, "bench", "")
    while time.monotonic() - began < _KILL_AFTER_S:
        time.sleep(_LOOK_EVERY_S)
    leader = stage.client.member().leader
    victim = next(member for member in stage.members if member.name == leader)
    state, execution = stage.client.ticket(ticket.id)
    if not victim.process or state.state is not TicketState.RUNNING or not execution or not execution.tasks:
        raise BenchFailed(f"ticket {ticket.id} is {_told(state, execution)} after {_KILL_AFTER_S:g} s: it was to move")
    processes.kill(victim.process)
    killed = time.monotonic()
    moved = _moves(stage.admin)
    until("a move that the next leader began", lambda: bool(_moves(stage.admin) - moved), look_every_s=_LOOK_EVERY_S)
    resumed = time.monotonic() - killed
    tell(f"resume_s: {resumed:.1f} s after the kill of {leader}, with {len(moved)} of 81 begun or over by then")
    until_succeeded(stage.client, ticket.id)
    whole = time.monotonic() - began
    faults = _left(stage, configs)
    if data.end_offsets(known, [_SLOW]) != offsets:
        faults.append("offsets have changed")
    if _LEAVING in (stage.admin.registered_brokers() or ()):
        faults.append(f"broker {_LEAVING} is registered")
    # Kafka keeps the dynamic configuration of a broker that was taken out: what was left would show again.
    broker_hook.act(hooks, "start", _LEAVING)
    until("the return of the removed broker", lambda: _LEAVING in stage.admin.describe_cluster().brokers)
    faults += leftovers.of_cluster(stage.admin, configs)
    return resumed, whole, "; ".join(faults)


def _planned(stage: Stage, ask: Ask) -> Collection[object]:
    """The moves that the removal would make. Raises GuardianError where it would be refused."""
    _, plan = stage.client.ask_for(_SPEC.name, ask, author="bench", dry_run=True)
    return plan.moves if plan else ()


def _moves(admin: KafkaControl) -> frozenset[TopicPartition]:
    """Partitions that have begun to leave the broker, or have left it."""
    under_way = admin.list_reassignments().keys()
    places = admin.describe_partitions([_SLOW])
    return frozenset(under_way | {partition for partition, state in places.items() if _LEAVING not in state.replicas})


def _left(stage: Stage, configs: leftovers.Configs) -> list[str]:
    """What is left while the removed broker is down, of which only the others can be asked."""
    until("the end of the cordon", lambda: not stage.client.cordons(_SPEC.name))
    excluded = [entry.exclusion.broker_id for entry in stage.client.federation(federation_pb2.EXCLUSIONS)]
    left = [f"broker {broker} is excluded" for broker in excluded]
    held = [p for p, state in stage.admin.describe_partitions().items() if _LEAVING in state.replicas]
    left += [f"{len(held)} replicas are on broker {_LEAVING}"] if held else []
    others = {resource: values for resource, values in configs.items() if resource != (BROKER, str(_LEAVING))}
    return left + leftovers.of_cluster(stage.admin, others)


def _told(ticket: Ticket, execution: Execution | None) -> str:
    phase = execution.operation.phase.name if execution and execution.operation else "not begun"
    return f"{ticket.state.name} ({phase}: {execution.note if execution else ticket.history[-1].reason})"
