"""What a federation is made of: clusters, their brokers, and where the brokers stand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import NamedTuple

from guardian.errors import InvalidInput
from guardian.model.text import some

ANY_LOG_DIR = "any"  # the broker chooses

# Where a member serves gRPC unless its configuration says otherwise.
DEFAULT_ENDPOINT = "127.0.0.1:9750"

_SECRET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)
_CLUSTER_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_NAMED = 5
_MAX_BROKER_ID = 2**31 - 1
_HTTP_URL = re.compile(r"https?://[^\s/?#]+(/[^\s?#]*)?")
_ENDPOINT = re.compile(r"[^\s:,/]+:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5}")


class TopicPartition(NamedTuple):
    """A partition, named as Kafka names it."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class SecurityProtocol(StrEnum):
    """Kafka's `security.protocol`."""

    PLAINTEXT = "PLAINTEXT"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SSL = "SSL"
    SASL_SSL = "SASL_SSL"

    @property
    def uses_sasl(self) -> bool:
        return self.value.startswith("SASL_")

    @property
    def uses_tls(self) -> bool:
        return self.value.endswith("SSL")


SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def require_secret_name(field_name: str, value: str) -> None:
    """Raises InvalidInput unless it is one plain component of a path, so that nothing outside the folder is named."""
    if not _SECRET_NAME.fullmatch(value):
        raise InvalidInput(
            f"{field_name} is {value[:128]!r}; name a file in the members' folder of secrets: up to 128 of A-Z, a-z, "
            "0-9, '.', '_' and '-', beginning with a letter or digit"
        )


@dataclass(frozen=True, slots=True)
class ClusterSecurity:
    """How Guardian logs in to a cluster. `password_secret` and `ca_secret` name files in the folder of secrets of every
    member; what is in them is never stored. A password that is sent as it is (PLAIN) only goes over TLS."""

    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    sasl_mechanism: str = ""
    username: str = ""
    password_secret: str = ""
    ca_secret: str = ""

    def __post_init__(self) -> None:
        if self.protocol.uses_sasl:
            if self.sasl_mechanism not in SASL_MECHANISMS:
                raise InvalidInput(
                    f"security.sasl_mechanism is {self.sasl_mechanism!r}: use one of {', '.join(SASL_MECHANISMS)}"
                )
            if not self.username or not self.password_secret:
                raise InvalidInput(f"security.protocol {self.protocol} needs username and password_secret")
            if self.sasl_mechanism == "PLAIN" and not self.protocol.uses_tls:
                raise InvalidInput(
                    f"security.protocol is {self.protocol} with sasl_mechanism PLAIN, which would send the password in "
                    "plain text; use SASL_SSL, or a SCRAM mechanism"
                )
        for name in ("password_secret", "ca_secret"):
            if getattr(self, name):
                require_secret_name(f"security.{name}", getattr(self, name))


class BrokerState(Enum):
    """Values are those of the wire, and are stored: never renumber."""

    ACTIVE = 0
    DRAINING = 1  # being emptied
    MAINTENANCE = 2  # expected to be away


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker as the federation knows it.

    `idc` is the data centre, a level above Kafka's rack. `reporter` is the host:port of the plugin's gRPC endpoint
    where an admin has given it, `registered_reporter` the one that the plugin itself has registered. Topics with its
    `label` live here; empty: anybody's. `metrics_url` is the plugin's page for Prometheus.
    """

    id: int
    rack: str = ""
    idc: str = ""
    reporter: str = ""
    label: str = ""
    state: BrokerState = BrokerState.ACTIVE
    registered_reporter: str = ""
    metrics_url: str = ""

    def __post_init__(self) -> None:
        require_broker_id(self.id)
        require_label(self.label)
        for name in ("reporter", "registered_reporter"):
            if getattr(self, name):
                require_endpoint(name, getattr(self, name))
        if self.metrics_url and not _HTTP_URL.fullmatch(self.metrics_url):
            raise InvalidInput(f"metrics_url is {self.metrics_url!r}: use http://host:port/metrics, or https")

    @property
    def reporter_endpoint(self) -> str:
        """Where its metrics are collected; empty: nowhere."""
        return self.reporter or self.registered_reporter


@dataclass(frozen=True, slots=True)
class Cluster:
    """A registered Kafka cluster. `cluster_id` is Kafka's own; `name` is the federation's label for it.
    `bootstrap_controllers` are host:port of controllers, asked where no broker reaches them; empty: those that their
    quorum told of. `sampling_paused` is why no metrics are collected from its brokers; empty: they are."""

    name: str
    bootstrap: str
    cluster_id: str = ""
    security: ClusterSecurity = field(default_factory=ClusterSecurity)
    brokers: tuple[Broker, ...] = ()
    sampling_paused: str = ""
    bootstrap_controllers: str = ""

    def __post_init__(self) -> None:
        if not _CLUSTER_NAME.fullmatch(self.name):
            raise InvalidInput(
                f"cluster name is {self.name!r}: use up to 63 of a-z, 0-9, '.', '_' and '-', starting with a-z or 0-9"
            )
        if not self.bootstrap:
            raise InvalidInput("bootstrap is empty: give host:port of one or more brokers")
        for endpoint in self.bootstrap.split(","):
            require_endpoint("bootstrap", endpoint)
        for endpoint in self.bootstrap_controllers.split(",") if self.bootstrap_controllers else ():
            require_endpoint("bootstrap_controllers", endpoint)
        ids = [broker.id for broker in self.brokers]
        if len(set(ids)) != len(ids):
            raise InvalidInput(f"brokers of cluster {self.name} has an id twice: {sorted(ids)}")

    def broker(self, broker_id: int) -> Broker | None:
        return next((broker for broker in self.brokers if broker.id == broker_id), None)


def broker_names(brokers: Sequence[int]) -> str:
    """For people: "broker 3", "brokers 1, 2, 3, 4, 5 and 7 more"."""
    return f"{'broker' if len(brokers) == 1 else 'brokers'} {some(brokers, _NAMED)}"


def require_broker_id(broker_id: int) -> None:
    """Raises InvalidInput unless it is one that Kafka can have: 0 to 2147483647."""
    if not 0 <= broker_id <= _MAX_BROKER_ID:
        raise InvalidInput(f"broker id is {broker_id}: use 0 to {_MAX_BROKER_ID}")


def require_label(label: str) -> None:
    """Raises InvalidInput unless it is one that brokers, machines and topics can have, or empty."""
    if label and not _LABEL.fullmatch(label):
        raise InvalidInput(
            f"label is {label!r}: use up to 63 of a-z, A-Z, 0-9, '.', '_' and '-', starting with a letter or digit"
        )


def require_endpoint(name: str, value: str) -> None:
    """Raises InvalidInput unless `value` is host:port with a port of 1 to 65535."""
    host, _, port = value.rpartition(":")
    if not _ENDPOINT.fullmatch(value) or not 1 <= int(port) <= 65535 or not _can_be_resolved(host):
        raise InvalidInput(f"{name} is {value!r}: use host:port, such as broker1.example.net:9092")


def _can_be_resolved(host: str) -> bool:
    """Resolvers raise UnicodeError, which nobody expects, for an empty or too long label."""
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return True
