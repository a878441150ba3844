"""A real cluster whose nodes can be cut from each other: brokers and controllers each in a network namespace.

    test, Guardian's members, clients ── bridge ─┬─ [n1]   broker 1
                                                 ├─ [n2]   broker 2
                                                 └─ [n101] controller 101

The test's own namespace reaches every node always: a broker that lost the controllers goes on answering clients.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

from deploy.local import processes
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from guardian.model.topology import Cluster
from tests.integration.cut_brokers import witness
from tests.integration.faults.network import Network
from tests.patience import wait_for

_STARTED_WITHIN_S = 300.0  # of a broker, where others take the cores
# A broker is fenced six seconds after its last heartbeat, not nine: each test waits for that.
FENCED_SOON: Mapping[str, str] = {"broker.session.timeout.ms": "6000", "broker.heartbeat.interval.ms": "500"}


class BrokerLab:
    """A context manager: it starts the cluster of `spec` and ends what it started, also after a failure."""

    def __init__(self, home: Path, spec: ClusterSpec) -> None:
        self._home = home
        self._spec = replace(spec, settings={**FENCED_SOON, **spec.settings})
        self._stack = ExitStack()
        self.controllers = tuple(range(spec.first_controller_id, spec.first_controller_id + spec.controllers))
        self.brokers = tuple(range(spec.first_broker_id, spec.first_broker_id + spec.brokers))
        self.network = Network([_name(node) for node in (*self.brokers, *self.controllers)])
        self.kafka: KafkaCluster

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self.network)
            nodes = (*self.brokers, *self.controllers)
            hosts = {node: self.network.address(_name(node)) for node in nodes}
            self.kafka = KafkaCluster.plan(replace(self._spec, hosts=hosts), self._home)
            self._prepare(stack)
            self.kafka.starters = {node: self._starter(node) for node in nodes}
            stack.callback(self.kafka.stop)
            stack.callback(self._let_end)
            self.kafka.launch(_STARTED_WITHIN_S, self.give_full_weight)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def cluster(self) -> Cluster:
        return self.kafka.to_cluster()

    def asking(self, brokers: Iterable[int]) -> Cluster:
        """The cluster as clients know it whose bootstrap names these brokers alone, in this order."""
        return replace(self.cluster, bootstrap=",".join(self.listener(broker) for broker in brokers))

    def listener(self, broker: int) -> str:
        return self.kafka.broker(broker).listener

    def controller_listener(self, controller: int) -> str:
        (port,) = (node.port for node in self.kafka.controllers if node.id == controller)
        return f"{self.network.address(_name(controller))}:{port}"

    def others(self, brokers: Collection[int]) -> list[int]:
        return [broker for broker in self.brokers if broker not in brokers]

    def cut(self, one: int, other: int) -> None:
        """Cuts two nodes from each other, both ways and silently."""
        self.cut_one_way(one, other)
        self.cut_one_way(other, one)

    def cut_one_way(self, sender: int, receiver: int) -> None:
        """Cut one direction: nothing that `sender` sends reaches `receiver`."""
        self.network.cut(_name(sender), _name(receiver))

    def slow(self, broker: int, bytes_a_second: int) -> None:
        """Let what other brokers send to this one pass no faster than that; one broker at a time."""
        for other in self.others({broker}):
            self.network.slow(_name(other), _name(broker), bytes_a_second)

    def hasten(self, broker: int) -> None:
        """End what `slow` did."""
        for other in self.others({broker}):
            self.network.hasten(_name(other))

    def cut_from_controllers(self, brokers: Iterable[int]) -> None:
        for broker in brokers:
            for controller in self.controllers:
                self.cut(broker, controller)

    def heal(self) -> None:
        """Ends all cuts."""
        self.network.heal()

    def _prepare(self, stack: ExitStack) -> None:
        """Do what a lab needs before its nodes are started; `stack` ends it after them."""

    def _starter(self, node: int) -> list[str]:
        """Return the command by which a node's own is started."""
        return self.network.command(_name(node), [])

    def _let_end(self) -> None:
        """Undo what keeps nodes from ending: a broker that asks controllers whether it may stop waits for their
        answer."""
        self.heal()

    def give_full_weight(self) -> None:
        """A broker that gives way to others' commands on a busy machine is fenced, and nobody has cut it off."""
        for pid in filter(None, (node.pid for node in self.kafka.nodes)):
            processes.give_way(pid, 0)

    @contextmanager
    def without_controllers(self, *brokers: int) -> Iterator[None]:
        """Cuts these brokers from the controllers until the end. Begins once all others count them as fenced, and ends
        once all brokers count each other as living again."""
        self.cut_from_controllers(brokers)
        try:
            self.wait_alive(self.others(brokers), self.others(brokers))
            yield
        finally:
            self.heal()
        self.wait_alive(self.brokers, self.brokers)

    def wait_alive(self, asked: Iterable[int], alive: Iterable[int]) -> None:
        """Returns once each broker that is asked counts just these as living."""
        wanted, endpoints = set(alive), [self.listener(broker) for broker in asked]
        wait_for(
            f"that {endpoints} count brokers {sorted(wanted)} as living",
            lambda: all(witness.alive(endpoint) == wanted for endpoint in endpoints),
        )

    def wait_in_sync(self, topics: Collection[str]) -> None:
        """Returns once each broker says that all replicas of these topics are in sync."""
        endpoints = [self.listener(broker) for broker in self.brokers]
        wait_for(
            f"that all replicas of {topics} are in sync",
            lambda: all(
                seen.isr == seen.replicas
                for endpoint in endpoints
                for seen in witness.partitions(endpoint, topics).values()
            ),
        )


def _name(node: int) -> str:
    return f"n{node}"
