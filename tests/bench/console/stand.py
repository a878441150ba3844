"""A member's console over a ticket that runs, all in one process: Kafka in memory, a real executor, real gRPC and HTTP.

python -m tests.bench.console.stand [--partitions N] [--seconds S]

Once the ticket copies it says where it serves, as one line of JSON, and goes on until it is ended. The clock is the
wall's; each partition copies as fast as makes the ticket last about as long as asked. What a page costs is what this
process needs more of while it is open: the executor and the simulated cluster need the same either way.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
import time
from collections.abc import Sequence

from deploy.local import ports
from guardian.client import GuardianClient
from guardian.execution.loop.driver import Driver
from guardian.execution.loop.ports import DriverClocks, DriverPorts, DriverSettings
from guardian.execution.store.execution import ReplicatedExecutionStore
from guardian.member.web import create_app
from guardian.model.execution import TaskState
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.topology import TopicPartition
from guardian.serving.http import HttpServer
from guardian.web.parts import WebParts
from tests.bench.progress import say
from tests.unit.member.member import Member

_THROTTLE = 50_000_000
_TICK_S = 1.0
_READS_A_TICK = 4  # of the executor: each lets the simulated cluster go on for a moment
_AT_ONCE = 20  # partitions: ten into a broker, which two get more replicas


class _Clocked(Member):
    """As of now."""

    @property
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    @now_ms.setter
    def now_ms(self, value: int) -> None:
        """The member in tests begins at a time of its own."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.console.stand")
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=300.0, help="that the ticket takes, about")
    options = parser.parse_args(arguments)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    member = _Clocked()
    driver = Driver(
        DriverPorts(ReplicatedExecutionStore(member.store), lambda _: member.kafka),
        DriverClocks(lambda: member.now_ms),
        DriverSettings(tiered_warm_up_s=0),
    )
    with GuardianClient([member.endpoint]) as client:
        ticket_id = _begin(member, client, options.partitions, options.seconds)
        http = f"127.0.0.1:{ports.pick(1)[0]}"
        server = HttpServer(http, create_app(WebParts("g1", lambda _: client, lambda: member.now_ms)))
        server.start()
        while not _copies(client, ticket_id):
            driver.tick()
        say(json.dumps({"http": f"http://{http}", "grpc": member.endpoint, "ticket": ticket_id}))
        while not stopping.wait(_TICK_S):
            driver.tick()
        server.stop()
    driver.close()
    member.stop()
    return 0


def _copies(client: GuardianClient, ticket_id: str) -> bool:
    execution = client.ticket(ticket_id)[1]
    return execution is not None and any(task.state is TaskState.RUNNING for task in execution.tasks)


def _begin(member: Member, client: GuardianClient, partitions: int, seconds: float) -> str:
    """An approved ticket that moves the first replica of each partition to broker 3."""
    copying_ticks = max(1.0, seconds / _TICK_S / max(1, partitions / _AT_ONCE))
    size = int(member.kafka.bytes_per_call * _READS_A_TICK * copying_ticks)
    member.kafka.create_topic("orders", {number: [1, 2] for number in range(partitions)}, size)
    moves = tuple(
        PartitionMove(TopicPartition("orders", number), (), (ReplicaPlacement(3), ReplicaPlacement(2)))
        for number in range(partitions)
    )
    ticket, _ = client.create_ticket(
        Plan("live", "balance", moves), author="ann", submit=True, throttle=_THROTTLE, reason="even disks"
    )
    client.approve(ticket.id, "bob", "quiet hour")
    return ticket.id


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
