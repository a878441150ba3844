"""A cluster: what its brokers and disks do over time, how evenly, what is missing; and the lists of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Path, Request
from fastapi.responses import Response

from guardian.console.doubts import as_bad_as, doubts_of_collection, doubts_of_durability
from guardian.console.health import (
    Health,
    Serving,
    findings_known,
    findings_of,
    health_of,
    offline_dirs,
    serving_of,
    skews,
    total,
)
from guardian.console.heat import MEASURES, heat_of, traffic_of
from guardian.console.lines import (
    BROKER_COLUMNS,
    DISK_COLUMNS,
    STATES,
    TOPIC_COLUMNS,
    VERDICTS,
    BrokerLine,
    broker_text,
    disk_lines,
    disk_text,
    topic_lines,
    topic_text,
)
from guardian.console.looking import HOUR_MS
from guardian.console.paging import List, page_of
from guardian.console.sections import get
from guardian.console.views import ClusterView, ReadingPages
from guardian.errors import InvalidInput
from guardian.model.quota import quota_text
from guardian.model.ticket import Ticket
from guardian.model.tickets.progress import Progress
from guardian.model.topology import BrokerState, Cluster
from guardian.security.rules.routing import VIEW_CLUSTER
from guardian.web.observed import ClusterSeen
from protos.guardian.v1 import insight_pb2 as pb

# In the path it is {cluster}: permissions look there.
Name = Annotated[str, Path(alias="cluster")]
_SPANS = {"15m": HOUR_MS // 4, "1h": HOUR_MS, "6h": 6 * HOUR_MS}
RATINGS = {
    pb.OFFLINE: ("bad", "offline"),
    pb.AT_RISK: ("bad", "at risk"),
    pb.WEAK: ("warn", "weak"),
    pb.ONE_RACK: ("warn", "in one rack"),
    pb.DEGRADED: ("warn", "degraded"),
    pb.SOUND: ("ok", "sound"),
}


@dataclass(frozen=True, slots=True)
class _Overview:
    """What a cluster's first page shows; None: not known."""

    health: Health
    findings: list[pb.Finding]
    findings_in_all: int | None
    tickets: tuple[tuple[Ticket, Progress | None], ...]
    figures: dict[str, object]

    @property
    def told(self) -> tuple[object, ...]:
        """Return what of the page is told as text: a finding is seen again and again without a change of the page."""
        findings = [(each.kind, each.subject, each.since_ms, each.evidence) for each in self.findings]
        tickets = [(ticket.id, ticket.state, progress) for ticket, progress in self.tickets]
        return self.health, findings, self.findings_in_all, tickets, self.figures


class ClusterPages(ReadingPages):
    @get("/clusters/{cluster}", VIEW_CLUSTER)
    def overview(self, request: Request, name: Name) -> Response:
        view = self._views.of_cluster(request, name, "overview")
        found = self._overview(view, name)
        return view.shown(
            "cluster.html",
            name,
            known=view.fingerprint(found.told),
            findings=found.findings,
            findings_in_all=found.findings_in_all,
            health=found.health,
            open_tickets=found.tickets,
            **found.figures,
        )

    @get("/clusters/{cluster}/live", VIEW_CLUSTER)
    def overview_live(self, request: Request, name: Name) -> Response:
        """Stream changes of the page. Runs in a thread, since it asks first whether the person may see the cluster; the
        stream holds none.
        """
        self._looks.cluster(request, name)

        def look() -> dict[str, object]:
            view = self._views.of_cluster(request, name, "overview")
            page = view.fingerprint(self._overview(view, name).told)
            safety = self._views.of_cluster(request, name, "durability")
            report = safety.part(self._looks.durability_soon, name)
            return {"page": page, "safety": _told_of(safety, report)}

        return self._views.live(request, f"cluster {name}", look)

    def _overview(self, view: ClusterView, name: str) -> _Overview:
        report = view.part(self._looks.findings, name)
        tickets = view.part(self._looks.open_tickets, name) or ()
        seen = view.if_any(self._looks.seen, name)  # its part of the page says why not
        own = findings_of(name, report)
        return _Overview(
            self._health(view, report, own, seen, view.if_there(self._looks.durability_soon, name)),
            own,
            findings_known(report, [name]),
            tickets,
            _at_a_glance(view.cluster, seen, serving_of(view.cluster, report)),
        )

    @staticmethod
    def _health(
        view: ClusterView,
        report: pb.FindingsReport | None,
        own: Sequence[pb.Finding],
        seen: ClusterSeen | None,
        safety: pb.DurabilityReport | None,
    ) -> Health:
        """Return how the cluster is: never better than any number of its page."""
        doubts = doubts_of_collection(view.cluster, seen) + doubts_of_durability(safety)
        return as_bad_as(health_of(view.cluster, report, own), doubts)

    @get("/clusters/{cluster}/activity", VIEW_CLUSTER)
    def activity(self, request: Request, name: Name, of: str = "disk_busy", span: str = "1h") -> Response:
        """The heat map of brokers or disks, and the cluster's traffic."""
        if of not in MEASURES:
            raise InvalidInput(f"of is {of!r}: use one of {', '.join(MEASURES)}")
        if span not in _SPANS:
            raise InvalidInput(f"span is {span!r}: use one of {', '.join(_SPANS)}")
        view = self._views.of_cluster(request, name, "activity")
        seen = view.part(self._looks.seen, name, _SPANS[span])
        heat, left_out = heat_of(name, seen, of) if seen else (None, 0)
        return view.shown(
            "cluster_activity.html",
            f"What {name} does",
            ("Activity", ""),
            of=of,
            span=span,
            measures={key: measure.title for key, measure in MEASURES.items()},
            spans=tuple(_SPANS),
            measure=MEASURES[of].title,
            heat=heat,
            left_out=left_out,
            traffic=traffic_of(seen) if seen else None,
            skews=skews(seen) if seen else [],
        )

    @get("/clusters/{cluster}/quotas", VIEW_CLUSTER)
    def quotas(self, request: Request, name: Name) -> Response:
        view = self._views.of_cluster(request, name)
        return view.shown(
            "quotas.html",
            f"Quotas of {name}",
            ("Quotas", ""),
            report=view.part(self._looks.quotas, name),
            quota_text=quota_text,
        )

    @get("/clusters/{cluster}/durability", VIEW_CLUSTER)
    def durability(self, request: Request, name: Name) -> Response:
        view = self._views.of_cluster(request, name, "durability")
        report = view.part(self._looks.durability, name)
        findings = view.if_there(self._looks.findings, name)
        return view.shown(
            "cluster_durability.html",
            f"How safe {name} is",
            ("Durability", ""),
            report=report,
            known=_told_of(view, report),
            health=self._health(
                view, findings, findings_of(name, findings), view.if_there(self._looks.seen, name), report
            ),
            ratings=RATINGS,
            missing=sum(each.under_replicated for each in report.topics) if report else None,
            all_told=report is not None and len(report.topics) == report.topics_in_all,
        )

    @get("/clusters/{cluster}/brokers", VIEW_CLUSTER)
    def brokers(self, request: Request, name: Name, asked: List) -> Response:
        view = self._views.of_cluster(request, name, "brokers")
        seen = view.part(self._looks.seen, name)
        known = seen.brokers if seen else {}
        excluded = {each.broker_id for each in view.part(self._looks.exclusions, name) or ()}
        lines = [BrokerLine(each, known.get(each.id), each.id in excluded) for each in view.cluster.brokers]
        return view.shown(
            "brokers.html",
            f"Brokers of {name}",
            ("Brokers", ""),
            page=page_of(lines, asked, broker_text, BROKER_COLUMNS, "id"),
            states=STATES,
        )

    @get("/clusters/{cluster}/disks", VIEW_CLUSTER)
    def disks(self, request: Request, name: Name, asked: List) -> Response:
        view = self._views.of_cluster(request, name, "disks")
        seen = view.part(self._looks.seen, name)
        judged = view.part(self._looks.disk_health, name)
        lines = disk_lines(seen, judged.disks if judged else ())
        return view.shown(
            "disks.html",
            f"Disks of {name}",
            ("Disks", ""),
            page=page_of(lines, asked, disk_text, DISK_COLUMNS, "-busy"),
            verdicts=VERDICTS,
            held=view.part(self._looks.protection, name),
        )

    @get("/clusters/{cluster}/topics", VIEW_CLUSTER)
    def topics(self, request: Request, name: Name, asked: List) -> Response:
        view = self._views.of_cluster(request, name, "topics")
        sizes = view.part(self._looks.topic_sizes, name)
        lines = topic_lines(sizes or (), view.part(self._looks.directory, name) or ())
        return view.shown(
            "topics.html",
            f"Topics of {name}",
            ("Topics", ""),
            page=page_of(lines, asked, topic_text, TOPIC_COLUMNS, "name"),
            is_known=bool(sizes),
        )


def _told_of(view: ClusterView, report: pb.DurabilityReport | None) -> str:
    """Return the fingerprint of what a page shows of how safe the data is."""
    return view.fingerprint(report.SerializeToString(deterministic=True) if report is not None else None)


def _at_a_glance(cluster: Cluster, seen: ClusterSeen | None, serving: Serving | None) -> dict[str, object]:
    """The figures at the top; None: not known."""
    return {
        "serving": serving,
        "brokers": len(cluster.brokers) or None,
        "away": sum(1 for each in cluster.brokers if each.state is not BrokerState.ACTIVE) if cluster.brokers else None,
        "racks": len({broker.rack for broker in cluster.brokers}) or None,
        "bytes_in": total(seen, "bytes_in") if seen else None,
        "bytes_out": total(seen, "bytes_out") if seen else None,
        "offline": offline_dirs(seen.brokers.values()) if seen else None,
        "heard": sum(1 for each in seen.brokers.values() if not each.error) if seen and seen.brokers else None,
    }
