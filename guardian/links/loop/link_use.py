"""What crosses the lines between IDCs, put together from the lake, the activity store and the members' links file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from guardian.activity.rules import crossings
from guardian.activity.rules.crossings import Places
from guardian.activity.rules.questions import Span
from guardian.activity.store.store import ActivityStore
from guardian.health.loop.lake_facts import Placed, placed
from guardian.health.wire.disks import link_to_proto
from guardian.lake.model.window import Window
from guardian.lake.store.reader import LakeReader
from guardian.links.rules import links
from guardian.links.rules.client_places import client_places
from guardian.links.rules.links import MINUTE_MS, Client, ClientActivity, ClientMinutes, ClientTopic, Minutes, Traffic
from guardian.model.links import Crosser, Crossing, Direction, LinkSettings, LinkUse, load_links
from guardian.model.topology import Cluster
from guardian.model.wire.lines import lines_to_proto
from protos.guardian.v1 import insight_pb2 as pb

_OPERATIONS = {"WRITE": Crossing.PRODUCE, "READ": Crossing.CONSUME}
_CLIENTS = 2000  # a pair of IDCs, before what is unknown is divided among them
_MAX_FINDINGS = 20
_MOST_OF_PEAK = 10
_NO_ACTIVITY = "audit.url is not set"
_BOLD = "throttle.fill_lines_without_client_activity"

_Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Known:
    """Of one cluster, read once."""

    cluster: str
    placed: Placed
    idcs: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class NearLimit:
    """A line near its limit: who crosses it in the busiest minute, its load in words, and all of it in a sentence."""

    use: LinkUse
    crossers: Sequence[Crosser]
    load: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Carried:
    """bytes/s of lines in the busiest minute, clients of no known place counted wherever they may cross
    (`has_unplaced`: there are some); or why that can't be told."""

    bytes_per_s: Mapping[Direction, float]
    unknown: Mapping[Direction, str]
    has_unplaced: bool = False


class LinkUseReader:
    """For one question. `idc` says how sentences name an IDC, where not by its name."""

    def __init__(
        self,
        lake: LakeReader,
        activity: ActivityStore | None,
        links_file: Path | None,
        idc: Callable[[str], str] = str,
    ) -> None:
        """Raises InvalidInput when the links file is wrong."""
        self._idc = idc
        self._lake = lake
        self._activity = activity
        self._settings = load_links(links_file) if links_file else LinkSettings()

    def report(self, clusters: Sequence[Cluster], window: Window, most: int) -> pb.LinkUseReport:
        """`most` crossers of each line, in each direction."""
        minutes = Minutes.of(window.from_ms, window.to_ms)
        known, traffic = self._known(clusters, window, minutes)
        uses = links.link_uses(traffic, self._settings)
        near = {each.use.direction: each for each in self._near(known, minutes, uses, most)}
        report = pb.LinkUseReport(
            from_ms=minutes.from_ms,
            to_ms=window.to_ms,
            currency=self._settings.currency,
            findings=[each.sentence for each in near.values()],
            unplaced_bytes=round(traffic.unplaced),
            samples=sum(each.placed.samples for each in known),
            remarks=[
                *links.remarks(traffic, self._settings, _without_idc(clusters), self._idc),
                *self._without_activity(),
            ],
        )
        for use in uses:
            of_peak = near[use.direction].crossers if use.direction in near else ()
            report.links.append(link_to_proto(use, links.largest(traffic.crossers, use.direction, most), of_peak))
        return report

    def lines(self, cluster: Cluster | None, window: Window) -> pb.LinesReport:
        """The lines, and where the clients of this cluster are."""
        if cluster is None:
            return lines_to_proto(self._settings, (), ())
        minutes = Minutes.of(window.from_ms, window.to_ms)
        idcs = {broker.id: broker.idc for broker in cluster.brokers if broker.idc}
        found = placed(self._lake, cluster.name, window, minutes)
        if found is None:
            return lines_to_proto(self._settings, (), (f"the lake has nothing of cluster {cluster.name} in this time",))
        if self._activity is None:
            return lines_to_proto(self._settings, (), self._without_activity())
        known = _Known(cluster.name, found, idcs)
        places, span = self._places(known), _span(minutes)
        rows = [
            _client_topic(row, places) for row in self._activity.ask(crossings.by_topic(cluster.name, places, span))
        ]
        clients = client_places(found.moved, rows, idcs, minutes, window.to_ms)
        remarks = [*clients.remarks(cluster.name, bool(self._settings.networks))]
        return lines_to_proto(self._settings, clients.places, remarks)

    def near_limits(self, clusters: Sequence[Cluster], window: Window) -> list[NearLimit]:
        """The lines that come near their limits in the window, with who crosses in the busiest minute."""
        minutes = Minutes.of(window.from_ms, window.to_ms)
        known, traffic = self._known(clusters, window, minutes)
        return list(self._near(known, minutes, links.link_uses(traffic, self._settings), _MOST_OF_PEAK))

    def carried(
        self, clusters: Sequence[Cluster], window: Window, lines: Collection[Direction], *, without_clients: bool
    ) -> Carried:
        """Return what these lines carry, as far as it can be told; `without_clients`: as if nobody used the
        clusters.
        """
        if self._activity is None and not without_clients:
            why = (
                f"{_NO_ACTIVITY}, so that nobody knows what clients move over lines; set it for all members, or {_BOLD}"
            )
            return Carried({}, dict.fromkeys(lines, why))
        minutes = Minutes.of(window.from_ms, window.to_ms)
        traffic = Traffic(minutes)
        unknown: dict[Direction, str] = {}
        for cluster in clusters:
            idcs = {broker.id: broker.idc for broker in cluster.brokers if broker.idc}
            ways = [line for line in lines if {*line} <= {*idcs.values()}]
            found = placed(self._lake, cluster.name, window, minutes)
            if found is None:
                why = f"the lake tells nothing of cluster {cluster.name} in the last minutes"
                unknown |= dict.fromkeys(ways, why)
                continue
            clients = self._add(traffic, _Known(cluster.name, found, idcs), minutes)
            if not (without_clients or clients.topics) and found.moved.bytes_in.any() | found.moved.bytes_out.any():
                why = (
                    f"topics of cluster {cluster.name} moved bytes, and no client of it is known; give its brokers "
                    f"Guardian's authorizer, or set {_BOLD}"
                )
                unknown |= dict.fromkeys([line for line in lines if {*line} & {*idcs.values()}], why)
        told = {line: traffic.most_per_s(line) for line in lines if line not in unknown}
        return Carried(told, unknown, has_unplaced=traffic.unplaced >= 1)

    def _known(self, clusters: Sequence[Cluster], window: Window, minutes: Minutes) -> tuple[Sequence[_Known], Traffic]:
        known = [
            _Known(cluster.name, found, {broker.id: broker.idc for broker in cluster.brokers if broker.idc})
            for cluster in clusters
            if (found := placed(self._lake, cluster.name, window, minutes)) is not None
        ]
        return known, self._traffic(known, minutes)

    def _near(
        self, known: Sequence[_Known], minutes: Minutes, uses: Sequence[LinkUse], most: int
    ) -> Iterator[NearLimit]:
        for use in [use for use in uses if links.is_near(use, self._settings)][:_MAX_FINDINGS]:
            crossers = tuple(self._peak_crossers(known, minutes, use, most))
            load = links.load(use, _clock(use.peak_at_ms))
            line = Direction(*map(self._idc, use.direction))
            yield NearLimit(use, crossers, load, links.finding(line, load, crossers))

    def _peak_crossers(self, known: Sequence[_Known], minutes: Minutes, use: LinkUse, most: int) -> Sequence[Crosser]:
        """Return who crosses a line in its busiest minute."""
        number = (use.peak_at_ms - minutes.from_ms) // MINUTE_MS
        busiest = [
            _Known(
                each.cluster,
                Placed(each.placed.moved.in_minute(number), each.placed.replicas, each.placed.samples),
                each.idcs,
            )
            for each in known
        ]
        traffic = self._traffic(busiest, Minutes(use.peak_at_ms, 1))
        return links.largest(traffic.crossers, use.direction, most)

    def _traffic(self, known: Sequence[_Known], minutes: Minutes) -> Traffic:
        traffic = Traffic(minutes)
        for each in known:
            self._add(traffic, each, minutes)
        return traffic

    def _add(self, traffic: Traffic, known: _Known, minutes: Minutes) -> ClientActivity:
        clients = self._clients(known, minutes)
        links.add_replication(traffic, known.cluster, known.placed.moved, known.placed.replicas, known.idcs)
        links.add_clients(traffic, known.cluster, known.placed.moved, clients, known.idcs)
        return clients

    def _clients(self, known: _Known, minutes: Minutes) -> ClientActivity:
        if self._activity is None:
            return ClientActivity()
        places = self._places(known)
        span = _span(minutes)
        by_slice, by_topic, clients = (
            self._activity.ask(question)
            for question in (
                crossings.by_slice(known.cluster, places, span),
                crossings.by_topic(known.cluster, places, span),
                crossings.crossers(known.cluster, places, span, _CLIENTS),
            )
        )
        return ClientActivity(
            [_client_minutes(row, places) for row in by_slice],
            [_client_topic(row, places) for row in by_topic],
            [_client(row, places) for row in clients],
        )

    def _places(self, known: _Known) -> Places:
        networks = self._settings.networks
        return Places(sorted({*known.idcs.values(), *(idc for _, idc in networks)}), known.idcs, networks)

    def _without_activity(self) -> Sequence[str]:
        if self._activity is not None:
            return ()
        return (
            f"{_NO_ACTIVITY}, so that producers and consumers are not in the numbers: set it for all members; until "
            f"then moves take their least over lines with a limit, unless {_BOLD} says otherwise",
        )


def _span(minutes: Minutes) -> Span:
    return Span(minutes.from_ms, minutes.from_ms + minutes.count * MINUTE_MS)


def _client_minutes(row: _Row, places: Places) -> ClientMinutes:
    from_ms = round(row["from_time"].timestamp() * 1000)
    return ClientMinutes(*_place(row, places), from_ms, from_ms + row["duration_ms"], row["sum_bytes"])


def _client_topic(row: _Row, places: Places) -> ClientTopic:
    return ClientTopic(*_place(row, places), row["resource"], row["sum_bytes"], row["blind"])


def _client(row: _Row, places: Places) -> Client:
    who = (row["principal"], row["client_id"], row["address"])
    return Client(*_place(row, places), row["resource"], *who, row["sum_bytes"], row["blind"])


def _place(row: _Row, places: Places) -> tuple[Crossing, str, str]:
    return _OPERATIONS[row["operation"]], places.name(row["broker_idc"]), places.name(row["client_idc"])


def _without_idc(clusters: Sequence[Cluster]) -> list[str]:
    return [f"{cluster.name}/{broker.id}" for cluster in clusters for broker in cluster.brokers if not broker.idc]


def _clock(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
