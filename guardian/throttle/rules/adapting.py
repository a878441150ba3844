"""How fast copies may go now: a rate for each broker and each line, decided anew at each tick.

                    pressure = the worst of value / limit
    broker   disk utilisation · disk await · interface · latency of clients' requests
    line     what is left of it when clients and replication have theirs

    pressure    > 1        falls: by what is too much, to half at the most; within a second when it is grave
                ROOM to 1  stays
                < ROOM     rises: by half in four seconds, by a tenth where it had to fall last time
    no news                does not rise, nor fall at once again: it was judged already
    no metrics             the floor: whoever can't be seen, or his disks, may be in trouble
    full                   halved each second: a share ends at 1, so that it never looks grave

A rate begins at a tenth of what is asked and rises in small steps. A broker that throttled nothing for ten seconds lets
through ten seconds' worth of its rate at once (Kafka looks at the last eleven windows together), and as much of what a
step adds. Measured: 30 MB/s from the first moment sent 200 MB in three seconds, and produce requests took two. Steps
are not smaller either. Each makes its broker read its configuration anew, for 4 ms, more than a look takes, and clients
felt a rise each second more than copies at the full rate.

Clients' latency has no limit that holds everywhere, so each broker is compared with itself: its baseline is what its
requests took when its copies began. Load that rises meanwhile makes requests slower without our doing. So when a rate
has fallen far, or to little, and they are still slow though the fall had its time, it goes to the floor, where copies
hardly count. What requests take there, once what waited is worked off, becomes the baseline, and only then the rate
goes on from where it was. Kafka's p99 still remembers the copies there, so the baseline's grows no more than the mean.
Where producers write so much that the floor is not kept, copies still count, and nothing becomes the baseline.

Where nothing was copied for ten seconds the rate begins anew, and so do the baselines: both were of another time.

Kafka's p99 remembers minutes, so it would keep a rate down long after the trouble is over: it counts only as far as
the mean of the last seconds agrees. It also comes late, so a mean that is grave for seconds is believed.

Kafka knows rates of brokers, none of lines. What a line carries arrives at followers, so the line's rate is divided
among the brokers that take copies over it, as a cap on what they take in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from guardian.errors import InvalidInput
from guardian.model.execution import AdaptedRate, Baseline
from guardian.model.settings import Section, check_ranges, setting
from guardian.model.text import some
from guardian.throttle.model import BrokerReading, Latency
from guardian.throttle.rules.throttling import Copy, Pace, crossed, least, megabytes

ROOM = 0.95
_NEARLY_FULL = 0.85  # of a limit, in the last seconds: from there on a look that shows all of it used is no chance
_MOST_FALL, _LEAST_FALL = 0.5, 0.8
_RISE, _CAREFUL_RISE = 1.25, 1.1
_BEGINNING = 0.1  # of what is asked
_FREE_RISES = 1.5  # in the time in which a rate that had to fall rises once
_IN_VAIN = 0.4  # of the rate from which it began to fall: that clients' requests are slow is not its doing, it seems
_LITTLE = 0.3  # of what is asked: so little hardly makes requests slow, whatever rate it fell from
_NEAR_TROUBLE = 0.9  # from this share of the rate that was too much on, it rises carefully
_GRAVE = 1.5  # a pressure between two looks that is no chance
_FULL = 0.97  # of a disk's time, or of an interface
_FORGOTTEN_MS = 10_000  # Kafka's memory of a rate
_P99_OF_MEAN = 4.6  # where latencies are exponential; else it is more
_DISK_MATTERS = 0.5  # an idle disk's await tells nothing
_FADE = 0.1  # of a baseline towards a lower mean, a look
_QUICKER = 0.6  # of a baseline's mean: what is more may be luck, and one that follows luck holds copies back for good
_TELLS_MS = 900  # what is read since the last change tells by then; ticks after a change come sooner
_STALLED = 0.5  # of what copies used lately: a disk that stalls copies less in that second, which says nothing
_DRAIN_S = 2.0  # a disk that was overwhelmed still works off what waits
_NAMED = 3
_NONE_STANDS: Mapping[int, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ThrottleSettings(Section):
    """Say how fast copies may be (guardian/execution/README.md); a ticket says where to begin."""

    adaptive: bool = setting(True, "Adapt rates to what brokers have room for; false: each ticket's rate is fixed.")
    floor_mb_per_s: float = setting(1.0, "Never below, and so much without metrics.", above=0, most=1e6)
    ceiling_mb_per_s: float = setting(0.0, "Never above, whatever a ticket asks for; 0: as it asks.", least=0, most=1e6)
    disk_utilisation: float = setting(0.8, "Rates fall from this share of a disk's time busy on.", above=0, most=1)
    await_ms: float = setting(50.0, "Rates fall from this time for a disk's request on.", above=0, most=1e6)
    nic_share: float = setting(0.8, "Rates fall from this share of an interface's speed on.", above=0, most=1)
    nic_gbit_per_s: float = setting(0.0, "Speed of interfaces whose host does not tell it; 0: no limit then.", least=0)
    p99_ms: float = setting(20.0, "Latencies whose p99 is below this are good whatever they were.", above=0, most=1e6)
    p99_factor: float = setting(1.5, "Rates fall when clients' requests become so much slower.", above=1, most=100)
    line_share: float = setting(
        0.8, "Rates fall from this share of a link's capacity (`links`) on, clients included.", above=0, most=1
    )
    rise_s: float = setting(3.0, "Rates rise in so long by a quarter, where they never fell faster.", above=0, most=1e6)
    settle_s: float = setting(6.0, "Rates fall again after so long, unless it is grave.", above=0, most=1e6)
    window_s: float = setting(5.0, "Rates are judged by the last so many seconds.", above=0, most=1e6)
    stale_s: float = setting(5.0, "A broker without an answer for so long goes to the floor.", above=0, most=1e6)
    fill_lines_without_client_activity: bool = setting(
        False, "Without [audit] take clients to move nothing over links."
    )
    adapt_without_disk_metrics: bool = setting(
        False, "Take log dirs on a disk without metrics (overlay, NFS, ZFS) for idle ones, with no floor."
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.ceiling_mb_per_s and self.ceiling < self.floor:
            raise InvalidInput(
                f"ceiling_mb_per_s is {self.ceiling_mb_per_s:g}, below the floor of {self.floor_mb_per_s:g}: raise it, "
                "or leave it out"
            )

    @property
    def floor(self) -> int:
        """Return the floor in bytes/s."""
        return max(1, round(self.floor_mb_per_s * 1e6))

    @property
    def ceiling(self) -> int:
        """Return the ceiling in bytes/s; 0: only the ticket's own."""
        return round(self.ceiling_mb_per_s * 1e6)


Line = tuple[str, str]  # from one IDC to another


@dataclass(frozen=True, slots=True)
class Around:
    """What surrounds the copies: `readings` of some seconds, in which chance counts less, and the `latest`, of about a
    second, which tell at once when something is gravely wrong. `unseen` are brokers that were asked and did not
    answer for some time, `silent` those whose readings were there at the last look already. `lines` are the bytes/s
    that copies may take on those whose limit is known.
    """

    settings: ThrottleSettings = field(default_factory=ThrottleSettings)
    readings: Mapping[int, BrokerReading] = field(default_factory=dict)
    latest: Mapping[int, BrokerReading] = field(default_factory=dict)
    idcs: Mapping[int, str] = field(default_factory=dict)
    lines: Mapping[Line, float] = field(default_factory=dict)
    unseen: frozenset[int] = frozenset()
    silent: frozenset[int] = frozenset()


class FirstRate(NamedTuple):
    """Bytes/s of a broker where its copies begin, and where there is room for all that is asked."""

    begins: int
    ends: int


def first_rate(asked: int, most: int, settings: ThrottleSettings) -> FirstRate:
    """Return where a broker's rate begins and where it rises to; `asked` and `most` as in `pace`, but not 0."""
    if not settings.adaptive:
        return FirstRate(asked, asked)
    bounds = _bounds(settings, asked, most)
    return FirstRate(bounds.start, bounds.ceiling)


@dataclass(frozen=True, slots=True)
class Paced:
    """`rates` are to be stored; `notes` say what holds copies back, and stay the same as long as it does."""

    pace: Pace
    rates: tuple[AdaptedRate, ...]
    notes: tuple[str, ...] = ()


class _Pressure(NamedTuple):
    value: float
    why: str
    is_relative: bool = False  # to a baseline, that may be out of date


class _Work(NamedTuple):
    """What a broker copies: bytes/s that it has to whatever is asked, and whether some of it stays on the broker, where
    Kafka does not count it."""

    least: int = 0
    is_between_log_dirs: bool = False


@dataclass(frozen=True, slots=True)
class _Bounds:
    floor: int
    start: int
    ceiling: int
    little: int


def pace(
    rates: tuple[AdaptedRate, ...],
    copies: Iterable[Copy],
    asked: int,
    around: Around | None,
    now_ms: int,
    most: int = 0,
    standing: Mapping[int, int] = _NONE_STANDS,
) -> Paced:
    """The rates of this tick. `asked` is where they rise to, 0: no throttle; `most` is the ceiling, 0: what is asked. A
    rate that stands for a broker is its ceiling, so that one that ends lets nothing leap.

    Without `around`, or where the settings say so, the rate is what is asked.
    """
    if around is None or not around.settings.adaptive or asked == 0:
        return Paced(Pace(asked), ())
    copies = list(copies)
    bounds = _bounds(around.settings, asked, most)
    past = [_in_the_past(each, now_ms) for each in rates]
    known = {(each.broker, each.line): each for each in past if not _is_forgotten(each, now_ms)}
    found: dict[tuple[int, Line | None], AdaptedRate] = {}
    for broker, work in _work(copies).items():
        rate = _in_use(known.get((broker, None)) or AdaptedRate(0, broker))
        held = _held(bounds, standing.get(broker, bounds.ceiling))
        found[broker, None] = _next_of_broker(rate, work, around, held, now_ms)
    shares = _line_takers(copies, around.idcs)
    for line in shares.keys() & around.lines.keys():
        rate = _in_use(known.get((-1, line)) or AdaptedRate(0, line=line))
        found[-1, line] = _next_of_line(rate, around, bounds, now_ms)
    for key, rate in known.items():
        if key not in found and (rate.line is None or rate.line in around.lines):
            found[key] = replace(rate, idle_since_ms=rate.idle_since_ms or now_ms)
    stored = tuple(found[key] for key in sorted(found, key=lambda key: (key[0], key[1] or ("", ""))))
    notes = (*_notes(stored, copies, shares, bounds), *_unwatched(copies, around))
    return Paced(_pace(asked, stored, shares), stored, notes)


def _in_the_past(rate: AdaptedRate, now_ms: int) -> AdaptedRate:
    """Members' clocks differ: what a leader before changed in this one's future would stay as it is until then."""
    if max(rate.changed_at_ms, rate.idle_since_ms) <= now_ms:
        return rate
    return replace(rate, changed_at_ms=min(rate.changed_at_ms, now_ms), idle_since_ms=min(rate.idle_since_ms, now_ms))


def _is_forgotten(rate: AdaptedRate, now_ms: int) -> bool:
    return rate.idle_since_ms != 0 and now_ms - rate.idle_since_ms > _FORGOTTEN_MS


def _in_use(rate: AdaptedRate) -> AdaptedRate:
    return replace(rate, idle_since_ms=0) if rate.idle_since_ms else rate


def _bounds(settings: ThrottleSettings, asked: int, most: int) -> _Bounds:
    ceiling = max(asked, most)
    if settings.ceiling:
        ceiling = min(ceiling, settings.ceiling)
    floor = min(settings.floor, ceiling)
    start = min(ceiling, max(floor, _rounded(asked * _BEGINNING)))
    return _Bounds(floor, start, ceiling, round(asked * _LITTLE))


def _held(bounds: _Bounds, most: int) -> _Bounds:
    return replace(
        bounds,
        floor=min(bounds.floor, most),
        start=min(bounds.start, most),
        ceiling=min(bounds.ceiling, most),
    )


def _work(copies: list[Copy]) -> dict[int, _Work]:
    """Return by broker the work of the copies."""
    rates: dict[int, int] = defaultdict(int)
    for key, rate in least(copies).items():
        rates[int(key.resource_name)] = max(rates[int(key.resource_name)], rate)
    inside = {broker for copy in copies for broker in copy.log_dir_brokers}
    return {broker: _Work(rates[broker], broker in inside) for broker in sorted(_brokers(copies))}


def _brokers(copies: Iterable[Copy]) -> set[int]:
    return {broker for copy in copies for broker in (*copy.destinations, *copy.log_dir_brokers, *_givers(copy))}


def _givers(copy: Copy) -> tuple[int, ...]:
    return copy.sources if copy.destinations else ()


def _next_of_broker(rate: AdaptedRate, work: _Work, around: Around, bounds: _Bounds, now_ms: int) -> AdaptedRate:
    settings = around.settings
    reading = around.readings.get(rate.broker)
    if not rate.rate:
        rate = replace(rate, rate=bounds.start, changed_at_ms=now_ms, why="where it begins")
    elif not bounds.floor <= rate.rate <= bounds.ceiling:
        rate = _changed(rate, min(bounds.ceiling, max(bounds.floor, rate.rate)), "another rate was asked for", now_ms)
    if rate.broker in around.unseen:
        return _changed(rate, bounds.floor, f"no metrics of it for {settings.stale_s:g} s", now_ms)
    if reading is None or reading.is_young:
        return rate
    if not (reading.disk or settings.adapt_without_disk_metrics):
        return _changed(rate, bounds.floor, "no metrics of its disks", now_ms)
    if rate.broker in around.silent:
        return _judged_again(rate, reading, work, settings, bounds, now_ms)
    return _judged(rate, reading, work, around, bounds, now_ms)


def _judged_again(
    rate: AdaptedRate, reading: BrokerReading, work: _Work, settings: ThrottleSettings, bounds: _Bounds, now_ms: int
) -> AdaptedRate:
    """Judge a rate again by a reading that was judged already: nothing rises, and nothing falls at once for a second
    time.
    """
    worst = _worst(reading, rate, settings)
    if _is_due(worst, rate, settings, now_ms):
        return _fallen(rate, reading.copied_per_s, worst, work, settings, bounds, now_ms)
    return rate


def _is_due(worst: _Pressure, rate: AdaptedRate, settings: ThrottleSettings, now_ms: int) -> bool:
    """Return whether what is too much is answered now: at first at once, then when the answer before had its time."""
    return worst.value > 1 and (not rate.trouble or _is_settled(rate, settings, now_ms))


def _is_settled(rate: AdaptedRate, settings: ThrottleSettings, now_ms: int) -> bool:
    """Return whether the rate's last change had the time to tell in what is read."""
    return now_ms - rate.changed_at_ms >= settings.settle_s * 1000


def _judged(
    rate: AdaptedRate, reading: BrokerReading, work: _Work, around: Around, bounds: _Bounds, now_ms: int
) -> AdaptedRate:
    settings = around.settings
    is_at_floor = rate.rate == bounds.floor and work.least <= bounds.floor
    alone_s = settings.window_s + _DRAIN_S  # from then on all that is read is of clients alone
    is_alone = is_at_floor and now_ms - rate.changed_at_ms >= alone_s * 1000
    rate = replace(rate, baselines=_baselines(rate.baselines, reading, is_alone))
    worst = _worst(reading, rate, settings)
    latest = around.latest.get(rate.broker, reading)
    grave = _grave(reading, latest, worst, rate, settings)
    if grave is not None and (not rate.trouble or now_ms - rate.changed_at_ms >= _TELLS_MS):
        copied_per_s = max(latest.copied_per_s, reading.copied_per_s * _STALLED)
        return _fallen(rate, copied_per_s, grave, work, settings, bounds, now_ms)
    if _is_due(worst, rate, settings, now_ms):
        return _fallen(rate, reading.copied_per_s, worst, work, settings, bounds, now_ms)
    rise_s = settings.rise_s if rate.trouble else settings.rise_s / _FREE_RISES
    if is_at_floor and rate.trouble:
        rise_s = max(rise_s, alone_s)
    if worst.value < ROOM and rate.rate < bounds.ceiling and now_ms - rate.changed_at_ms >= rise_s * 1000:
        return _risen(rate, worst, bounds, now_ms)
    return rate


def _grave(
    reading: BrokerReading, latest: BrokerReading, worst: _Pressure, rate: AdaptedRate, settings: ThrottleSettings
) -> _Pressure | None:
    """Return the pressure that can't wait until the change before had its time; None: there is none."""
    sudden = _worst(latest, rate, settings)
    if sudden.value > _GRAVE:
        return sudden
    if sudden.value > 1 and (slow := _slow(reading, latest, rate.baselines, settings)) is not None:
        return slow
    return _full(latest, settings) if worst.value > _NEARLY_FULL else None


def _full(reading: BrokerReading, settings: ThrottleSettings) -> _Pressure | None:
    """A disk or an interface whose share can't say how much too much it is. Where there was room in the last seconds,
    one look at it may be chance."""
    if reading.utilisation >= _FULL and reading.utilisation > settings.disk_utilisation:
        return _Pressure(1 / _MOST_FALL, _of_disk(reading, settings))
    if reading.nic_share >= _FULL and reading.nic_share > settings.nic_share:
        return _Pressure(1 / _MOST_FALL, _of_nic(reading, settings))
    return None


def _fallen(
    rate: AdaptedRate,
    copied_per_s: float,
    worst: _Pressure,
    work: _Work,
    settings: ThrottleSettings,
    bounds: _Bounds,
    now_ms: int,
) -> AdaptedRate:
    if rate.rate == bounds.floor:
        return rate
    # A rate that copies don't reach would have to fall for long before anybody felt it.
    is_known = copied_per_s > 0 and not work.is_between_log_dirs
    used = min(rate.rate, round(copied_per_s * _RISE)) if is_known else rate.rate
    lower = max(bounds.floor, _rounded(used * min(_LEAST_FALL, max(_MOST_FALL, 1 / worst.value))))
    before, why = rate.before or max(used, bounds.floor), worst.why
    is_in_vain = lower <= max(before * _IN_VAIN, bounds.little) and _is_settled(rate, settings, now_ms)
    if worst.is_relative and is_in_vain:
        lower, why = bounds.floor, f"{why}, and less copying changed little: what do they take without?"
    changed = _changed(rate, min(lower, rate.rate), why, now_ms)
    return replace(changed, trouble=max(used, bounds.floor), before=before)


def _risen(rate: AdaptedRate, worst: _Pressure, bounds: _Bounds, now_ms: int) -> AdaptedRate:
    is_near = rate.trouble and rate.rate * _RISE > rate.trouble * _NEAR_TROUBLE
    factor = _CAREFUL_RISE if is_near else _RISE
    higher = max(_rounded(rate.rate * factor), rate.rate + _step(rate.rate))
    if rate.rate == bounds.floor:
        higher = max(higher, _rounded(rate.before * _IN_VAIN))
    is_over = rate.rate == bounds.floor or higher > rate.trouble * _RISE
    changed = _changed(rate, min(bounds.ceiling, higher), f"there is room: {worst.why}", now_ms)
    return replace(changed, trouble=0, before=0) if is_over else changed


def _next_of_line(rate: AdaptedRate, around: Around, bounds: _Bounds, now_ms: int) -> AdaptedRate:
    """Falls at once to what is left, and rises towards it."""
    left = max(bounds.floor, _rounded(around.lines[rate.line] if rate.line else 0.0))
    if not rate.rate:
        return replace(rate, rate=left, changed_at_ms=now_ms, why="what is left of it")
    if left < rate.rate:
        return _changed(rate, left, "clients and replication take more of it", now_ms)
    if left > rate.rate and now_ms - rate.changed_at_ms >= around.settings.rise_s * 1000:
        return _changed(rate, min(left, _rounded(rate.rate * _RISE) + _step(rate.rate)), "there is room", now_ms)
    return rate


def _changed(rate: AdaptedRate, value: int, why: str, now_ms: int) -> AdaptedRate:
    if value == rate.rate:
        return rate
    way = f"{megabytes(rate.rate)} to {megabytes(value)}"
    return replace(rate, rate=value, changed_at_ms=now_ms, why=f"{way}: {why}")


def _baselines(known: tuple[Baseline, ...], reading: BrokerReading, is_alone: bool) -> tuple[Baseline, ...]:
    """The first look at a kind of request, unless the requests became quicker, or copies have long not mattered.

    Each change is stored, so small ones are left out.
    """
    of = {each.request: each for each in known}
    for kind, latency in reading.latencies.items():
        old = of.get(kind)
        if old is None or is_alone:
            new = Baseline(kind, latency.mean_ms, latency.p99_ms)
            if old is not None and old.mean_ms > 0:
                new = replace(new, p99_ms=min(latency.p99_ms, old.p99_ms * latency.mean_ms / old.mean_ms))
            if old is None or _differs(old.mean_ms, new.mean_ms):
                of[kind] = new
        elif latency.mean_ms < old.mean_ms * _QUICKER:
            p99_ms = min(old.p99_ms, max(latency.p99_ms, old.p99_ms * (1 - _FADE)))
            of[kind] = Baseline(kind, old.mean_ms * (1 - _FADE) + latency.mean_ms * _FADE, p99_ms)
    return tuple(of[kind] for kind in sorted(of))


def _differs(one: float, other: float) -> bool:
    return abs(one - other) > 0.1 * max(one, other)


def _worst(reading: BrokerReading, rate: AdaptedRate, settings: ThrottleSettings) -> _Pressure:
    return max(_pressures(reading, rate.baselines, settings), key=lambda each: each.value)


def _pressures(
    reading: BrokerReading, baselines: tuple[Baseline, ...], settings: ThrottleSettings
) -> Iterator[_Pressure]:
    yield _Pressure(0.0, "nothing is used")
    if reading.disk:
        yield _Pressure(reading.utilisation / settings.disk_utilisation, _of_disk(reading, settings))
    if reading.slowest_disk and reading.utilisation >= _DISK_MATTERS * settings.disk_utilisation:
        text = f"disk {reading.slowest_disk} takes {reading.await_ms:.0f} ms a request, limit {settings.await_ms:g} ms"
        yield _Pressure(reading.await_ms / settings.await_ms, text)
    if reading.nic:
        yield _Pressure(reading.nic_share / settings.nic_share, _of_nic(reading, settings))
    for baseline in baselines:
        if baseline.request in reading.latencies:
            yield _pressure_of_clients(baseline, reading.latencies[baseline.request], settings)


def _of_disk(reading: BrokerReading, settings: ThrottleSettings) -> str:
    return f"disk {reading.disk} is {reading.utilisation:.0%} busy, limit {settings.disk_utilisation:.0%}"


def _of_nic(reading: BrokerReading, settings: ThrottleSettings) -> str:
    return f"interface {reading.nic} is {reading.nic_share:.0%} full, limit {settings.nic_share:.0%}"


def _slow(
    reading: BrokerReading, latest: BrokerReading, baselines: tuple[Baseline, ...], settings: ThrottleSettings
) -> _Pressure | None:
    """Requests whose mean is far too long, in the last tick and in all of the last seconds. Kafka's p99 follows too
    slowly to tell how far."""
    for baseline in baselines:
        if baseline.request in reading.latencies and baseline.request in latest.latencies:
            now = latest.latencies[baseline.request]
            mean_ms = min(now.mean_ms, reading.latencies[baseline.request].mean_ms)
            value = mean_ms / _limits(baseline, settings).mean_ms
            if value > _GRAVE:
                return _pressure_of_clients(baseline, now, settings)._replace(value=value)
    return None


def _limits(baseline: Baseline, settings: ThrottleSettings) -> Latency:
    p99_ms = max(settings.p99_ms, baseline.p99_ms * settings.p99_factor)
    # The mean of a few seconds is much by chance, what it should be by the p99 of minutes is not.
    return Latency(max(p99_ms / _P99_OF_MEAN, baseline.mean_ms * settings.p99_factor), p99_ms)


def _pressure_of_clients(baseline: Baseline, latency: Latency, settings: ThrottleSettings) -> _Pressure:
    limits = _limits(baseline, settings)
    return _Pressure(
        min(latency.p99_ms / limits.p99_ms, latency.mean_ms / limits.mean_ms),
        f"{baseline.request} requests take {latency.mean_ms:.1f} ms, p99 {latency.p99_ms:.0f} ms, "
        f"limits {limits.mean_ms:.1f} and {limits.p99_ms:.0f} ms",
        is_relative=True,
    )


def _line_takers(copies: list[Copy], idcs: Mapping[int, str]) -> dict[Line, set[int]]:
    """Return by line the brokers that take copies over it."""
    takers: dict[Line, set[int]] = defaultdict(set)
    for copy in copies:
        for line in crossed(copy, idcs):
            takers[line].update(broker for broker in copy.destinations if idcs.get(broker) == line[1])
    return takers


def _pace(asked: int, rates: tuple[AdaptedRate, ...], takers: Mapping[Line, set[int]]) -> Pace:
    into: dict[int, int] = defaultdict(int)
    for each in rates:
        for broker in takers.get(each.line, ()) if each.line else ():
            into[broker] += max(1, each.rate // len(takers[each.line])) if each.line else 0
    return Pace(asked, {each.broker: each.rate for each in rates if each.line is None}, into)


def _notes(
    rates: tuple[AdaptedRate, ...], copies: list[Copy], takers: Mapping[Line, set[int]], bounds: _Bounds
) -> Iterator[str]:
    """Yield what is below the ceiling, the slowest first."""
    brokers = _brokers(copies)
    held = [
        each
        for each in rates
        if each.why and each.rate < bounds.ceiling and (each.broker in brokers or (each.line and each.line in takers))
    ]
    for each in sorted(held, key=lambda each: each.rate)[:_NAMED]:
        yield f"{named(each)} {each.why}"


def _unwatched(copies: list[Copy], around: Around) -> Iterator[str]:
    """Interfaces whose limit nobody knows, in one sentence."""
    found = {b: around.readings[b].nic_without_speed for b in sorted(_brokers(copies)) if b in around.readings}
    names = [f"{nic} of broker {broker}" for broker, nic in found.items() if nic]
    if names:
        one = len(names) == 1
        yield (
            f"{some(names)} {'does' if one else 'do'} not tell {'its' if one else 'their'} speed, "
            "so interfaces there have no limit: set nic_gbit_per_s under [throttle]"
        )


def named(rate: AdaptedRate) -> str:
    """Name what the rate is of."""
    return f"{rate.line[0]} to {rate.line[1]}" if rate.line else f"broker {rate.broker}"


def _rounded(value: float) -> int:
    """Down to two digits: what was set before is then often set again, and the record of it stays short."""
    if value < 1:
        return 1
    step = _step(int(value))
    return int(value) // step * step


def _step(value: int) -> int:
    return int(10 ** max(0, len(str(value)) - 2))
