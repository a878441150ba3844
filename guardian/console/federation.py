"""The first page: every cluster and data centre, and how they are at a glance. And the search over all of it."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from guardian.console.health import cluster_lines, gravity_of, idc_lines
from guardian.console.looking import Looks, softly
from guardian.console.paging import List, page_of
from guardian.console.rendering import Renderer, url

_MOST_HITS = 20


def router(looks: Looks, render: Renderer) -> APIRouter:
    pages = APIRouter()

    @pages.get("/")
    def federation(request: Request, asked: List) -> Response:
        notes: list[str] = []
        clusters = looks.clusters(request)
        findings = softly(notes, lambda: looks.findings(request))
        healing = softly(notes, lambda: looks.healing(request))
        tickets = softly(notes, lambda: looks.tickets(request)) or ()
        lines = cluster_lines(clusters, findings, healing, [ticket for ticket, _ in tickets])
        page = page_of(
            lines,
            asked,
            lambda line: f"{line.cluster.name} {line.health.words} {' '.join(line.idcs)}",
            {
                "name": lambda line: line.cluster.name,
                "health": lambda line: line.health.rank,
                "brokers": lambda line: len(line.cluster.brokers),
                "findings": lambda line: line.findings,
                "tickets": lambda line: line.tickets_running,
            },
            "-health" if any(line.findings for line in lines) else "name",
        )
        shown = {each.name for each in clusters}
        told = [each for each in findings.findings if not each.cluster or each.cluster in shown] if findings else []
        return render(
            request,
            "federation.html",
            section="federation",
            title="Federation",
            crumbs=(),
            notes=notes,
            page=page,
            idcs=idc_lines(clusters),
            brokers=sum(len(each.brokers) for each in clusters),
            racks=len({(each.name, broker.rack) for each in clusters for broker in each.brokers}),
            grave=sum(1 for each in told if gravity_of(each.kind) == "bad"),
            findings=len(told) if findings is not None else None,
            own=[each for each in told if not each.cluster],
            running=sum(line.tickets_running for line in lines),
            waiting=sum(line.tickets_waiting for line in lines),
        )

    @pages.get("/search")
    def search(request: Request, q: str = "") -> Response:
        """Names that begin with what is typed come first; a single hit is gone to."""
        wanted = q.strip()[:200]
        notes: list[str] = []
        hits = _hits(looks, request, wanted, notes) if wanted else []
        if len(hits) == 1:
            return RedirectResponse(hits[0][2], 303)
        return render(
            request,
            "search.html",
            section="",
            title=f"Found for {wanted}" if wanted else "Find",
            crumbs=(),
            notes=notes,
            hits=hits[:_MOST_HITS],
            more=max(0, len(hits) - _MOST_HITS),
            q=wanted,
        )

    return pages


def _hits(looks: Looks, request: Request, wanted: str, notes: list[str]) -> list[tuple[str, str, str]]:
    """(kind, name, where)."""
    text = wanted.casefold()
    found: list[tuple[str, str, str]] = []
    for cluster in looks.clusters(request):
        if text in cluster.name.casefold() or wanted == cluster.cluster_id:
            found.append(("cluster", cluster.name, url("clusters", cluster.name)))
        if wanted.isdigit() and (broker := cluster.broker(int(wanted[:10]))) is not None:
            where = url("clusters", cluster.name, "brokers", broker.id)
            found.append(("broker", f"{broker.id} of {cluster.name}", where))
    for ticket, _ in softly(notes, lambda: looks.tickets(request)) or ():
        if ticket.id.casefold().startswith(text):
            found.append(("ticket", f"{ticket.id}, {ticket.kind} of {ticket.cluster}", url("tickets", ticket.id)))
    for tenant in softly(notes, lambda: looks.tenants(request)) or ():
        if text in tenant.name.casefold():
            found.append(("tenant", tenant.name, url("tenants", tenant.name)))
    topics = {(topic.cluster, topic.name) for topic in softly(notes, lambda: looks.directory(request)) or ()}
    for cluster in looks.clusters(request):
        sizes = softly(notes, lambda name=cluster.name: looks.topic_sizes(request, name)) or ()  # type: ignore[misc]
        topics |= {(cluster.name, each.name) for each in sizes}
    found += [
        ("topic", f"{name} of {cluster}", url("clusters", cluster, "topics", name))
        for cluster, name in sorted(topics)
        if text in name.casefold()
    ]
    return sorted(found, key=lambda hit: not hit[1].casefold().startswith(text))
