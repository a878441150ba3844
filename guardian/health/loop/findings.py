"""The leader's detectors: they look at every cluster again and again, without being asked.

LeaderLoop ─▶ tick ─▶ what is due? ─▶ look (Kafka, the lake, the activity store) ─▶ rules.findings ─▶ what is known

Findings are in the leader's memory, and stored as they change (rules.keeping): a new leader goes on with what is known,
and tells where it has not looked yet. Nothing here changes a cluster; healing starts from `known()`, and tells what it
can't do by `report`.

A look rests on what collectors have brought, so its times follow the interval of collections. A line is looked at in
minutes that no look before has judged: one busy minute is seen once, and so is no finding.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

from guardian.errors import GuardianError, NotFound, Unavailable
from guardian.health.loop import lake_facts
from guardian.health.loop.durability_facts import durability_facts
from guardian.health.loop.sources import Sources
from guardian.health.loop.troubles import TroubleLooks
from guardian.health.model.disks import DiskHealth, DiskVerdict
from guardian.health.model.finding import BrokersSeen, Detector, FindingKind, Place, Sighting, Subject
from guardian.health.rules import findings as core
from guardian.health.rules import keeping
from guardian.health.rules.disks import judge
from guardian.health.rules.durability import rate_all
from guardian.health.rules.findings import Times, Watch
from guardian.health.rules.keeping import Kept
from guardian.health.wire.findings import kept_from_proto, kept_to_proto
from guardian.lake.model.window import Window
from guardian.lake.store.reader import LakeReader, ReadLimits
from guardian.links.loop.link_use import LinkUseReader
from guardian.links.loop.replica_selectors import reads_of
from guardian.links.rules import near_reads
from guardian.links.rules.links import MINUTE_MS
from guardian.model.durability import Rating, TopicDurability
from guardian.model.links import load_links
from guardian.model.topology import Cluster
from guardian.security.model.certificate import CertificateLife
from guardian.serving.admins import ClusterAdmins
from protos.guardian.v1 import records_pb2

_BUDGET_S = 5.0  # of a tick: whoever stops the member waits for the look that is under way at the most
_LIMITS = ReadLimits(seconds=30.0)  # nobody waits for the answer
_FORECAST_LIMITS = ReadLimits(seconds=10.0)  # days of samples, while brokers are waited for
_ASKS_KAFKA = (
    Detector.DURABILITY,
    Detector.REPLICAS,
    Detector.CONTROLLERS,
    Detector.BALANCE,
    Detector.READS,
)  # besides BROKERS, which finds out
_DISK_INTERVALS = 30
_LEAST_WINDOW_MS = 60_000
_TOPIC_KINDS = {
    Rating.OFFLINE: FindingKind.TOPIC_OFFLINE,
    Rating.AT_RISK: FindingKind.TOPIC_AT_RISK,
    Rating.WEAK: FindingKind.TOPIC_WEAK,
}


class FindingsWatch:
    """`tick` and `close` are for one thread, the rest for any. Of the connections that `sources` opens, one is closed
    after a look, and one of each cluster is kept for the looks that are made often.

    `collect_ms` is the interval of collections, and `lag_ms` how late their rows may be in the lake.
    """

    def __init__(
        self,
        sources: Sources,
        collect_ms: int,
        lag_ms: int,
        clock: Callable[[], float] = time.monotonic,
        certificates: Callable[[], Iterable[CertificateLife]] = tuple,
    ) -> None:
        self._sources = sources
        self._collect_ms = collect_ms
        self._lag_ms = lag_ms
        self._clock = clock
        self._times = Times.of_interval(collect_ms)
        self._admins = ClusterAdmins(lambda name: sources.store.read_local().cluster(name), sources.connect)
        self._looks = TroubleLooks(sources.store, self._admins, certificates)
        self._lock = threading.Lock()
        self._watch = Watch()
        self._kept: dict[str, Kept] = {}  # as it was stored last
        self._term = -1
        self._leads_since_ms = 0

    def known(self) -> tuple[Watch, int]:
        """Return what is known, and since when detectors look, in ms. Raises Unavailable on a member that does not
        lead.
        """
        if not self._sources.store.is_leader():
            raise Unavailable("this member does not lead, and only the leader's detectors look: ask the leader")
        with self._lock:
            if self._term != self._sources.store.status().term:
                now_ms = self._sources.now_ms()
                return self._kept_until(now_ms), now_ms
            return self._watch, self._leads_since_ms

    def places(self) -> list[Place]:
        """Return where detectors look, whether they have or not."""
        clusters = self._sources.store.read_local().clusters()
        names = sorted(cluster.name for cluster in clusters)
        return core.places_of(names, has_lines=self._sources.links_file is not None)

    def report(self, cluster: str, sightings: Iterable[Sighting]) -> None:
        """Take in what healing sees that it can't mend: all of it, each time."""
        place, times = Place(Detector.HEALING, cluster), self._times[Detector.HEALING]
        self._change(lambda watch: core.looked(watch, place, self._sources.now_ms(), sightings, times))

    def broker_count(self, cluster: Cluster) -> int:
        """Return how many brokers the cluster is to have, as far as the detectors know."""
        return self._looks.broker_count(cluster)

    def alive(self, cluster: str) -> frozenset[int]:
        """The brokers that the last look saw live; none where nobody has looked."""
        return self._looks.alive(cluster)

    def serving(self) -> list[BrokersSeen]:
        """Return who serves in each cluster that answered at the last look in this term, by the cluster's name."""
        watch, _ = self.known()
        places = ((place, last) for place, last in watch.looks.items() if place.detector is Detector.BROKERS)
        found = ((place.cluster, self._looks.serving(place.cluster), last.looked_at_ms) for place, last in places)
        return sorted(
            BrokersSeen(cluster, tuple(sorted(alive)), at_ms) for cluster, alive, at_ms in found if alive is not None
        )

    def close(self) -> None:
        """Ends the connections that are kept."""
        self._admins.close()

    def tick(self) -> list[str]:
        """Looks where it is time to; says which findings are new, which have ended, and what could not be looked at."""
        self._begin_anew_in_a_new_term()
        clusters = {cluster.name: cluster for cluster in self._sources.store.read_local().clusters()}
        wanted = core.places_of(sorted(clusters), has_lines=self._sources.links_file is not None)
        self._change(lambda watch: core.only(watch, [*wanted, *core.places_of_healing(clusters)]))
        before = {finding.subject for finding in core.findings(self._watch)}
        said: list[str] = []
        until = self._clock() + _BUDGET_S
        for place in core.due(self._watch, wanted, self._sources.now_ms(), self._times):
            said.extend(self._look(place, clusters))
            if self._clock() >= until:
                break
        after = {finding.subject: finding for finding in core.findings(self._watch)}
        said.extend(f"found: {_titled(subject)}: {after[subject].evidence}" for subject in sorted(set(after) - before))
        said.extend(f"over: {_titled(subject)}" for subject in sorted(before - set(after)))
        return [*said, *self._keep()]

    def _keep(self) -> Iterator[str]:
        """Store what has changed, for the next leader; say of which clusters that can't be done now."""
        for each in keeping.to_keep(self._watch, self._kept, self._sources.now_ms()):
            message = kept_to_proto(each.cluster, each.kept.at_ms, each.seen)
            try:
                self._sources.store.propose(records_pb2.Command(put_findings=message))
            except GuardianError as error:
                yield f"findings of {each.cluster or 'all clusters'} are not kept: {error}"
            else:
                self._kept[each.cluster] = each.kept

    def _begin_anew_in_a_new_term(self) -> None:
        term = self._sources.store.status().term
        with self._lock:
            if term != self._term:
                self._term, self._leads_since_ms, self._kept = term, self._sources.now_ms(), {}
                self._watch = self._kept_until(self._leads_since_ms)
                self._looks.forget()

    def _kept_until(self, now_ms: int) -> Watch:
        """Return what the leader before saw, if that was just now."""
        kept = self._sources.store.read_local().kept_findings()
        return keeping.restored(((each.at_ms, kept_from_proto(each)) for each in kept), now_ms)

    def _change(self, change: Callable[[Watch], Watch]) -> None:
        with self._lock:
            self._watch = change(self._watch)

    def _look(self, place: Place, clusters: dict[str, Cluster]) -> Iterator[str]:
        """A look that fails in a way nobody foresaw is noted as well: else it would be made at every tick."""
        at_ms = self._sources.now_ms()
        try:
            sightings = list(self._sightings_where_somebody_answers(place, clusters, at_ms))
        except Exception as error:
            why = str(error) or repr(error)
            self._change(lambda watch: core.failed(watch, place, at_ms, why))
            if not isinstance(error, GuardianError):
                raise
            yield f"detector {place.detector.value} of {place.cluster or 'all clusters'}: {error}"
        else:
            self._change(lambda watch: core.looked(watch, place, at_ms, sightings, self._times[place.detector]))

    def _sightings_where_somebody_answers(
        self, place: Place, clusters: dict[str, Cluster], at_ms: int
    ) -> Iterator[Sighting]:
        if place.detector in _ASKS_KAFKA:
            self._looks.require_reachable(place.cluster)
        return self._sightings(place, clusters, at_ms)

    def _sightings(  # noqa: PLR0911  # one for each detector
        self, place: Place, clusters: dict[str, Cluster], at_ms: int
    ) -> Iterator[Sighting]:
        match place.detector:
            case Detector.DURABILITY:
                return self._topics(clusters[place.cluster])
            case Detector.DISKS:
                return self._disks(place.cluster, at_ms)
            case Detector.LINKS:
                return self._lines(list(clusters.values()), at_ms)
            case Detector.BROKERS:
                return self._looks.brokers(clusters[place.cluster])
            case Detector.REPLICAS:
                return self._looks.replicas(clusters[place.cluster], at_ms)
            case Detector.CONTROLLERS:
                return self._looks.controllers(clusters[place.cluster], at_ms)
            case Detector.BALANCE:
                lake = LakeReader(self._sources.lake_url, _FORECAST_LIMITS)
                return self._looks.balance(clusters[place.cluster], lake, at_ms)
            case Detector.READS:
                return self._reads(clusters[place.cluster])
            case Detector.MEMBERS:
                return self._looks.members(at_ms)
            case Detector.HEALING:
                return iter(())  # told by `report`

    def _topics(self, cluster: Cluster) -> Iterator[Sighting]:
        with closing(self._sources.connect(cluster)) as admin:
            facts, brokers = durability_facts(admin, cluster)
        for topic in rate_all(facts, brokers):
            if topic.rating in _TOPIC_KINDS:
                yield _of_topic(cluster.name, topic)

    def _disks(self, cluster: str, at_ms: int) -> Iterator[Sighting]:
        window = Window(at_ms - max(_LEAST_WINDOW_MS, _DISK_INTERVALS * self._collect_ms), at_ms + 1)
        disks = judge(lake_facts.disk_series(self._lake(), cluster, window)).disks
        count = Counter(disk.broker for disk in disks)
        for disk in disks:
            if disk.verdict is DiskVerdict.SLOW:
                yield _of_disk(cluster, disk, count[disk.broker])

    def _reads(self, cluster: Cluster) -> Iterator[Sighting]:
        if not near_reads.spans_idcs(cluster.brokers):
            return
        with closing(self._sources.connect(cluster)) as admin:
            yield from near_reads.sightings(cluster.name, reads_of(admin, cluster, self._sources.ask_mappings))

    def _lines(self, clusters: list[Cluster], at_ms: int) -> Iterator[Sighting]:
        """Minutes that are over, and whose rows are in the lake."""
        if self._sources.links_file is None:
            raise NotFound("links is not set: no line has a limit")
        if not any(line.bits_per_s for line in load_links(self._sources.links_file).lines.values()):
            return
        end_ms = (at_ms - self._lag_ms) // MINUTE_MS * MINUTE_MS
        window = Window(end_ms - self._times[Detector.LINKS].look_ms // MINUTE_MS * MINUTE_MS, end_ms)
        reader = LinkUseReader(self._lake(), self._sources.activity, self._sources.links_file)
        found = reader.near_limits(clusters, window)
        if not found and self._sources.activity is None:
            raise Unavailable("audit.url is not set, so that nobody knows what clients move over lines")
        for near in found:
            direction = near.use.direction
            subject = Subject(FindingKind.LINE_NEAR_LIMIT, "", f"{direction.from_idc} to {direction.to_idc}")
            show = "guardian links --since 30m --limit 10"
            yield Sighting(subject, near.sentence, show, line=direction, load=near.load, crossers=tuple(near.crossers))

    def _lake(self) -> LakeReader:
        return LakeReader(self._sources.lake_url, _LIMITS)


def _of_topic(cluster: str, topic: TopicDurability) -> Sighting:
    subject = Subject(_TOPIC_KINDS[topic.rating], cluster, f"topic {topic.topic}")
    return Sighting(subject, "; ".join(topic.reasons), f"guardian durability --cluster {cluster} --topic {topic.topic}")


def _of_disk(cluster: str, disk: DiskHealth, disks: int) -> Sighting:
    subject = Subject(FindingKind.SLOW_DISK, cluster, f"broker {disk.broker}, disk {disk.disk}")
    show = f"guardian disk show --cluster {cluster} --since 1h"
    return Sighting(subject, disk.why, show, disk.since_ms, (disk.broker,), disk.log_dirs, disks=disks)


def _titled(subject: Subject) -> str:
    return subject.title + (f" of {subject.cluster}" if subject.cluster else "")
