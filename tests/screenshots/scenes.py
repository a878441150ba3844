"""What is pictured: Guardian with something to show, and the pages that show it.

fleet   one member and a simulated fleet of 1000 brokers in 20 clusters, collected twice, with tickets that wait
ticket  a ticket of 200 partitions on a cluster in memory, while it runs
demo    the demo's federation: two clusters of real brokers under traffic, three members, a plan that Spark made
        while it is carried out, and after it
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.local import federation, processes
from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.model.federation import Entry, Exclusion, Machine, Tenant, Topic
from guardian.model.operation import Ask, AskKind
from guardian.model.ticket import TicketState
from guardian.model.wire.entries import entry_to_proto
from protos.guardian.v1 import federation_pb2 as pb
from tests.bench.observe.fleet import collected, start_fleet, start_members

_DEADLINE_S = 600.0
_ROUNDS = 2
_LOOK_S = 1.0
_DEMO_WINDOW = "20s"

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Scene:
    """`url` is a member's; `pages` are paths of its console, by the name of their picture."""

    url: str
    pages: dict[str, str]


@contextmanager
def fleet(home: Path, brokers: int, clusters: int, replicas: int, tell: Tell) -> Iterator[Scene]:
    with ExitStack() as stack:
        [member] = start_members(stack, home, 1)
        tell(f"a member and {brokers} simulated brokers in {clusters} clusters, {replicas} replicas each")
        process = start_fleet(stack, home, brokers, replicas, [member.grpc], clusters)
        _wait(lambda: collected([member]) >= _ROUNDS * brokers, process, "the fleet to be collected twice")
        with GuardianClient([member.grpc], timeout_s=60) as client:
            _name(client)
            _ask(client)
        yield Scene(
            f"http://{member.http}",
            {
                "federation": "",
                "cluster": "clusters/sim-1",
                "disks-heat": "clusters/sim-1/activity?of=disks&span=15m",
                "brokers": "clusters/sim-1/brokers?sort=-busy",
                "broker": "clusters/sim-1/brokers/7",
                "disks": "clusters/sim-1/disks",
                "topics": "clusters/sim-1/topics?sort=-size",
                "tickets": "tickets",
                "tenants": "tenants",
                "tenant": "tenants/pay",
                "machines": "machines",
                "search": "search?q=topic",
            },
        )


@contextmanager
def ticket(tell: Tell) -> Iterator[Scene]:
    command = [sys.executable, "-m", "tests.bench.console.stand", "--partitions", "200", "--seconds", "150"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            stand = json.loads(process.stdout.readline())
            tell("a ticket of 200 partitions runs")
            with GuardianClient([stand["grpc"]]) as client:
                _wait(lambda: _share(client, stand["ticket"]) > 0.3, None, "a third of the ticket")
            where = f"tickets/{stand['ticket']}"
            yield Scene(stand["http"], {"running": where, "plan-of-a-file": f"{where}/plan"})
        finally:
            process.terminate()


@contextmanager
def demo(home: Path, tell: Tell) -> Iterator[Scene]:
    federation.wipe(home)
    try:
        local = federation.up(home=home)
        tell("two clusters, their traffic and three members serve")
        with GuardianClient(local.endpoints) as client:
            ticket_id = _planned(local.endpoints)
            tell(f"Spark has made {ticket_id}")
            client.submit(ticket_id, "ann", "the evening is quiet")
            client.approve(ticket_id, "bob", "looks right")
            _wait(lambda: _share(client, ticket_id) > 0.2, None, "a fifth of the ticket")
            where, live = f"tickets/{ticket_id}", "clusters/live"
            topic = _largest_topic(client)
            yield Scene(
                local.members[0].url,
                {
                    "ticket": where,
                    "plan": f"{where}/plan",
                    "federation": "",
                    "cluster": live,
                    "durability": f"{live}/durability",
                    "broker": f"{live}/brokers/1",
                    "topic": f"{live}/topics/{topic}",
                    "findings": "findings",
                    "plans": "plans",
                    "members": "members",
                    "audit": "audit",
                },
            )
            _wait(lambda: client.ticket(ticket_id)[0].state is TicketState.SUCCEEDED, None, "the ticket to succeed")
    finally:
        federation.wipe(home)


def _planned(endpoints: list[str]) -> str:
    """The id of a draft that evens out cluster live."""
    command = [
        sys.executable,
        "-m",
        "guardian.cli.main",
        "plan",
        "balance",
        "--cluster",
        "live",
        "--spark",
        "--window",
        _DEMO_WINDOW,
    ]
    environment = {**os.environ, "GUARDIAN_ENDPOINTS": ",".join(endpoints)}
    until = time.monotonic() + _DEADLINE_S
    while True:
        made = subprocess.run(
            [*command, "--throttle", "3MB", "-o", "json"], env=environment, capture_output=True, text=True, check=False
        )
        if made.returncode == 0:
            with GuardianClient(endpoints) as client:
                return client.tickets()[0].id
        if "samples" not in made.stderr or time.monotonic() > until:
            raise RuntimeError(made.stderr)
        time.sleep(_LOOK_S)


def _largest_topic(client: GuardianClient) -> str:
    report: Any = client.durability("live")
    largest = max(report.topics, key=lambda each: (not each.topic.startswith("__"), each.partitions))
    return str(largest.topic)


def _share(client: GuardianClient, ticket_id: str) -> float:
    far = {each.id: far for each, far in client.walk_tickets()}[ticket_id]
    return far.copied_bytes / far.total_bytes if far is not None and far.total_bytes else 0.0


def _name(client: GuardianClient) -> None:
    names = [("pay", "payments team", ("gold",)), ("logs", "platform team", ()), ("ads", "ads team", ("silver",))]
    entries: list[Entry] = [Tenant(name, owner, labels, f"what the {owner} runs") for name, owner, labels in names]
    clusters = {each.name: each for each in client.list_clusters()}
    entries += [Topic("sim-1", f"topic-{n}", owner="ann", tenant=names[n % 3][0]) for n in range(30)]
    entries += [Machine(f"m{n}.example.net", "shanghai", f"r{n % 3}", 8 * 10**12, 8, 10**9, 32) for n in range(12)]
    if "sim-1" in clusters:
        entries.append(Exclusion("sim-1", 7, "ann", "its fan is loud"))
    client.change_federation([pb.FederationChange(put=entry_to_proto(entry)) for entry in entries])


def _ask(client: GuardianClient) -> None:
    """Tickets in several states: a simulated cluster carries none out."""
    for number, cluster in enumerate(client.list_clusters()[:6]):
        try:
            made, _ = client.ask_for(
                cluster.name,
                Ask(AskKind.REMOVE, (cluster.brokers[0].id,)),
                author="ann",
                submit=number % 3 > 0,
                reason="its machine is old",
            )
            if number % 3 == 2:
                client.reject(made.id, "bob", "not this week")
        except GuardianError:
            return


def _wait(done: Callable[[], bool], process: processes.LocalProcess | None, what: str) -> None:
    until = time.monotonic() + _DEADLINE_S
    while not done():
        if process is not None and not processes.is_alive(process):
            raise RuntimeError(f"the fleet has ended; it says last:\n{processes.last_lines(process)}")
        if time.monotonic() > until:
            raise RuntimeError(f"waited {_DEADLINE_S:.0f} s for {what}")
        time.sleep(_LOOK_S)
