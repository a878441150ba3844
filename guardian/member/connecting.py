"""How a member reaches clusters: connections to Kafka that share what it knows of each, and brokers' reporters.

each connection ──▶ memory of its cluster: highest leader epochs, the proven witness, where brokers listened
no controller   ──▶ reporters of its brokers: how old the metadata of each is
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from guardian.collection.loop.asking import CountersAsker
from guardian.collection.loop.collector import ReporterTls
from guardian.config import ServerConfig
from guardian.execution.loop.around import Reporters
from guardian.kafka.admin import KafkaAdmin
from guardian.kafka.control import KafkaControl
from guardian.kafka.credentials import SecretFolder
from guardian.kafka.witness import ClusterMemory, Lags
from guardian.model.topology import Broker, Cluster
from guardian.throttle.model import BrokerCounters

_CLAIM_KAFKA_TIMEOUT_S = 3.0
_PLAN_KAFKA_TIMEOUT_S = 20.0
_KEPT = 4  # of a name: as it is registered, as it was, and as somebody tries it


class KafkaConnector:
    """Any thread may use it. A cluster that is registered with other brokers to begin from is remembered anew, since it
    may be another one. Who only tries that changes nothing for the one that is registered. `secrets` is the folder of
    what clusters name; None: no secret can be named.
    """

    def __init__(self, reporters: Reporters, secrets: Path | None = None) -> None:
        self._reporters = reporters
        self._secrets = SecretFolder(secrets)
        self._memories: dict[tuple[str, ...], ClusterMemory] = {}  # the one that was used last is the last
        self._lock = threading.Lock()

    def connect(self, cluster: Cluster, timeout_s: float = 10.0, broker_timeout_s: float | None = None) -> KafkaAdmin:
        """Open a connection; it is made at its first call."""
        return KafkaControl(
            cluster,
            timeout_s,
            broker_timeout_s,
            memory=self._memory(cluster),
            lags=self._lags(cluster.brokers),
            secrets=self._secrets,
        )

    def _memory(self, cluster: Cluster) -> ClusterMemory:
        identity = (cluster.name, cluster.bootstrap, cluster.bootstrap_controllers, cluster.cluster_id)
        with self._lock:
            known = self._memories.pop(identity, None) or ClusterMemory.of(cluster)
            self._memories[identity] = known
            of_name = [each for each in self._memories if each[0] == cluster.name]
            for each in of_name[:-_KEPT]:
                del self._memories[each]
            return known

    def _lags(self, brokers: Sequence[Broker]) -> Lags:
        return lambda: lags_of(self._reporters.ask(brokers)())


@dataclass(frozen=True, slots=True)
class KafkaAccess:
    """How this member reaches clusters. `for_rpc`: somebody waits, and must be told before the client gives up that a
    cluster is down, after `rpc_timeout_s`. `for_plan`: it takes longer anyway, so that a busy cluster gets its time.
    `for_claim`: a broker that hangs must leave time to ask others; an attempt takes a third of it."""

    connector: KafkaConnector
    reporters: CountersAsker
    rpc_timeout_s: float

    def for_loop(self, cluster: Cluster) -> KafkaAdmin:
        return self.connector.connect(cluster)

    def for_rpc(self, cluster: Cluster) -> KafkaAdmin:
        return self.connector.connect(cluster, timeout_s=self.rpc_timeout_s)

    def for_plan(self, cluster: Cluster) -> KafkaAdmin:
        return self.connector.connect(cluster, timeout_s=max(_PLAN_KAFKA_TIMEOUT_S, self.rpc_timeout_s))

    def for_claim(self, cluster: Cluster) -> KafkaAdmin:
        return self.connector.connect(cluster, timeout_s=_CLAIM_KAFKA_TIMEOUT_S)


def kafka_access(config: ServerConfig, stack: ExitStack) -> KafkaAccess:
    """Make what reaches clusters; `stack` closes it."""
    reporters = CountersAsker(reporter_tls(config), config.execute.patience_s)
    stack.callback(reporters.close)
    return KafkaAccess(KafkaConnector(reporters, config.secrets), reporters, config.kafka.rpc_timeout_s)


def reporter_tls(config: ServerConfig) -> ReporterTls | None:
    """Return what this member shows to brokers' reporters; None: they are asked in plain text."""
    files = config.reporter_tls
    return ReporterTls(files.ca, files.certificate, files.key) if files else None


def lags_of(answers: Sequence[BrokerCounters]) -> Mapping[int, float]:
    """Return the age of the metadata of each broker whose reporter tells it."""
    return {each.broker: each.metadata_lag_ms for each in answers if each.metadata_lag_ms is not None}
