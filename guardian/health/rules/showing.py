"""What somebody is shown of the findings of all clusters who sees some of them. Pure.

of a cluster that he sees      all of it
of another one                 nothing
of a line between IDCs         where he knows an end: the line, with the other end's name withheld, and its load
of Guardian's own group        all of it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from guardian.health.model.finding import Detector, Finding, LastLook, Place
from guardian.health.rules.findings import Watch

_WITHHELD = "it failed: why is shown to viewers of all clusters"


class Sight(Protocol):
    """Tell what may be shown, as guardian.serving.sight.Sight does."""

    @property
    def is_whole(self) -> bool: ...

    def sees(self, cluster: str) -> bool: ...

    def has_end(self, *ends: str) -> bool: ...

    def idc(self, name: str) -> str: ...


def watch_of(watch: Watch, sight: Sight) -> Watch:
    """Return the watch without what is not shown at all."""
    if sight.is_whole:
        return watch
    return Watch(
        {
            subject: seen
            for subject, seen in watch.seen.items()
            if (sight.sees(subject.cluster) if subject.cluster else _has_line(seen.sighting.line, sight))
        },
        {place: last for place, last in watch.looks.items() if not place.cluster or sight.sees(place.cluster)},
    )


def finding_of(finding: Finding, sight: Sight) -> Finding:
    """Return the finding as it is shown: of a line without who crosses it, and without an end that is elsewhere."""
    if sight.is_whole or finding.line is None:
        return finding
    name = " to ".join(map(sight.idc, finding.line))
    return replace(finding, subject=finding.subject._replace(name=name), evidence=f"{name} {finding.load}")


def looks_of(looks: Mapping[Place, LastLook], sight: Sight) -> dict[Place, LastLook]:
    """Return the looks as they are shown: why one at all lines failed may name any cluster."""
    return {
        place: replace(last, error=_WITHHELD)
        if last.error and place.detector is Detector.LINKS and not sight.is_whole
        else last
        for place, last in looks.items()
    }


def _has_line(line: tuple[str, str] | None, sight: Sight) -> bool:
    return line is None or sight.has_end(*line)
