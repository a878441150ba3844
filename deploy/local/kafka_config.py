"""server.properties of brokers and controllers: pure, from a spec and ports to text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deploy.local.certificates import broker_settings
from deploy.local.distribution import FOLDERS, KAFKA
from deploy.local.ports import HOST
from deploy.local.tiered_storage import TieredStorage, controller_settings
from guardian.errors import InvalidInput
from guardian.links.model import IDC_AWARE, RACK_AWARE

SASL_USER = "guardian"
BACKSLASH = "\\"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
REPORTERS = "guardian.kafka.GuardianMetricsReporter,org.apache.kafka.common.metrics.JmxReporter"


@dataclass(frozen=True, slots=True)
class Listener:
    """One more listener of each broker, such as TLS:SSL at a port. `settings` are those of `listener.name.NAME.`;
    `advertised` is the host that clients are told, empty: the broker's."""

    name: str
    protocol: str
    port: int
    settings: Mapping[str, str] = field(default_factory=dict)
    advertised: str = ""


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """What a cluster is to be. Racks are dealt out to brokers in turn; an IDC is a rack's name up to its last '-'.

    `kafka` is the version, one of `distribution.FOLDERS`; `release` is that of a new cluster's feature levels, empty:
    the same. `settings` are more lines of server.properties, which win. `jvm` are more options of each node's JVM.
    `listeners` are more listeners, of a cluster of one broker. `hosts` are the addresses of nodes, by id, that are not
    on loopback. `certificates` is the folder of those that brokers' reporters show, without it they speak plain text.
    """

    name: str
    brokers: int = 3
    controllers: int = 1
    log_dirs: int = 3
    sasl: bool = False
    heap_mb: int = 400
    jvm: tuple[str, ...] = ()
    plugin: bool = True
    first_broker_id: int = 1
    first_controller_id: int = 101
    racks: tuple[str, ...] = ("shanghai-a", "shanghai-b", "suzhou-a")
    kafka: str = KAFKA
    release: str = ""
    tiered: TieredStorage | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[int, str] = field(default_factory=dict)
    certificates: str = ""
    listeners: tuple[Listener, ...] = ()

    def __post_init__(self) -> None:
        for name, least in (("brokers", 0), ("controllers", 1), ("log_dirs", 1)):
            if getattr(self, name) < least:
                raise InvalidInput(f"{name} of cluster {self.name} is {getattr(self, name)}: use {least} or more")
        if self.kafka not in FOLDERS:
            raise InvalidInput(f"kafka of cluster {self.name} is {self.kafka!r}: use one of {sorted(FOLDERS)}")
        if self.listeners and self.brokers > 1:
            raise InvalidInput(
                f"listeners of cluster {self.name} is {[each.name for each in self.listeners]} for {self.brokers} "
                "brokers: their ports are those of one, use brokers=1"
            )
        if self.first_broker_id + self.brokers > self.first_controller_id:
            raise InvalidInput(
                f"brokers of cluster {self.name} is {self.brokers}: their ids must end below the first controller's, "
                f"{self.first_controller_id}"
            )

    def rack_of(self, broker_id: int) -> str:
        return self.racks[(broker_id - self.first_broker_id) % len(self.racks)]

    @property
    def internal_replicas(self) -> int:
        """Return the number of replicas of Kafka's own topics."""
        return max(1, min(3, self.brokers))

    def host_of(self, node_id: int) -> str:
        return self.hosts.get(node_id, HOST)


def idc_of(rack: str) -> str:
    """The IDC of a rack: `shanghai-a` stands in `shanghai`."""
    return rack.rsplit("-", 1)[0]


@dataclass(frozen=True, slots=True)
class BrokerPorts:
    """Where a broker listens; 0 for what it does not have."""

    plaintext: int
    sasl: int = 0
    reporter: int = 0


def controller_properties(spec: ClusterSpec, node_id: int, ports: Mapping[int, int], metadata_dir: Path) -> str:
    """A controller's server.properties. `ports` are those of all controllers, by node id."""
    return render(
        {
            "process.roles": "controller",
            "node.id": node_id,
            "controller.quorum.voters": _voters(spec, ports),
            "controller.listener.names": "CONTROLLER",
            "listeners": f"CONTROLLER://{spec.host_of(node_id)}:{ports[node_id]}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT",
            "log.dirs": metadata_dir,
            **_defaults(spec),
            **(controller_settings() if spec.tiered else {}),
            **spec.settings,
        }
    )


def broker_properties(
    spec: ClusterSpec,
    node_id: int,
    *,
    ports: BrokerPorts,
    controller_ports: Mapping[int, int],
    metadata_dir: Path,
    log_dirs: tuple[Path, ...],
    password: str = "",
) -> str:
    """A broker's server.properties. It holds the SASL password: write it with mode 0600."""
    host = spec.host_of(node_id)
    listeners = {"PLAINTEXT": (ports.plaintext, "PLAINTEXT", host)}
    if spec.sasl:
        listeners["SASL"] = (ports.sasl, "SASL_PLAINTEXT", host)
    listeners |= {each.name: (each.port, each.protocol, each.advertised or host) for each in spec.listeners}
    plain = (
        f"org.apache.kafka.common.security.plain.PlainLoginModule required user_{SASL_USER}={jaas_quoted(password)};"
    )
    sasl = {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.sasl.plain.sasl.jaas.config": plain,
        "listener.name.sasl.scram-sha-512.sasl.jaas.config": _SCRAM,
    }
    plugin = {"metric.reporters": REPORTERS, "guardian.reporter.listener": f"{host}:{ports.reporter}"}
    return render(
        {
            "process.roles": "broker",
            "node.id": node_id,
            "broker.rack": spec.rack_of(node_id),
            "controller.quorum.voters": _voters(spec, controller_ports),
            "controller.listener.names": "CONTROLLER",
            "listeners": ",".join(f"{name}://{host}:{port}" for name, (port, _, _) in listeners.items()),
            "advertised.listeners": ",".join(f"{name}://{at}:{port}" for name, (port, _, at) in listeners.items()),
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": ",".join(
                ["CONTROLLER:PLAINTEXT", *(f"{name}:{protocol}" for name, (_, protocol, _) in listeners.items())]
            ),
            **{
                f"listener.name.{each.name.lower()}.{key}": value
                for each in spec.listeners
                for key, value in each.settings.items()
            },
            # Apart from the log dirs: a log dir that fails must not take the broker down with it.
            "metadata.log.dir": metadata_dir,
            "log.dirs": ",".join(map(str, log_dirs)),
            "replica.selector.class": _replica_selector(spec),
            **_defaults(spec),
            **(sasl if spec.sasl else {}),
            **(plugin if spec.plugin else {}),
            **(broker_settings(Path(spec.certificates), spec.name, node_id) if spec.certificates else {}),
            **(spec.tiered.broker_settings(spec.internal_replicas) if spec.tiered else {}),
            **spec.settings,
        }
    )


def meta_properties(cluster_id: str, node_id: int, directory_id: str) -> str:
    """Render what `kafka-storage format` writes into each directory."""
    return render({"cluster.id": cluster_id, "directory.id": directory_id, "node.id": node_id, "version": 1})


def render(properties: Mapping[str, object]) -> str:
    """Java properties, one per line. A backslash escapes in that format. Raises InvalidInput for a value of lines."""
    lines = []
    for key, value in properties.items():
        text = str(value)
        if "\n" in text or "\r" in text:
            raise InvalidInput(f"{key} is {text!r}: a line end does not fit Kafka's files")
        lines.append(f"{key}={text.replace(BACKSLASH, BACKSLASH * 2)}\n")
    return "".join(lines)


def jaas_quoted(value: str) -> str:
    """Return the value as JAAS has it: in quotes, those in it and backslashes escaped."""
    escaped = value.replace(BACKSLASH, BACKSLASH * 2).replace('"', f'{BACKSLASH}"')
    return f'"{escaped}"'


def _voters(spec: ClusterSpec, ports: Mapping[int, int]) -> str:
    return ",".join(f"{node_id}@{spec.host_of(node_id)}:{port}" for node_id, port in sorted(ports.items()))


def _replica_selector(spec: ClusterSpec) -> str:
    """Consumers of a rack without a broker read in their IDC where there are several."""
    return IDC_AWARE if spec.plugin and len({idc_of(rack) for rack in spec.racks}) > 1 else RACK_AWARE


def _defaults(spec: ClusterSpec) -> dict[str, object]:
    replicas = spec.internal_replicas
    return {
        "auto.create.topics.enable": "false",
        # Leadership is moved by Guardian alone: Kafka's own rebalancing would undo a leader plan within five minutes.
        "auto.leader.rebalance.enable": "false",
        "controlled.shutdown.enable": "true",
        "default.replication.factor": min(2, replicas),
        "offsets.topic.replication.factor": replicas,
        "offsets.topic.num.partitions": 3,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 3,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": 1,
        "share.coordinator.state.topic.num.partitions": 3,
        "group.initial.rebalance.delay.ms": 0,
        # Several brokers share two cores and little memory: few threads, and a cleaner without its 128 MB.
        "num.network.threads": 2,
        "num.io.threads": 4,
        "background.threads": 4,
        "num.recovery.threads.per.data.dir": 1,
        "log.cleaner.dedupe.buffer.size": 4 * 1024 * 1024,
    }
