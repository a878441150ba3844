"""What crossed the lines between IDCs of late, by whom, and what may be asked for about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import Response

from guardian.console.sections import get
from guardian.console.views import ReadingPages
from guardian.security.rules.routing import VIEW
from protos.guardian.v1 import insight_pb2 as pb

CROSSINGS: dict[int, str] = {pb.PRODUCE: "producers", pb.CONSUME: "consumers", pb.REPLICATE: "replication"}
_NEAR, _FULL = 0.7, 0.9  # of a line's capacity, as bars are drawn


@dataclass(frozen=True, slots=True)
class LineUse:
    """A line in one direction, and the largest who cross it: in its busiest minute where it nears its limit, else in
    all. `share` is that of its capacity in the busiest minute, None: nobody has said what it carries."""

    use: pb.LinkUse
    crossers: Sequence[pb.LinkCrosser]
    is_of_peak: bool
    share: float | None


def line_uses(report: pb.LinkUseReport, seen: set[str]) -> list[LineUse]:
    """Return the lines, the nearest to its limit first, with those who cross them in clusters of `seen`."""
    return [
        LineUse(
            use,
            [each for each in use.peak_crossers or use.crossers if each.cluster in seen],
            bool(use.peak_crossers),
            use.peak_bits_per_s / use.capacity_bits_per_s if use.capacity_bits_per_s else None,
        )
        for use in report.links
    ]


class LinkPages(ReadingPages):
    """The page of lines between IDCs."""

    @get("/links", VIEW)
    def links(self, request: Request, cluster: str = "") -> Response:
        if cluster:
            self._looks.cluster(request, cluster)
        view = self._views.of(request, "links")
        seen = {each.name for each in self._looks.clusters(request)}
        report = view.part(self._looks.link_use, cluster)
        return view.shown(
            "links.html",
            "Links between data centres",
            report=report,
            cluster=cluster,
            clusters=sorted(seen),
            lines=line_uses(report, seen) if report is not None else [],
            crossings=CROSSINGS,
            near=_NEAR,
            full=_FULL,
        )
