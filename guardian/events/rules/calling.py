"""Which findings call a person, from when and until when: once each, whoever leads. Pure.

    findings that call ─▶ not stored as called ─▶ raise  ─▶ FINDING_RAISED
    stored as called   ─▶ not seen for QUIET_MS, by detectors that do see ─▶ end ─▶ FINDING_ENDED

Findings are in the leader's memory, and what was called is in the store. A new leader, which has seen nothing yet,
raises nothing again and ends nothing before it knows. What comes and goes within QUIET_MS is one call.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from guardian.healing.rules.trouble import Standing, is_seen
from guardian.healing.rules.verdict import Phase, Verdict
from guardian.health.model.finding import FindingKind, Subject
from guardian.health.rules.findings import Watch, findings
from guardian.model.event import Call

QUIET_MS = 60_000
AT_ONCE = 100  # of one command
_CALLING = (
    FindingKind.FENCED_SERVES,
    FindingKind.CLUSTER_UNREACHABLE,
    FindingKind.STATE_UNKNOWN,
    FindingKind.STORM,
    FindingKind.HEALING_FAILED,
)


@dataclass(frozen=True, slots=True)
class Seen:
    """`verdicts` are healing's last ones by cluster; a registered cluster without them was not decided about yet.
    `lasting_ms`: when each call was last seen to last, by its identity; `leads_since_ms`: since when the leader looks.
    """

    watch: Watch
    verdicts: Mapping[str, Sequence[Verdict]]
    clusters: Collection[str]
    leads_since_ms: int
    lasting_ms: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallStep:
    """What to store as called, and as called no longer; and `Seen.lasting_ms` for the next step."""

    raised: tuple[Call, ...]
    ended: tuple[Call, ...]
    lasting_ms: Mapping[tuple[str, str], int]


def step(stored: Iterable[Call], seen: Seen, now_ms: int) -> CallStep:
    """The same input gives the same step; a step that is repeated changes nothing more."""
    known = {call.identity: call for call in stored}
    called = {call.identity: call for call in _called(seen.watch)}
    lasting = {
        identity: now_ms
        if identity in called or _may_last(call, seen)
        else max(seen.lasting_ms.get(identity, 0), seen.leads_since_ms)
        for identity, call in known.items()
    }
    ended = [
        call
        for identity, call in known.items()
        if call.cluster not in seen.clusters or now_ms - lasting[identity] >= QUIET_MS
    ]
    raised = [call for identity, call in called.items() if identity not in known]
    return CallStep(tuple(raised[:AT_ONCE]), tuple(ended[:AT_ONCE]), lasting)


def _called(watch: Watch) -> Iterable[Call]:
    for finding in findings(watch):
        subject = finding.subject
        if subject.kind in _CALLING:
            yield Call(subject.cluster, subject.title, finding.evidence, finding.since_ms)


def _may_last(call: Call, seen: Seen) -> bool:
    """Nobody can tell that it is over: nobody has looked, or what healing failed at is in its grace period anew."""
    verdicts = seen.verdicts.get(call.cluster)
    if verdicts is None or not is_seen(seen.watch, call.cluster):
        return True
    if any(subject.cluster == call.cluster and subject.title == call.finding for subject in seen.watch.seen):
        return True
    return any(
        Subject(FindingKind.HEALING_FAILED, call.cluster, verdict.trouble.subject.title).title == call.finding
        for verdict in verdicts
        if verdict.phase in (Phase.GRACE, Phase.BRAKED) or verdict.trouble.standing is Standing.UNKNOWN
    )
