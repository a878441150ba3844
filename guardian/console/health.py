"""How clusters are, in one word: worked out from what detectors find. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from guardian.health.model.finding import FindingKind
from guardian.model.text import some
from guardian.model.topology import BrokerState, Cluster
from guardian.model.units import spread
from guardian.web.observed import BrokerSeen, ClusterSeen, Series
from protos.guardian.v1 import insight_pb2 as pb

_GRAVE = FindingKind.LOG_DIR_OFFLINE.gravity  # from here on data or brokers are gone, or writes refused
_OF_A_TOPIC: tuple[int, ...] = (FindingKind.TOPIC_OFFLINE, FindingKind.TOPIC_AT_RISK, FindingKind.TOPIC_WEAK)
_OF_PARTITIONS: tuple[int, ...] = (FindingKind.UNDER_MIN_ISR, FindingKind.AT_MIN_ISR)
_OF_MEMBERS: tuple[int, ...] = (
    FindingKind.MEMBER_DOWN,
    FindingKind.MEMBER_STOPPED,
    FindingKind.CLOCK_OFF,
    FindingKind.CERTIFICATE_EXPIRES,
)
UNREACHABLE: tuple[int, ...] = (FindingKind.CLUSTER_UNREACHABLE, FindingKind.STATE_UNKNOWN)
_UNKNOWN_GRAVITY = 1000  # of a kind that a newer member tells


@dataclass(frozen=True, slots=True)
class Health:
    """`kind` as the macro `status` has it; `words` are short."""

    kind: str
    words: str
    rank: int = 0  # the worse the higher


UNKNOWN = Health("none", "not known", 2)
PARTLY_KNOWN = Health("none", "partly known", 1)  # nothing is found by those that could look
HEALTHY = Health("ok", "healthy")


def gravity_of(kind: int) -> str:
    """bad, or warn."""
    return "bad" if _gravity(kind) <= _GRAVE else "warn"


def severity_of(kind: int) -> int:
    """Return how grave findings of a kind are: at least 1, and the graver the higher."""
    return max(1, len(FindingKind) - _gravity(kind))


def name_of(kind: int) -> str:
    try:
        return FindingKind(kind).name.lower().replace("_", " ")
    except ValueError:
        return f"kind {kind}"


@dataclass(frozen=True, slots=True)
class Serving:
    """How many of a cluster's brokers serve, of how many; `missing` are those that should, and do not."""

    up: int
    of: int
    missing: tuple[int, ...] = ()


def serving_of(cluster: Cluster, report: pb.FindingsReport | None) -> Serving | None:
    """Return who serves, as the cluster's controllers told at the last look; None: nobody knows."""
    told = report.brokers if report is not None else ()
    alive = {broker for seen in told if seen.cluster == cluster.name for broker in seen.alive}
    if not alive or not cluster.brokers:
        return None
    missing = tuple(each.id for each in cluster.brokers if each.state is BrokerState.ACTIVE and each.id not in alive)
    return Serving(sum(1 for each in cluster.brokers if each.id in alive), len(cluster.brokers), missing)


def not_serving(brokers: Collection[int]) -> Health:
    """Return how a cluster is of which these brokers should serve, and do not."""
    return Health("warn", f"broker {some(brokers)} {'does' if len(brokers) == 1 else 'do'} not serve", len(brokers) + 5)


def health_of(cluster: Cluster, report: pb.FindingsReport | None, findings: Sequence[pb.Finding]) -> Health:
    """Return how a cluster is: what is found there (`findings_of`), else whether somebody looked everywhere and all
    brokers serve. None: nobody could say."""
    if report is None or not findings:
        return _without_findings(cluster, report)
    worst = min(findings, key=lambda each: _gravity(each.kind))
    grave = sum(1 for each in findings if gravity_of(each.kind) == "bad")
    others = f" and {len(findings) - 1} more" if len(findings) > 1 else ""
    return Health(gravity_of(worst.kind), f"{name_of(worst.kind)}{others}", 1000 * grave + len(findings) + 10)


def findings_of(cluster: str, report: pb.FindingsReport | None) -> list[pb.Finding]:
    """Return the findings that are a cluster's own."""
    return [finding for finding in report.findings if finding.cluster == cluster] if report is not None else []


def where_of(finding: pb.Finding) -> str:
    """Return the path below the console of what a finding is about; empty: there is no page of it."""
    if not finding.cluster:
        return "members" if finding.kind in _OF_MEMBERS else ""
    path = f"clusters/{quote(finding.cluster, safe='')}"
    if finding.kind in _OF_A_TOPIC:
        return f"{path}/topics/{quote(finding.subject.removeprefix('topic '), safe='')}"
    if len(finding.brokers) == 1:
        return f"{path}/brokers/{finding.brokers[0]}"
    return f"{path}/durability" if finding.kind in _OF_PARTITIONS else path


def findings_known(report: pb.FindingsReport | None, clusters: Iterable[str]) -> int | None:
    """Return how many findings these clusters have ("": Guardian itself); None: none is told and nobody has looked."""
    names = set(clusters)
    if report is None:
        return None
    told = sum(1 for finding in report.findings if finding.cluster in names)
    has_looked = any(look.looked_at_ms for look in report.looks if look.cluster in names)
    return told if told or has_looked else None


def _without_findings(cluster: Cluster, report: pb.FindingsReport | None) -> Health:
    own = [look for look in report.looks if look.cluster == cluster.name] if report is not None else []
    if report is None or not any(look.looked_at_ms for look in own):
        return UNKNOWN
    serving = serving_of(cluster, report)
    if serving is not None and serving.missing:  # and not for long enough to be a finding
        return not_serving(serving.missing)
    return PARTLY_KNOWN if any(look.error or not look.looked_at_ms for look in own) else HEALTHY


@dataclass(frozen=True, slots=True)
class IdcLine:
    """A data centre."""

    name: str
    clusters: int
    brokers: int
    racks: int


def idc_lines(clusters: Iterable[Cluster]) -> list[IdcLine]:
    """Return the lines of data centres by name."""
    names: dict[str, set[str]] = defaultdict(set)
    racks: dict[str, set[tuple[str, str]]] = defaultdict(set)
    brokers: Counter[str] = Counter()
    for cluster in clusters:
        for broker in cluster.brokers:
            names[broker.idc].add(cluster.name)
            racks[broker.idc].add((cluster.name, broker.rack))
            brokers[broker.idc] += 1
    return [IdcLine(idc or "-", len(names[idc]), brokers[idc], len(racks[idc])) for idc in sorted(names)]


@dataclass(frozen=True, slots=True)
class Skew:
    """How uneven brokers are in one thing that they do or hold, and which of them is the highest."""

    name: str
    highest: int
    spread: float


def skews(seen: ClusterSeen) -> list[Skew]:
    """Return the skews of what brokers do now and hold; none of what is known of fewer than two."""
    values: dict[str, dict[int, float]] = {
        "bytes in": {id_: rate for id_, each in seen.brokers.items() if (rate := latest(each.bytes_in)) is not None},
        "bytes out": {id_: rate for id_, each in seen.brokers.items() if (rate := latest(each.bytes_out)) is not None},
        "disk use": {id_: share for id_, each in seen.brokers.items() if (share := each.used_share) is not None},
    }
    found = []
    for name, by_broker in values.items():
        if len(by_broker) > 1 and any(by_broker.values()):
            highest = max(by_broker, key=lambda each: by_broker[each])
            found.append(Skew(name, highest, spread(by_broker.values())))
    return found


def latest(series: Series) -> float | None:
    """The last value that is known of the last few steps: the newest step is not over yet."""
    return next((value for value in reversed(series[-4:]) if value is not None), None)


def total(seen: ClusterSeen, of: str) -> float | None:
    """Return what all brokers do together now; None: of none it is known."""
    rates = [rate for each in seen.brokers.values() if (rate := latest(getattr(each, of))) is not None]
    return sum(rates) if rates else None


def sums(seen: ClusterSeen, of: str) -> list[float | None]:
    """Return what all brokers did together, by step."""
    found: list[float | None] = []
    for step in range(len(seen.steps_ms)):
        known = [value for each in seen.brokers.values() if (value := _at(getattr(each, of), step)) is not None]
        found.append(sum(known) if known else None)
    return found


def offline_dirs(seen: Iterable[BrokerSeen]) -> int | None:
    """Return how many log dirs of these brokers are offline; None: no log dir was seen."""
    log_dirs = [log_dir for each in seen for log_dir in each.log_dirs]
    return sum(1 for each in log_dirs if each.offline) if log_dirs else None


def _at(series: Series, step: int) -> float | None:
    return series[step] if step < len(series) else None


def _gravity(kind: int) -> int:
    try:
        return FindingKind(kind).gravity
    except ValueError:
        return _UNKNOWN_GRAVITY
