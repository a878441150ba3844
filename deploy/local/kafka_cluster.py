"""One real KRaft cluster on loopback: started, watched, broken on purpose, stopped.

    with KafkaCluster.start(ClusterSpec("live"), tmp_path) as cluster:
        cluster.bootstrap

Controllers and brokers are processes of their own. Nothing is formatted by a JVM. Kafka's storage tool runs once per
distribution, for its `bootstrap.checkpoint` (the feature levels of a new cluster, the same for all). `meta.properties`
is written here; that saves two seconds a node. Started again in the same directory, a cluster comes up on its data, at
its old ports where they are still free.
"""

from __future__ import annotations

import base64
import os
import secrets
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.local import ports, processes
from deploy.local.class_archive import class_archive
from deploy.local.distribution import CHECKPOINT, TARGET, bootstrap_checkpoint, kafka_libs, plugin_jar, require_java
from deploy.local.kafka_config import (
    SASL_USER,
    BrokerPorts,
    ClusterSpec,
    broker_properties,
    controller_properties,
    idc_of,
    meta_properties,
)
from deploy.local.ports import HOST
from deploy.local.processes import LocalProcess
from deploy.local.state import from_state, to_state
from guardian.errors import ClusterUnavailable, InvalidInput
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.model.topology import Broker, Cluster, ClusterSecurity, SecurityProtocol

__all__ = ["BrokerNode", "ClusterSpec", "ControllerNode", "KafkaCluster"]

_STARTED = "Kafka Server started"
_PORT_TAKEN = "Address already in use"
_ATTEMPTS = 3
_MECHANISM = "SCRAM-SHA-512"  # Guardian sends no plain password without TLS
_READY_DEADLINE_S = 600.0  # ends what hangs; a process that has ended is told of at once
_ANSWER_S = 30.0
_PROMPT_S = 2.0  # a third of what a member lets a cluster take to answer
_PROMPT_DEADLINE_S = 60.0
_ASK_EVERY_S = 0.5
_RECORDED_DEADLINE_S = 240.0  # a broker that ends writes its archive: seconds, or minutes where others take the cores
# Two cores start four JVMs: what costs CPU at start and pays off after hours is left out.
_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData", "-Djava.awt.headless=true")

_LOG4J_2 = """\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1}: %m%n%throwable
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
logger.server.name = kafka
logger.server.level = info
logger.server.appenderRef = out
"""

_LOG4J_1 = """\
log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{HH:mm:ss.SSS} %p %c{1}: %m%n
log4j.logger.kafka=INFO
"""

_LOGGING = ("log4j2.properties", "log4j2.configurationFile", _LOG4J_2)
_LOGGING_OF = {"3.9": ("log4j.properties", "log4j.configuration", _LOG4J_1)}


@dataclass(slots=True)
class ControllerNode:
    """A controller; its process is None until it is started."""

    id: int
    port: int
    process: LocalProcess | None = None

    @property
    def pid(self) -> int | None:
        return _pid(self.process)


@dataclass(slots=True)
class BrokerNode:
    """A broker. `reporter` and `listener` are host:port; `reporter` is empty without the plugin."""

    id: int
    rack: str
    ports: BrokerPorts
    log_dirs: tuple[str, ...]
    process: LocalProcess | None = None
    host: str = HOST

    @property
    def pid(self) -> int | None:
        """None when the process does not run."""
        return _pid(self.process)

    @property
    def port(self) -> int:
        return self.ports.plaintext

    @property
    def idc(self) -> str:
        return idc_of(self.rack)

    @property
    def listener(self) -> str:
        return f"{self.host}:{self.ports.plaintext}"

    @property
    def reporter(self) -> str:
        return f"{self.host}:{self.ports.reporter}" if self.ports.reporter else ""


Node = ControllerNode | BrokerNode


class KafkaCluster:
    """A cluster of processes and its directory. All paths and ports are known from the first moment on."""

    def __init__(
        self,
        spec: ClusterSpec,
        directory: Path,
        cluster_id: str,
        controllers: tuple[ControllerNode, ...],
        brokers: tuple[BrokerNode, ...],
    ) -> None:
        self.spec = spec
        self.directory = directory
        self.cluster_id = cluster_id
        self.controllers = controllers
        self.brokers = brokers
        # By node id, what its command is started by: `nsenter ...` where a node has a network of its own.
        self.starters: dict[int, list[str]] = {}
        # Where its broker writes its class archive when it ends, in a cluster that is there for nothing else.
        self._records: Path | None = None

    @classmethod
    def start(cls, spec: ClusterSpec, directory: Path, deadline_s: float = _READY_DEADLINE_S) -> KafkaCluster:
        """A new cluster, ready to serve; or the one whose data the directory holds, with its id.

        Raises InvalidInput when Java or Maven is missing, ClusterUnavailable with the last log lines when it does not
        become ready in time. Nothing of it runs then.
        """
        cluster = cls.plan(spec, directory)
        cluster.launch(deadline_s)
        return cluster

    @classmethod
    def plan(cls, spec: ClusterSpec, directory: Path) -> KafkaCluster:
        """The cluster with its ids, paths and ports, before anything runs."""
        directory = directory.resolve()
        controller_ids = range(spec.first_controller_id, spec.first_controller_id + spec.controllers)
        broker_ids = range(spec.first_broker_id, spec.first_broker_id + spec.brokers)
        return cls(
            spec,
            directory,
            _stored_cluster_id(directory) or _new_uuid(),
            tuple(
                ControllerNode(node_id, port)
                for node_id, port in zip(controller_ids, ports.pick(spec.controllers), strict=True)
            ),
            tuple(
                BrokerNode(
                    node_id,
                    spec.rack_of(node_id),
                    _pick_ports(spec),
                    tuple(str(directory / f"broker-{node_id}" / f"disk{n}") for n in range(1, spec.log_dirs + 1)),
                    host=spec.host_of(node_id),
                )
                for node_id in broker_ids
            ),
        )

    def __enter__(self) -> KafkaCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def nodes(self) -> list[Node]:
        return [*self.controllers, *self.brokers]

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.listener for broker in self.brokers)

    @property
    def sasl_bootstrap(self) -> str:
        """The SASL_PLAINTEXT listeners (SCRAM-SHA-512 and PLAIN, user `guardian`); empty without sasl."""
        return ",".join(f"{broker.host}:{broker.ports.sasl}" for broker in self.brokers) if self.spec.sasl else ""

    @property
    def sasl_username(self) -> str:
        return SASL_USER

    @property
    def secrets_folder(self) -> Path:
        """Return what $GUARDIAN_SECRETS, or a member's `secrets`, is for this cluster."""
        return self.directory / "secrets"

    @property
    def sasl_password_file(self) -> Path:
        return self.secrets_folder / f"{self.name}.password"

    def to_cluster(self, *, sasl: bool | None = None) -> Cluster:
        """Return the cluster as Guardian and clients know it; over SASL where the cluster has it, unless `sasl` says
        otherwise.
        """
        brokers = tuple(Broker(node.id, node.rack, node.idc, node.reporter) for node in self.brokers)
        if not (self.spec.sasl if sasl is None else sasl):
            return Cluster(self.name, self.bootstrap, self.cluster_id, brokers=brokers)
        login = ClusterSecurity(
            SecurityProtocol.SASL_PLAINTEXT, _MECHANISM, self.sasl_username, self.sasl_password_file.name
        )
        return Cluster(self.name, self.sasl_bootstrap, self.cluster_id, login, brokers)

    def broker(self, broker_id: int) -> BrokerNode:
        """Raises InvalidInput for an id that the cluster does not have."""
        for broker in self.brokers:
            if broker.id == broker_id:
                return broker
        raise InvalidInput(f"broker is {broker_id}: cluster {self.name} has {[broker.id for broker in self.brokers]}")

    def node(self, node_id: int) -> Node:
        """A broker or a controller. Raises InvalidInput for an id that the cluster does not have."""
        for node in self.nodes:
            if node.id == node_id:
                return node
        raise InvalidInput(f"node is {node_id}: cluster {self.name} has {sorted(node.id for node in self.nodes)}")

    def launch(self, deadline_s: float = _READY_DEADLINE_S, on_start: Callable[[], None] = lambda: None) -> None:
        """Starts what does not run and waits until all serve; on failure, ends what it started.

        `on_start` is called after each process is started: the moment to write the state down.
        """
        kafka_libs(self.spec.kafka)
        bootstrap_checkpoint(self.spec.kafka, self.spec.release)
        self._archive()
        idle = [node for node in self.nodes if node.pid is None]
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._start(idle, on_start)
                self.wait_ready(deadline_s)
                return
            except BaseException as error:
                started = [node.process for node in idle if node.process]
                processes.stop_all(started, deadline_s=5.0)
                taken = any(_PORT_TAKEN in processes.output(process) for process in started)
                if attempt == _ATTEMPTS or not taken or not isinstance(error, ClusterUnavailable):
                    raise

    def wait_ready(self, deadline_s: float = _READY_DEADLINE_S) -> None:
        """Returns when every node has said that it serves, and the brokers know each other and answer promptly.

        On a machine where no answer is prompt it returns a minute after the first. Raises ClusterUnavailable, with the
        last log lines, when a process has ended or the deadline has passed.
        """
        self._wait_for(self.nodes, deadline_s)
        if self.brokers:
            self._wait_for_prompt_answers(deadline_s)
        if self.spec.sasl:
            data.put_scram_user(self.to_cluster(sasl=False), self.sasl_username, self.ensure_password(), deadline_s)

    def stop(self) -> None:
        """Ends brokers first, so that they hand their leaders over, then controllers. The data stays."""
        processes.stop_all([broker.process for broker in self.brokers if broker.process])
        processes.stop_all([controller.process for controller in self.controllers if controller.process])

    def kill_broker(self, broker_id: int) -> None:
        """SIGKILL: as if its machine lost power."""
        process = self.broker(broker_id).process
        if process is not None:
            processes.kill(process)

    def start_broker(self, broker_id: int, deadline_s: float = _READY_DEADLINE_S) -> None:
        """Starts a broker that does not run, on its old data, and waits until it serves."""
        self.start_node(self.broker(broker_id).id, deadline_s)

    def start_node(self, node_id: int, deadline_s: float = _READY_DEADLINE_S) -> None:
        """Start a broker or a controller as `start_broker` does: at its old port, which the others know."""
        node = self.node(node_id)
        if node.pid is None:
            self._start_node(node)
        self._wait_for([node], deadline_s)

    def to_state(self) -> dict[str, Any]:
        """All that another process needs to take over, as JSON."""
        return {
            "spec": to_state(self.spec),
            "directory": str(self.directory),
            "cluster_id": self.cluster_id,
            "starters": to_state(self.starters),
            "controllers": to_state(self.controllers),
            "brokers": to_state(self.brokers),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> KafkaCluster:
        cluster = cls(
            from_state(ClusterSpec, state["spec"]),
            Path(state["directory"]),
            state["cluster_id"],
            tuple(from_state(ControllerNode, node) for node in state["controllers"]),
            tuple(from_state(BrokerNode, node) for node in state["brokers"]),
        )
        cluster.starters = {int(node_id): command for node_id, command in state["starters"].items()}
        return cluster

    def _start(self, idle: Sequence[Node], on_start: Callable[[], None]) -> None:
        if len(idle) == len(self.nodes):
            # Others know a controller's port from their configuration: it may change only while nothing runs.
            for controller in self.controllers:
                controller.port = ports.keep_or_pick(controller.port)
        for node in idle:
            self._start_node(node)
            on_start()

    def _start_node(self, node: Node) -> None:
        if isinstance(node, ControllerNode):
            self._start_controller(node)
        else:
            self._start_broker(node)

    def _start_controller(self, node: ControllerNode) -> None:
        home = self.directory / f"controller-{node.id}"
        metadata = home / "metadata"
        self._format(node.id, metadata)
        if not (metadata / CHECKPOINT).exists():
            _write_whole(metadata / CHECKPOINT, bootstrap_checkpoint(self.spec.kafka, self.spec.release).read_bytes())
        text = controller_properties(self.spec, node.id, self._controller_ports(), metadata)
        # An authorizer of the plugin is the controllers' too.
        node.process = self._spawn(node, home, text, plugin_jar() if self.spec.plugin else None)

    def _start_broker(self, node: BrokerNode) -> None:
        kept = node.ports
        node.ports = BrokerPorts(
            *(port and ports.keep_or_pick(port) for port in (kept.plaintext, kept.sasl, kept.reporter))
        )
        home = self.directory / f"broker-{node.id}"
        metadata = home / "metadata"
        for directory in (metadata, *map(Path, node.log_dirs)):
            self._format(node.id, directory)
        password = self.ensure_password() if self.spec.sasl else ""
        text = broker_properties(
            self.spec,
            node.id,
            ports=node.ports,
            controller_ports=self._controller_ports(),
            metadata_dir=metadata,
            log_dirs=tuple(map(Path, node.log_dirs)),
            password=password,
        )
        node.process = self._spawn(node, home, text, plugin_jar() if self.spec.plugin else None)

    def _spawn(self, node: Node, home: Path, properties: str, plugin: Path | None) -> LocalProcess:
        config = home / "server.properties"
        _write_private(config, properties)
        classpath = f"{kafka_libs(self.spec.kafka)}/*" + (f"{os.pathsep}{plugin}" if plugin else "")
        options = [
            *_JVM,
            *self._archive(isinstance(node, BrokerNode)),
            f"-Xmx{self.spec.heap_mb}m",
            *self.spec.jvm,
            self._logging(),
            f"-Dkafka.logs.dir={home}",
        ]
        command = [require_java(), *options, "-cp", classpath, "kafka.Kafka", str(config)]
        log = self.directory / "logs" / f"{home.name}.log"
        return processes.spawn([*self.starters.get(node.id, []), *command], log, cwd=home)

    def _archive(self, is_broker: bool = True) -> list[str]:
        """The JVM's option for the class archive, which is made first when it is missing."""
        if self._records is not None:
            return [f"-XX:ArchiveClassesAtExit={self._records}"] if is_broker else []
        jars = [*sorted(kafka_libs(self.spec.kafka).glob("*.jar")), *([plugin_jar()] if self.spec.plugin else [])]
        return [f"-XX:SharedArchiveFile={class_archive(jars, self._record)}"]

    def _record(self, archive: Path) -> None:
        with tempfile.TemporaryDirectory(dir=TARGET) as scratch:
            spec = ClusterSpec("classes", brokers=1, plugin=self.spec.plugin, kafka=self.spec.kafka)
            with KafkaCluster.plan(spec, Path(scratch)) as cluster:
                cluster._records = archive
                cluster.launch()
                recording = [broker.process for broker in cluster.brokers if broker.process]
                if processes.stop_all(recording, _RECORDED_DEADLINE_S):
                    archive.unlink(missing_ok=True)  # half of it

    def _logging(self) -> str:
        """The option that names the configuration of the log, which is written when it is missing."""
        file, option, text = _LOGGING_OF.get(self.spec.kafka, _LOGGING)
        path = self.directory / file
        if not path.exists():
            path.write_text(text)
        return f"-D{option}={path.as_uri()}"

    def _format(self, node_id: int, directory: Path) -> None:
        """Gives a new directory its identity; one that has it is left alone."""
        meta = directory / "meta.properties"
        if not meta.exists():
            directory.mkdir(parents=True, exist_ok=True)
            _write_whole(meta, meta_properties(self.cluster_id, node_id, _new_uuid()).encode())

    def ensure_password(self) -> str:
        """The password of the user `guardian`, made on first use."""
        path = self.sasl_password_file
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_private(path, secrets.token_urlsafe(18))
        return path.read_text().strip()

    def _controller_ports(self) -> dict[int, int]:
        return {node.id: node.port for node in self.controllers}

    def _wait_for(self, nodes: Sequence[Node], deadline_s: float) -> None:
        deadline = time.monotonic() + deadline_s
        waiting = nodes
        while waiting := [node for node in waiting if not _serves(node)]:
            for node in waiting:
                if node.pid is None:
                    raise ClusterUnavailable(f"{self._title(node)} has ended; its log says last:\n{_tail(node)}")
            if time.monotonic() > deadline:
                title, tail = self._title(waiting[0]), _tail(waiting[0])
                raise ClusterUnavailable(f"{title} is not ready after {deadline_s:.0f} s; its log says last:\n{tail}")
            time.sleep(0.1)

    def _wait_for_prompt_answers(self, deadline_s: float) -> None:
        """A broker that says that it serves is busy yet, and others may not have heard of it."""
        prompt, began_s = 0, time.monotonic()
        while prompt < 2:
            self._wait_for(self.nodes, deadline_s)  # one that ends meanwhile is told of at once
            asked_s = time.monotonic()
            try:
                self._ask_all()
            except ClusterUnavailable:
                if time.monotonic() - began_s > deadline_s:
                    raise
                prompt = 0
                time.sleep(_ASK_EVERY_S)
                continue
            now_s = time.monotonic()
            prompt = prompt + 1 if now_s - asked_s < _PROMPT_S else 0
            if now_s - began_s > _PROMPT_DEADLINE_S:
                return

    def _ask_all(self) -> None:
        """Ask each broker, as somebody who comes new. Raises ClusterUnavailable when one lacks another or a leader."""
        with closing(KafkaControl(self.to_cluster(sasl=False), _ANSWER_S)) as control:
            missing = {broker.id for broker in self.brokers} - set(control.describe_cluster().brokers)
            internal = [topic for topic in {each.topic for each in control.describe_partitions()} if topic[:2] == "__"]
            for broker in self.brokers:
                seen = control.partitions_seen_by(broker.id, internal) if internal else {}
                if missing or seen is None or any(state.leader < 0 for state in seen.values()):
                    raise ClusterUnavailable(
                        f"cluster {self.name}: broker {broker.id} does not know brokers {sorted(missing)} or leaders "
                        f"of {internal}: look at the brokers' logs in {self.directory / 'logs'}"
                    )

    def _title(self, node: Node) -> str:
        return f"{'controller' if isinstance(node, ControllerNode) else 'broker'} {node.id} of cluster {self.name}"


def _serves(node: Node) -> bool:
    """Kafka says so itself, once its listeners are open and the controller has let it in."""
    return node.pid is not None and node.process is not None and _STARTED in processes.output(node.process)


def _tail(node: Node) -> str:
    return processes.last_lines(node.process) if node.process else ""


def _pid(process: LocalProcess | None) -> int | None:
    return process.pid if process is not None and processes.is_alive(process) else None


def _pick_ports(spec: ClusterSpec) -> BrokerPorts:
    plaintext, sasl, reporter = ports.pick(3)
    return BrokerPorts(plaintext, sasl if spec.sasl else 0, reporter if spec.plugin else 0)


def _new_uuid() -> str:
    """Make an id as Kafka writes them: 16 bytes in base64. One that begins with '-' would read as an option on a
    command line.
    """
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def _stored_cluster_id(directory: Path) -> str:
    for meta in sorted(directory.glob("controller-*/metadata/meta.properties")):
        for line in meta.read_text().splitlines():
            if line.startswith("cluster.id="):
                return line.removeprefix("cluster.id=")
    return ""


def _write_whole(path: Path, content: bytes) -> None:
    """Half of a file that is never written again, after a kill -9, would keep its node from ever starting."""
    draft = path.with_name(f".{path.name}.draft")
    draft.write_bytes(content)
    draft.replace(path)


def _write_private(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
