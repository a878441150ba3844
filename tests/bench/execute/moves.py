"""Tickets on real brokers, by the clock: three members, three brokers, and work that takes time.

`execute_41_s`    41 partitions of 1.1 MB go from broker 3 to brokers 1 and 2, unthrottled; from the approval until the
                  ticket says SUCCEEDED, which it does once Kafka has shown every partition in its place
`resume_s`        broker 3, which holds 81 partitions, is removed at 300 kB/s (`guardian broker remove`, with a hook);
                  from 22 s on the leader gets kill -9 as soon as a copy has ended and left its slot free; until Kafka
                  shows a further move, which the next leader has begun. The slowest of three kills counts. In the
                  end the broker is gone from the cluster, and nothing of the ticket is left on any broker, itself
                  included, or the figure does not count

Why a free slot: at that rate four to seven seconds lie between two moves' beginnings although nobody dies, since copies
hold their slots so long, and Kafka goes on with what it copies whoever leads. So a kill at any other moment tells when
the next copy ends, not when the next leader acts. And why the lake is waited for: write rates that it still shows after
the topic was filled raise the throttle (`guardian.throttle.rules.throttling`), to fifteen times of what was asked for.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deploy.local import broker_hook, leftovers, processes
from deploy.local.kafka_cluster import ClusterSpec
from guardian.kafka import data
from guardian.kafka.admin import BROKER
from guardian.kafka.control import KafkaControl
from guardian.model.execution import Execution
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import PartitionMove
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from protos.guardian.v1 import federation_pb2
from tests.bench.execute.bars import CRUISE_CONTROL_41_S
from tests.bench.execute.stage import Stage, fill, hooked, reassignment, staged, until, until_succeeded
from tests.bench.report import BenchFailed, Figures

_SPEC = ClusterSpec("moved", brokers=3)
_LEAVING = 3
_RECORD_BYTES = 10_000
_PARTITIONS = 81
_QUICK, _SLOW = "quick", "slow"
_KILLS = 3
_KILL_AFTER_S, _NEXT_KILL_AFTER_S = 22.0, 10.0
_RATE = 300_000
_QUIET_S = 15.0  # members collect every 2 s, and the lake has it 4 s later
_LOOK_EVERY_S = 0.05
_COPY_ENDS_WITHIN_S, _NEXT_MOVE_WITHIN_S = 30.0, 60.0

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Moves:
    """Partitions that leave the broker now, and all that have begun to, those that have left it among them."""

    under_way: frozenset[TopicPartition]
    begun: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class TakeOver:
    """A leader was killed `at_s` seconds after the approval, when `begun` partitions had begun to move. Seconds after
    that another one led (`led_s`), and Kafka showed a move that this one had begun (`moved_s`)."""

    at_s: float
    led_s: float
    moved_s: float
    begun: int


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
            fill(stage.kafka, _SLOW, _replicas(_PARTITIONS), 50, _RECORD_BYTES)
            resumed, whole, fault = _resumed(stage, hooks, tell)
    return {
        "execute_41_s": Figures(
            sorted(taken)[1], CRUISE_CONTROL_41_S, "median of 3; the peer's figure is stored", "; ".join(left)
        ),
        "resume_s": Figures(
            max(each.moved_s for each in resumed),
            None,
            f"the slowest of {len(resumed)}; the whole took {whole:.0f} s; Cruise Control forgot it",
            fault,
        ),
    }, {"execute_41_s": taken, "resume": [asdict(each) for each in resumed], "slow_whole_s": whole}


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


def _resumed(stage: Stage, hooks: Path, tell: Tell) -> tuple[list[TakeOver], float, str]:
    """What each kill -9 of a leader cost, and seconds from the approval to the end; what is wrong then."""
    ask = Ask(AskKind.REMOVE, (_LEAVING,), shutdown=True, hook="local")
    tell("a removal is tried out, until the lake knows all brokers, and that nobody writes any more")
    _await_quiet(stage, ask)
    known = stage.kafka.to_cluster()
    configs, offsets = leftovers.dynamic_configs(stage.admin), data.end_offsets(known, [_SLOW])
    ticket, _ = stage.client.ask_for(_SPEC.name, ask, author="bench", throttle=_RATE, submit=True)
    began = time.monotonic()
    stage.client.approve(ticket.id, "bench", "")
    taken: list[TakeOver] = []
    pause_s = _KILL_AFTER_S
    while len(taken) < _KILLS:
        time.sleep(pause_s)
        pause_s = _NEXT_KILL_AFTER_S
        _require_moving(stage, ticket.id)
        took = _taken_over(stage, began)
        if took is None:
            tell("the leader had begun the next move before it died: once more")
            continue
        _require_moving(stage, ticket.id)
        taken.append(took)
        tell(
            f"resume_s: {took.moved_s:.1f} s after the kill at {took.at_s:.0f} s "
            f"({took.led_s:.1f} s until another one led), with {took.begun} of {_PARTITIONS} begun or over by then"
        )
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
    return taken, whole, "; ".join(faults)


def _await_quiet(stage: Stage, ask: Ask) -> None:
    """Returns when the removal would be carried out, and no plan of it has shown a write rate for a while."""
    quiet_since: float | None = None

    def is_quiet() -> bool:
        nonlocal quiet_since
        since, quiet_since = quiet_since, None
        moves = _planned(stage, ask)
        if moves and not any(move.write_rate for move in moves):
            quiet_since = since or time.monotonic()
        return quiet_since is not None and time.monotonic() - quiet_since > _QUIET_S

    until("a removal that would be carried out, of partitions that nobody writes to", is_quiet, look_every_s=1.0)


def _require_moving(stage: Stage, ticket_id: str) -> None:
    """Raises BenchFailed unless the ticket copies, at the rate that was asked for."""
    state, execution = stage.client.ticket(ticket_id)
    if state.state is not TicketState.RUNNING or not execution or not execution.tasks:
        raise BenchFailed(f"ticket {ticket_id} is {_told(state, execution)}: it was to move")
    rates = {str(setting.value) for setting in execution.throttles if setting.resource_type == BROKER}
    if rates != {str(_RATE)}:
        told = f"at {', '.join(sorted(rates))} bytes/s" if rates else "without a throttle"
        raise BenchFailed(f"ticket {ticket_id} copies {told}: it was to be at {_RATE}")


def _taken_over(stage: Stage, began: float) -> TakeOver | None:
    """The leader dies when a copy has ended and none was begun in its place, so that the next one has to. It serves
    again afterwards. None when it had begun the next move before it died all the same."""
    before = _begun_when_a_copy_ends(stage)
    leader = stage.leader()
    assert leader.process
    killed = time.monotonic()
    processes.kill(leader.process)
    of_the_dead = before | _begun_until_another_leads(stage, leader.name)
    led = time.monotonic()
    took = None
    if of_the_dead == before:
        until(
            "a move that the next leader began",
            lambda: bool(_moves(stage.admin).begun - before),
            _NEXT_MOVE_WITHIN_S,
            _LOOK_EVERY_S,
        )
        took = TakeOver(killed - began, led - killed, time.monotonic() - killed, len(before))
    stage.revive(leader)
    return took


def _begun_until_another_leads(stage: Stage, dead: str) -> frozenset[TopicPartition]:
    """What the dead leader asked for may show late, but not after another one leads: that is some hundred milliseconds
    later at the least, and Kafka shows a request within a few."""
    begun: frozenset[TopicPartition] = frozenset()

    def leads() -> bool:
        nonlocal begun
        seen = _moves(stage.admin).begun
        is_led = stage.client.member().leader not in ("", dead)
        if not is_led or not begun:
            begun |= seen
        return is_led

    until("another leader", leads, look_every_s=_LOOK_EVERY_S)
    return begun


def _begun_when_a_copy_ends(stage: Stage) -> frozenset[TopicPartition]:
    """What has begun to move when a copy has just ended and none was begun in its place. Raises BenchFailed.

    Brokers may not know yet of the end of a reassignment that the controller has ended already, so that a partition is
    in neither answer for a moment: what has begun once stays so.
    """
    before, deadline = _moves(stage.admin), time.monotonic() + _COPY_ENDS_WITHIN_S
    while time.monotonic() < deadline:
        seen = _moves(stage.admin)
        if before.under_way - seen.under_way and seen.begun <= before.begun:
            return before.begun
        before = Moves(seen.under_way, before.begun | seen.begun)
        time.sleep(_LOOK_EVERY_S)
    raise BenchFailed(
        f"no copy ended and left its slot free within {_COPY_ENDS_WITHIN_S:g} s, {len(before.begun)} have begun"
    )


def _planned(stage: Stage, ask: Ask) -> Collection[PartitionMove]:
    """The moves that the removal would make. Raises GuardianError where it would be refused."""
    _, plan = stage.client.ask_for(_SPEC.name, ask, author="bench", dry_run=True)
    return plan.moves if plan else ()


def _moves(admin: KafkaControl) -> Moves:
    under_way = frozenset(admin.list_reassignments())
    places = admin.describe_partitions([_SLOW])
    return Moves(under_way, under_way | {p for p, state in places.items() if _LEAVING not in state.replicas})


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
