"""`make demo`: the main job end to end on real brokers, and the proof that it did what it says.

    federation up -> traffic lands in the lake -> Spark plans -> tickets -> approved -> executed -> measured again
    -> every record read back -> Kafka asked for what was left behind -> everything stopped, asked again

Prints each step as it happens; exits with 1 when any proof fails. `--kill` kills the Raft leader (SIGKILL) in the
middle of the execution. `--keep` leaves all of it running in the end, and says how to look at it and how to end it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from deploy.local import federation, leftovers, processes
from deploy.local.federation import Federation
from deploy.local.processes import LocalProcess
from deploy.local.workload import read_counts, verify
from guardian.cli.options import now_ms
from guardian.cli.plan_tables import show_loads, show_plan
from guardian.client import GuardianClient
from guardian.errors import GuardianError, InvalidInput, Unavailable
from guardian.federation.commands.directory import read_directory
from guardian.kafka.control import KafkaControl
from guardian.lake.model.window import Window
from guardian.model.execution import Execution, TaskState
from guardian.model.log_dirs import short_log_dirs
from guardian.model.plan import LoadSummary, Plan, ReplicaPlacement, spreads
from guardian.model.tasks import Balance
from guardian.model.ticket import Ticket, TicketState
from guardian.model.units import human_bytes
from guardian.planning.jobs import local_session, measure
from guardian.planning.jobs import plans as make_plans
from guardian.tickets.commands.ticket_telling import copied

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOME = Path(".guardian/demo")
BIN = Path(sys.executable).parent
WINDOW_S = 30
THROTTLE = 20_000_000
_AUTHOR = "demo"
_APPROVER = "demo-admin"
_EXECUTION_DEADLINE_S = 300.0
_LAKE_DEADLINE_S = 60.0
# Spreads (max/mean - 1) from here on are uneven enough to promise that they halve.
_UNEVEN = 0.4

_Answer = TypeVar("_Answer")


@dataclass(slots=True)
class Demo:
    """The state of one run: what was started, what was found, and what failed."""

    home: Path
    kill: bool
    started: float = field(default_factory=time.monotonic)
    failures: list[str] = field(default_factory=list)

    def step(self, text: str) -> None:
        print(f"[{time.monotonic() - self.started:5.0f} s] {text}", flush=True)

    def prove(self, claim: str, holds: bool, detail: str = "") -> None:
        """Prints a proof line; a claim that does not hold fails the demo."""
        print(f"  {'ok  ' if holds else 'FAIL'}  {claim}{f': {detail}' if detail else ''}", flush=True)
        if not holds:
            self.failures.append(claim)


@dataclass(frozen=True, slots=True)
class Executed:
    """How a ticket ended, and how long it ran."""

    ticket: Ticket
    revision: int
    seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__, formatter_class=_Raw)
    parser.add_argument("--kill", action="store_true", help="kill -9 the Raft leader in the middle of the execution")
    parser.add_argument("--keep", action="store_true", help="leave all of it running, and say where its console is")
    parser.add_argument("--home", type=Path, default=HOME, help="where all of it lives; wiped before and after")
    options = parser.parse_args(arguments)
    demo = Demo(options.home.absolute(), options.kill)
    federation.wipe(demo.home)
    started: set[LocalProcess] = set()
    with ExitStack() as stack:
        stack.callback(_end, demo)
        _run(demo, started)
        if options.keep:
            _keep(demo)
            stack.pop_all()
    if not options.keep:
        _prove_ended(demo, started)
    if demo.failures:
        demo.step(f"FAILED: {'; '.join(demo.failures)}")
        return 1
    demo.step("all proofs hold")
    return 0


def _end(demo: Demo) -> None:
    demo.step("stopping everything and deleting its data")
    federation.wipe(demo.home)


def _prove_ended(demo: Demo, started: Collection[LocalProcess]) -> None:
    left = leftovers.of_processes(demo.home, started)
    demo.prove("no process left", not left, "; ".join(left) or "none")
    demo.prove("no file left", not demo.home.exists(), "none" if not demo.home.exists() else str(demo.home))


def _keep(demo: Demo) -> None:
    """Let the traffic begin again, and tell a person how to look around and how to end it."""
    local = federation.up(home=demo.home)
    demo.step("all of it runs on; look around, and end it:")
    for member in local.members:
        print(f"  {member.name}'s console: {member.url}")
    print(f"  export GUARDIAN_LOCAL={demo.home}")
    print(f"  {BIN}/guardian status")
    print(f"  {BIN}/guardian local wipe")


class _Raw(argparse.RawDescriptionHelpFormatter):
    """Keeps the picture in the description."""


def _run(demo: Demo, started: set[LocalProcess]) -> None:
    demo.step("starting two Kafka clusters of three brokers, their traffic, and three Guardian members")
    local = federation.up(home=demo.home)
    started.update(local.running())
    names = [cluster.kafka.name for cluster in local.clusters]
    demo.step(f"{len(started)} processes serve; look around with: GUARDIAN_LOCAL={demo.home} guardian status")
    configs = {}
    for name in names:
        with _admin(local, name) as admin:
            configs[name] = leftovers.dynamic_configs(admin)

    from_ms = now_ms()
    with local_session("guardian demo") as spark, GuardianClient(local.endpoints) as client:
        plans = _of_window(demo, "Spark plans", partial(_planned, spark, client, str(local.lake), names), from_ms)
        for name in names:
            show_plan(plans[name])
        executed = _execute(demo, client, local, plans)
        if demo.kill:
            demo.step("starting the killed member again: it catches up from the others")
            local = federation.up(home=demo.home)
            started.update(local.running())
        _prove_executed(demo, local, executed, plans)
        measuring = partial(measure, spark, str(local.lake), names, directory=read_directory(client))
        after = _of_window(demo, "Spark measures again", measuring, now_ms())
        for name in names:
            _prove_balance(demo, name, plans[name].loads, after[name])

    demo.step("stopping the traffic and reading every record back")
    for name in names:
        federation.stop_workload(local, name)
        result = verify(local.cluster(name).kafka.to_cluster(sasl=False), read_counts(local.cluster(name).counts))
        detail = f"{result.records} records of {result.partitions} partitions, each at the offset it was written with"
        demo.prove(
            f"{name}: offsets of every topic unchanged in order and count",
            result.ok and result.expired == 0,
            "; ".join(result.violations[:3]) or detail,
        )
    demo.step("asking Kafka what was left behind")
    for name in names:
        with _admin(local, name) as admin:
            left = leftovers.of_cluster(admin, configs[name])
        demo.prove(
            f"{name}: throttles, reassignments, changed configurations left", not left, "; ".join(left) or "none"
        )


def _of_window(demo: Demo, what: str, job: Callable[[Window], _Answer], from_ms: int) -> _Answer:
    """Waits for the window's end, then runs a job on it as soon as all of it is in the lake."""
    until_ms = from_ms + WINDOW_S * 1000
    while (left := (until_ms - now_ms()) / 1000) > 0:
        demo.step(f"collecting metrics into the lake: {left:.0f} s to go")
        time.sleep(min(left, 10))
    deadline = time.monotonic() + _LAKE_DEADLINE_S
    demo.step(f"{what}, from {WINDOW_S} s of the lake")
    while True:
        try:
            return job(Window(from_ms, until_ms))
        except InvalidInput as error:
            if time.monotonic() > deadline:
                raise
            demo.step(f"waiting for the lake: {error}")
            time.sleep(1)


def _planned(
    spark: SparkSession, client: GuardianClient, lake: str, names: Sequence[str], window: Window
) -> dict[str, Plan]:
    return make_plans(spark, lake, dict.fromkeys(names, Balance()), window, directory=read_directory(client))


def _execute(demo: Demo, client: GuardianClient, local: Federation, plans: Mapping[str, Plan]) -> dict[str, Executed]:
    tickets: dict[str, Ticket] = {}
    for name, plan in plans.items():
        ticket, _ = client.create_ticket(plan, author=_AUTHOR, throttle=THROTTLE, reason="demo")
        demo.step(
            f"{name}: draft ticket {ticket.id}: {ticket.moves} moves, {human_bytes(ticket.bytes_to_copy)} to copy"
        )
        client.submit(ticket.id, _AUTHOR)
        tickets[name] = client.approve(ticket.id, _APPROVER, "the dry run looks right")
        demo.step(f"{name}: submitted, and approved by {_APPROVER}: throttle {human_bytes(THROTTLE)}/s per broker")
    started = time.monotonic()
    to_kill = demo.kill
    said: dict[str, str] = {}
    executed: dict[str, Executed] = {}
    while len(executed) < len(tickets):
        if time.monotonic() - started > _EXECUTION_DEADLINE_S:
            raise Unavailable(f"the execution did not end within {_EXECUTION_DEADLINE_S:g} s: {said}")
        for name, ticket in tickets.items():
            if name in executed:
                continue
            now, execution = client.ticket(ticket.id)
            line = _progress(now, execution)
            if said.get(name) != line:
                said[name] = line
                demo.step(f"{name}: {line}")
            if now.state.is_over:
                revision = execution.revision if execution else 0
                executed[name] = Executed(now, revision, time.monotonic() - started)
            elif to_kill and execution and any(task.state is TaskState.DONE for task in execution.tasks):
                _kill_leader(demo, client, local)
                to_kill = False
        time.sleep(0.3)
    if demo.kill:
        demo.prove("the Raft leader was killed in the middle of the execution", not to_kill)
    return executed


def _progress(ticket: Ticket, execution: Execution | None) -> str:
    if execution is None:
        return f"{ticket.state.name}: {ticket.history[-1].reason}"
    done = sum(task.state is TaskState.DONE for task in execution.tasks)
    running = sum(task.state is TaskState.RUNNING for task in execution.tasks)
    moves = f"{done} of {len(execution.tasks)} moves done, {running} under way"
    return f"{ticket.state.name}: {moves}, {copied(ticket, execution)}, {len(execution.throttles)} throttles set"


def _kill_leader(demo: Demo, client: GuardianClient, local: Federation) -> None:
    while not (leader := client.member().leader):
        time.sleep(0.1)
    member = next(member for member in local.members if member.name == leader)
    if member.process is not None:
        demo.step(f"kill -9 {member.pid}: {leader}, the Raft leader, in the middle of the execution")
        processes.kill(member.process)


def _prove_executed(demo: Demo, local: Federation, executed: Mapping[str, Executed], plans: Mapping[str, Plan]) -> None:
    for name, done in executed.items():
        ticket = done.ticket
        demo.prove(
            f"{name}: {ticket.moves} moves, {human_bytes(ticket.bytes_to_copy)} in {done.seconds:.0f} s",
            ticket.state is TicketState.SUCCEEDED and ticket.moves > 0,
            f"{ticket.state.name}, {ticket.history[-1].reason}",
        )
        with _admin(local, name) as admin:
            reached = _unreached(admin, plans[name])
        demo.prove(f"{name}: Kafka shows every target", not reached, "; ".join(reached[:3]) or "all")
        views = _views_of_members(local, ticket.id)
        demo.prove(
            f"{name}: {len(views)} members agree on the ticket's state",
            len(views) == len(local.members) and set(views.values()) == {(ticket.state.name, done.revision)},
            ", ".join(f"{member} {state}" for member, (state, _) in views.items()),
        )


def _views_of_members(local: Federation, ticket_id: str) -> dict[str, tuple[str, int]]:
    views = {}
    for member in local.members:
        with GuardianClient([member.grpc]) as client:
            ticket, execution = client.ticket(ticket_id)
        views[member.name] = (ticket.state.name, execution.revision if execution else 0)
    return views


def _unreached(admin: KafkaControl, plan: Plan) -> list[str]:
    """Moves whose target Kafka does not show: replicas, their order, log dirs, ISR and leader."""
    partitions = admin.describe_partitions({move.partition.topic for move in plan.moves})
    held = {
        (partition, log_dir.broker): log_dir.path
        for log_dir in admin.describe_log_dirs(sorted(admin.describe_cluster().brokers))
        for partition in log_dir.replicas
    }
    wrong = []
    for move in plan.moves:
        state = partitions[move.partition]
        dirs = {place.broker: place.log_dir for place in move.target}
        if state.replicas != move.target_brokers or state.leader != move.target_brokers[0]:
            wrong.append(f"{move.partition} is on {state.replicas}, led by {state.leader}")
        elif set(state.isr) != set(state.replicas):
            wrong.append(f"{move.partition} has ISR {state.isr} of {state.replicas}")
        elif any(path != "any" and held.get((move.partition, broker)) != path for broker, path in dirs.items()):
            wrong.append(f"{move.partition} is not in its log dirs {dirs}")
    return wrong


def _prove_balance(demo: Demo, name: str, before: Sequence[LoadSummary], after: Sequence[LoadSummary]) -> None:
    measured = {(load.broker, load.log_dir, load.resource): load.after for load in after}
    rows = [replace(load, after=measured.get((load.broker, load.log_dir, load.resource), 0.0)) for load in before]
    print(f"\nCluster {name}: loads measured before and after")
    show_loads(rows, short_log_dirs(ReplicaPlacement(row.broker, row.log_dir) for row in rows if row.log_dir))
    print()
    uneven = {what: values for what, values in spreads(rows).items() if values[0] >= _UNEVEN}
    demo.prove(f"{name}: brokers and log dirs were uneven", {"broker nw_out", "log dir disk_io"} <= uneven.keys())
    for what, (old, new) in uneven.items():
        demo.prove(f"{name}: spread of {what} at least halved", new <= old / 2, f"{old:.2f} -> {new:.2f}")


def _admin(local: Federation, name: str) -> closing[KafkaControl]:
    return closing(KafkaControl(local.cluster(name).kafka.to_cluster(sasl=False)))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except GuardianError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
