"""Six brokers restarted under load: by `guardian broker restart`, and by the loop that everybody has.

    script   restart broker 1, wait until no partition is under-replicated, broker 2, ...          six times one
    ours     leaders away, restart, in sync, leaders back, gate; a rack at a time                  three times two

`restart_vs_script`    from the command until all are restarted and the cluster is whole; both by turns on one cluster,
                       twice each, by the same hook (deploy/local/broker_hook.py), while records are written with
                       acks=all. The script only waits for replicas and looks ten times a second: none is faster
                       that waits at all. A produce that failed, a record that was acknowledged and is not there, a
                       look that showed a partition under its min ISR, a leader that is not as before: then our
                       figure does not count. What the script does of this is told beside it
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from deploy.local import broker_hook, processes
from deploy.local.kafka_cluster import ClusterSpec
from guardian.kafka import data
from guardian.model.cluster_state import PartitionState
from guardian.model.operation import Ask, AskKind
from guardian.model.ticket import TicketState
from guardian.model.topology import TopicPartition
from tests.bench.execute.load import Load
from tests.bench.execute.stage import Stage, fill, hooked, staged, until
from tests.bench.report import BenchFailed, Figures

RACKS = ((1, 4), (2, 5), (3, 6))
_BROKERS = tuple(sorted(broker for rack in RACKS for broker in rack))
_PARTITIONS = 24
_MIN_ISR = 2
_ROUNDS = 2
_RECORDS = 50
_RECORD_BYTES = 10_000
_TOPIC = "orders"
_HOOK_DEADLINE_S = 180.0
_SPEC = ClusterSpec(
    "restarted",
    brokers=len(_BROKERS),
    plugin=False,
    heap_mb=256,
    # Leaders that come back by themselves would hide what became of them.
    settings={"min.insync.replicas": str(_MIN_ISR), "auto.leader.rebalance.enable": "false"},
)

Tell = Callable[[str], None]
States = Mapping[TopicPartition, PartitionState]


@dataclass(frozen=True, slots=True)
class Restarted:
    """All brokers once. `moments`: looks that showed a partition under its min ISR; `elsewhere`: partitions whose
    leader, or order of replicas, is not as before; `lost`: records that were acknowledged and are not there."""

    seconds: float
    acked: int = 0
    failed: int = 0
    lost: int = 0
    moments: int = 0
    looks: int = 0
    elsewhere: int = 0
    slowest_ack_s: float = 0.0


def measured(tell: Tell) -> tuple[dict[str, Figures], dict[str, Any]]:
    """The figure, and each run. Raises BenchFailed when a restart does not come to its end."""
    with tempfile.TemporaryDirectory(prefix="guardian-bench-") as folder:
        home = Path(folder)
        hooks = home / "hooks"
        tell(f"{len(_BROKERS)} brokers and three members start")
        with (
            staged(_SPEC, home, broker_hook.config_section(hooks, timeout_s=_HOOK_DEADLINE_S)) as stage,
            hooked(stage.kafka, hooks),
        ):
            fill(stage.kafka, _TOPIC, placements(), _RECORDS, _RECORD_BYTES)
            script, ours = [], []
            for _ in range(_ROUNDS):
                script.append(_run("the script", stage, hooks, lambda: _by_script(stage, hooks), tell))
                ours.append(_run("the ticket", stage, hooks, lambda: _by_ticket(stage), tell))
    how = (
        f"mean of {_ROUNDS} by turns; slowest acknowledgement {max(run.slowest_ack_s for run in ours):.1f} s, "
        f"the script's {max(run.slowest_ack_s for run in script):.1f} s; "
        f"its faults: {faults(script) or 'none'}"
    )
    figures = Figures(mean(run.seconds for run in ours), mean(run.seconds for run in script), how, faults(ours))
    details = {"script": [asdict(run) for run in script], "ours": [asdict(run) for run in ours]}
    return {"restart_vs_script": figures}, details


def placements() -> dict[int, tuple[int, ...]]:
    """A replica in each rack, all brokers with as many replicas and as many leaders."""
    found = {}
    for number in range(_PARTITIONS):
        chosen = tuple(rack[(number // len(RACKS) >> place) % len(rack)] for place, rack in enumerate(RACKS))
        first = number % len(RACKS)
        found[number] = chosen[first:] + chosen[:first]
    return found


def elsewhere(before: States, after: States) -> list[TopicPartition]:
    """Whose leader or order of replicas changed."""
    return [
        partition
        for partition, state in before.items()
        if partition not in after
        or (after[partition].leader, after[partition].replicas) != (state.leader, state.replicas)
    ]


def faults(runs: Sequence[Restarted]) -> str:
    """What clients or operators would complain about, of all runs together; empty when there is nothing."""
    told = (
        (sum(run.failed for run in runs), f"failed produces beside {sum(run.acked for run in runs)} that did not"),
        (sum(run.lost for run in runs), "acknowledged records are not there"),
        (
            sum(run.moments for run in runs),
            f"of {sum(run.looks for run in runs)} looks showed a partition under its min ISR",
        ),
        (sum(run.elsewhere for run in runs), f"of {len(runs) * _PARTITIONS} partitions not led as before"),
    )
    return "; ".join(f"{count} {what}" for count, what in told if count)


def _run(name: str, stage: Stage, hooks: Path, restart: Callable[[], None], tell: Tell) -> Restarted:
    """Leaders where they belong, then all brokers restarted under load."""
    _lead_as_preferred(stage)
    before = stage.admin.describe_partitions()
    records = sum(data.end_offsets(stage.kafka.to_cluster(), [_TOPIC]).values())
    pids = _pids(hooks)
    with Load(stage.kafka.to_cluster(), _TOPIC, _MIN_ISR) as load:
        began = time.monotonic()
        restart()
        seconds = time.monotonic() - began
    after = stage.admin.describe_partitions()
    same = [broker for broker, pid in _pids(hooks).items() if pid is None or pid == pids[broker]]
    if same or not load.acked or not load.looks:
        raise BenchFailed(
            f"{name}: brokers {same} were not restarted, {load.acked} records acknowledged, {load.looks} looks"
        )
    there = sum(data.end_offsets(stage.kafka.to_cluster(), [_TOPIC]).values()) - records
    run = Restarted(
        seconds,
        load.acked,
        len(load.failures),
        max(0, load.acked - there),
        len(load.moments),
        load.looks,
        len(elsewhere(before, after)),
        load.slowest_s,
    )
    tell(f"restart_vs_script: {name} took {seconds:.1f} s; {faults([run]) or 'no faults'}")
    return run


def _lead_as_preferred(stage: Stage) -> None:
    states = stage.admin.describe_partitions()
    strays = [partition for partition, state in states.items() if state.leader != state.replicas[0]]
    if strays:
        stage.admin.elect_preferred_leaders(strays)
    until(
        "every preferred leader",
        lambda: all(s.leader == s.replicas[0] for s in stage.admin.describe_partitions().values()),
    )
    until("a whole cluster", lambda: _is_whole(stage))


def _is_whole(stage: Stage) -> bool:
    """No partition is under-replicated."""
    return all(len(state.isr) == len(state.replicas) for state in stage.admin.describe_partitions().values())


def _by_script(stage: Stage, hooks: Path) -> None:
    for broker in _BROKERS:
        _run_hook(hooks, broker)
        until(f"the end of under-replication after broker {broker}", lambda: _is_whole(stage))


def _by_ticket(stage: Stage) -> None:
    ask = Ask(AskKind.RESTART, _BROKERS, hook="local")
    ticket, _ = stage.client.ask_for(_SPEC.name, ask, author="bench", submit=True)
    stage.client.approve(ticket.id, "bench", "")

    def is_over() -> bool:
        now = stage.client.ticket(ticket.id)[0]
        if now.state is TicketState.PAUSED or (now.state.is_over and now.state is not TicketState.SUCCEEDED):
            raise BenchFailed(f"ticket {ticket.id} became {now.state.name}: {now.history[-1].reason}")
        return now.state.is_over

    until(f"the end of ticket {ticket.id}", is_over)


def _run_hook(hooks: Path, broker: int) -> None:
    process = processes.spawn(broker_hook.command(hooks, "restart", str(broker)), hooks / f"script-{broker}.log")
    try:
        until(f"the restart of broker {broker}", lambda: not processes.is_alive(process), _HOOK_DEADLINE_S)
    finally:
        processes.stop_all([process])
    if "done" not in processes.output(process):
        raise BenchFailed(f"broker {broker} was not restarted: {processes.last_lines(process)}")


def _pids(hooks: Path) -> dict[int, int | None]:
    return {broker.id: broker.pid for broker in broker_hook.load(hooks).brokers}
