"""Whose topics they are, what each tenant uses, and the machines that brokers are or could be on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import Response

from guardian.activity.rules.costs import by_tenant
from guardian.activity.wire import cost_lines
from guardian.console.paging import Columns, List, page_of
from guardian.console.sections import get
from guardian.console.urls import url
from guardian.console.views import ReadingPages
from guardian.errors import InvalidInput, NotFound
from guardian.model.federation import Machine, Tenant, Topic
from guardian.security.rules.routing import VIEW

_FREE = ("", "free", "used")
_MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class TenantLine:
    """A tenant and what the directory gives it; `brokers` are those with one of its labels. None: not known."""

    tenant: Tenant
    topics: int | None
    clusters: tuple[str, ...]
    brokers: int | None


@dataclass(frozen=True, slots=True)
class Pool:
    """Machines of one data centre and label."""

    idc: str
    label: str
    free: int
    used: int
    free_disk_bytes: int


TENANT_COLUMNS: Columns[TenantLine] = {
    "name": lambda line: line.tenant.name,
    "owner": lambda line: line.tenant.owner,
    "topics": lambda line: line.topics,
    "brokers": lambda line: line.brokers,
}
TOPIC_COLUMNS: Columns[Topic] = {
    "name": lambda topic: topic.name,
    "cluster": lambda topic: (topic.cluster, topic.name),
    "owner": lambda topic: topic.owner,
}
MACHINE_COLUMNS: Columns[Machine] = {
    "host": lambda machine: machine.host,
    "idc": lambda machine: (machine.idc, machine.rack, machine.host),
    "disk": lambda machine: machine.disk_bytes,
    "cores": lambda machine: machine.cores,
    "nic": lambda machine: machine.nic_bytes_per_s,
    "cluster": lambda machine: (machine.cluster, machine.broker_id) if machine.cluster else None,
    "label": lambda machine: machine.label,
}


def tenant_text(line: TenantLine) -> str:
    """Return the text that a search looks at, as the next two functions do."""
    return f"{line.tenant.name} {line.tenant.owner} {' '.join(line.tenant.labels)}"


def topic_text(topic: Topic) -> str:
    return f"{topic.cluster} {topic.name} {topic.owner}"


def machine_text(machine: Machine) -> str:
    return f"{machine.host} {machine.idc} {machine.rack} {machine.label} {machine.cluster}"


class TenantPages(ReadingPages):
    @get("/tenants", VIEW)
    def tenants(self, request: Request, asked: List) -> Response:
        view = self._views.of(request, "tenants")
        topics = view.part(self._looks.topics_by_tenant)
        clusters = self._looks.clusters(request)
        labels = Counter(broker.label for cluster in clusters for broker in cluster.brokers if broker.label)
        lines = tenant_lines(view.part(self._looks.tenants) or (), topics, labels)
        return view.shown(
            "tenants.html",
            "Tenants",
            page=page_of(lines, asked, tenant_text, TENANT_COLUMNS, "name"),
            without=sum(len(each) for (tenant, _), each in (topics or {}).items() if not tenant),
        )

    @get("/tenants/{name}", VIEW)
    def tenant(self, request: Request, name: str, asked: List) -> Response:
        view = self._views.of(request, "tenants", ("Tenants", url("tenants")))
        tenant = next((each for each in self._looks.tenants(request) if each.name == name), None)
        if tenant is None:
            raise NotFound(f"tenant is {name!r}, which is not registered: see the list of tenants")
        by_tenant = view.part(self._looks.topics_by_tenant) or {}
        topics = [topic for (owner, _), each in by_tenant.items() if owner == name for topic in each]
        brokers = [
            (cluster.name, broker)
            for cluster in self._looks.clusters(request)
            for broker in cluster.brokers
            if broker.label and broker.label in tenant.labels
        ]
        machines = [each for each in self._looks.machines(request) if each.label and each.label in tenant.labels]
        return view.shown(
            "tenant.html",
            name,
            (name, ""),
            tenant=tenant,
            page=page_of(topics, asked, topic_text, TOPIC_COLUMNS, "cluster"),
            brokers=brokers[:_MOST_SHOWN],
            more_brokers=max(0, len(brokers) - _MOST_SHOWN),
            machines=machines[:_MOST_SHOWN],
            clusters=sorted({topic.cluster for topic in topics}),
        )

    @get("/tenants/{name}/usage", VIEW)
    def usage(self, request: Request, name: str, cluster: str) -> Response:
        one = self._looks.cluster(request, cluster)
        view = self._views.of(request, "tenants", ("Tenants", url("tenants")), (name, url("tenants", name)))
        reply, tiered, _ = view.part(self._looks.costs, one) or (None, None, 0)
        for sentence in reply.unknown if reply else ():
            view.say(f"Not known: {sentence}.")
        lines = by_tenant(cost_lines(reply, tiered)) if reply else ()
        return view.shown(
            "usage.html",
            f"What {name} uses of {cluster}",
            ("Usage", ""),
            name=name,
            cluster=cluster,
            is_known=reply is not None,
            used=next((each for each in lines if each.tenant == name), None),
        )

    @get("/machines", VIEW)
    def machines(self, request: Request, asked: List, show: str = "") -> Response:
        if show not in _FREE:
            raise InvalidInput(f"show is {show!r}: use free, used or nothing")
        view = self._views.of(request, "machines")
        known = view.part(self._looks.machines)
        listed = known or ()
        wanted = [each for each in listed if not show or bool(each.cluster) == (show == "used")]
        return view.shown(
            "machines.html",
            "Machines",
            page=page_of(wanted, asked, machine_text, MACHINE_COLUMNS, "idc"),
            show=show,
            pools=pools(listed),
            free=None if known is None else sum(1 for each in known if not each.cluster),
            machines=None if known is None else len(known),
        )


def tenant_lines(
    tenants: Iterable[Tenant], topics: Mapping[tuple[str, str], Sequence[Topic]] | None, labels: Counter[str]
) -> list[TenantLine]:
    """`topics` by tenant and cluster, None: not known; `labels`: how many brokers have each."""
    counts: Counter[str] = Counter()
    clusters: defaultdict[str, list[str]] = defaultdict(list)
    for (tenant, cluster), held in (topics or {}).items():
        counts[tenant] += len(held)
        clusters[tenant].append(cluster)
    return [
        TenantLine(
            tenant,
            None if topics is None else counts[tenant.name],
            tuple(sorted(clusters[tenant.name])),
            sum(labels[label] for label in tenant.labels) if tenant.labels else None,
        )
        for tenant in tenants
    ]


def pools(machines: tuple[Machine, ...]) -> list[Pool]:
    """Gather the machines in pools by data centre and label."""
    found: dict[tuple[str, str], list[Machine]] = {}
    for machine in machines:
        found.setdefault((machine.idc, machine.label), []).append(machine)
    return [
        Pool(
            idc,
            label,
            sum(1 for each in held if not each.cluster),
            sum(1 for each in held if each.cluster),
            sum(each.disk_bytes for each in held if not each.cluster),
        )
        for (idc, label), held in sorted(found.items())
    ]
