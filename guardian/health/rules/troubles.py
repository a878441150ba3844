"""What Kafka shows of a cluster, as troubles: the detectors of healing. Pure.

    who lives                   ─▶ brokers_down, state_unknown
    who is fenced and answers   ─▶ fenced_servers
    log dirs                    ─▶ log_dirs_offline
    ISRs, min.insync.replicas   ─▶ isr_short
    reassignments, look by look ─▶ motions ─▶ stuck
    bytes and leaders           ─▶ skew
    Guardian's own group        ─▶ members_down

Each says what one look saw; `findings` makes findings of what lasts, and guardian.healing decides what to do. A broker
that is known to be away (MAINTENANCE) is no trouble, and one that is being emptied (DRAINING) is the concern of the
removal that empties it. Where none does, or it is paused, what the broker holds is nobody's but healing's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from guardian.health.model.finding import FindingKind, Sighting, Subject
from guardian.model.cluster_state import FencedServer, LogDir, PartitionState, Reassignment
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import Broker, BrokerState, TopicPartition
from guardian.model.units import beside_mean, human_bytes, human_duration, spread
from guardian.security.model.certificate import CertificateLife

CLOCK_OFF_MS = 5_000
STUCK_MS = 600_000  # nothing was copied for so long
SKEW_SPREAD = 0.5  # the fullest broker holds half as much again as the mean
SKEW_LEAST_BYTES = 10 << 30  # above the mean: below that a skew harms nobody
SKEW_LEAST_LEADERS = 50
_NAMED = 3
_DAY_MS = 86_400_000

Partitions = Mapping[TopicPartition, PartitionState]


def hosted(partitions: Partitions) -> dict[int, int]:
    """Return by broker how many replicas it is to have."""
    return dict(Counter(broker for state in partitions.values() for broker in state.replicas))


def brokers_down(
    cluster: str,
    alive: Collection[int],
    registered: Iterable[Broker],
    replicas: Mapping[int, int],
    emptied: Collection[int] = (),
) -> Iterator[Sighting]:
    """Brokers that are registered or are to have replicas, and that the cluster does not count among the living.
    `emptied` are those that removals are at; of a DRAINING one that holds nothing any more nobody misses anything."""
    states = {broker.id: broker.state for broker in registered}
    for broker in sorted({*states, *replicas} - set(alive)):
        state, hosts = states.get(broker, BrokerState.ACTIVE), replicas.get(broker, 0)
        is_stranded = state is BrokerState.DRAINING and hosts and broker not in emptied
        if state is BrokerState.ACTIVE or is_stranded:
            evidence = f"broker {broker} is fenced or gone, and is to have {hosts} replicas; {len(alive)} brokers live"
            yield Sighting(
                Subject(FindingKind.BROKER_DOWN, cluster, f"broker {broker}"),
                evidence,
                f"guardian durability --cluster {cluster}",
                brokers=(broker,),
                replicas=hosts,
            )


def emptied_by(tickets: Iterable[Ticket]) -> frozenset[int]:
    """The brokers of removals that go on, of these tickets of one cluster."""
    return frozenset(
        broker
        for ticket in tickets
        if ticket.ask is not None and ticket.ask.kind.traits.empties
        if ticket.state.is_driven and ticket.state is not TicketState.PAUSED
        for broker in ticket.ask.brokers
    )


def unreachable(cluster: str, error: str) -> Sighting:
    """None of the brokers answers."""
    return Sighting(Subject(FindingKind.CLUSTER_UNREACHABLE, cluster, "cluster"), error, "guardian cluster list")


def state_unknown(cluster: str, reason: str) -> Sighting:
    """Brokers answer, and nobody can say which of them is right."""
    return Sighting(
        Subject(FindingKind.STATE_UNKNOWN, cluster, "cluster"),
        f"{reason}; nothing is moved, restarted or removed until a controller answers",
        f"guardian durability --cluster {cluster}",
    )


def fenced_servers(cluster: str, servers: Iterable[FencedServer]) -> Iterator[Sighting]:
    """Brokers that lost the controllers and still serve clients: stop them, or restore their way to the controllers."""
    for server in servers:
        yield Sighting(
            Subject(FindingKind.FENCED_SERVES, cluster, f"broker {server.broker}"),
            f"{server.title}: it says that it leads {server.leads} partitions, and what they take with acks=0 or "
            "acks=1 is being lost; stop it, or restore its way to the controllers; until then nothing that touches it "
            "is moved, restarted or removed",
            f"guardian durability --cluster {cluster}",
            brokers=(server.broker,),
        )


def log_dirs_offline(cluster: str, log_dirs: Iterable[LogDir], partitions: Partitions) -> Iterator[Sighting]:
    """Log dirs that failed on brokers that live. Such a log dir does not tell what was on it."""
    found = tuple(log_dirs)
    failed = sorted((log_dir for log_dir in found if log_dir.error), key=lambda each: (each.broker, each.path))
    if not failed:
        return
    placed = {(partition, log_dir.broker) for log_dir in found for partition in log_dir.replicas}
    for log_dir in failed:
        lost = sum(
            log_dir.broker in state.replicas and (partition, log_dir.broker) not in placed
            for partition, state in partitions.items()
        )
        yield Sighting(
            Subject(FindingKind.LOG_DIR_OFFLINE, cluster, f"broker {log_dir.broker}, log dir {log_dir.path}"),
            f"log dir {log_dir.path} of broker {log_dir.broker} is offline ({log_dir.error}); {lost} replicas of the "
            "broker are on no log dir that works",
            f"guardian durability --cluster {cluster}",
            brokers=(log_dir.broker,),
            log_dirs=(log_dir.path,),
            replicas=lost,
        )


def short_topics(partitions: Partitions) -> set[str]:
    """Those with a replica out of sync: whose min.insync.replicas is worth asking for."""
    return {name.topic for name, state in partitions.items() if len(state.isr) < len(state.replicas)}


def isr_short(cluster: str, partitions: Partitions, min_isr: Mapping[str, int]) -> Iterator[Sighting]:
    """One sighting of those below min.insync.replicas, one of those that have just as many, having lost some."""
    under, at = [], []
    for name, state in sorted(partitions.items()):
        least = min_isr.get(name.topic)
        if least is None or len(state.isr) >= len(state.replicas):
            continue
        words = f"{name} ({len(state.isr)} of {len(state.replicas)} in sync, {least} needed)"
        if len(state.isr) < least:
            under.append(words)
        elif len(state.isr) == least:
            at.append(words)
    show = f"guardian durability --cluster {cluster}"
    if under:
        subject = Subject(FindingKind.UNDER_MIN_ISR, cluster, "partitions")
        yield Sighting(subject, f"{_some(under)}: producers with acks=all are refused", show)
    if at:
        subject = Subject(FindingKind.AT_MIN_ISR, cluster, "partitions")
        yield Sighting(subject, f"{_some(at)}: with the next replica producers with acks=all are refused", show)


@dataclass(frozen=True, slots=True)
class Motion:
    """What a reassignment has copied, and since when it is no more than that."""

    adding: tuple[int, ...]
    removing: tuple[int, ...]
    copied_bytes: int
    since_ms: int


Motions = Mapping[TopicPartition, Motion]


def motions(
    before: Motions, reassignments: Mapping[TopicPartition, Reassignment], log_dirs: Iterable[LogDir], now_ms: int
) -> Motions:
    """After one more look."""
    sizes: Counter[tuple[TopicPartition, int]] = Counter()
    if reassignments:
        for log_dir in log_dirs:
            for name in reassignments.keys() & log_dir.replicas.keys():
                sizes[name, log_dir.broker] += log_dir.replicas[name].size_bytes
    found = {}
    for name, going in reassignments.items():
        now = Motion(going.adding, going.removing, sum(sizes[name, broker] for broker in going.adding), now_ms)
        known = before.get(name)
        is_same = known is not None and (known.adding, known.removing) == (now.adding, now.removing)
        found[name] = known if known and is_same and known.copied_bytes == now.copied_bytes else now
    return found


def stuck(cluster: str, moving: Motions, alive: Collection[int], now_ms: int) -> Iterator[Sighting]:
    """Reassignments that copy nothing: one sighting of them all."""
    still = sorted((motion.since_ms, name) for name, motion in moving.items() if now_ms - motion.since_ms >= STUCK_MS)
    if not still:
        return
    words = [_of_motion(name, moving[name], alive, now_ms) for _, name in still]
    yield Sighting(
        Subject(FindingKind.STUCK_REASSIGNMENT, cluster, "reassignments"),
        _some(words),
        f"guardian ticket list --cluster {cluster}",
        since_ms=still[0][0],
    )


def _of_motion(name: TopicPartition, motion: Motion, alive: Collection[int], now_ms: int) -> str:
    dead = [str(broker) for broker in motion.adding if broker not in alive]
    why = f", broker {', '.join(dead)} being down" if dead else ""
    return f"{name} to {list(motion.adding)} has copied nothing for {human_duration(now_ms - motion.since_ms)}{why}"


def skew(
    cluster: str, registered: Iterable[Broker], log_dirs: Iterable[LogDir], partitions: Partitions
) -> Iterator[Sighting]:
    """Brokers of one label that hold, or lead, far more than the others. `log_dirs` are those of living brokers."""
    known = {broker.id: broker for broker in registered}
    held: Counter[int] = Counter()
    for log_dir in log_dirs:
        held[log_dir.broker] += sum(replica.size_bytes for replica in log_dir.replicas.values())
    led = Counter(state.leader for state in partitions.values())
    pools: dict[str, list[int]] = {}
    for broker in sorted(held):
        entry = known.get(broker, Broker(broker))
        if entry.state is BrokerState.ACTIVE:
            pools.setdefault(entry.label, []).append(broker)
    for label, pool in sorted(pools.items()):
        words = [
            *_uneven(pool, held, SKEW_LEAST_BYTES, lambda number: f"holds {human_bytes(number)}"),
            *_uneven(pool, led, SKEW_LEAST_LEADERS, lambda number: f"leads {number} partitions"),
        ]
        if words:
            name = f"brokers of label {label}" if label else "brokers"
            show = f"guardian plan balance --cluster {cluster}"
            yield Sighting(Subject(FindingKind.SKEW, cluster, name), "; ".join(words), show)


def _uneven(pool: list[int], loads: Mapping[int, int], least: int, words: Callable[[int], str]) -> Iterator[str]:
    numbers = {broker: loads.get(broker, 0) for broker in pool}
    mean = sum(numbers.values()) // len(numbers)
    most = max(numbers, key=lambda broker: (numbers[broker], -broker))
    if numbers[most] - mean >= least and spread(numbers.values()) >= SKEW_SPREAD:
        above = beside_mean(spread(numbers.values()))
        yield f"broker {most} {words(numbers[most])}, {above} of {len(pool)} brokers"


def members_down(missing: Iterable[str], leader: str) -> Iterator[Sighting]:
    """Members of Guardian's own group that the leader does not reach."""
    for name in sorted(missing):
        subject = Subject(FindingKind.MEMBER_DOWN, "", f"member {name}")
        yield Sighting(subject, f"the leader {leader} does not reach member {name}", "guardian raft status")


def members_stopped(reasons: Mapping[str, str], leader: str) -> Iterator[Sighting]:
    """Members of Guardian's own group that stopped by themselves; `reasons` has their last words by name."""
    for name, reason in sorted(reasons.items()):
        subject = Subject(FindingKind.MEMBER_STOPPED, "", f"member {name}")
        evidence = f"member {name} stopped: {reason}"
        yield Sighting(subject, f"{evidence}; the leader {leader} goes on without it", "guardian raft members")


def clocks_off(clocks_ms: Mapping[str, int]) -> Iterator[Sighting]:
    """Members of Guardian's own group whose clocks differ from the median, which is the group's clock."""
    if not clocks_ms:
        return
    middle_ms = sorted(clocks_ms.values())[(len(clocks_ms) - 1) // 2]
    for name, clock_ms in sorted(clocks_ms.items()):
        ahead_ms = clock_ms - middle_ms
        if abs(ahead_ms) > CLOCK_OFF_MS:
            how = f"{human_duration(abs(ahead_ms))} {'ahead of' if ahead_ms > 0 else 'behind'}"
            evidence = f"the clock of member {name} is {how} the median of the group's: look at its NTP"
            yield Sighting(Subject(FindingKind.CLOCK_OFF, "", f"member {name}"), evidence, "guardian raft members")


def certificates_expiring(lives: Iterable[CertificateLife], now_ms: int) -> Iterator[Sighting]:
    """Yield what is to be renewed: without it connections begin to be refused."""
    for life in lives:
        if now_ms < life.soon_ms:
            continue
        days = abs(life.until_ms - now_ms) / _DAY_MS
        when = f"expires in {days:.1f} days" if now_ms < life.until_ms else f"has expired, {days:.1f} days ago"
        subject = Subject(FindingKind.CERTIFICATE_EXPIRES, "", f"{life.what} of member {life.owner}, {life.use}")
        show = (
            f"guardian certs show {life.where}" if life.what != "crl" and ":" not in life.where else "guardian status"
        )
        yield Sighting(subject, f"the {life.what} at {life.where} {when}: renew it", show)


def _some(words: list[str]) -> str:
    told = "; ".join(words[:_NAMED])
    return told if len(words) <= _NAMED else f"{told}; and {len(words) - _NAMED} more"
