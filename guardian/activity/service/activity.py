"""The Activity service: questions to the activity store, completed by what Kafka and the topic directory know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import grpc

from guardian.activity.model import load_prices
from guardian.activity.rules import acls, questions
from guardian.activity.rules.acls import Judgement, Use, Verdict
from guardian.activity.rules.database import Question
from guardian.activity.rules.questions import MAX_ROWS, Span
from guardian.activity.store.store import ActivityStore
from guardian.activity.wire import price_list_to_proto
from guardian.errors import ClusterUnavailable, InvalidInput, Unavailable
from guardian.kafka.admin import KafkaAdmin
from guardian.model.acl import ALLOW
from guardian.model.cluster_state import LogDir, PartitionState
from guardian.model.topology import Cluster, TopicPartition
from guardian.replication.store.store import ReplicatedStore
from guardian.serving.admins import registered
from guardian.serving.requests import views_for
from guardian.serving.topics import stored_topics
from protos.guardian.v1 import activity_pb2 as pb
from protos.guardian.v1 import activity_pb2_grpc, federation_pb2

_DEFAULT_ROWS = 1000
_INTERNAL = "__"
_HOSTS = 500  # of one question
_VERDICTS = {
    Verdict.USED: pb.ACL_USED,
    Verdict.UNUSED: pb.ACL_UNUSED,
    Verdict.TOO_WIDE: pb.ACL_TOO_WIDE,
    Verdict.UNSEEN: pb.ACL_UNSEEN,
}

_Row = Mapping[str, Any]
_Topics = Mapping[str, federation_pb2.Topic]


class ActivityServicer(activity_pb2_grpc.ActivityServicer):
    """`activity` is None where the member keeps none; `connect` opens an admin connection; `prices` is the file of the
    price list, if any, which is read at each question."""

    def __init__(
        self,
        store: ReplicatedStore,
        activity: ActivityStore | None,
        connect: Callable[[Cluster], KafkaAdmin],
        now_ms: Callable[[], int],
        prices: Path | None = None,
    ) -> None:
        self._store = store
        self._activity = activity
        self._connect = connect
        self._now_ms = now_ms
        self._prices = prices

    def ListActivity(self, request: pb.ListActivityRequest, context: grpc.ServicerContext) -> pb.ListActivityReply:
        self._cluster(request.cluster, context)
        span, limit = Span(request.from_ms, request.to_ms), request.limit or _DEFAULT_ROWS
        match request.WhichOneof("subject"):
            case "topic":
                question = questions.topic_users(request.cluster, request.topic, span, limit)
            case "broker":
                question = questions.broker_activity(request.cluster, request.broker, span, limit)
                span = questions.answered(span)
            case "principal":
                question = questions.principal_activity(request.cluster, request.principal, span, limit)
                span = questions.answered(span)
            case _:
                raise InvalidInput("subject is empty: give a topic, a broker or a principal")
        rows = self._ask(question)
        return pb.ListActivityReply(
            rows=map(_activity_row, rows[:limit]),
            truncated=len(rows) > limit,
            coverage=self._coverage(request.cluster, span),
        )

    def ListIdleTopics(
        self, request: pb.ListIdleTopicsRequest, context: grpc.ServicerContext
    ) -> pb.ListIdleTopicsReply:
        cluster = self._cluster(request.cluster, context)
        span, limit = self._since(request.since_ms), _limit(request.limit)
        coverage = self._coverage(request.cluster, span)
        if not coverage.slices:
            return pb.ListIdleTopicsReply(coverage=coverage)
        since_ms = min(coverage.kept_from_ms or span.from_ms, span.from_ms)
        uses = {row["resource"]: row for row in self._ask(questions.topic_last_uses(request.cluster, since_ms))}
        directory = self._directory(request.cluster, context)
        found = [
            topic
            for name in sorted(self._topics(cluster))
            if (request.with_internal or not name.startswith(_INTERNAL))
            and (topic := _idle_topic(name, uses.get(name), directory, span.from_ms))
        ]
        return pb.ListIdleTopicsReply(topics=found[:limit], truncated=len(found) > limit, coverage=coverage)

    def ListTenantUsage(
        self, request: pb.ListTenantUsageRequest, context: grpc.ServicerContext
    ) -> pb.ListTenantUsageReply:
        self._cluster(request.cluster, context)
        span = Span(request.from_ms, request.to_ms).whole_hours()
        directory = self._directory(request.cluster, context)
        by_tenant: dict[str, pb.TenantUsage] = {}
        for row in self._ask(questions.topic_sums(request.cluster, span)):
            tenant = directory[row["resource"]].tenant if row["resource"] in directory else ""
            _add(by_tenant.setdefault(tenant, pb.TenantUsage(tenant=tenant)), row)
        return pb.ListTenantUsageReply(
            tenants=(by_tenant[name] for name in sorted(by_tenant)), coverage=self._coverage(request.cluster, span)
        )

    def ListTopicUse(self, request: pb.ListTopicUseRequest, context: grpc.ServicerContext) -> pb.ListTopicUseReply:
        cluster = self._cluster(request.cluster, context)
        span = Span(request.from_ms, request.to_ms).whole_hours()
        reply = pb.ListTopicUseReply()
        moved = self._moved(cluster.name, span, reply)
        stored = self._stored(cluster, reply)
        directory = self._directory(cluster.name, context)
        for name in sorted({*(moved or ()), *(stored or ()), *directory}):
            use = reply.topics.add(topic=name, tenant=directory[name].tenant if name in directory else "")
            if moved is not None:
                _add_moved(use, moved.get(name))
            if stored is not None and name in stored:
                use.stored_bytes, use.stored_partly = stored[name]
        if self._prices is not None:
            reply.prices.CopyFrom(price_list_to_proto(load_prices(self._prices)))
        return reply

    def _moved(self, cluster: str, span: Span, reply: pb.ListTopicUseReply) -> dict[str, _Row] | None:
        """Return what topics moved; None, and a note, where nothing of that time is known."""
        try:
            reply.coverage.CopyFrom(self._coverage(cluster, span))
            if reply.coverage.slices:
                return {row["resource"]: row for row in self._ask(questions.topic_sums(cluster, span))}
            reply.unknown.append("traffic: no broker's activity is stored for that time")
        except (InvalidInput, Unavailable) as error:
            reply.unknown.append(f"traffic: {error}")
        return None

    def _stored(self, cluster: Cluster, reply: pb.ListTopicUseReply) -> dict[str, tuple[int, bool]] | None:
        """Return the bytes of topics' replicas, and whether some are missing; None, and a note, where Kafka is away."""
        try:
            with closing(self._connect(cluster)) as admin:
                partitions = admin.describe_partitions()
                log_dirs = admin.describe_log_dirs(tuple(admin.describe_cluster().brokers))
        except ClusterUnavailable as error:
            reply.unknown.append(f"storage: {error}")
            return None
        found = stored_bytes(partitions, log_dirs)
        if missing := sum(is_partial for _, is_partial in found.values()):
            reply.unknown.append(f"storage: not all replicas of {missing} topics were told, so that it is more")
        return found

    def ListAclUse(self, request: pb.ListAclUseRequest, context: grpc.ServicerContext) -> pb.ListAclUseReply:
        cluster = self._cluster(request.cluster, context)
        span = self._since(request.since_ms).whole_hours()
        coverage = self._coverage(request.cluster, span)
        if not coverage.slices:
            return pb.ListAclUseReply(coverage=coverage)
        with closing(self._connect(cluster)) as admin:
            rules = admin.describe_acls()
            topics = {partition.topic for partition in admin.describe_partitions()}
        uses = map(_use, self._ask(questions.uses(request.cluster, span.from_ms)))
        judged = acls.judge(rules, uses, self._uses_from(request.cluster, acls.hosts_of(rules), span.from_ms), topics)
        return pb.ListAclUseReply(
            acls=map(_acl_use, judged),
            coverage=coverage,
            denials=sum(rule.permission != ALLOW for rule in rules),
        )

    def _cluster(self, name: str, context: grpc.ServicerContext) -> Cluster:
        return registered(views_for(self._store, context).cluster, name)

    def _since(self, since_ms: int) -> Span:
        return Span(since_ms, max(self._now_ms(), since_ms + 1))

    def _ask(self, question: Question) -> list[dict[str, Any]]:
        if self._activity is None:
            raise InvalidInput("audit.url is not set, so that no client activity is kept: set it for all members")
        return self._activity.ask(question)

    def _uses_from(self, cluster: str, hosts: Collection[str], since_ms: int) -> dict[str, list[Use]]:
        """Return the uses by host. Asks for many hosts at once, for each question reads the same days."""
        found: dict[str, list[Use]] = {host: [] for host in sorted(hosts)}
        names = list(found)
        for begin in range(0, len(names), _HOSTS):
            for row in self._ask(questions.uses_from(cluster, names[begin : begin + _HOSTS], since_ms)):
                found[row["address"]].append(_use(row))
        return found

    def _coverage(self, cluster: str, span: Span) -> pb.ActivityCoverage:
        found = self._ask(questions.coverage(cluster, span))[0]
        first = self._ask(questions.first_slice(cluster))
        return pb.ActivityCoverage(
            from_ms=span.from_ms,
            to_ms=span.to_ms,
            slices=found["slices"],
            brokers=found["brokers"],
            dropped_events=found["sum_dropped"],
            lost_slices=found["sum_lost"],
            kept_from_ms=_ms(first[0]["first_time"]) if first else 0,
        )

    def _topics(self, cluster: Cluster) -> set[str]:
        with closing(self._connect(cluster)) as admin:
            return {partition.topic for partition in admin.describe_partitions()}

    def _directory(self, cluster: str, context: grpc.ServicerContext) -> _Topics:
        return {topic.name: topic for topic in stored_topics(views_for(self._store, context), cluster)}


def _limit(asked: int) -> int:
    limit = asked or _DEFAULT_ROWS
    if limit > MAX_ROWS:
        raise InvalidInput(f"limit is {limit}: use 1 to {MAX_ROWS}")
    return limit


def _activity_row(row: _Row) -> pb.ActivityRow:
    return pb.ActivityRow(
        principal=row.get("principal", ""),
        client_id=row.get("client_id", ""),
        address=row.get("address", ""),
        resource_type=row.get("resource_type", ""),
        resource=row.get("resource", ""),
        operation=row["operation"],
        allowed=row["sum_allowed"],
        denied=row["sum_denied"],
        bytes_produced=row["sum_produced"],
        bytes_fetched=row["sum_fetched"],
        bytes_shared=row["any_shared"],
        first_ms=_ms(row["first_time"]),
        last_ms=_ms(row["last_time"]),
        brokers=row.get("brokers", 0),
        addresses=row.get("addresses", 0),
    )


def _use(row: _Row) -> Use:
    return Use(row["principal"], row["resource_type"], row["resource"], row["operation"], _ms(row["last_time"]))


def _idle_topic(name: str, uses: _Row | None, directory: _Topics, since_ms: int) -> pb.IdleTopic | None:
    last_read_ms = _ms(uses["last_read"]) if uses else 0
    last_write_ms = _ms(uses["last_write"]) if uses else 0
    if min(last_read_ms, last_write_ms) >= since_ms:
        return None
    entry = directory.get(name)
    return pb.IdleTopic(
        name=name,
        without_readers=last_read_ms < since_ms,
        without_writers=last_write_ms < since_ms,
        last_read_ms=last_read_ms,
        last_write_ms=last_write_ms,
        tenant=entry.tenant if entry else "",
        owner=entry.owner if entry else "",
    )


def _add(usage: pb.TenantUsage, row: _Row) -> None:
    usage.topics += bool(row["resource"])
    usage.bytes_produced += row["sum_produced"]
    usage.bytes_fetched += row["sum_fetched"]
    usage.writes += row["writes"]
    usage.reads += row["reads"]
    usage.bytes_shared |= row["is_shared"]
    requests = sum(
        row[count] for count, moved in (("writes", "sum_produced"), ("reads", "sum_fetched")) if not row[moved]
    )
    if requests:
        usage.topics_without_bytes += 1
        usage.requests_without_bytes += requests


def _add_moved(use: pb.TopicUse, row: _Row | None) -> None:
    """Requests whose bytes the brokers did not count leave the bytes unknown."""
    use.requests = row["writes"] + row["reads"] if row else 0
    use.bytes_shared = bool(row and row["is_shared"])
    for field, requests, moved in (
        ("bytes_produced", "writes", "sum_produced"),
        ("bytes_fetched", "reads", "sum_fetched"),
    ):
        if row is None or row[moved] or not row[requests]:
            setattr(use, field, row[moved] if row else 0)


def stored_bytes(
    partitions: Mapping[TopicPartition, PartitionState], log_dirs: Iterable[LogDir]
) -> dict[str, tuple[int, bool]]:
    """Return, by topic, the bytes of its replicas, and whether sizes of some are missing."""
    found = Counter[TopicPartition]()
    sizes: dict[str, int] = {partition.topic: 0 for partition in partitions}
    for log_dir in log_dirs:
        for partition, replica in log_dir.replicas.items():
            if partition in partitions:
                found[partition] += 1
                sizes[partition.topic] += replica.size_bytes
    partly = {partition.topic for partition, state in partitions.items() if found[partition] < len(state.replicas)}
    return {topic: (size, topic in partly) for topic, size in sizes.items()}


def _acl_use(judged: Judgement) -> pb.AclUse:
    acl = judged.acl
    return pb.AclUse(
        resource_type=acl.resource_type,
        pattern_type=acl.pattern_type,
        resource_name=acl.resource_name,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        verdict=_VERDICTS[judged.verdict],
        why=judged.why,
        names_used=len(judged.names),
        names=judged.names[: acls.MANY_NAMES],
        names_covered=judged.covered,
        operations=judged.operations,
        principals_used=len(judged.principals),
        last_ms=judged.last_ms,
    )


def _ms(moment: datetime) -> int:
    """0 for the beginning of time, which stands for never."""
    return round(moment.timestamp() * 1000)
