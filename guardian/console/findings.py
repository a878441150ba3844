"""What detectors find and still find, with their evidence, and what healing does about it or why not."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import Response

from guardian.console.health import gravity_of, name_of
from guardian.console.looking import Looks, softly
from guardian.console.paging import List, page_of
from guardian.console.rendering import Renderer
from protos.guardian.v1 import insight_pb2 as pb

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


def router(looks: Looks, render: Renderer) -> APIRouter:
    pages = APIRouter()

    @pages.get("/findings")
    def findings(request: Request, asked: List, cluster: str = "") -> Response:
        notes: list[str] = []
        if cluster:
            looks.cluster(request, cluster)
        seen = {each.name for each in looks.clusters(request)}
        report = softly(notes, lambda: looks.findings(request, cluster))
        healing = softly(notes, lambda: looks.healing(request, cluster))
        lines = [line for line in finding_lines(report, healing) if _is_shown(line.finding.cluster, seen)]
        page = page_of(
            lines,
            asked,
            lambda line: (
                f"{line.finding.cluster} {name_of(line.finding.kind)} {line.finding.subject} {line.finding.evidence}"
            ),
            {
                "gravity": lambda line: line.rank,
                "cluster": lambda line: line.finding.cluster or None,
                "kind": lambda line: name_of(line.finding.kind),
                "since": lambda line: line.finding.since_ms,
            },
            "gravity",
        )
        return render(
            request,
            "findings.html",
            section="findings",
            title=f"Findings in {cluster}" if cluster else "Findings",
            crumbs=(),
            notes=notes,
            cluster=cluster,
            page=page,
            report=report,
            grave=sum(1 for line in lines if gravity_of(line.finding.kind) == "bad"),
            blind=[look for look in report.looks if look.error and _is_shown(look.cluster, seen)] if report else [],
            looks=[look for look in report.looks if look.looked_at_ms and _is_shown(look.cluster, seen)]
            if report
            else [],
            healing=[each for each in healing.clusters if each.cluster in seen] if healing else [],
            others=_others(healing, lines, seen),
            phases=PHASES,
        )

    return pages


def finding_lines(report: pb.FindingsReport | None, healing: pb.HealingReport | None) -> list[FindingLine]:
    """In the order of the report: the gravest first."""
    troubles = {
        (each.cluster, trouble.kind, trouble.subject): trouble
        for each in (healing.clusters if healing else ())
        for trouble in each.troubles
    }
    return [
        FindingLine(each, rank, troubles.get((each.cluster, each.kind, each.subject)))
        for rank, each in enumerate(report.findings if report else ())
    ]


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
