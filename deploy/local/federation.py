"""A whole federation on one machine: Kafka clusters, their traffic, and a group of Guardian members.

    HOME/state.json    what was started, with pids: the only thing that commands share
    HOME/clusters/<name>, members/<name>, lake, activity, logs, certs

`up` starts what does not run and returns when all of it serves; it can be repeated. `down` ends every process and keeps
the data; `wipe` deletes it too. The state is written before and after each start, so that a command that dies midway
leaves nothing that the next one does not know of.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import sys
import time
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deploy.local import answering, certificates, processes
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from deploy.local.members import APPROVALS, KAFKA, Member, plan_members, start_member, wait_ready, with_free_ports
from deploy.local.processes import LocalProcess
from deploy.local.progress import say
from deploy.local.state import from_state, to_state
from deploy.local.traffic import plan_traffic
from deploy.local.workload import WorkloadPlan, prepare
from guardian.cli.local_home import DEFAULT_HOME, STATE, default_home
from guardian.client import ClientTls, GuardianClient
from guardian.errors import ClusterUnavailable, Conflict, InvalidInput
from guardian.security.model.identity import BrokerId

_DRAFT = ".state.json.draft"
_LOCK = "lock"
_CERTS = "certs"
_OURS = ("clusters", "members", "lake", "activity", "logs", APPROVALS, _CERTS, STATE, _DRAFT, _LOCK)
_VERSION = 1
_WORKLOAD_DEADLINE_S = 60.0
_NAMES = ("live", "bulk")


@dataclass(slots=True)
class LocalCluster:
    """A cluster and the process that writes to it, if any."""

    kafka: KafkaCluster
    workload: LocalProcess | None = None

    @property
    def workload_pid(self) -> int | None:
        return self.workload.pid if self.workload and processes.is_alive(self.workload) else None

    @property
    def workload_plan(self) -> Path:
        return self.kafka.directory / "workload" / "plan.json"

    @property
    def counts(self) -> Path:
        """Acknowledged records per partition: for `deploy.local.workload.read_counts`."""
        return self.kafka.directory / "workload" / "counts.json"


@dataclass(slots=True)
class Federation:
    """What stands in one home, running or not."""

    home: Path
    members: list[Member] = field(default_factory=list)
    clusters: list[LocalCluster] = field(default_factory=list)

    @property
    def lake(self) -> Path:
        return self.home / "lake"

    @property
    def endpoints(self) -> list[str]:
        return [member.grpc for member in self.members]

    @property
    def client_tls(self) -> ClientTls | None:
        """Return the certificate that the operator shows; None: everything speaks plain text."""
        folder = next((member.certificates for member in self.members), None)
        return certificates.client_tls(folder) if folder else None

    def cluster(self, name: str) -> LocalCluster:
        """Raises InvalidInput for a name that is not there."""
        for cluster in self.clusters:
            if cluster.kafka.name == name:
                return cluster
        raise InvalidInput(f"cluster is {name!r}: use one of {[cluster.kafka.name for cluster in self.clusters]}")

    def stages(self) -> list[list[LocalProcess]]:
        """Every process that was started, by kind, in the order in which to stop them.

        Traffic is flushed to brokers, and a broker hands over its leaders through a controller: so each kind ends while
        the next one still runs.
        """
        kinds = [
            [cluster.workload for cluster in self.clusters],
            [member.process for member in self.members],
            [broker.process for cluster in self.clusters for broker in cluster.kafka.brokers],
            [controller.process for cluster in self.clusters for controller in cluster.kafka.controllers],
        ]
        return [[process for process in kind if process is not None] for kind in kinds]

    def running(self) -> list[LocalProcess]:
        return [process for stage in self.stages() for process in stage if processes.is_alive(process)]

    def stop(self, spared: Collection[LocalProcess] = ()) -> None:
        """Ends all processes but the spared ones, and waits for their end."""
        for stage in self.stages():
            processes.stop_all([process for process in stage if process not in spared])

    def save(self) -> None:
        state = {
            "version": _VERSION,
            "members": to_state(self.members),
            "clusters": [
                {"kafka": cluster.kafka.to_state(), "workload": to_state(cluster.workload)} for cluster in self.clusters
            ],
        }
        self.home.mkdir(parents=True, exist_ok=True)
        draft = self.home / _DRAFT
        draft.write_text(json.dumps(state, indent=1))
        draft.replace(self.home / STATE)

    @staticmethod
    def load(home: Path) -> Federation:
        """Empty when nothing was started in this home. Raises InvalidInput when its state can't be read."""
        path = home / STATE
        if not path.exists():
            return Federation(home)
        try:
            state = json.loads(path.read_text())
            if state["version"] != _VERSION:
                raise ValueError(f"version is {state['version']}, not {_VERSION}")
            return Federation(
                home,
                [from_state(Member, member) for member in state["members"]],
                [
                    LocalCluster(
                        KafkaCluster.from_state(cluster["kafka"]),
                        from_state(LocalProcess, cluster["workload"]) if cluster["workload"] else None,
                    )
                    for cluster in state["clusters"]
                ],
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidInput(
                f"{path} can't be read ({error}): end its processes by hand, then delete {home}"
            ) from None


def up(
    members: int = 3,
    clusters: int = 2,
    brokers: int = 3,
    workload: bool = True,
    sasl: bool = False,
    home: Path | None = None,
    tls: bool = False,
    kafka: Mapping[str, object] = KAFKA,
    more: str = "",
) -> Federation:
    """Starts what does not run of this many, and returns when all of it serves. With `tls` members, brokers' reporters
    and the CLI show each other certificates, which are made here. `kafka` is that section of the members,
    `more` are further ones.

    Raises InvalidInput, Conflict when something of another size stands there, or what a failed start raises; what this
    call started is ended and forgotten then.
    """
    for name, count in (("members", members), ("clusters", clusters), ("brokers", brokers)):
        if count < 0:
            raise InvalidInput(f"{name} is {count}: use 0 or more")
    home = (home or default_home()).absolute()
    with _exclusive(home):
        federation = Federation.load(home)
        stood = list(federation.members), list(federation.clusters)
        certs = home / _CERTS if tls else None
        _with_members(federation, members, certs)
        chosen = _with_clusters(federation, clusters, brokers, sasl, certs)
        if certs is not None:
            _ensure_certificates(federation, certs)
        before = federation.running()
        try:
            federation.save()
            for cluster in chosen:
                _start_cluster(federation, cluster)
                _share_secrets(federation, cluster)
            if members:
                _start_members(federation, kafka, more)
                _register(federation, chosen)
            if workload and brokers:
                for cluster in chosen:
                    _start_workload(federation, cluster)
        except BaseException:
            say("up: it failed; ending what it started")
            federation.stop(spared=before)
            # What never served has no size yet that a next `up` must ask for; `wipe` finds its files all the same.
            federation.members = federation.members if stood[0] else []
            federation.clusters = stood[1]
            raise
        finally:
            federation.save()
    return federation


def status(home: Path | None = None) -> dict[str, Any]:
    """Describe what stands in the home, as JSON: the pid of a process that does not run is None."""
    federation = Federation.load((home or default_home()).absolute())
    return {
        "members": [
            {
                "name": member.name,
                "grpc": member.grpc,
                "http": member.http,
                "console": member.url,
                "pid": member.pid,
                "data": str(member.data),
            }
            for member in federation.members
        ],
        "clusters": [
            {
                "name": cluster.kafka.name,
                "bootstrap": cluster.kafka.bootstrap,
                "controllers": [{"id": node.id, "pid": node.pid} for node in cluster.kafka.controllers],
                "brokers": [
                    {
                        "id": node.id,
                        "pid": node.pid,
                        "rack": node.rack,
                        "idc": node.idc,
                        "log_dirs": list(node.log_dirs),
                    }
                    for node in cluster.kafka.brokers
                ],
            }
            for cluster in federation.clusters
        ],
    }


def down(home: Path | None = None) -> int:
    """Ends every process and waits for it; the data stays. Returns how many there were."""
    home = (home or default_home()).absolute()
    if not (home / STATE).exists():
        return 0
    with _exclusive(home):
        return _down(Federation.load(home))


def wipe(home: Path | None = None) -> int:
    """`down`, then deletes what `up` made, and the home when nothing else is in it."""
    home = (home or default_home()).absolute()
    if not home.exists():
        return 0
    with _exclusive(home):
        ended = _down(Federation.load(home))
        for name in _OURS:
            path = home / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    if not any(home.iterdir()):
        home.rmdir()
    parent = home.parent
    if parent.name == DEFAULT_HOME.parent.name and not any(parent.iterdir()):
        parent.rmdir()
    return ended


def stop_workload(federation: Federation, name: str) -> None:
    """Ends a cluster's traffic; its counts are final then."""
    cluster = federation.cluster(name)
    if cluster.workload is not None:
        processes.stop_all([cluster.workload])


def _down(federation: Federation) -> int:
    running = federation.running()
    if running:
        say(f"down: ending {len(running)} processes")
        federation.stop()
    return len(running)


def _with_clusters(
    federation: Federation, count: int, brokers: int, sasl: bool, certs: Path | None
) -> list[LocalCluster]:
    """The first `count` clusters; those that do not stand here yet are planned."""
    chosen = []
    for number in range(count):
        name = _NAMES[number] if number < len(_NAMES) else f"cluster-{number + 1}"
        known = next((cluster for cluster in federation.clusters if cluster.kafka.name == name), None)
        if known is None:
            told = {"guardian.endpoints": ",".join(federation.endpoints), "guardian.endpoints.ssl": "true"}
            spec = ClusterSpec(
                name,
                brokers=brokers,
                sasl=sasl,
                certificates=str(certs or ""),
                settings=told if certs is not None and federation.members else {},
            )
            known = LocalCluster(KafkaCluster.plan(spec, federation.home / "clusters" / name))
            federation.clusters.append(known)
        spec = known.kafka.spec
        if (spec.brokers, spec.sasl, spec.certificates) != (brokers, sasl, str(certs or "")):
            words = f"{' --sasl' if spec.sasl else ''}{' --tls' if spec.certificates else ''}"
            raise Conflict(
                f"cluster {name} stands here with --brokers {spec.brokers}{words}: "
                "ask for the same, or `guardian local wipe` first"
            )
        chosen.append(known)
    return chosen


def _with_members(federation: Federation, count: int, certs: Path | None) -> None:
    """Plans the group when there is none yet; its size can't be changed afterwards, nor how it speaks."""
    if not federation.members:
        federation.members = list(plan_members(count, federation.home, certs))
    elif federation.members[0].certificates != certs:
        words = "with --tls" if certs is None else "without --tls"
        raise Conflict(f"the members stand here {words}: ask for the same, or `guardian local wipe` first")
    elif count not in (0, len(federation.members)):
        raise Conflict(
            f"members is {count}, but a group of {len(federation.members)} stands here: "
            "ask for the same, or `guardian local wipe` first"
        )


def _share_secrets(federation: Federation, cluster: LocalCluster) -> None:
    """Puts a cluster's password where the members look for those that clusters name."""
    if cluster.kafka.spec.sasl:
        folder = federation.home / "secrets"
        folder.mkdir(mode=0o700, exist_ok=True)
        shutil.copy(cluster.kafka.sasl_password_file, folder)


def _ensure_certificates(federation: Federation, certs: Path) -> None:
    brokers = [
        BrokerId(cluster.kafka.name, broker.id) for cluster in federation.clusters for broker in cluster.kafka.brokers
    ]
    certificates.ensure(certs, [member.name for member in federation.members], brokers)


def _start_cluster(federation: Federation, cluster: LocalCluster) -> None:
    kafka = cluster.kafka
    idle = [node for node in kafka.nodes if node.pid is None]
    if not idle:
        say(f"cluster {kafka.name}: runs already")
        return
    say(f"cluster {kafka.name}: starting {len(idle)} of {len(kafka.nodes)} brokers and controllers")
    began = time.monotonic()
    kafka.launch(on_start=federation.save)
    say(f"cluster {kafka.name}: serves after {time.monotonic() - began:.1f} s")


def _start_members(federation: Federation, kafka: Mapping[str, object], more: str) -> None:
    idle = [member for member in federation.members if member.pid is None]
    if not idle:
        say(f"members: all {len(federation.members)} run already")
        return
    say(f"members: starting {len(idle)} of {len(federation.members)}")
    began = time.monotonic()
    if len(idle) == len(federation.members):
        federation.members = [with_free_ports(member) for member in federation.members]
    for number, member in enumerate(federation.members):
        if member in idle or member.process is None or member.pid is None:
            log = federation.home / "logs" / f"{member.name}.log"
            federation.members[number] = start_member(
                member, federation.members, federation.lake, log, kafka=kafka, more=more
            )
            federation.save()
    wait_ready(federation.members)
    say(f"members: serve after {time.monotonic() - began:.1f} s")


def _register(federation: Federation, clusters: Sequence[LocalCluster]) -> None:
    """Again each time: a cluster that was started anew may listen elsewhere."""
    with GuardianClient(federation.endpoints, tls=federation.client_tls) as client:
        for cluster in clusters:
            if cluster.kafka.brokers:
                answering.register(client, cluster.kafka.to_cluster())


def _start_workload(federation: Federation, cluster: LocalCluster) -> None:
    kafka = cluster.kafka
    if cluster.workload_pid is not None:
        say(f"workload of {kafka.name}: runs already")
        return
    say(f"workload of {kafka.name}: preparing topics, then writing and reading")
    seed = zlib.crc32(kafka.name.encode())
    traffic = plan_traffic({broker.id: broker.rack for broker in kafka.brokers}, seed=seed)
    prepare(kafka.to_cluster(sasl=False), traffic, {broker.id: broker.log_dirs[0] for broker in kafka.brokers})
    WorkloadPlan(kafka.to_cluster(sasl=False), traffic, cluster.counts, seed).write(cluster.workload_plan)
    before = _written_at(cluster.counts)
    command = [sys.executable, "-m", "deploy.local.workload", str(cluster.workload_plan)]
    cluster.workload = processes.spawn(command, kafka.directory / "logs" / "workload.log")
    federation.save()
    deadline = time.monotonic() + _WORKLOAD_DEADLINE_S
    while _written_at(cluster.counts) == before:
        if cluster.workload_pid is None or time.monotonic() > deadline:
            raise ClusterUnavailable(
                f"the workload of cluster {kafka.name} does not write; its log says last:\n"
                f"{processes.last_lines(cluster.workload)}"
            )
        time.sleep(0.1)


def _written_at(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


@contextmanager
def _exclusive(home: Path) -> Iterator[None]:
    home.mkdir(parents=True, exist_ok=True)
    with (home / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"another `guardian local` command works in {home}: wait until it ends") from None
        yield
