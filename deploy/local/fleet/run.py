"""A simulated fleet in one process: its reporters, its Kafka listeners, and its clusters in Guardian."""

from __future__ import annotations

import asyncio
import resource
import signal
import time
from collections.abc import Callable
from contextlib import AsyncExitStack

from deploy.local import answering
from deploy.local.fleet.listening import SimulatedKafka
from deploy.local.fleet.model import BrokerModel
from deploy.local.fleet.serving import Served, serve
from deploy.local.fleet.shape import ClusterShape, FleetSpec, fleet
from deploy.local.progress import say
from guardian.client import GuardianClient
from guardian.errors import InvalidInput
from guardian.model.topology import Broker, Cluster

_TELL_S = 10.0
# A broker has two listeners and, for each member that asks it, some connections; the rest is for everything else.
_FILES_A_BROKER = 16
_OTHER_FILES = 200


def run(spec: FleetSpec, connect: Callable[[], GuardianClient] | None) -> None:
    """Serves until Ctrl-C or SIGTERM, and registers the clusters where `connect` leads; None: nowhere.

    Raises InvalidInput and whatever Guardian answers.
    """
    _allow_files(spec.brokers * _FILES_A_BROKER + _OTHER_FILES)
    asyncio.run(_run(spec, connect))


def clusters_of(shapes: list[ClusterShape]) -> list[Cluster]:
    """Return the clusters as Guardian is told of them; the rest it learns from their Kafka listeners."""
    return [
        Cluster(
            shape.name,
            shape.brokers[0].listener,
            shape.id,
            brokers=tuple(Broker(one.id, one.rack, one.idc, one.reporter) for one in shape.brokers),
        )
        for shape in shapes
    ]


async def _run(spec: FleetSpec, connect: Callable[[], GuardianClient] | None) -> None:
    stopping = asyncio.Event()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signal_number, stopping.set)
    shapes, served = fleet(spec), Served()
    say(f"starting {spec.brokers} brokers in {spec.clusters} clusters, {spec.replicas} replicas each")
    async with AsyncExitStack() as stack:
        await _listen(shapes, stack, served)
        if connect is not None:
            registering = asyncio.create_task(asyncio.to_thread(_register, shapes, connect))
            await _first_of(registering, stopping)
        if not stopping.is_set():
            first, last = shapes[0].brokers[0].reporter, shapes[-1].brokers[-1].reporter
            say(f"serving: reporters {first} to {last}; Ctrl-C ends it")
        await _serve_until(stopping, served)
    say(f"ended after {served.answers} answers; `guardian cluster remove` forgets the clusters")


async def _listen(shapes: list[ClusterShape], stack: AsyncExitStack, served: Served) -> None:
    for shape in shapes:
        try:
            await SimulatedKafka(shape).serve(stack)
        except OSError as error:
            raise InvalidInput(
                f"base-port is {shape.spec.base_port}: {shape.brokers[0].listener} can't be had "
                f"({error.strerror}), another fleet may run there, use another port"
            ) from None
        await serve([BrokerModel(shape, position) for position in range(len(shape.brokers))], stack, served)


async def _first_of(task: asyncio.Task[None], stopping: asyncio.Event) -> None:
    waiting = asyncio.create_task(stopping.wait())
    await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if task.done():
        task.result()


def _register(shapes: list[ClusterShape], connect: Callable[[], GuardianClient]) -> None:
    with connect() as client:
        for cluster in clusters_of(shapes):
            answering.register(client, cluster)
            say(f"registered {cluster.name}: {len(cluster.brokers)} brokers")


async def _serve_until(stopping: asyncio.Event, served: Served) -> None:
    while not stopping.is_set():
        before, began = Served(served.answers, served.with_names, served.seconds), time.monotonic()
        try:
            await asyncio.wait_for(stopping.wait(), _TELL_S)
        except TimeoutError:
            say(_progress(before, served, time.monotonic() - began))


def _progress(before: Served, now: Served, seconds: float) -> str:
    answers = now.answers - before.answers
    if not answers:
        return f"nobody asked for {seconds:.0f} s"
    each_ms = (now.seconds - before.seconds) / answers * 1000
    names = now.with_names - before.with_names
    return f"{answers / seconds:.1f} answers/s of {each_ms:.1f} ms each, {names} of them with all names"


def _allow_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        if hard < count:
            raise InvalidInput(
                f"brokers needs {count} open files, {hard} are allowed: raise `ulimit -Hn`, or use fewer"
            )
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
