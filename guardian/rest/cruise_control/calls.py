"""One request of somebody, and what the endpoints look up for it: facts and rates, topics, exclusions, reviews."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass

from guardian.client import GuardianClient
from guardian.errors import InvalidInput, NotFound
from guardian.lake.model.recent_rates import Rates
from guardian.model.cluster_state import LiveFacts
from guardian.model.ticket import Ticket
from guardian.model.topology import Cluster, why_no_broker
from guardian.rest.cruise_control import reviews
from guardian.rest.cruise_control.failures import NoSuchBrokers
from guardian.rest.cruise_control.parameters import Asked
from guardian.rest.cruise_control.requests import named_brokers
from guardian.rest.cruise_control.tasks import UserTask
from guardian.rest.parts import RestParts
from guardian.rest.patterns import matching
from guardian.security.model.identity import LOCAL, Identity
from protos.guardian.v1 import federation_pb2


@dataclass(frozen=True, slots=True)
class Call:
    """One request of somebody, about one cluster. `base` is the path of the API that was asked."""

    cluster: str
    asked: Asked
    user: Identity
    base: str

    @property
    def actor(self) -> str:
        """While security is off nobody is known, and who says for whom he acts is believed."""
        return (self.asked.text("doas") if self.user == LOCAL else "") or self.user.name


def facts_and_rates(parts: RestParts, cluster: str, task: UserTask) -> tuple[LiveFacts, Rates]:
    """Return what Kafka shows of the cluster now, and the newest rates."""
    task.step("ClusterModel", "what Kafka shows, and what the newest samples say")
    return parts.planner.facts(cluster), parts.rates(cluster)


def topics_of(asked: Asked, parameter: str, facts: LiveFacts) -> tuple[str, ...]:
    """Return the topics whose names the parameter's expression matches, or that the body names.

    Raises InvalidInput where the body names one that is not there.
    """
    names = sorted({partition.topic for partition in facts.partitions})
    named = {topic for factor in asked.factors for topic in factor.topics} if parameter == "topic" else set()
    if named:
        lacking = sorted(named.difference(names))
        if lacking:
            raise InvalidInput(f"topic {lacking[0]} does not exist in cluster {facts.cluster}: leave it out")
        return tuple(sorted(named))
    return matching(parameter, asked.text(parameter), names)


def require_brokers(parts: RestParts, call: Call, facts: LiveFacts) -> None:
    """Raises NoSuchBrokers where the request names a broker of which neither Kafka nor the directory knows."""
    known = set(facts.brokers).union(*(state.replicas for state in facts.partitions.values()))
    absent = named_brokers(call.asked) - known
    if absent:
        known.update(broker.id for broker in registered(parts.client_for(call.user), call.cluster).brokers)
        with closing(parts.admin_for(call.cluster)) as admin:
            known.update(admin.registered_brokers() or ())
        absent -= known
    if absent:
        raise NoSuchBrokers(why_no_broker(call.cluster, min(absent), known), absent)


def registered(client: GuardianClient, name: str) -> Cluster:
    """Return what the directory says of a cluster. Raises NotFound."""
    found = next((cluster for cluster in client.list_clusters() if cluster.name == name), None)
    if found is None:
        raise NotFound(f"cluster {name!r} is not registered: see `guardian cluster list`")
    return found


def excluded_brokers(client: GuardianClient, cluster: str, now_ms: int) -> list[int]:
    """Return the brokers that are excluded now."""
    entries = client.federation(federation_pb2.EXCLUSIONS, cluster)
    return sorted(
        entry.exclusion.broker_id
        for entry in entries
        if not entry.exclusion.until_ms or now_ms < entry.exclusion.until_ms
    )


def ticket_of(client: GuardianClient, cluster: str, review: int) -> Ticket:
    """Return the ticket of a review. Raises NotFound, also where it is of another cluster."""
    with suppress(NotFound):
        ticket, _ = client.ticket(reviews.ticket_id(review))
        if ticket.cluster == cluster:
            return ticket
    raise NotFound(f"review {review} does not exist in cluster {cluster}: see review_board")


def note_lines(notes: Sequence[str]) -> str:
    """Return the notes as lines of a text."""
    return "".join(f"Note: {note}.\n" for note in notes)
