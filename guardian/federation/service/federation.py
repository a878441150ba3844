"""The Federation service: clusters are registered only after Guardian has spoken to them; all else as people say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import grpc

from guardian import __version__
from guardian.errors import Conflict, InvalidInput, NotFound, Unavailable
from guardian.federation.rules.documents import require_usable
from guardian.interop.broker_sets_json import of_cluster
from guardian.kafka.admin import KafkaAdmin
from guardian.model.cluster_state import ClusterDescription
from guardian.model.federation import SharedDocument
from guardian.model.topology import Broker, BrokerState, Cluster
from guardian.model.wire.collection import assignment_to_proto
from guardian.model.wire.entries import require_broker_id_given, with_broker_id
from guardian.model.wire.federation import broker_state, cluster_from_proto, cluster_to_proto
from guardian.planning.wire import planner_to_proto
from guardian.replication.store.state import Views
from guardian.replication.store.store import ReplicatedStore
from guardian.serving.admins import registered
from guardian.serving.paging import MAX_PAGE_BYTES, decode_token, encode_token, page_size
from guardian.serving.requests import actor_of, require_cluster, session_of, views_for
from guardian.serving.sight import Sight
from guardian.serving.turns import LISTS
from guardian.serving.who_asks import who_asks
from protos.guardian.v1 import federation_pb2 as pb
from protos.guardian.v1 import federation_pb2_grpc, records_pb2
from protos.guardian.v1.collection_pb2 import CollectionAssignment

_MAX_PAUSED_CHARS = 500


class FederationServicer(federation_pb2_grpc.FederationServicer):
    """`connect` opens an admin connection; `collects` tells this member's share of the brokers; `ask_broker` is None
    where reporters can't be asked; `planner` is the section [planner] of this member's configuration."""

    def __init__(
        self,
        store: ReplicatedStore,
        connect: Callable[[Cluster], KafkaAdmin],
        collects: Callable[[], list[str]],
        lake_url: str,
        ask_broker: Callable[[Cluster, Broker], pb.BrokerMetrics] | None = None,
        planner: Mapping[str, object] | None = None,
        cautions: tuple[str, ...] = (),
    ) -> None:
        self._store = store
        self._connect = connect
        self._collects = collects
        self._lake_url = lake_url
        self._ask_broker = ask_broker
        self._planner = planner_to_proto(planner or {})
        self._cautions = cautions

    def RegisterCluster(
        self, request: pb.RegisterClusterRequest, context: grpc.ServicerContext
    ) -> pb.RegisterClusterReply:
        asked = cluster_from_proto(request.cluster)
        admin = self._connect(asked)
        try:
            description = admin.describe_cluster()
        finally:
            admin.close()
        known = self._store.read().cluster(asked.name)
        confirmed = confirm(asked, description, request.idc_of_rack, known)
        sets, _ = of_cluster(request.set_of_broker, [broker.id for broker in confirmed.brokers], asked.name)
        wanted = labelled(confirmed, {**sets, **request.label_of_broker}, request.state_of_broker)
        # A request that is sent again finds its own result.
        if request.HasField("expected") and known not in (cluster_from_proto(request.expected), wanted):
            raise Conflict(f"cluster {asked.name} is no longer registered as it was read: look at it again")
        registered = cluster_to_proto(wanted)
        self._store.put_cluster(
            registered,
            expected=cluster_to_proto(known) if known else None,
            session=session_of(context, request),
            actor=actor_of(context),
        )
        return pb.RegisterClusterReply(cluster=registered)

    def RemoveCluster(self, request: pb.RemoveClusterRequest, context: grpc.ServicerContext) -> pb.RemoveClusterReply:
        self._store.drop_cluster(request.name, session=session_of(context, request), actor=actor_of(context))
        return pb.RemoveClusterReply()

    def SetSampling(self, request: pb.SetSamplingRequest, context: grpc.ServicerContext) -> pb.SetSamplingReply:
        if len(request.paused) > _MAX_PAUSED_CHARS or not request.paused.isprintable():
            raise InvalidInput(f"paused is {request.paused[:60]!r}: say why in up to {_MAX_PAUSED_CHARS} characters")
        known = registered(self._store.read().cluster, request.cluster)
        wanted = cluster_to_proto(replace(known, sampling_paused=request.paused))
        if known.sampling_paused != request.paused:
            self._store.put_cluster(wanted, expected=cluster_to_proto(known), actor=actor_of(context))
        return pb.SetSamplingReply(cluster=wanted)

    def RegisterReporter(
        self, request: pb.RegisterReporterRequest, context: grpc.ServicerContext
    ) -> pb.RegisterReporterReply:
        """Plugins repeat themselves every few minutes: what is stored already costs no entry of the log."""
        _, known = _named_by(request, self._store.read_local())
        said = (request.reporter, request.metrics_url)
        if known is None or said != (known.registered_reporter, known.metrics_url):
            # A broker that is not registered yet asks again and again: that is not worth an entry either.
            _require_registered(request, self._store.read())
            self._store.propose(records_pb2.Command(register_reporter=request), actor=actor_of(context))
        cluster, broker = _require_registered(request, self._store.read())
        return pb.RegisterReporterReply(cluster=cluster.name, reporter=broker.reporter_endpoint)

    def GetBrokerMetrics(self, request: pb.GetBrokerMetricsRequest, context: grpc.ServicerContext) -> pb.BrokerMetrics:
        cluster = registered(views_for(self._store, context).cluster, request.cluster)
        broker = cluster.broker(request.broker)
        if broker is None:
            raise NotFound(f"broker is {request.broker}, which cluster {cluster.name} does not have")
        if self._ask_broker is None:
            raise Unavailable("this member asks no brokers: ask another one")
        return self._ask_broker(cluster, broker)

    def ListClusters(self, request: pb.ListClustersRequest, context: grpc.ServicerContext) -> pb.ListClustersReply:
        views, token = views_for(self._store, context), decode_token(request.page_token)
        with LISTS.one():
            shown = Sight(who_asks(), lambda: views).shown
            clusters, last = views.cluster_page(token, page_size(request.page_size), MAX_PAGE_BYTES, shown)
            return pb.ListClustersReply(clusters=clusters, next_page_token=encode_token(last))

    def ChangeFederation(
        self, request: pb.ChangeFederationRequest, context: grpc.ServicerContext
    ) -> pb.ChangeFederationReply:
        for number, change in enumerate(request.changes):
            require_broker_id_given(change.put)
            if change.put.HasField("document"):
                _require_usable(number, change)
            if change.put.exclusion.by_ticket:
                raise InvalidInput(
                    f"by_ticket of the exclusion of broker {change.put.exclusion.broker_id}: only a ticket's own "
                    f"exclusion has one (got {change.put.exclusion.by_ticket!r}); leave it out"
                )
            _require_known_broker(self._store.read_local(), number, change.put)
        if request.dry_run:
            return pb.ChangeFederationReply(revisions=self._store.read().check_change(request))
        reply = self._store.propose(
            records_pb2.Command(change_federation=request),
            session=session_of(context, request),
            actor=actor_of(context),
        )
        return reply.federation

    def ListFederation(
        self, request: pb.ListFederationRequest, context: grpc.ServicerContext
    ) -> pb.ListFederationReply:
        views, token = views_for(self._store, context), decode_token(request.page_token)
        require_cluster(views, request.cluster)
        with LISTS.one():
            entries, last = views.federation_page(
                request.table,
                request.cluster,
                request.name,
                token,
                page_size(request.page_size),
                MAX_PAGE_BYTES,
                Sight(who_asks(), lambda: views).shown,
            )
            return pb.ListFederationReply(entries=map(with_broker_id, entries), next_page_token=encode_token(last))

    def ListAudit(self, request: pb.ListAuditRequest, context: grpc.ServicerContext) -> pb.ListAuditReply:
        for field, value in (("from_ms", request.from_ms), ("until_ms", request.until_ms)):
            if value < 0:
                raise InvalidInput(f"{field} is {value}: use milliseconds since the epoch")
        views, token = views_for(self._store, context), decode_token(request.page_token)
        with LISTS.one():
            records, last = views.audit_page(
                request.from_ms, request.until_ms, request.actor, token, page_size(request.page_size)
            )
            return pb.ListAuditReply(records=records, next_page_token=encode_token(last))

    def GetCollection(self, request: pb.GetCollectionRequest, context: grpc.ServicerContext) -> CollectionAssignment:
        return assignment_to_proto(views_for(self._store, context).collection())

    def GetMember(self, request: pb.GetMemberRequest, context: grpc.ServicerContext) -> pb.Member:
        status = self._store.status()
        return pb.Member(
            name=status.name,
            version=__version__,
            leader=status.leader or "",
            term=status.term,
            applied_index=status.applied_index,
            live_members=sorted(status.live_members),
            lake_url=self._lake_url,
            collects=sorted(self._collects()),
            planner=self._planner,
            cautions=self._cautions,
        )


def _require_known_broker(views: Views, number: int, put: pb.FederationEntry) -> None:
    """Raises NotFound for an exclusion of a broker that its cluster does not have, and a machine with one. Of a cluster
    that is not registered, or of whose brokers none is, the store says what is wrong."""
    kind = put.WhichOneof("entry")
    if kind not in ("exclusion", "machine"):
        return
    entry = put.exclusion if kind == "exclusion" else put.machine
    cluster = views.cluster(entry.cluster)
    if cluster is None or not cluster.brokers or not entry.broker_id or cluster.broker(entry.broker_id) is not None:
        return
    names = ", ".join(str(broker.id) for broker in cluster.brokers)
    raise NotFound(
        f"changes[{number}]: broker {entry.broker_id} is not in cluster {entry.cluster}, whose brokers are {names}: "
        "name one of them, or register the cluster again (guardian cluster add)"
    )


def _require_usable(number: int, change: pb.FederationChange) -> None:
    """Raises InvalidInput where members could not use the document, or it may overwrite somebody's change."""
    document = change.put.document
    try:
        require_usable(SharedDocument(document.name, document.json))
    except InvalidInput as error:
        raise InvalidInput(f"changes[{number}]: {error}") from None
    if not change.HasField("expected_revision"):
        raise InvalidInput(
            f"changes[{number}]: expected_revision of {document.name}: missing; give the one that was read"
        )


def _named_by(request: pb.RegisterReporterRequest, views: Views) -> tuple[Cluster | None, Broker | None]:
    cluster = views.cluster_by_id(request.cluster_id)
    return cluster, cluster.broker(request.broker_id) if cluster is not None else None


def _require_registered(request: pb.RegisterReporterRequest, views: Views) -> tuple[Cluster, Broker]:
    cluster, broker = _named_by(request, views)
    if cluster is None:
        raise NotFound(f"cluster_id is {request.cluster_id!r}, which is not registered: run `guardian cluster add`")
    if broker is None:
        raise NotFound(
            f"broker_id is {request.broker_id}, which is not registered in cluster {cluster.name}: "
            "run `guardian cluster add` again"
        )
    return cluster, broker


def confirm(
    asked: Cluster, description: ClusterDescription, idc_of_rack: Mapping[str, str], known: Cluster | None = None
) -> Cluster:
    """Complete and check what was asked for by what Kafka says of itself and by what was registered before.

    Brokers that were not named are added; racks that were not given are Kafka's, data centres those of the rack. A
    broker that is `known` keeps its label and state, unless another than the default is given. An operator who corrects
    an address must not put a broker that drains back into use. `labelled` says how to do that. Raises InvalidInput when
    it is another cluster than was said, or a named broker is not in it or in another rack.
    """
    if asked.cluster_id and asked.cluster_id != description.cluster_id:
        raise InvalidInput(
            f"cluster_id is {asked.cluster_id!r}, but {asked.bootstrap} belongs to {description.cluster_id!r}: "
            "check the bootstrap address"
        )
    named = {broker.id: broker for broker in asked.brokers}
    for broker in asked.brokers:
        node = description.brokers.get(broker.id)
        if node is None:
            raise InvalidInput(
                f"broker {broker.id} is not alive in cluster {asked.name}: "
                f"its brokers are {', '.join(map(str, sorted(description.brokers)))}"
            )
        if broker.rack and broker.rack != node.rack:
            raise InvalidInput(f"rack of broker {broker.id} is {broker.rack!r}, but Kafka says {node.rack!r}")
    brokers = []
    for node in sorted(description.brokers.values(), key=lambda node: node.id):
        broker = named.get(node.id, Broker(node.id))
        before = (known.broker(node.id) if known is not None else None) or Broker(node.id)
        brokers.append(
            replace(
                broker,
                rack=node.rack,
                idc=broker.idc or idc_of_rack.get(node.rack, ""),
                label=broker.label or before.label,
                registered_reporter=before.registered_reporter,
                metrics_url=before.metrics_url,
                state=before.state if broker.state is BrokerState.ACTIVE else broker.state,
            )
        )
    paused = asked.sampling_paused or (known.sampling_paused if known is not None else "")
    return replace(asked, cluster_id=description.cluster_id, brokers=tuple(brokers), sampling_paused=paused)


def labelled(cluster: Cluster, labels: Mapping[int, str], states: Mapping[int, int]) -> Cluster:
    """The cluster with these labels and states (numbers of the wire), by broker id. Raises InvalidInput."""
    for field, ids in (("label_of_broker", labels), ("state_of_broker", states)):
        for broker_id in ids:
            if cluster.broker(broker_id) is None:
                known = ", ".join(str(broker.id) for broker in cluster.brokers)
                raise InvalidInput(
                    f"{field} names broker {broker_id} of cluster {cluster.name}: its brokers are {known}"
                )
    brokers = tuple(
        replace(
            broker,
            label=labels.get(broker.id, broker.label),
            state=broker_state(broker.id, states[broker.id]) if broker.id in states else broker.state,
        )
        for broker in cluster.brokers
    )
    return replace(cluster, brokers=brokers)
