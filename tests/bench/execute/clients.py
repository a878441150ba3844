"""What clients of real brokers feel of a move: windows without one, with ours, with one unthrottled.

    quiet ─ ours ─ unthrottled ─ ours ─ unthrottled ─ quiet ─ unthrottled ─ quiet ─ ours ─ ...     every order as often

`produce_p99`    500 records a second with acks=all, three replicas each: until the acknowledgement
`fetch_p99`      the same records, until a consumer has them
                 Each: the 99th percentile of a window, and the geometric mean over the windows of a kind; ours beside
                 quiet. Windows of one turn are neighbours, so what else this machine does touches all of them. Noise
                 is what RAFT.md calls so here: a difference under 30 %. That the harm is no more has to be shown, by
                 the exact sign-flip test (R. A. Fisher, The Design of Experiments, 1935): of the 2^n ways to swap the
                 names in each pair, fewer than one of twenty are as far below 30 %. Where it can't be, that is a fault.
                 How often chance alone gives a difference as large as that between ours and quiet is told beside it:
                 copies cost clients something, and enough turns would show the least of it. The unthrottled moves show
                 that the windows can tell: where those do no harm, the figure does not count
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import cycle, islice, permutations, product
from math import exp, log
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from deploy.local import leftovers
from deploy.local.kafka_cluster import ClusterSpec
from guardian.kafka import data
from guardian.model.topology import Cluster, TopicPartition
from tests.bench.execute.stage import Stage, fill, reassignment, staged, until_succeeded
from tests.bench.report import BenchFailed, Figures

_TURNS = 6
_QUIET_S = 12.0
_SETTLE_S = 3.0
_START_S = 60.0
_RATE = 10_000_000  # of three brokers that share two CPUs with their clients
_CLIENTS, _MOVED, _REHEARSED = "orders", "history", "rehearsal"
# So large that copying is what is felt: with partitions of 10 MB, it is that replicas are made and deleted.
_PARTITIONS, _RECORDS, _RECORD_BYTES = 12, 4000, 10_000
_FEW_RECORDS = 100
_COLLECTOR = (
    "-XX:-UseSerialGC",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
)
# With one fetcher thread, Kafka's default, records that acks=all waits for are fetched after what moves. The heap is
# that of kafka-server-start.sh, touched before anything is measured, and the collector that of kafka-run-class.sh: the
# one of other tests, which starts sooner, stops a broker for 20 to 80 ms for each 270 MB, and copies bring that on.
_SPEC = ClusterSpec(
    "felt",
    brokers=3,
    plugin=True,
    heap_mb=1024,
    jvm=("-Xms1024m", "-XX:+AlwaysPreTouch", *_COLLECTOR),
    settings={"num.replica.fetchers": "4"},
)
# Of each broker once a minute, as members do by themselves: those of tests collect thirty times as often, and where
# replicas come and go the reporter lists the broker's metrics anew each time.
_COLLECT: Mapping[str, object] = {}
_REHEARSALS = 40
_BATCH, _BATCH_EVERY_S, _CLIENT_RECORD_BYTES = 10, 0.02, 1000
_FEWEST = 1000  # of which a 99th percentile is worth telling
_CHANCE = 0.05
NOISE = 1.3

Tell = Callable[[str], None]


class Took(NamedTuple):
    """One record: when it was written (time.monotonic) and how long it took, in seconds."""

    at: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Window:
    """`kind` is quiet, ours or unthrottled. Percentiles are ms."""

    kind: str
    seconds: float
    records: int
    produce_p99_ms: float
    fetch_p99_ms: float


def measured(tell: Tell) -> tuple[dict[str, Figures], dict[str, Any]]:
    """Both figures and each window. Raises BenchFailed when a move fails, or when clients do."""
    with tempfile.TemporaryDirectory(prefix="guardian-bench-") as folder:
        tell("three brokers and three members start")
        with staged(_SPEC, Path(folder), "", members_give_way=True, collect=_COLLECT) as stage:
            fill(stage.kafka, _CLIENTS, {n: _around(n) for n in range(6)}, 1, 10)
            fill(stage.kafka, _MOVED, dict.fromkeys(range(_PARTITIONS), (3,)), _RECORDS, _RECORD_BYTES)
            fill(stage.kafka, _REHEARSED, dict.fromkeys(range(_PARTITIONS), (3,)), _FEW_RECORDS, _RECORD_BYTES)
            with Clients(stage.kafka.to_cluster()) as clients:
                clients.wait_until_read()
                configs = leftovers.dynamic_configs(stage.admin)  # a first consumer makes a topic for its offsets
                _warm_up(stage, tell)
                turns = [_turn(order, stage, clients, tell) for order in orders(_TURNS)]
            fault = "; ".join(leftovers.of_cluster(stage.admin, configs))
    return {
        name: figures(
            [getattr(turn["ours"], name + "_ms") for turn in turns],
            [getattr(turn["quiet"], name + "_ms") for turn in turns],
            [getattr(turn["unthrottled"], name + "_ms") for turn in turns],
            fault,
        )
        for name in ("produce_p99", "fetch_p99")
    }, {"turns": [{kind: asdict(window) for kind, window in turn.items()} for turn in turns]}


def orders(turns: int) -> Iterator[Sequence[str]]:
    """Which window comes first in each turn: each order as often."""
    return islice(cycle(permutations(("quiet", "ours", "unthrottled"))), turns)


def figures(ours: Sequence[float], quiet: Sequence[float], unthrottled: Sequence[float], fault: str) -> Figures:
    """Of windows in milliseconds, those at the same place being of one turn."""
    differences = [log(with_move / without) for with_move, without in zip(ours, quiet, strict=True)]
    chance = by_chance(differences)
    control = by_chance([log(with_move / without) for with_move, without in zip(unthrottled, quiet, strict=True)])
    unlimited = f"unthrottled {geometric_mean(unthrottled) / geometric_mean(quiet):.2f} x"
    how = (
        f"{len(ours)} turns; chance alone gives such a difference in {chance:.0%} of cases; "
        f"quiet windows {min(quiet):.1f} to {max(quiet):.1f} ms; {unlimited}"
    )
    faults = [fault]
    beyond = by_chance([log(NOISE) - difference for difference in differences])
    if beyond >= _CHANCE:
        harm = f"{exp(mean(differences)):.2f} x, of what is {NOISE:g} x by chance in {beyond:.1%} of cases"
        faults.append(f"harm beyond noise can't be ruled out: {harm}")
    if control >= _CHANCE:
        faults.append(f"harm can't be told from noise here: {unlimited}, by chance in {control:.1%} of cases")
    return Figures(geometric_mean(ours), geometric_mean(quiet), how, "; ".join(filter(None, faults)))


def by_chance(differences: Sequence[float]) -> float:
    """The share of the ways to give each difference a sign whose sum is at least theirs: one-sided, exact."""
    least = sum(differences) - 1e-12
    sums = [sum(sign * value for sign, value in zip(signs, differences, strict=True)) for signs in _signs(differences)]
    return sum(total >= least for total in sums) / len(sums)


def _signs(differences: Sequence[float]) -> Iterator[tuple[int, ...]]:
    return product((1, -1), repeat=len(differences))


def geometric_mean(values: Sequence[float]) -> float:
    return exp(mean(map(log, values)))


def _around(number: int) -> tuple[int, ...]:
    return tuple((number + step) % 3 + 1 for step in range(3))


def _warm_up(stage: Stage, tell: Tell) -> None:
    """A broker interprets its byte code until it ran some hundred times, and compiles it on the CPUs of its clients.
    What begins and ends a move runs twelve times a move, so small moves warm it in less time than large ones."""
    tell("moves that nobody measures, until the brokers are warm")
    for number in range(_REHEARSALS):
        _move(stage, _REHEARSED, is_throttled=number % 4 == 0)
    tell("large ones")
    for is_throttled in (True, False):
        _move(stage, _MOVED, is_throttled)


def _turn(order: Sequence[str], stage: Stage, clients: Clients, tell: Tell) -> Mapping[str, Window]:
    windows = {}
    for kind in order:
        os.sync()  # what the window before left for the disk to write is not this one's
        time.sleep(_SETTLE_S)
        began = time.monotonic()
        if kind == "quiet":
            time.sleep(_QUIET_S)
        elif kind == "ours":
            _move(stage, _MOVED, is_throttled=True)
        else:  # there and back: one way takes two seconds, too few for a percentile
            _move(stage, _MOVED, is_throttled=False)
            _move(stage, _MOVED, is_throttled=False)
        windows[kind] = clients.window(kind, began, time.monotonic())
    tell(
        "; ".join(
            f"{kind} {window.seconds:.0f} s: produce {window.produce_p99_ms:.1f}, fetch {window.fetch_p99_ms:.1f} ms"
            for kind, window in sorted(windows.items())
        )
    )
    return windows


def _move(stage: Stage, topic: str, is_throttled: bool) -> None:
    """All that broker 3 holds of the topic goes to the others, or comes back."""
    has_it = stage.admin.describe_partitions([topic])[TopicPartition(topic, 0)].replicas == (3,)
    targets = {n: (1 + n % 2,) if has_it else (3,) for n in range(_PARTITIONS)}
    plan = reassignment(_SPEC.name, topic, targets)
    ticket, _ = stage.client.create_ticket(
        plan, author="bench", throttle=_RATE if is_throttled else 0, unthrottled=not is_throttled, submit=True
    )
    stage.client.approve(ticket.id, "bench", "")
    until_succeeded(stage.client, ticket.id)


@dataclass
class Clients:
    """A producer and a consumer, from `with` to its end."""

    cluster: Cluster
    _written: list[Took] = field(default_factory=list)
    _read: list[Took] = field(default_factory=list)
    _failures: list[str] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2, "clients"))
    _jobs: list[Future[None]] = field(default_factory=list)

    def __enter__(self) -> Clients:
        self._jobs = [self._pool.submit(self._write), self._pool.submit(self._consume)]
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._pool.shutdown()
        for job in self._jobs:
            job.result()

    def wait_until_read(self) -> None:
        """Raises BenchFailed when nothing is read for a minute."""
        deadline = time.monotonic() + _START_S
        while not self._read:
            if time.monotonic() > deadline:
                raise BenchFailed(f"no record was read in {_START_S:.0f} s")
            time.sleep(_BATCH_EVERY_S)

    def window(self, kind: str, began: float, ended: float) -> Window:
        """Of the records written in these seconds, once the last of them have had time to arrive."""
        time.sleep(_SETTLE_S)
        if self._failures:
            raise BenchFailed(f"{len(self._failures)} records failed, the first: {self._failures[0]}")
        written = [took.seconds for took in list(self._written) if began <= took.at < ended]
        read = [took.seconds for took in list(self._read) if began <= took.at < ended]
        if min(len(written), len(read)) < _FEWEST:
            raise BenchFailed(
                f"{len(written)} records were acknowledged and {len(read)} read in {ended - began:.1f} s ({kind}): too "
                f"few for a 99th percentile, which takes {_FEWEST}"
            )
        return Window(kind, ended - began, len(written), _p99_ms(written), _p99_ms(read))

    def _write(self) -> None:
        # With more batches than may be in flight, librdkafka's idempotent producer turns in a circle at full speed, on
        # the CPUs of the brokers that it waits for: a short pause would become a long one.
        producer = data.producer(self.cluster, acks="all", linger_ms=5, enable_idempotence=False)

        def delivered(error: data.KafkaError | None, message: data.Message) -> None:
            if error is not None:
                self._failures.append(str(error))
                return
            took = message.latency() or 0.0
            self._written.append(Took(time.monotonic() - took, took))

        def hear() -> None:
            while not self._over.is_set() or len(producer):
                producer.poll(0.1)

        # On a thread of its own: the time of an acknowledgement is when it is heard of, not when the next batch is due.
        hearing = threading.Thread(target=hear, name="acknowledgements")
        hearing.start()
        while not self._over.wait(_BATCH_EVERY_S):
            for _ in range(_BATCH):
                stamp = time.monotonic_ns().to_bytes(_CLIENT_RECORD_BYTES, "big")
                producer.produce(_CLIENTS, stamp, on_delivery=delivered)
        hearing.join()

    def _consume(self) -> None:
        consumer = data.consumer(self.cluster, "felt", auto_offset_reset="latest", enable_auto_commit=False)
        try:
            consumer.subscribe([_CLIENTS])
            while not self._over.is_set():
                message = consumer.poll(0.1)
                if message is not None and message.error() is None:
                    at = int.from_bytes(message.value() or b"", "big") / 1e9
                    self._read.append(Took(at, time.monotonic() - at))
        finally:
            consumer.close()


def _p99_ms(seconds: Sequence[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.99)] * 1000
