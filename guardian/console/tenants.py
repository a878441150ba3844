"""Whose topics they are, what each tenant uses, and the machines that brokers are or could be on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import Response

from guardian.console.looking import Looks, softly
from guardian.console.paging import List, page_of
from guardian.console.rendering import Renderer, url
from guardian.errors import InvalidInput, NotFound
from guardian.model.federation import Machine, Tenant, Topic

_FREE = ("", "free", "used")


@dataclass(frozen=True, slots=True)
class TenantLine:
    """A tenant and what the directory gives it; `brokers` are those with one of its labels."""

    tenant: Tenant
    topics: int
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


def router(looks: Looks, render: Renderer) -> APIRouter:
    pages = APIRouter()

    @pages.get("/tenants")
    def tenants(request: Request, asked: List) -> Response:
        notes: list[str] = []
        topics = softly(notes, lambda: looks.directory(request)) or ()
        clusters = looks.clusters(request)
        labels = Counter(broker.label for cluster in clusters for broker in cluster.brokers if broker.label)
        listed = softly(notes, lambda: looks.tenants(request)) or ()
        lines = [tenant_line(tenant, topics, labels) for tenant in listed]
        page = page_of(
            lines,
            asked,
            lambda line: f"{line.tenant.name} {line.tenant.owner} {' '.join(line.tenant.labels)}",
            {
                "name": lambda line: line.tenant.name,
                "owner": lambda line: line.tenant.owner,
                "topics": lambda line: line.topics,
                "brokers": lambda line: line.brokers,
            },
            "name",
        )
        return render(
            request,
            "tenants.html",
            section="tenants",
            title="Tenants",
            crumbs=(),
            notes=notes,
            page=page,
            without=sum(1 for topic in topics if not topic.tenant),
        )

    @pages.get("/tenants/{name}")
    def tenant_page(request: Request, name: str, asked: List) -> Response:
        notes: list[str] = []
        tenant = next((each for each in looks.tenants(request) if each.name == name), None)
        if tenant is None:
            raise NotFound(f"tenant is {name!r}, which is not registered: see the list of tenants")
        topics = [each for each in softly(notes, lambda: looks.directory(request)) or () if each.tenant == name]
        page = page_of(
            topics,
            asked,
            lambda topic: f"{topic.cluster} {topic.name} {topic.owner}",
            {
                "name": lambda topic: topic.name,
                "cluster": lambda topic: (topic.cluster, topic.name),
                "owner": lambda topic: topic.owner,
            },
            "cluster",
        )
        brokers = [
            (cluster.name, broker)
            for cluster in looks.clusters(request)
            for broker in cluster.brokers
            if broker.label and broker.label in tenant.labels
        ]
        return render(
            request,
            "tenant.html",
            section="tenants",
            title=name,
            crumbs=(("Tenants", url("tenants")), (name, "")),
            notes=notes,
            tenant=tenant,
            page=page,
            brokers=brokers[:200],
            more_brokers=max(0, len(brokers) - 200),
            machines=[each for each in looks.machines(request) if each.label and each.label in tenant.labels][:200],
            clusters=sorted({topic.cluster for topic in topics}),
        )

    @pages.get("/tenants/{name}/usage")
    def usage(request: Request, name: str, cluster: str) -> Response:
        looks.cluster(request, cluster)
        notes: list[str] = []
        reply = softly(notes, lambda: looks.usage(request, cluster))
        return render(
            request,
            "usage.html",
            section="tenants",
            title=f"What {name} uses of {cluster}",
            crumbs=(("Tenants", url("tenants")), (name, url("tenants", name)), ("Usage", "")),
            notes=notes,
            name=name,
            cluster=cluster,
            reply=reply,
            used=next((each for each in reply.tenants if each.tenant == name), None) if reply else None,
        )

    @pages.get("/machines")
    def machines(request: Request, asked: List, show: str = "") -> Response:
        if show not in _FREE:
            raise InvalidInput(f"show is {show!r}: use free, used or nothing")
        notes: list[str] = []
        listed = softly(notes, lambda: looks.machines(request)) or ()
        page = page_of(
            [each for each in listed if not show or bool(each.cluster) == (show == "used")],
            asked,
            lambda machine: f"{machine.host} {machine.idc} {machine.rack} {machine.label} {machine.cluster}",
            {
                "host": lambda machine: machine.host,
                "idc": lambda machine: (machine.idc, machine.rack, machine.host),
                "disk": lambda machine: machine.disk_bytes,
                "cores": lambda machine: machine.cores,
                "nic": lambda machine: machine.nic_bytes_per_s,
                "cluster": lambda machine: (machine.cluster, machine.broker_id) if machine.cluster else None,
                "label": lambda machine: machine.label,
            },
            "idc",
        )
        return render(
            request,
            "machines.html",
            section="machines",
            title="Machines",
            crumbs=(),
            notes=notes,
            page=page,
            show=show,
            pools=pools(listed),
            free=sum(1 for each in listed if not each.cluster),
            machines=len(listed),
        )

    return pages


def tenant_line(tenant: Tenant, topics: tuple[Topic, ...], labels: Counter[str]) -> TenantLine:
    own = [topic for topic in topics if topic.tenant == tenant.name]
    brokers = sum(labels[label] for label in tenant.labels) if tenant.labels else None
    return TenantLine(tenant, len(own), tuple(sorted({topic.cluster for topic in own})), brokers)


def pools(machines: tuple[Machine, ...]) -> list[Pool]:
    """By data centre and label."""
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
