"""The first page: the board of all clusters, the worst first, and data centres. And the search over all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from guardian.console.board import BoardLine, badness, board_lines
from guardian.console.health import findings_known, gravity_of, idc_lines
from guardian.console.paging import Columns, List, page_of
from guardian.console.sections import get
from guardian.console.urls import url
from guardian.console.views import ReadingPages, View
from guardian.model.topology import Cluster
from guardian.security.rules.routing import VIEW

_MOST_HITS = 20
_LONGEST_SEARCH = 200


CLUSTER_COLUMNS: Columns[BoardLine] = {
    "name": lambda line: line.cluster.name,
    "health": badness,
    "brokers": lambda line: len(line.cluster.brokers),
    "load": lambda line: line.load.bytes_in,
    "fullest": lambda line: line.load.fullest.share if line.load.fullest is not None else None,
    "unevenness": lambda line: line.load.unevenness.spread if line.load.unevenness is not None else None,
    "findings": lambda line: line.findings,
    "tickets": lambda line: line.tickets_running,
}


def cluster_text(line: BoardLine) -> str:
    """Return the text that a search looks at."""
    return f"{line.cluster.name} {line.health.words} {' '.join(line.idcs)}"


class Hit(NamedTuple):
    """Something whose name was searched for, and its page."""

    kind: str
    name: str
    where: str


@dataclass(frozen=True, slots=True)
class _Board:
    """What the board shows for one person; None: not known."""

    clusters: tuple[Cluster, ...]
    lines: list[BoardLine]
    findings: int | None
    grave: int
    own: list[tuple[str, str]]  # findings of no cluster: subject and evidence
    running: int | None
    waiting: int | None


class FederationPages(ReadingPages):
    @get("/", VIEW)
    def federation(self, request: Request, asked: List) -> Response:
        view = self._views.of(request, "federation")
        board = self._board(request, view)
        clusters = board.clusters
        return view.shown(
            "federation.html",
            "Federation",
            known=view.fingerprint(board),
            page=page_of(board.lines, asked, cluster_text, CLUSTER_COLUMNS, "-health"),
            idcs=idc_lines(clusters),
            brokers=_brokers_of(clusters),
            racks=len({(each.name, broker.rack) for each in clusters for broker in each.brokers}),
            grave=board.grave,
            findings=board.findings,
            own=board.own,
            running=board.running,
            waiting=board.waiting,
        )

    @get("/live", VIEW)
    async def federation_live(self, request: Request) -> Response:
        def look() -> dict[str, object]:
            view = self._views.of(request, "federation")
            return {"page": view.fingerprint(self._board(request, view))}

        return self._views.live(request, "the board", look)

    def _board(self, request: Request, view: View) -> _Board:
        clusters = self._looks.clusters(request)
        report = view.part(self._looks.findings)
        healing = view.part(self._looks.healing)
        tickets = view.part(self._looks.open_tickets)
        seen = self._looks.seen_everywhere(request)
        lines = board_lines(clusters, report, healing, None if tickets is None else [each for each, _ in tickets], seen)
        shown = {each.name for each in clusters}
        told = [each for each in report.findings if not each.cluster or each.cluster in shown] if report else []
        return _Board(
            clusters,
            lines,
            findings_known(report, {*shown, ""}),
            sum(1 for each in told if gravity_of(each.kind) == "bad"),
            [(each.subject, each.evidence) for each in told if not each.cluster],
            None if tickets is None else sum(line.tickets_running or 0 for line in lines),
            None if tickets is None else sum(line.tickets_waiting or 0 for line in lines),
        )

    @get("/search", VIEW)
    def search(self, request: Request, q: str = "") -> Response:
        """Names that begin with what is typed come first; a single hit is gone to."""
        wanted = q.strip()[:_LONGEST_SEARCH]
        view = self._views.of(request, "")
        hits = self._hits(request, view, wanted) if wanted else []
        if len(hits) == 1:
            return RedirectResponse(hits[0].where, 303)
        return view.shown(
            "search.html",
            f"Found for {wanted}" if wanted else "Find",
            hits=hits[:_MOST_HITS],
            more=max(0, len(hits) - _MOST_HITS),
            q=wanted,
        )

    def _hits(self, request: Request, view: View, wanted: str) -> list[Hit]:
        text = wanted.casefold()
        clusters = self._looks.clusters(request)
        found = [hit for cluster in clusters for hit in _of_cluster(cluster, wanted)]
        found += [
            Hit("ticket", f"{ticket.id}, {ticket.kind} of {ticket.cluster}", url("tickets", ticket.id))
            for ticket in view.part(self._looks.tickets_like, text) or ()
        ]
        found += [
            Hit("tenant", tenant.name, url("tenants", tenant.name))
            for tenant in view.part(self._looks.tenants) or ()
            if text in tenant.name.casefold()
        ]
        named = view.part(self._looks.topics_by_tenant) or {}
        topics = {(each.cluster, each.name) for held in named.values() for each in held if text in each.name.casefold()}
        seen = view.part(self._looks.topics_everywhere) or {}
        for cluster, sizes in seen.items():
            topics |= {(cluster, each.name) for each in sizes or () if text in each.name.casefold()}
        if unread := sum(1 for sizes in seen.values() if sizes is None):
            view.say(f"topics of {unread} of {len(seen)} clusters are still being read: search again in a moment")
        found += [
            Hit("topic", f"{name} of {cluster}", url("clusters", cluster, "topics", name))
            for cluster, name in sorted(topics)
        ]
        return sorted(found, key=lambda hit: not hit.name.casefold().startswith(text))


def _brokers_of(clusters: Sequence[Cluster]) -> int | None:
    """Return how many brokers there are; None: there are clusters, and no broker of any is known."""
    return sum(len(each.brokers) for each in clusters) or (None if clusters else 0)


def _of_cluster(cluster: Cluster, wanted: str) -> list[Hit]:
    """The cluster by its name or id, and the broker of that number."""
    found = []
    if wanted.casefold() in cluster.name.casefold() or wanted == cluster.cluster_id:
        found.append(Hit("cluster", cluster.name, url("clusters", cluster.name)))
    broker = cluster.broker(int(wanted[:10])) if wanted.isdecimal() else None
    if broker is not None:
        where = url("clusters", cluster.name, "brokers", broker.id)
        found.append(Hit("broker", f"{broker.id} of {cluster.name}", where))
    return found
