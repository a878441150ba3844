"""What a federation is made of: clusters, their brokers, and where the brokers stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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
_SHOWN_BROKERS = 10
_MAX_BROKER_ID = 2**31 - 1
_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252}[A-Za-z0-9_])?", re.ASCII)
_HTTPS_URL = re.compile(r"https://[^\s/?#@]+(/[^\s#]*)?")
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


# What a login by each mechanism consists of; of OAUTHBEARER, one of two ways to a token.
_PASSWORD = ("username", "password_secret")
_TOKEN_OF_A_FILE = ("token_secret",)
_TOKEN_OF_AN_ENDPOINT = ("token_endpoint", *_PASSWORD)
_TOKEN_FIELDS = (*_TOKEN_OF_A_FILE, *_TOKEN_OF_AN_ENDPOINT, "token_ca_secret", "token_scope")
_KERBEROS = ("username", "keytab_secret")
_FIELDS_OF = {
    "PLAIN": _PASSWORD,
    "SCRAM-SHA-256": _PASSWORD,
    "SCRAM-SHA-512": _PASSWORD,
    "OAUTHBEARER": _TOKEN_FIELDS,
    "GSSAPI": (*_KERBEROS, "kerberos_service"),
}
SASL_MECHANISMS = tuple(_FIELDS_OF)
KERBEROS_SERVICE = "kafka"  # unless a cluster names another
# Who listens could use what these send.
_SENT_PLAINLY = {"PLAIN": "the password", "OAUTHBEARER": "the token"}


def require_secret_name(field_name: str, value: str) -> None:
    """Raises InvalidInput unless it is one plain component of a path, so that nothing outside the folder is named."""
    if not _SECRET_NAME.fullmatch(value):
        raise InvalidInput(
            f"{field_name} is {value[:128]!r}; name a file in the members' folder of secrets: up to 128 of A-Z, a-z, "
            "0-9, '.', '_' and '-', beginning with a letter or digit"
        )


@dataclass(frozen=True, slots=True)
class ClusterSecurity:
    """How Guardian connects and logs in to a cluster.

    Fields that end in `_secret` name files in the folder of secrets of every member; what is in them is never stored.
    `certificate_secret` and `key_secret` are what Guardian shows to brokers, `tls_server_name` is in the certificate of
    every broker; empty: the host that it is connected to. `username` is the user of PLAIN and SCRAM, the client's id at
    `token_endpoint`, or the principal of Kerberos. A password or token that is sent as it is only goes over TLS.
    """

    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    sasl_mechanism: str = ""
    username: str = ""
    password_secret: str = ""
    ca_secret: str = ""
    certificate_secret: str = ""
    key_secret: str = ""
    tls_server_name: str = ""
    token_secret: str = ""
    token_endpoint: str = ""
    token_scope: str = ""
    token_ca_secret: str = ""
    keytab_secret: str = ""
    kerberos_service: str = ""

    def __post_init__(self) -> None:
        for name, secret in self.secrets().items():
            require_secret_name(f"security.{name}", secret)
        self._require_login()
        self._require_tls_fields()

    def secrets(self) -> dict[str, str]:
        """Return the names of files in the folder of secrets, by the field that names each."""
        named = ((name, str(getattr(self, name))) for name in self.__dataclass_fields__ if name.endswith("_secret"))
        return {name: secret for name, secret in named if secret}

    def _require_login(self) -> None:
        """Raises InvalidInput unless there is all that the mechanism needs, and nothing of another one."""
        mechanism = self.sasl_mechanism
        if self.protocol.uses_sasl:
            if mechanism not in SASL_MECHANISMS:
                raise InvalidInput(f"security.sasl_mechanism is {mechanism!r}: use one of {', '.join(SASL_MECHANISMS)}")
            if missing := self._missing():
                raise InvalidInput(f"security.protocol {self.protocol} with {mechanism} needs {missing}")
            if mechanism in _SENT_PLAINLY and not self.protocol.uses_tls:
                raise InvalidInput(
                    f"security.protocol is {self.protocol} with sasl_mechanism {mechanism}, which would send "
                    f"{_SENT_PLAINLY[mechanism]} in plain text; use SASL_SSL, or a SCRAM mechanism"
                )
        of_others = {name for names in _FIELDS_OF.values() for name in names} - {*_FIELDS_OF.get(mechanism, _PASSWORD)}
        for name in sorted(filter(lambda each: getattr(self, each), of_others)):
            raise InvalidInput(
                f"security.{name} is {getattr(self, name)!r}, which sasl_mechanism {mechanism!r} does not use: "
                "leave it out, or use its mechanism"
            )
        if self.token_endpoint and not _HTTPS_URL.fullmatch(self.token_endpoint):
            raise InvalidInput(f"security.token_endpoint is {self.token_endpoint!r}: use https://host/path")
        if self.kerberos_service and not _LABEL.fullmatch(self.kerberos_service):
            raise InvalidInput(f"security.kerberos_service is {self.kerberos_service!r}: use a name such as kafka")

    def _missing(self) -> str:
        """Return the fields that the login lacks, for people; empty: none."""
        if self.sasl_mechanism != "OAUTHBEARER":
            needed = _KERBEROS if self.sasl_mechanism == "GSSAPI" else _PASSWORD
            return "" if all(getattr(self, name) for name in needed) else " and ".join(needed)
        if self.token_secret:
            extra = [name for name in _TOKEN_FIELDS if name not in _TOKEN_OF_A_FILE and getattr(self, name)]
            return f"either token_secret or {extra[0]}, not both" if extra else ""
        if all(getattr(self, name) for name in _TOKEN_OF_AN_ENDPOINT):
            return ""
        return "token_secret, or token_endpoint with username (the client's id) and password_secret (its secret)"

    def _require_tls_fields(self) -> None:
        if bool(self.certificate_secret) != bool(self.key_secret):
            raise InvalidInput(
                f"security.certificate_secret is {self.certificate_secret!r} and key_secret is {self.key_secret!r}: "
                "name both or neither"
            )
        for name in ("certificate_secret", "tls_server_name"):
            if getattr(self, name) and not self.protocol.uses_tls:
                raise InvalidInput(
                    f"security.{name} is {getattr(self, name)!r} with protocol {self.protocol}: use SSL or SASL_SSL, "
                    "or leave it out"
                )
        if self.tls_server_name and not _HOST.fullmatch(self.tls_server_name):
            raise InvalidInput(
                f"security.tls_server_name is {self.tls_server_name!r}: use a host's name that stands in the brokers' "
                "certificates, such as kafka.example.net"
            )


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
        """Return where the broker's metrics are collected; empty: nowhere."""
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
    """Name the brokers for people: "broker 3", "brokers 1, 2, 3, 4, 5 and 7 more"."""
    return f"{'broker' if len(brokers) == 1 else 'brokers'} {some(brokers, _NAMED)}"


def require_broker_id(broker_id: int) -> None:
    """Raises InvalidInput unless it is one that Kafka can have: 0 to 2147483647."""
    if not 0 <= broker_id <= _MAX_BROKER_ID:
        raise InvalidInput(f"broker id is {broker_id}: use 0 to {_MAX_BROKER_ID}")


def why_no_broker(cluster: str, broker_id: int, known: Iterable[int]) -> str:
    """Return the sentence about a broker that a cluster does not have: whatever way a plan is asked for, it is one."""
    names = some(sorted(known), _SHOWN_BROKERS) or "none"
    return f"broker {broker_id} is not in the model of cluster {cluster}: name one of {names}"


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
