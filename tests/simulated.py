"""A simulated cluster behind Kafka's protocol, for what is to hold on real brokers, in memory and there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, closing, contextmanager

from deploy.local import ports
from deploy.local.fleet.listening import SimulatedKafka
from deploy.local.fleet.model import BrokerModel
from deploy.local.fleet.serving import Served, serve
from deploy.local.fleet.shape import FleetSpec, fleet
from deploy.local.fleet.truth import Truth
from guardian.kafka.control import KafkaControl
from guardian.model.topology import Cluster
from tests.patience import CONTROL_S


@contextmanager
def simulated(racks: Mapping[int, str], log_dirs: int) -> Iterator[tuple[Truth, KafkaControl]]:
    """Brokers 1, 2, ... with these racks and so many log dirs each, and Guardian's own client of them."""
    paths = {broker: tuple(f"/b{broker}/disk{number + 1}" for number in range(log_dirs)) for broker in racks}
    (port,) = ports.pick(1)
    shape = fleet(FleetSpec(len(racks), 1, 1, base_port=port - 1))[0]
    truth = Truth(racks, paths, shape.id)
    cluster = Cluster("simulated", shape.brokers[0].listener, shape.id)
    with served(SimulatedKafka(shape, truth)), closing(KafkaControl(cluster, CONTROL_S)) as control:
        yield truth, control


@contextmanager
def served(kafka: SimulatedKafka, reporters: Sequence[BrokerModel] = ()) -> Iterator[None]:
    """Serve on a thread of its own, until the end; with the reporters of these brokers."""
    listening = threading.Event()
    started: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def run() -> None:
        stopping = asyncio.Event()
        async with AsyncExitStack() as stack:
            await kafka.serve(stack)
            await serve(reporters, stack, Served())
            started.append((asyncio.get_running_loop(), stopping))
            listening.set()
            await stopping.wait()

    thread = threading.Thread(target=lambda: asyncio.run(run()), name="simulated-kafka")
    thread.start()
    try:
        assert listening.wait(CONTROL_S)
        yield
    finally:
        for loop, stopping in started:
            loop.call_soon_threadsafe(stopping.set)
        thread.join()
