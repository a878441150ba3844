"""What the detectors of healing look at: Kafka, the lake and Guardian's own group, as sightings.

    brokers     who lives, who is fenced and still answers   three small requests, every 5 s
    replicas    log dirs, ISRs, reassignments                all partitions and log dirs, every 20 s
    controllers their quorum, and how its log grows          one request, every 20 s
    balance     who holds how much; disks that fill          the same, and days of the lake, every 10 min
    members     whom the leader reaches, and how long        no request; a connection to each member every 10 min
                certificates count

What lasts from one look to the next is in memory and can be seen again. It is how many replicas each broker is to have,
since when a reassignment copies nothing, how long the controllers' log was, and what the only replicas held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import numpy as np

from guardian.errors import ClusterUnavailable, InvalidInput, Unavailable, Undecided
from guardian.health.model.finding import FindingKind, Sighting, Subject
from guardian.health.rules import emptied, quorums, troubles
from guardian.health.rules.emptied import Singles
from guardian.health.rules.quorums import Committed
from guardian.health.rules.troubles import Motions
from guardian.kafka.admin import TOPIC, KafkaAdmin
from guardian.lake.model.schema import LOG_DIR_SAMPLES
from guardian.lake.model.window import Window
from guardian.lake.rules.forecasts import disk_full
from guardian.lake.store.reader import LakeReader
from guardian.model.forecast import Forecast, Outlook
from guardian.model.topology import BrokerState, Cluster
from guardian.model.units import human_bytes
from guardian.replication.store.store import ReplicatedStore
from guardian.security.model.certificate import CertificateLife

SOON_DAYS = 7.0
FULL = 0.9  # of a disk: Kafka needs room to roll and to compact
_FORECAST_MS = 4 * 86_400_000
_MIN_ISR = "min.insync.replicas"


class TroubleLooks:
    """For one thread. `admin_for` gives the admin connection of a cluster, which is kept between looks; `certificates`
    says how long those of members count."""

    def __init__(
        self,
        store: ReplicatedStore,
        admin_for: Callable[[str], KafkaAdmin],
        certificates: Callable[[], Iterable[CertificateLife]] = tuple,
    ) -> None:
        self._store = store
        self._admin_for = admin_for
        self._certificates = certificates
        self._hosted: dict[str, dict[int, int]] = {}
        self._motions: dict[str, Motions] = {}
        self._alive: dict[str, frozenset[int]] = {}
        self._down: dict[str, tuple[Sighting, ...]] = {}
        self._fenced: dict[str, tuple[Sighting, ...]] = {}
        self._silent: dict[str, str] = {}
        self._offline: dict[str, tuple[Sighting, ...]] = {}
        self._committed: dict[str, Committed] = {}
        self._singles: dict[str, Singles] = {}

    def forget(self) -> None:
        """Another leader has looked meanwhile."""
        self._hosted.clear()
        self._motions.clear()
        self._alive.clear()
        self._down.clear()
        self._fenced.clear()
        self._silent.clear()
        self._offline.clear()
        self._committed.clear()
        self._singles.clear()

    def broker_count(self, cluster: Cluster) -> int:
        """Return how many brokers the cluster is to have, as far as is known."""
        registered = {broker.id for broker in cluster.brokers}
        return len(registered | self._hosted.get(cluster.name, {}).keys() | self._alive.get(cluster.name, frozenset()))

    def alive(self, cluster: str) -> frozenset[int]:
        """The brokers that the last look that succeeded saw live."""
        return self._alive.get(cluster, frozenset())

    def serving(self, cluster: str) -> frozenset[int] | None:
        """Return the brokers that the last look saw live; None where nobody has looked, or the cluster did not
        answer."""
        return None if cluster in self._silent else self._alive.get(cluster)

    def require_reachable(self, cluster: str) -> None:
        """Raises ClusterUnavailable for a cluster that did not answer just now: to wait for it once more would keep the
        looks at all other clusters waiting."""
        if cluster in self._silent:
            raise ClusterUnavailable(self._silent[cluster])

    def brokers(self, cluster: Cluster) -> Iterator[Sighting]:
        """Raises ClusterUnavailable where that may pass: a cluster without one broker that answers is a sighting, and
        so is one whose brokers can't be believed."""
        admin = self._admin_for(cluster.name)
        try:
            alive = frozenset(admin.describe_cluster().brokers)
        except ClusterUnavailable as error:
            self._silent[cluster.name] = str(error)
            is_unknown = isinstance(error, Undecided)
            yield (troubles.state_unknown if is_unknown else troubles.unreachable)(cluster.name, str(error))
            # Nobody knows, so nothing has ended.
            yield from (*self._fenced.get(cluster.name, ()), *self._down.get(cluster.name, ()))
            return
        with suppress(ClusterUnavailable):
            self._fenced[cluster.name] = tuple(troubles.fenced_servers(cluster.name, admin.fenced_servers()))
        self._silent.pop(cluster.name, None)
        if cluster.name not in self._hosted:
            self._hosted[cluster.name] = troubles.hosted(admin.describe_partitions())
        self._alive[cluster.name] = alive
        yield from self._fenced.get(cluster.name, ())
        hosted, emptied = self._hosted[cluster.name], self._emptied(cluster, alive)
        down = tuple(troubles.brokers_down(cluster.name, alive, cluster.brokers, hosted, emptied))
        self._down[cluster.name] = down
        yield from down

    def _emptied(self, cluster: Cluster, alive: frozenset[int]) -> frozenset[int]:
        """The brokers that removals are at; only asked for where it counts."""
        if not any(each.state is BrokerState.DRAINING and each.id not in alive for each in cluster.brokers):
            return frozenset()
        return troubles.emptied_by(self._store.read_local().driven_tickets(cluster.name))

    def replicas(self, cluster: Cluster, now_ms: int) -> Iterator[Sighting]:
        """Reassignments are read before partitions, as the executor does. Of a broker that lives, or did a moment ago,
        and tells nothing of its log dirs, what was known has not ended."""
        admin = self._admin_for(cluster.name)
        alive = admin.describe_cluster().brokers
        reassignments = admin.list_reassignments()
        partitions = admin.describe_partitions()
        log_dirs = admin.describe_log_dirs(sorted(alive))
        self._hosted[cluster.name] = troubles.hosted(partitions)
        moving = troubles.motions(self._motions.get(cluster.name, {}), reassignments, log_dirs, now_ms)
        self._motions[cluster.name] = moving
        short = sorted(troubles.short_topics(partitions))
        settings = admin.effective_configs([(TOPIC, topic) for topic in short], {_MIN_ISR}) if short else {}
        min_isr = {topic: int(values[_MIN_ISR]) for (_, topic), values in settings.items() if _MIN_ISR in values}
        silent = (alive.keys() | self._alive.get(cluster.name, frozenset())) - {each.broker for each in log_dirs}
        self._offline[cluster.name] = (
            *troubles.log_dirs_offline(cluster.name, log_dirs, partitions),
            *(each for each in self._offline.get(cluster.name, ()) if silent.issuperset(each.brokers)),
        )
        yield from self._offline[cluster.name]
        yield from troubles.isr_short(cluster.name, partitions, min_isr)
        yield from troubles.stuck(cluster.name, moving, alive, now_ms)
        yield from emptied.empty_replicas(cluster.name, log_dirs, partitions, reassignments)
        self._singles[cluster.name] = emptied.singles(self._singles.get(cluster.name, {}), log_dirs, partitions, alive)
        yield from emptied.lost_topics(cluster.name, self._singles[cluster.name], log_dirs, partitions)

    def controllers(self, cluster: Cluster, now_ms: int) -> Iterator[Sighting]:
        """Yield what is wrong with the quorum; nothing of a cluster that is too old to tell. Raises
        ClusterUnavailable, as between two active controllers."""
        quorum = self._admin_for(cluster.name).describe_quorum()
        if quorum is None:
            return
        before, now = self._committed.get(cluster.name), Committed(now_ms, quorum.committed)
        self._committed[cluster.name] = now
        yield from quorums.at_risk(cluster.name, quorum)
        yield from quorums.behind(cluster.name, quorum)
        yield from quorums.grows(cluster.name, before, now)

    def balance(self, cluster: Cluster, lake: LakeReader, now_ms: int) -> Iterator[Sighting]:
        """Yield skew and disks that fill; without samples that reach back far enough nothing is said of the latter."""
        admin = self._admin_for(cluster.name)
        log_dirs = admin.describe_log_dirs(sorted(admin.describe_cluster().brokers))
        yield from troubles.skew(cluster.name, cluster.brokers, log_dirs, admin.describe_partitions())
        for forecast in _forecasts(lake, cluster.name, Window(max(0, now_ms - _FORECAST_MS), now_ms + 1)):
            if forecast.outlook is Outlook.OVER or (forecast.outlook is Outlook.GROWING and forecast.days < SOON_DAYS):
                yield _of_forecast(cluster.name, forecast)

    def members(self, now_ms: int) -> Iterator[Sighting]:
        """Yield troubles of members, as the leader sees its group."""
        status = self._store.status()
        missing = [each for each in status.members if not each.is_connected and each.name != status.name]
        stopped = {each.name: each.last_words.reason for each in missing if each.last_words is not None}
        yield from troubles.members_stopped(stopped, status.name)
        yield from troubles.members_down([each.name for each in missing if each.name not in stopped], status.name)
        clocks = {each.name: each.clock_ms for each in status.members if each.clock_ms is not None}
        yield from troubles.clocks_off(clocks)
        yield from troubles.certificates_expiring(self._certificates(), now_ms)


def _of_forecast(cluster: str, forecast: Forecast) -> Sighting:
    when = "now" if forecast.outlook is Outlook.OVER else f"in {forecast.days:.1f} days"
    return Sighting(
        Subject(FindingKind.DISK_FILLS, cluster, f"broker {forecast.broker}, log dir {forecast.log_dir}"),
        f"{human_bytes(forecast.now)} are used and {human_bytes(forecast.per_day)} more a day: "
        f"{human_bytes(forecast.limit)}, {FULL:.0%} of the disk, are reached {when}",
        f"guardian forecast --cluster {cluster}",
        brokers=(forecast.broker,),
        log_dirs=(forecast.log_dir,),
    )


def _forecasts(lake: LakeReader, cluster: str, window: Window) -> Iterator[Forecast]:
    """Yield a forecast of each log dir that the lake has samples of. More samples than may be read, or no lake:
    nothing.
    """
    columns = ("at_ms", "broker", "log_dir", "total_bytes", "usable_bytes", "offline")
    try:
        rows = lake.table(LOG_DIR_SAMPLES, cluster, window, columns, "broker", "log_dir", "at_ms")
    except (InvalidInput, Unavailable):
        return
    if not rows.num_rows:
        return
    at_ms, broker, total, usable = (
        rows[name].to_numpy().astype(np.float64) for name in ("at_ms", "broker", "total_bytes", "usable_bytes")
    )
    paths, is_offline = np.array(rows["log_dir"].to_pylist(), object), rows["offline"].to_numpy()
    cuts = np.flatnonzero((np.diff(broker) != 0) | (paths[1:] != paths[:-1])) + 1
    for begin, end in zip((0, *cuts), (*cuts, rows.num_rows), strict=True):
        good = np.flatnonzero(~is_offline[begin:end] & (total[begin:end] > 0)) + begin
        if len(good):
            used = total[good] - usable[good]
            yield disk_full(int(broker[begin]), str(paths[begin]), at_ms[good], used, float(total[good][-1]), FULL)
