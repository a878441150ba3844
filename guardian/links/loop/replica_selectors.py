"""What brokers have for a replica selector: its class as Kafka tells, its mapping of racks as the plugin does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing

from guardian.errors import GuardianError
from guardian.kafka.admin import BROKER, KafkaAdmin
from guardian.links.model import IDC_AWARE, SELECTOR_CLASS, RackMapping, ReplicaSelector
from guardian.links.rules.near_reads import NearReads, near_reads, notes, spans_idcs
from guardian.model.topology import Broker, Cluster

AskMappings = Callable[[Sequence[Broker]], Mapping[int, RackMapping]]
"""Asks the reporters of these brokers; who does not tell is left out."""


def nobody_tells(_brokers: Sequence[Broker]) -> Mapping[int, RackMapping]:
    """Return nothing: used where reporters can't be asked."""
    return {}


def reads_of(admin: KafkaAdmin, cluster: Cluster, ask: AskMappings, of: Collection[int] | None = None) -> NearReads:
    """Read how consumers of these brokers read; None: of all. Nobody is asked in a cluster of one data centre. Raises
    ClusterUnavailable.
    """
    if not spans_idcs(cluster.brokers):
        return NearReads()
    asked = [broker for broker in cluster.brokers if of is None or broker.id in of]
    told = admin.effective_configs([(BROKER, str(broker.id)) for broker in asked], {SELECTOR_CLASS})
    classes = {int(name): values.get(SELECTOR_CLASS, "") for (_, name), values in told.items()}
    mappings = ask([broker for broker in asked if classes.get(broker.id) == IDC_AWARE])
    selectors = {broker: ReplicaSelector(name, mappings.get(broker)) for broker, name in classes.items()}
    return near_reads(cluster.brokers, selectors, [broker.id for broker in asked])


def notes_on_reads(
    connect: Callable[[Cluster], KafkaAdmin], ask: AskMappings, cluster: Cluster | None, brokers: Collection[int]
) -> tuple[str, ...]:
    """Return notes for a plan that brings replicas to these brokers of the cluster. A cluster that does not answer this
    question keeps no plan waiting.
    """
    if cluster is None or not spans_idcs(cluster.brokers):
        return ()
    try:
        with closing(connect(cluster)) as admin:
            return notes(reads_of(admin, cluster, ask, brokers))
    except GuardianError as error:
        return (f"whether consumers will read in their own data centre is not known: {error}",)
