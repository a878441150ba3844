"""What only a controller can do: change the configuration of a broker that does not live (KIP-919).

    a controller whose address people registered ┐
    else any broker                              ┴──DescribeQuorum──▶ where they listen ──IncrementalAlterConfigs──▶ one

A broker changes no configuration but its own, and one that is down not even that (KAFKA.md, trap 20). A controller
changes anybody's, but describes nobody's: what it answers is all there is to know.

The connection is made with the settings for brokers (protocol, login, CA). A controller listener that needs others
can't be used: the configuration then waits for its broker.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from guardian.kafka.kafka_python import DescribeQuorumRequest
from guardian.model.topology import Cluster

NOT_REGISTERED = 102  # a broker that was unregistered: nobody will ever read its configuration

_METADATA = "__cluster_metadata"
PROBE_S = 1.5  # what a controller that may be away gets to answer
_NODES_FROM = 2  # the first version of DescribeQuorum that tells where controllers listen


class Node(NamedTuple):
    """Where a connection goes, under the names that kafka-python gives to a broker."""

    node_id: int
    host: str
    port: int


def registered_controllers(cluster: Cluster) -> tuple[Node, ...]:
    """Return the addresses of its `bootstrap_controllers`; the ids are not known, and negative."""
    found = (each.rpartition(":") for each in cluster.bootstrap_controllers.split(",") if each)
    return tuple(
        Node(-2 - number, host.removeprefix("[").removesuffix("]"), int(port))
        for number, (host, _, port) in enumerate(found)
    )


def controllers(quorum: Any) -> Iterator[Node]:
    """The voters of the answer to DescribeQuorum that tell where they listen, the active one first."""
    partitions = [partition for topic in quorum.topics for partition in topic.partitions]
    leaders = {partition.leader_id for partition in partitions}
    voters = {voter.replica_id for partition in partitions for voter in partition.current_voters}
    nodes = [node for node in quorum.nodes if node.node_id in voters and node.listeners]
    for node in sorted(nodes, key=lambda node: (node.node_id not in leaders, node.node_id)):
        listener = next(iter(node.listeners))
        yield Node(node.node_id, listener.host, listener.port)


def describe_quorum() -> Any:
    """Return the request that tells where controllers listen."""
    return DescribeQuorumRequest(topics=[(_METADATA, [(0,)])], min_version=_NODES_FROM)
