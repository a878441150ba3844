"""The throttle of what moves: how much, on which keys, and how to take it back without a trace.

How much. A ticket asks for one rate per broker, but too low a rate never lets a move finish:

    follower side   a replica that catches up takes in what producers write meanwhile, so the rate of a broker must
                    exceed the write rates of all replicas that move onto it (KAFKA.md, trap 16)
    leader side     followers in sync are never held back, yet their bytes count against the rate of the listed
                    partitions' leader, so it must exceed write rate x followers (trap 19)
    log dirs        as the follower side, for copies between the log dirs of one broker

Hence rate = max(asked, HEADROOM x what must flow anyway). Replicas are listed exactly, both sides: a wildcard would
also hold back replicas that catch up after a restart (trap 17).

Without a trace. A `ThrottleIntent` is committed before its value is sent, and stays until Kafka shows that nothing of
ours is left. It is the record of all that we may have set:

    rates             one intent for each value that may have been sent; `replaced` is what stood there before.
                      Ours is a present value that equals one of them. It is changed and restored; any other value is
                      somebody else's by now and is left alone. A last intent without a value says that one was
                      seen, for when its broker dies. One that was deleted while copies run is set again: nothing is
                      what it replaces then.
    replica lists     one intent whose value is our own entries. Only those are taken out again; entries that stood
                      there before are not ours, and neither is a list that somebody turned into a wildcard.

An intent that is no longer wanted is kept for one more step before its absence from Kafka counts, because a broker
may answer from before the last change. What was put back, or was followed by another rate of ours, is remembered all
the same (`lifted`): a request may have lain in the socket of a broker that was stopped, and come to be after that. What
shows up again when the ticket looks once more at its end is ours, but for keys that somebody else of Guardian holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from guardian.core.effects import ConfigChange, ConfigKey
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import ThrottleIntent
from guardian.model.topology import TopicPartition

BROKER = "BROKER"
TOPIC = "TOPIC"
LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
THROTTLES = frozenset({LEADER_RATE, FOLLOWER_RATE, LOG_DIR_RATE, LEADER_REPLICAS, FOLLOWER_REPLICAS})

# A catching-up replica gets half of the write rate on top of it: it closes an hour's gap in two.
HEADROOM = 1.5
WILDCARD = "*"
# Of a rate that changes at each tick Kafka may never show the newest: so many older ones count as ours.
_KEPT = 100
# Kafka fences a broker that is stopped after 9 s, and each tick until then may leave a request in its socket.
_KEPT_LIFTED = 10
_NOT_OURS = ""  # no rate: what was seen last is what somebody else has set


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


@dataclass(frozen=True, slots=True)
class Pace:
    """Bytes/s that are asked for: of the `brokers` that have a rate of their own, of all others (`asked`, 0: no
    throttle at all), and what some may take in over the network at the most."""

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
    def keys(self) -> frozenset[ConfigKey]:
        return frozenset(self.rates) | frozenset(self.entries)


@dataclass(frozen=True, slots=True)
class Reconciled:
    """`unset` are wanted keys that Kafka does not show yet; `notes` name what others set and we leave alone; `debts`
    are what brokers that are gone must find when they come back."""

    intents: tuple[ThrottleIntent, ...]
    changes: Mapping[ConfigKey, ConfigChange]
    unset: frozenset[ConfigKey]
    notes: tuple[str, ...]
    debts: Mapping[ConfigKey, str | None] = field(default_factory=dict)


def wanted(copies: Iterable[Copy], asked: int | Pace) -> Throttle:
    """The throttle for these copies at `asked` bytes/s per broker; none at all when that is 0."""
    pace = asked if isinstance(asked, Pace) else Pace(asked)
    if pace.asked == 0:
        return Throttle()
    copies = list(copies)
    entries: dict[ConfigKey, set[str]] = defaultdict(set)
    for copy in copies:
        for key, entry in _entries(copy):
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
    """For people: 12.5 MB/s."""
    return f"{rate / 1e6:g} MB/s"


def reconcile(
    recorded: tuple[ThrottleIntent, ...],
    now: Throttle,
    before: Throttle,
    observation: ClusterObservation,
    gone: frozenset[int] = frozenset(),
    settled: frozenset[ConfigKey] = frozenset(),
    theirs: frozenset[ConfigKey] = frozenset(),
) -> Reconciled:
    """What to record and what to change so that Kafka shows `now`; `before` is what was wanted a step ago.

    `gone` are brokers that are down and of which nothing is wanted any more; a controller has confirmed that it put
    back what is `settled`. A rate that is `theirs`, of another ticket, is waited for: set over theirs, it would be put
    back to theirs, when nobody has that any more.
    """
    by_key: dict[ConfigKey, list[ThrottleIntent]] = defaultdict(list)
    for intent in recorded:
        by_key[ConfigKey.of(intent)].append(intent)
    parts = []
    for key in sorted(set(by_key) | now.keys):
        values = observation.configs.get((key.resource_type, key.resource_name))
        if values is None and key.resource_type == BROKER and int(key.resource_name) in gone and key not in now.rates:
            parts.append(_debt(key, tuple(by_key[key]), is_settled=key in settled))
        elif values is None:
            parts.append(_unreadable(key, tuple(by_key[key]), now, observation))
        elif key in theirs and not by_key[key]:
            parts.append(_part(unset=frozenset({key}), note=f"{key.key} of {_name(key)} is another ticket's: waits"))
        elif key.resource_type == BROKER:
            held = key in before.rates
            parts.append(_reconcile_rate(key, tuple(by_key[key]), values.get(key.key), now.rates.get(key), held))
        else:
            parts.append(_reconcile_entries(key, by_key[key], values.get(key.key), now, before))
    return _merge(parts)


def lifted(
    remembered: Sequence[ThrottleIntent], before: Iterable[ThrottleIntent], after: Iterable[ThrottleIntent]
) -> tuple[ThrottleIntent, ...]:
    """What was put back by now, and rates that others of ours took the place of: their requests may come late, too. Of
    a list only what stood there before us, where something did: its entries are those of the ticket's moves."""
    kept = {ConfigKey.of(intent) for intent in after}
    held = {(ConfigKey.of(intent), intent.value) for intent in after if intent.resource_type == BROKER}
    gone = [
        each
        for each in before
        if ((key := ConfigKey.of(each)), each.value) not in held and (key not in kept or each.resource_type == BROKER)
    ]
    found: dict[ConfigKey, dict[str, ThrottleIntent]] = {}
    for intent in (*remembered, *gone):
        of_key = found.setdefault(ConfigKey.of(intent), {})
        if intent.resource_type == BROKER and not _is_foreign(intent):
            of_key.pop(intent.value, None)
            of_key[intent.value] = intent
        elif intent.resource_type == BROKER:
            of_key.pop(intent.replaced or "", None)  # theirs from now on, and said to be left alone
        elif intent.resource_type == TOPIC and intent.replaced:
            of_key[""] = replace(intent, value="")
    return tuple(intent for key in sorted(found) for intent in list(found[key].values())[-_KEPT_LIFTED:])


def rates_shown_again(
    remembered: Iterable[ThrottleIntent], observation: ClusterObservation
) -> tuple[ThrottleIntent, ...]:
    """Of rates that were put back: those of keys on which Kafka shows one of them, but for brokers to or from which
    somebody reassigns now."""
    theirs = {broker for each in observation.reassignments.values() for broker in each.replicas}
    rates = [each for each in remembered if each.resource_type == BROKER and int(each.resource_name) not in theirs]
    replaced = {ConfigKey.of(each): each.replaced for each in rates}  # the newest of a key is its last
    rates = [replace(each, replaced=replaced[ConfigKey.of(each)]) for each in rates]
    again = {ConfigKey.of(each) for each in rates if _is_shown(each, observation)}
    return tuple(each for each in rates if ConfigKey.of(each) in again)


def unread(remembered: Iterable[ThrottleIntent], observation: ClusterObservation) -> frozenset[int]:
    """Brokers that live, had a rate of ours, and do not answer."""
    brokers = {int(each.resource_name) for each in remembered if each.resource_type == BROKER}
    silent = {broker for broker in brokers if (BROKER, str(broker)) not in observation.configs}
    return frozenset(silent & observation.brokers.keys())


def entries_shown_again(
    remembered: Iterable[ThrottleIntent], copies: Iterable[Copy], observation: ClusterObservation
) -> tuple[ThrottleIntent, ...]:
    """Entries of the lists that these copies, which are over, had: those that Kafka shows, but for what stood there
    before us, and for partitions that somebody reassigns now."""
    replaced = {ConfigKey.of(intent): intent.replaced for intent in remembered if intent.resource_type == TOPIC}
    ours: dict[ConfigKey, set[str]] = defaultdict(set)
    for copy in copies:
        if copy.partition not in observation.reassignments:
            for key, entry in _entries(copy):
                ours[key].add(entry)
    found = []
    for key, entries in sorted(ours.items()):
        listed = _split(observation.configs.get((key.resource_type, key.resource_name), {}).get(key.key))
        shown = entries.intersection(listed) - set(_split(replaced.get(key)))
        if shown and WILDCARD not in listed:
            found.append(ThrottleIntent(*key, _join(shown), replaced.get(key)))
    return tuple(found)


def _is_shown(intent: ThrottleIntent, observation: ClusterObservation) -> bool:
    present = observation.configs.get((intent.resource_type, intent.resource_name), {}).get(intent.key)
    return present == intent.value != intent.replaced


def _flows(copy: Copy) -> Iterable[tuple[ConfigKey, float]]:
    """What must flow through each rate, whatever is asked."""
    if copy.destinations:
        replicas = len(set(copy.sources) | set(copy.destinations))
        for broker in copy.sources:
            flow = copy.write_rate * (replicas - 1) if broker == copy.leader else 0.0
            yield ConfigKey(BROKER, str(broker), LEADER_RATE), flow
        for broker in copy.destinations:
            yield ConfigKey(BROKER, str(broker), FOLLOWER_RATE), copy.write_rate
    for broker in copy.log_dir_brokers:
        yield ConfigKey(BROKER, str(broker), LOG_DIR_RATE), copy.write_rate


def _entries(copy: Copy) -> Iterable[tuple[ConfigKey, str]]:
    """Any source may become the leader while it lasts, so all are listed."""
    if not copy.destinations:
        return
    topic, number = copy.partition
    for broker in copy.sources:
        yield ConfigKey(TOPIC, topic, LEADER_REPLICAS), f"{number}:{broker}"
    for broker in copy.destinations:
        yield ConfigKey(TOPIC, topic, FOLLOWER_REPLICAS), f"{number}:{broker}"


def _unreadable(
    key: ConfigKey, recorded: tuple[ThrottleIntent, ...], now: Throttle, observation: ClusterObservation
) -> Reconciled:
    """A deleted topic took its configuration along; a broker that is down keeps it until it is back."""
    if key.resource_type == TOPIC and not any(tp.topic == key.resource_name for tp in observation.partitions):
        return _part()
    unset = frozenset({key}) & now.keys
    if not recorded:
        return _part(unset=unset)
    return _part(recorded, unset=unset, note=f"{key.key} of {_name(key)} can't be read until it answers")


def _debt(key: ConfigKey, recorded: tuple[ThrottleIntent, ...], *, is_settled: bool) -> Reconciled:
    """A controller describes no broker's configuration, so that its word is taken for it."""
    if is_settled:
        return _part()
    if recorded and _is_foreign(recorded[-1]):
        return _part(note=f"{key.key} of {_name(key)}, which is down, was set by somebody else and is left alone")
    note = f"{key.key} of {_name(key)}, which is down, is put back through a controller"
    return replace(_part(recorded, note=note), debts={key: recorded[0].replaced})


def _reconcile_rate(
    key: ConfigKey, recorded: tuple[ThrottleIntent, ...], present: str | None, rate: int | None, held: bool
) -> Reconciled:
    recorded = tuple(intent for intent in recorded if not _is_foreign(intent))
    replaced = recorded[0].replaced if recorded else present
    ours = present != replaced and any(intent.value == present for intent in recorded)
    if recorded and not ours and present != replaced:
        return _changed_by_another(key, recorded, present, rate)
    if rate is None:
        if ours:
            return _part(recorded, {key: ConfigChange(present, replaced)})
        # The rate may have been set without being shown yet: putting it back once more comes after it in any case.
        return _part(recorded, {key: ConfigChange(present, replaced)}) if held and recorded else _part()
    value = str(rate)
    if present == value and not recorded:
        return _part()
    mine = ThrottleIntent(*key, value, replaced)
    # What is shown may be older than the rate that was set last, which would come up later as nobody's.
    if present == value and (not recorded or recorded[-1].value == value):
        return _part((mine,))
    others = tuple(intent for intent in recorded if intent.value != value)
    shown = tuple(intent for intent in others[:-_KEPT] if intent.value == present)
    others = shown + others[-_KEPT:]
    unset = frozenset() if ours else frozenset({key})
    return _part((*others, mine), {key: ConfigChange(present, value)}, unset)


def _changed_by_another(
    key: ConfigKey, recorded: tuple[ThrottleIntent, ...], present: str | None, rate: int | None
) -> Reconciled:
    """What another tool has set is left alone. Who deletes a rate chooses none: kafka-reassign-partitions --verify does
    so on all brokers (KAFKA.md, trap 5), and what runs would copy without any. What it took away with ours, the rate of
    before, is not put back either."""
    if rate is None or present is not None:
        keep = (*recorded, ThrottleIntent(*key, _NOT_OURS, present)) if rate is not None else ()
        return _part(keep, note=f"{key.key} of {_name(key)} was set to {present} by somebody else and is left alone")
    value = str(rate)
    others = tuple(replace(intent, replaced=None) for intent in recorded if intent.value != value)
    note = f"{key.key} of {_name(key)} was deleted by somebody else while copies run, and is set again"
    intents = (*others[-_KEPT:], ThrottleIntent(*key, value, None))
    return _part(intents, {key: ConfigChange(None, value)}, frozenset({key}), note)


def _is_foreign(intent: ThrottleIntent) -> bool:
    """Seen in place of ours, for when the broker can't tell any more."""
    return intent.value == _NOT_OURS


def _reconcile_entries(
    key: ConfigKey, recorded: list[ThrottleIntent], present: str | None, now: Throttle, before: Throttle
) -> Reconciled:
    listed = _split(present)
    if WILDCARD in listed:
        return _part(note=f"{key.key} of {_name(key)} is {present}, set by somebody else, and is left alone")
    replaced = recorded[0].replaced if recorded else present
    foreign = frozenset(_split(replaced))
    desired = now.entries.get(key, frozenset()) - foreign
    mine = frozenset(entry for intent in recorded for entry in _split(intent.value))
    lasting = {entry for entry in mine if entry in listed or entry in before.entries.get(key, frozenset())}
    recording = desired | lasting
    if not recording:
        # All that is wanted stood there before: that it did is what is left to remember.
        return _part((ThrottleIntent(*key, "", replaced),)) if now.entries.get(key) else _part()
    intent = ThrottleIntent(*key, _join(recording), replaced)
    kept = [entry for entry in listed if entry not in mine - desired]
    result = kept + sorted(desired - set(kept), key=_entry_order)
    unset = frozenset() if desired <= set(listed) else frozenset({key})
    if result == listed:
        return _part((intent,))
    return _part((intent,), {key: ConfigChange(present, ",".join(result) or None)}, unset)


def _split(value: str | None) -> list[str]:
    return [entry.strip() for entry in value.split(",") if entry.strip()] if value else []


def _join(entries: Iterable[str]) -> str:
    return ",".join(sorted(entries, key=_entry_order))


def _entry_order(entry: str) -> tuple[int, ...]:
    return tuple(int(number) for number in entry.split(":"))


def _name(key: ConfigKey) -> str:
    return f"{key.resource_type.lower()} {key.resource_name}"


def _part(
    intents: tuple[ThrottleIntent, ...] = (),
    changes: Mapping[ConfigKey, ConfigChange] | None = None,
    unset: frozenset[ConfigKey] = frozenset(),
    note: str = "",
) -> Reconciled:
    return Reconciled(intents, changes or {}, unset, (note,) if note else ())


def _merge(parts: list[Reconciled]) -> Reconciled:
    return Reconciled(
        tuple(intent for part in parts for intent in part.intents),
        {key: change for part in parts for key, change in part.changes.items()},
        frozenset(key for part in parts for key in part.unset),
        tuple(note for part in parts for note in part.notes),
        {key: value for part in parts for key, value in part.debts.items()},
    )
