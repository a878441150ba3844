"""What detectors find and still find, with their evidence, and what healing does about it or why not."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import Response

from guardian.console.health import findings_known, gravity_of, name_of
from guardian.console.paging import Columns, List, page_of
from guardian.console.sections import get
from guardian.console.views import ReadingPages, View
from guardian.security.rules.routing import VIEW
from protos.guardian.v1 import insight_pb2 as pb

_MOST_SHOWN = 50
PHASES = {
    "grace": ("info", "in grace"),
    "acts": ("info", "acts"),
    "waits": ("info", "waits"),
    "done": ("ok", "done"),
    "person": ("bad", "calls a person"),
    "braked": ("warn", "braked"),
    "observed": ("none", "observes"),
}


@dataclass(frozen=True, slots=True)
class FindingLine:
    """A finding, and the trouble that healing sees in it, where it does."""

    finding: pb.Finding
    rank: int
    trouble: pb.HealingTrouble | None


FINDING_COLUMNS: Columns[FindingLine] = {
    "gravity": lambda line: line.rank,
    "cluster": lambda line: line.finding.cluster or None,
    "kind": lambda line: name_of(line.finding.kind),
    "since": lambda line: line.finding.since_ms,
}


def finding_text(line: FindingLine) -> str:
    """Return the text that a search looks at."""
    finding = line.finding
    return f"{finding.cluster} {name_of(finding.kind)} {finding.subject} {finding.evidence}"


@dataclass(frozen=True, slots=True)
class _Found:
    """What the page of findings shows; None: not known."""

    lines: list[FindingLine]
    looks: list[pb.DetectorLook]
    in_grace: int | None
    found: int | None
    healing: list[pb.HealingCluster]
    others: list[tuple[str, pb.HealingTrouble]]

    @property
    def blind(self) -> list[pb.DetectorLook]:
        """Those who could not look."""
        return [look for look in self.looks if look.error]

    @property
    def told(self) -> tuple[object, ...]:
        """Return what of the page counts as a change: that the same is seen again is none."""
        lines = [
            (each.kind, each.cluster, each.subject, each.since_ms, each.evidence, _told_of(line.trouble))
            for line in self.lines
            for each in (line.finding,)
        ]
        others = [(cluster, _told_of(trouble)) for cluster, trouble in self.others]
        looks = [(look.detector, look.cluster, bool(look.looked_at_ms), look.error) for look in self.looks]
        healing = [(each.cluster, each.storm, each.tickets_last_hour, str(each.policy)) for each in self.healing]
        return lines, others, looks, healing, self.in_grace, self.found


class FindingPages(ReadingPages):
    @get("/findings", VIEW)
    def findings(self, request: Request, asked: List, cluster: str = "") -> Response:
        if cluster:
            self._looks.cluster(request, cluster)
        view = self._views.of(request, "findings")
        found = self._found(request, view, cluster)
        grave = sum(1 for line in found.lines if gravity_of(line.finding.kind) == "bad")
        return view.shown(
            "findings.html",
            f"Findings in {cluster}" if cluster else "Findings",
            known=view.fingerprint(found.told),
            cluster=cluster,
            page=page_of(found.lines, asked, finding_text, FINDING_COLUMNS, "gravity"),
            in_grace=found.in_grace,
            found=found.found,
            grave=None if found.found is None else grave,
            blind=found.blind[:_MOST_SHOWN],
            more_blind=max(0, len(found.blind) - _MOST_SHOWN),
            looks=[look for look in found.looks if look.looked_at_ms],
            healing=found.healing,
            others=found.others[:_MOST_SHOWN],
            more_others=max(0, len(found.others) - _MOST_SHOWN),
            phases=PHASES,
        )

    @get("/findings/live", VIEW)
    def findings_live(self, request: Request, cluster: str = "") -> Response:
        """Stream changes of the page. Runs in a thread, since it asks first whether the person may see the cluster; the
        stream holds none.
        """
        if cluster:
            self._looks.cluster(request, cluster)

        def look() -> dict[str, object]:
            view = self._views.of(request, "findings")
            return {"page": view.fingerprint(self._found(request, view, cluster).told)}

        return self._views.live(request, f"findings of {cluster!r}", look)

    def _found(self, request: Request, view: View, cluster: str) -> _Found:
        seen = {each.name for each in self._looks.clusters(request)}
        report = view.part(self._looks.findings, cluster)
        healing = view.part(self._looks.healing, cluster)
        lines = [line for line in finding_lines(report, healing) if _is_shown(line.finding.cluster, seen)]
        found = findings_known(report, [cluster] if cluster else {*seen, ""})
        return _Found(
            lines,
            [look for look in report.looks if _is_shown(look.cluster, seen)] if report else [],
            report.in_grace if report is not None and found is not None else None,
            found,
            [each for each in healing.clusters if each.cluster in seen] if healing else [],
            _others(healing, lines, seen),
        )


def finding_lines(report: pb.FindingsReport | None, healing: pb.HealingReport | None) -> list[FindingLine]:
    """Return the findings in the order of the report: the gravest first."""
    troubles = {
        (each.cluster, trouble.kind, trouble.subject): trouble
        for each in (healing.clusters if healing else ())
        for trouble in each.troubles
    }
    return [
        FindingLine(each, rank, troubles.get((each.cluster, each.kind, each.subject)))
        for rank, each in enumerate(report.findings if report else ())
    ]


def _told_of(trouble: pb.HealingTrouble | None) -> tuple[object, ...]:
    if trouble is None:
        return ()
    return trouble.kind, trouble.subject, trouble.since_ms, trouble.phase, trouble.sentence, trouble.ticket_id


def _others(
    healing: pb.HealingReport | None, lines: list[FindingLine], seen: set[str]
) -> list[tuple[str, pb.HealingTrouble]]:
    """Troubles that are no finding yet, or none any more."""
    told = {(line.finding.cluster, line.finding.kind, line.finding.subject) for line in lines}
    return [
        (each.cluster, trouble)
        for each in (healing.clusters if healing else ())
        for trouble in each.troubles
        if each.cluster in seen and (each.cluster, trouble.kind, trouble.subject) not in told
    ]


def _is_shown(cluster: str, seen: set[str]) -> bool:
    return not cluster or cluster in seen
