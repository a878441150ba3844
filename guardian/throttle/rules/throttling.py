"""The throttle of what moves: how much, on which keys, and how to take it back without a trace.

How much. A ticket asks for one rate per broker, but too low a rate never lets a move finish:

    follower side   a replica that catches up takes in what producers write meanwhile, so the rate of a broker must
                    exceed the write rates of all replicas that move onto it (KAFKA.md, trap 16)
    leader side     followers in sync are never held back, yet their bytes count against the rate of the listed
                    partitions' leader, so it must exceed write rate x followers (trap 19)
    log dirs        as the follower side, for copies between the log dirs of one broker

Hence rate = max(asked, HEADROOM x what must flow anyway). Replicas are listed exactly, both sides: a wildcard would
also hold back replicas that catch up after a restart (trap 17).

Without a trace. The engine (settings/rules.py) keeps a record of all that we may have set, and restores it. Of rates:
one that was deleted while copies run is set again: nothing is what it replaces then. Of replica lists: only our own
entries are removed; a list that somebody turned into a wildcard is not ours.

What was put back, or was followed by another rate of ours, is remembered all the same (`lifted`). A request may have
lain in the socket of a broker that was stopped, and come to be after that. What shows up again when the ticket looks
once more at its end is ours, but for keys that somebody else of Guardian holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from guardian.model.cluster_state import ClusterObservation
from guardian.model.effects import BROKER, TOPIC, ConfigKey
from guardian.model.owned_setting import OwnedSetting
from guardian.model.throttle import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS, LISTS, LOG_DIR_RATE
from guardian.model.topology import TopicPartition
from guardian.settings import rules as owned_settings
from guardian.settings.rules import WILDCARD, Live, Policy, Reconciliation, Required, entries_of

# A catching-up replica gets half of the write rate on top of it: it closes an hour's gap in two.
HEADROOM = 1.5
_POLICY = Policy(lists=LISTS, sets_deleted_again=True)
# Kafka fences a broker that is stopped after 9 s, and each tick until then may leave a request in its socket.
_KEPT_LIFTED = 10


@dataclass(frozen=True, slots=True)
class Copy:
    """Replicas of one partition on their way. `sources` hold all of it, `destinations` copy it over the network,
    `log_dir_brokers` copy it between two of their own log dirs. `write_rate` is bytes/s into one replica.

    `log_dirs` are those that are read and written, (broker, path), as far as they are known; `size_bytes` is what one
    replica has to copy.
    """

    partition: TopicPartition
    write_rate: float
    leader: int
    sources: tuple[int, ...]
    destinations: tuple[int, ...] = ()
    log_dir_brokers: tuple[int, ...] = ()
    log_dirs: tuple[tuple[int, str], ...] = ()
    size_bytes: int = 0


def crossed(copy: Copy, idcs: Mapping[int, str]) -> tuple[tuple[str, str], ...]:
    """The lines that a copy crosses, (from, to), one for each destination behind one."""
    start = idcs.get(copy.leader, "")
    ends = (idcs.get(broker, "") for broker in copy.destinations)
    return tuple((start, end) for end in ends if start and end and start != end)


@dataclass(frozen=True, slots=True)
class Pace:
    """Bytes/s that are asked for: of the `brokers` that have a rate of their own, and of all others (`asked`, 0: no
    throttle at all). Beside them what some may take in over the network at the most.
    """

    asked: int
    brokers: Mapping[int, int] = field(default_factory=dict)
    into: Mapping[int, int] = field(default_factory=dict)

    def of(self, key: ConfigKey) -> int:
        broker = int(key.resource_name)
        rate = self.brokers.get(broker, self.asked)
        return min(rate, self.into.get(broker, rate)) if key.key == FOLLOWER_RATE else rate


@dataclass(frozen=True, slots=True)
class Throttle:
    """What the throttle should be: rates by broker key, list entries ("partition:broker") by topic key."""

    rates: Mapping[ConfigKey, int] = field(default_factory=dict)
    entries: Mapping[ConfigKey, frozenset[str]] = field(default_factory=dict)

    @property
    def required(self) -> Required:
        return {**{key: str(rate) for key, rate in self.rates.items()}, **self.entries}


def wanted(copies: Iterable[Copy], asked: int | Pace) -> Throttle:
    """The throttle for these copies at `asked` bytes/s per broker; none at all when that is 0."""
    pace = asked if isinstance(asked, Pace) else Pace(asked)
    if pace.asked == 0:
        return Throttle()
    copies = list(copies)
    entries: dict[ConfigKey, set[str]] = defaultdict(set)
    for copy in copies:
        for key, entry in listed_entries(copy):
            entries[key].add(entry)
    rates = {key: max(pace.of(key), rate) for key, rate in least(copies).items()}
    return Throttle(rates, {key: frozenset(listed) for key, listed in entries.items()})


def least(copies: Iterable[Copy]) -> dict[ConfigKey, int]:
    """The rates, by broker key, below which these copies would never end, whatever is asked."""
    flows: dict[ConfigKey, float] = defaultdict(float)
    for copy in copies:
        for key, flow in _flows(copy):
            flows[key] += flow
    return {key: round(HEADROOM * flow) for key, flow in flows.items()}


def explain(throttle: Throttle, asked: int | Pace) -> str:
    """One line for people; empty when nothing is throttled."""
    if not throttle.rates:
        return ""
    pace = asked if isinstance(asked, Pace) else Pace(asked)
    raised = [
        f"broker {key.resource_name}: {megabytes(rate)}"
        for key, rate in sorted(throttle.rates.items())
        if rate > pace.of(key)
    ]
    paces = {pace.of(key) for key in throttle.rates}
    span = megabytes(min(paces)) if len(paces) == 1 else f"{megabytes(min(paces))} to {megabytes(max(paces))}"
    brokers = len({key.resource_name for key in throttle.rates})
    line = f"throttled to {span} on {brokers} {'broker' if brokers == 1 else 'brokers'}"
    if raised:
        line += f", raised to {HEADROOM} x what producers write ({', '.join(dict.fromkeys(raised))})"
    return line


def megabytes(rate: int) -> str:
    """Format the rate for people: 12.5 MB/s."""
    return f"{rate / 1e6:g} MB/s"


def reconcile(
    recorded: tuple[OwnedSetting, ...],
    now: Throttle,
    observation: ClusterObservation,
    gone: frozenset[int] = frozenset(),
    settled: frozenset[ConfigKey] = frozenset(),
    theirs: frozenset[ConfigKey] = frozenset(),
) -> Reconciliation:
    """Return what to record and what to change so that Kafka shows `now`.

    `gone` are brokers that are down and of which nothing is wanted any more; a controller has confirmed that it put
    back what is `settled`. A rate that is `theirs`, of another ticket, is waited for: set over theirs, it would be put
    back to theirs, when nobody has that any more.
    """
    down = frozenset((BROKER, str(broker)) for broker in gone)
    others = theirs.difference(map(ConfigKey.of, recorded))
    known = {ConfigKey.of(each)[:2] for each in recorded} | {key[:2] for key in now.entries}
    deleted = deleted_topics(known - observation.configs.keys(), observation.partitions)
    live = Live(observation.configs, deleted, down, settled, others)
    return owned_settings.reconcile(now.required, recorded, live, _POLICY)


def deleted_topics(
    resources: Collection[tuple[str, str]], partitions: Collection[TopicPartition]
) -> frozenset[tuple[str, str]]:
    """Return those of the resources that are topics without partitions: a deleted topic took its settings along."""
    topics = {name for kind, name in resources if kind == TOPIC}
    existing = {partition.topic for partition in partitions} if topics else set()
    return frozenset((TOPIC, name) for name in topics - existing)


def lifted(
    remembered: Iterable[OwnedSetting], before: Iterable[OwnedSetting], now: Reconciliation
) -> tuple[OwnedSetting, ...]:
    """Return what was restored by now, and rates that newer ones followed: their requests may come late, too. Of a list
    only what it replaced is kept: its entries are those of the ticket's moves."""
    found = {ConfigKey.of(each): each for each in remembered}
    kept = {ConfigKey.of(each): each.values for each in now.settings}
    for each in before:
        key = ConfigKey.of(each)
        gone = tuple(value for value in each.values if value not in kept.get(key, ()))
        if key.key in LISTS:
            if key not in kept and each.replaced:
                found[key] = replace(each, values=(), leaving=())
        elif gone:
            older = tuple(value for value in found[key].values if value not in gone) if key in found else ()
            found[key] = OwnedSetting(*key, (*older, *gone)[-_KEPT_LIFTED:], each.replaced)
    for key in found.keys() & now.foreign.keys():  # theirs from now on, and said to be left alone
        values = tuple(value for value in found[key].values if value != now.foreign[key])
        found[key] = replace(found[key], values=values)
    return tuple(found[key] for key in sorted(found))


def rates_shown_again(remembered: Iterable[OwnedSetting], observation: ClusterObservation) -> tuple[OwnedSetting, ...]:
    """Return the restored rates of which Kafka shows one again, but for brokers to or from which somebody reassigns
    now."""
    theirs = {broker for each in observation.reassignments.values() for broker in each.replicas}
    rates = [each for each in remembered if each.resource_type == BROKER and int(each.resource_name) not in theirs]
    return tuple(each for each in rates if _is_shown(each, observation))


def unread(remembered: Iterable[OwnedSetting], observation: ClusterObservation) -> frozenset[int]:
    """Brokers that live, had a rate of ours, and do not answer."""
    brokers = {int(each.resource_name) for each in remembered if each.resource_type == BROKER}
    silent = {broker for broker in brokers if (BROKER, str(broker)) not in observation.configs}
    return frozenset(silent & observation.brokers.keys())


def entries_shown_again(
    remembered: Iterable[OwnedSetting], copies: Iterable[Copy], observation: ClusterObservation
) -> tuple[OwnedSetting, ...]:
    """Entries of the lists that these copies, which are over, had: those that Kafka shows, but for what stood there
    before us, and for partitions that somebody reassigns now."""
    replaced = {ConfigKey.of(each): each.replaced for each in remembered if each.key in LISTS}
    ours: dict[ConfigKey, set[str]] = defaultdict(set)
    for copy in copies:
        if copy.partition not in observation.reassignments:
            for key, entry in listed_entries(copy):
                ours[key].add(entry)
    found = []
    for key, entries in sorted(ours.items()):
        listed = entries_of(observation.configs.get((key.resource_type, key.resource_name), {}).get(key.key))
        shown = entries.intersection(listed) - set(entries_of(replaced.get(key)))
        if shown and WILDCARD not in listed:
            found.append(OwnedSetting(*key, tuple(sorted(shown)), replaced.get(key)))
    return tuple(found)


def _is_shown(setting: OwnedSetting, observation: ClusterObservation) -> bool:
    present = observation.configs.get((setting.resource_type, setting.resource_name), {}).get(setting.key)
    return present in setting.values and present != setting.replaced


def _flows(copy: Copy) -> Iterable[tuple[ConfigKey, float]]:
    """Yield what must flow through each rate, whatever is asked, in bytes/s."""
    if copy.destinations:
        replicas = len(set(copy.sources) | set(copy.destinations))
        for broker in copy.sources:
            flow = copy.write_rate * (replicas - 1) if broker == copy.leader else 0.0
            yield ConfigKey(BROKER, str(broker), LEADER_RATE), flow
        for broker in copy.destinations:
            yield ConfigKey(BROKER, str(broker), FOLLOWER_RATE), copy.write_rate
    for broker in copy.log_dir_brokers:
        yield ConfigKey(BROKER, str(broker), LOG_DIR_RATE), copy.write_rate


def listed_entries(copy: Copy) -> Iterable[tuple[ConfigKey, str]]:
    """Return each entry in a list of throttled replicas, by the list's key. Any source may come to lead: all are in."""
    if not copy.destinations:
        return
    topic, number = copy.partition
    for broker in copy.sources:
        yield ConfigKey(TOPIC, topic, LEADER_REPLICAS), f"{number}:{broker}"
    for broker in copy.destinations:
        yield ConfigKey(TOPIC, topic, FOLLOWER_REPLICAS), f"{number}:{broker}"


def capped(pace: Pace, rates: Mapping[int, int]) -> Pace:
    """Return the pace with these brokers held to standing rates, in bytes/s."""
    if not pace.asked or not rates:
        return pace
    held = {broker: min(rate, pace.brokers.get(broker, pace.asked)) for broker, rate in rates.items()}
    return replace(pace, brokers={**pace.brokers, **held})
