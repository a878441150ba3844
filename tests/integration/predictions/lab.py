"""Carries stories out on real brokers: the same that the predictor plays.

Brokers stand in network namespaces, each on a tmpfs of its own, and note their fsyncs: so a cable can be pulled, and a
machine can lose its power.
"""

from __future__ import annotations

import re
import shutil
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path

from deploy.local import processes
from deploy.local.kafka_cluster import ClusterSpec
from deploy.local.processes import LocalProcess
from guardian.kafka.control import KafkaControl
from guardian.model.faults.event import (
    Act,
    CleanStop,
    ClockJump,
    Cut,
    DiskFree,
    DiskFull,
    ElectPreferred,
    FastFollower,
    Heal,
    Kill,
    LogDirFails,
    LogDirWorks,
    Lose,
    Pause,
    PowerLoss,
    Resume,
    SlowFollower,
    SlowWrites,
    Start,
    Story,
)
from guardian.model.faults.stories import Roles
from guardian.model.faults.times import Times
from guardian.model.topology import TopicPartition
from tests.integration.cut_brokers import witness
from tests.integration.cut_brokers.lab import BrokerLab
from tests.integration.faults.disks import FailingDisk, SlowDisk, SmallDisk
from tests.integration.faults.shims import JumpingClock, PowerCut
from tests.integration.predictions.writing import A_SECOND
from tests.patience import PATIENCE_S, wait_for

LAG_MS, SESSION_MS, HEARTBEAT_MS = 10_000, 6_000, 500
TIMES = Times(session_s=SESSION_MS / 1000, heartbeat_s=HEARTBEAT_MS / 1000, replica_lag_s=LAG_MS / 1000)
"""The intervals of the lab, as the predictor is told them."""
_DISK_MIB = 400
_LOG_DIR_MIB = 256
_WRITTEN_BYTES_S = 2000 * A_SECOND  # into the topics of all settings together, once requests wait and are large
_SETTINGS: Mapping[str, str] = {
    "replica.lag.time.max.ms": str(LAG_MS),
    "broker.session.timeout.ms": str(SESSION_MS),
    "broker.heartbeat.interval.ms": str(HEARTBEAT_MS),
    "auto.leader.rebalance.enable": "false",
    "log.index.size.max.bytes": str(1 << 20),
}
_BOOTED = re.compile(r"^(\d\d:\d\d:\d\d\.\d{3}) .*Starting log cleanup with a period", re.MULTILINE)
_DAY = timedelta(days=1)


def describe_times() -> str:
    """Return the settings of the lab that decide about seconds, for its page."""
    return ", ".join(f"`{name}` {value}" for name, value in _SETTINGS.items() if name.endswith(".ms"))


class FaultLab(BrokerLab):
    """A context manager of three brokers and some controllers. `home` holds its data. Of two log dirs or more the first
    of each broker can fail, and holds the topics that were named to `place`; that of one log dir can be slow, if asked.
    """

    def __init__(
        self,
        home: Path,
        *,
        controllers: int = 1,
        log_dirs: int = 1,
        slow_disks: bool = False,
        release: str = "",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        spec = ClusterSpec(
            "faults",
            controllers=controllers,
            log_dirs=log_dirs,
            plugin=False,
            heap_mb=256,
            racks=("r1", "r2", "r3"),
            release=release,
            settings={**_SETTINGS, **(settings or {})},
        )
        super().__init__(home, spec)
        self.home = home
        self._shims = home / "shims"
        self._power: dict[int, PowerCut] = {}
        self._clocks: dict[int, JumpingClock] = {}
        self._disks: dict[int, SmallDisk] = {}
        self._failing: dict[int, FailingDisk] = {}
        self._slow: dict[int, SlowDisk] = {}
        self._has_slow_disks = slow_disks
        self._pool = ThreadPoolExecutor(thread_name_prefix="lab")
        self._spawned: dict[int, datetime] = {}
        self.boots_s: list[float] = []
        """How long brokers took from their start until they had loaded their logs, in the last story."""

    def times(self) -> Times:
        """Return the intervals of this cluster, in which brokers start as fast as they did in the last story."""
        return replace(TIMES, boot_s=(min(self.boots_s), max(self.boots_s))) if self.boots_s else TIMES

    @property
    def roles(self) -> Roles:
        """Return who is who in a topic whose replicas are the brokers in their order."""
        leader, *followers = self.brokers
        return Roles(leader, tuple(followers), self._active_first())

    def place(self, topics: Iterable[str]) -> None:
        """Let brokers put partition 0 of these topics, which are to be created, into the log dir that can fail, if they
        have one."""
        if not self._failing:
            return
        targets = {
            (TopicPartition(topic, 0), broker): str(self._log_dirs(broker)[0])
            for topic in topics
            for broker in self.brokers
        }
        with closing(KafkaControl(self.cluster, PATIENCE_S)) as control:
            control.alter_replica_log_dirs(targets)

    def carry_out(self, story: Story) -> float:
        """Let each event happen at its time, and return once all that was started serves; the story's first moment, by
        the monotonic clock. Raises AssertionError when a node does not start."""
        self.boots_s, self._spawned = [], {}
        began_s = time.monotonic()
        under_way: list[Future[None]] = []
        for at_s, events in groupby(story.events, key=lambda event: event.at_s):
            time.sleep(max(0.0, began_s + at_s - time.monotonic()))
            under_way += self._happen([event.act for event in events])
        for future in under_way:
            future.result(PATIENCE_S)
        self.boots_s = [self._booted_s(broker, at) for broker, at in self._spawned.items() if broker in self.brokers]
        return began_s

    def _prepare(self, stack: ExitStack) -> None:
        self._shims.mkdir(parents=True, exist_ok=True)
        for broker in self.brokers:
            self._disks[broker] = stack.enter_context(SmallDisk(self._folder(broker), _DISK_MIB))
            self._power[broker] = PowerCut(self._shims, f"n{broker}")
            self._clocks[broker] = JumpingClock(self._shims, f"n{broker}")
            first, *others = self._log_dirs(broker)
            if others:
                failing = FailingDisk(first, self._folder(broker) / "failing-disk", _LOG_DIR_MIB)
                self._failing[broker] = stack.enter_context(failing)
            elif self._has_slow_disks:
                slow = SlowDisk(first, self._folder(broker) / "slow-disk", _LOG_DIR_MIB)
                self._slow[broker] = stack.enter_context(slow)
        stack.callback(self._pool.shutdown)

    def _starter(self, node: int) -> list[str]:
        shims = [of[node].environment for of in (self._power, self._clocks) if node in of]
        preloaded = ":".join(shim["LD_PRELOAD"] for shim in shims)
        environment = {**dict(pair for shim in shims for pair in shim.items()), "LD_PRELOAD": preloaded}
        return [*super()._starter(node), "env", *(f"{name}={value}" for name, value in environment.items())]

    def _folder(self, broker: int) -> Path:
        return self.kafka.directory / f"broker-{broker}"

    def _log_dirs(self, broker: int) -> Sequence[Path]:
        return [Path(each) for each in self.kafka.broker(broker).log_dirs]

    def _process(self, node: int) -> LocalProcess:
        process = self.kafka.node(node).process
        assert process is not None, f"node {node} has never been started"
        return process

    def _happen(self, acts: Sequence[Act]) -> list[Future[None]]:
        """Let acts of one moment happen, those who die first and together."""
        dying = [act.node for act in acts if isinstance(act, Kill | PowerLoss | Lose)]
        for node in dying:
            processes.send(self._process(node), signal.SIGKILL)
        for node in dying:
            processes.kill(self._process(node))
        under_way: list[Future[None]] = []
        for act in acts:
            match act:
                case CleanStop(node):
                    under_way.append(self._pool.submit(self._stop, node))
                case Start(node):
                    under_way.append(self._pool.submit(self._start, node))
                case _:
                    self._do(act)
        return under_way

    def _do(self, act: Act) -> None:
        """Do what takes no time; who dies is dead already."""
        match act:
            case PowerLoss(node):
                self._take_unsynced(node)
            case Lose(node):
                self._empty(node)
            case ElectPreferred():
                self._elect_preferred()
            case ClockJump(node, seconds):
                self._clocks[node].set(seconds)
            case Pause(node):
                processes.send(self._process(node), signal.SIGSTOP)
            case Resume(node):
                processes.send(self._process(node), signal.SIGCONT)
            case _:
                self._do_to_link(act)

    def _do_to_link(self, act: Act) -> None:
        match act:
            case Cut():
                for sender, receiver in act.pairs():
                    self.cut_one_way(sender, receiver)
            case Heal():
                self.heal()
            case SlowFollower(node, share):
                self.slow(node, round(share * _WRITTEN_BYTES_S))
            case FastFollower(node):
                self.hasten(node)
            case _:
                self._do_to_disk(act)

    def _do_to_disk(self, act: Act) -> None:
        match act:
            case DiskFull(node):
                self._disks[node].fill(0)
            case DiskFree(node):
                self._disks[node].free()
            case LogDirFails(node):
                self._failing[node].fail()
            case LogDirWorks(node):
                self._wait_ended(node)
                self._failing[node].repair()
            case SlowWrites(node, seconds):
                self._slow[node].set(seconds)

    def _let_end(self) -> None:
        super()._let_end()
        for node in self.kafka.nodes:
            if node.process is not None:
                processes.send(node.process, signal.SIGCONT)

    def _stop(self, node: int) -> None:
        processes.stop_all([self._process(node)], deadline_s=PATIENCE_S)

    def _start(self, node: int) -> None:
        self._wait_ended(node)
        self._spawned[node] = datetime.now().astimezone()
        self.kafka.start_node(node, PATIENCE_S)
        self.give_full_weight()

    def _wait_ended(self, node: int) -> None:
        wait_for(f"that node {node} has ended", lambda: self.kafka.node(node).pid is None)

    def _take_unsynced(self, broker: int) -> None:
        for log_dir in self._log_dirs(broker):
            for folder in filter(Path.is_dir, log_dir.iterdir()):
                self._power[broker].cut(folder)

    def _empty(self, broker: int) -> None:
        for found in self._folder(broker).iterdir():
            shutil.rmtree(found) if found.is_dir() else found.unlink()

    def _elect_preferred(self) -> None:
        """Elect the first replica of every partition. Of those who lead already Kafka says so, and that is no error."""
        with closing(KafkaControl(self.cluster, PATIENCE_S)) as control:
            control.elect_preferred_leaders(control.describe_partitions())

    def _active_first(self) -> tuple[int, ...]:
        if len(self.controllers) == 1:
            return self.controllers
        active = witness.quorum(self.listener(self.brokers[0])).leader
        return (active, *(each for each in self.controllers if each != active))

    def _booted_s(self, broker: int, spawned: datetime) -> float:
        """Return the seconds from the spawn until the broker's log says that it has loaded its logs."""
        found = wait_for(
            f"that broker {broker} says it has loaded its logs",
            lambda: _BOOTED.findall(processes.output(self._process(broker))),
        )
        clock = datetime.strptime(found[-1], "%H:%M:%S.%f").time()  # noqa: DTZ007  the log's clock is this machine's
        at = datetime.combine(spawned.date(), clock, spawned.tzinfo)
        return ((at - spawned) % _DAY).total_seconds()
