"""The configuration of one member: a TOML file, read once at start, frozen.

Each setting is declared here or in the module of its section, once (guardian/model/settings.py). Made from that are
docs/configuration.md, deploy/examples/member.toml and its JSON schema, and what `guardian config explain` prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from guardian.activity.rules.address import parse_url
from guardian.errors import InvalidInput
from guardian.events.model import Sink, sinks_of
from guardian.execution.model import HOOK_SECTIONS, Hook, hooks_of
from guardian.execution.rules.slots import ExecutionLimits
from guardian.healing.model import HealingPolicies, HealingPolicy
from guardian.model import settings
from guardian.model.goals import require_known
from guardian.model.planner_settings import PlannerSettings
from guardian.model.settings import Section, setting
from guardian.model.ticket import MAX_EXECUTION_BYTES
from guardian.model.topology import DEFAULT_ENDPOINT, require_endpoint
from guardian.planning.model import PlansConfig
from guardian.protection.rules.protecting import ProtectionSettings
from guardian.security.model.security_config import SecurityConfig
from guardian.throttle.rules.adapting import ThrottleSettings

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
ANY_HOSTS = ("0.0.0.0", "[::]")  # noqa: S104  to be recognised
GRPC_PER_ADDRESS, HTTP_PER_ADDRESS = 512, 128
_DAY_S = 86400
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")  # it becomes part of file names in the lake


def planner_section(path: str, value: object) -> Mapping[str, object]:
    """Return a section [planner] as it is written, checked. Raises InvalidInput."""
    table = settings.section(path, value)
    planner_settings(table)
    return table


def _scheme(name: str, url: str) -> str:
    try:
        return urlsplit(url).scheme
    except ValueError as error:
        raise InvalidInput(f"{name} is {url!r}: give a path, or a URL ({error})") from None


@dataclass(frozen=True, slots=True)
class CollectConfig(Section):
    """Set when brokers are collected, and when their rows are written to the lake."""

    interval_s: float = setting(60.0, "Time between two collections of a broker.", above=0, most=_DAY_S)
    timeout_s: float = setting(10.0, "Time after which a call to a broker is given up.", above=0, most=_DAY_S)
    flush_s: float = setting(60.0, "Age at which rows are written to the lake.", above=0, most=_DAY_S)
    delay_s: float = setting(
        30.0, "Time for which a member that is gone keeps its brokers: a restart moves nothing.", least=1, most=3600
    )


@dataclass(frozen=True, slots=True)
class ExecuteConfig(Section):
    """Limit how much the executor has under way at the same time."""

    tick_s: float = setting(
        1.0, "Time between two ticks; less while there is more to do or small moves begin.", above=0, most=_DAY_S
    )
    broker_timeout_s: float = setting(
        1.0, "A broker that takes longer to answer is left out of the tick, all others are not.", least=0.1, most=10
    )
    tiered_warm_up_s: float = setting(
        600.0,
        "A tiered topic's new replica leads once it holds that much of writing; 0: at once.",
        least=0,
        most=_DAY_S,
    )
    per_broker_in: int = setting(2, "Moves at the same time into a broker.", least=1, most=10_000)
    per_broker_out: int = setting(10, "Moves at the same time out of a broker.", least=1, most=10_000)
    per_disk: int = setting(10, "Moves at the same time that read or write a log dir.", least=1, most=10_000)
    per_line: int = setting(
        100, "Moves at the same time over a link between IDCs, in one direction.", least=1, most=1_000_000
    )
    per_cluster: int = setting(1250, "Partitions of a cluster that move at the same time.", least=1, most=1_000_000)
    slot_mb: int = setting(
        1, "A move of fewer megabytes counts less than one; 0: each counts as one.", least=0, most=1_000_000
    )
    plan_age_s: float = setting(
        _DAY_S * 1.0,
        "An approved plan whose samples are older is made anew before it runs; 0: never.",
        least=0,
        most=365 * _DAY_S,
    )
    ticket_kb: int = setting(
        MAX_EXECUTION_BYTES // 1000,
        "A plan whose moves take more to be stored becomes several tickets, one after the other under one approval.",
        least=1,
        most=MAX_EXECUTION_BYTES // 1000,
    )

    @property
    def max_ticket_bytes(self) -> int:
        """Return how many bytes the moves of one ticket take at most, as they are stored."""
        return self.ticket_kb * 1000

    @property
    def patience_s(self) -> float:
        """Return how long a tick waits for brokers' metrics; later ones count at the next tick."""
        return min(0.25, self.tick_s / 4)

    @property
    def limits(self) -> ExecutionLimits:
        """Return the limits that the executor decides by."""
        return ExecutionLimits(
            self.per_broker_in,
            self.per_broker_out,
            self.per_cluster,
            self.per_disk,
            self.per_line,
            self.slot_mb * 1_000_000,
        )


@dataclass(frozen=True, slots=True)
class KafkaConfig(Section):
    """Limit how long a member waits for clusters."""

    rpc_timeout_s: float = setting(
        6.0,
        "Time for one question to a cluster while somebody waits for the answer; a client waits 20 s for a member.",
        least=1,
        most=600,
    )


@dataclass(frozen=True, slots=True)
class AuditConfig(Section):
    """Keep client activity: who did what on the brokers (guardian/activity/README.md)."""

    url: str | None = setting(
        None,
        "A path, or clickhouse://user@host:8123/database; empty: activity is not kept. Without it a group of one "
        "member keeps it below `data`.",
        least=0,
        example="/var/lib/guardian/activity",
        everywhere=True,
    )
    password_file: Path | None = setting(
        None, "The password of a ClickHouse server's user.", example="/etc/guardian/clickhouse.password"
    )
    retention_days: int = setting(30, "Older activity is removed.", least=1, most=3650)
    memory_mb: int = setting(700, "Memory that the embedded ClickHouse of a path may use.", least=300, most=1 << 20)


@dataclass(frozen=True, slots=True)
class TlsConfig(Section):
    """Name the PEM files of a port, or of calls to brokers' reporters; they are read again when they change."""

    ca: Path = setting(..., "The authorities to trust.", example="/etc/guardian/ca.pem")
    certificate: Path = setting(..., "This member's certificate.", example="/etc/guardian/g1.pem")
    key: Path = setting(..., "The private key of the certificate.", example="/etc/guardian/g1.key")
    crl: Path | None = setting(None, "Certificates that were revoked (docs/tls.md).", example="/etc/guardian/crl.pem")
    allow_shared_ca: bool = setting(
        False, "Start although every client's certificate of this member's name opens the Raft port."
    )


@dataclass(frozen=True, slots=True)
class HttpTlsConfig(Section):
    """Name the PEM files of the HTTP port; they are read again when they change."""

    certificate: Path = setting(..., "This member's certificate.", example="/etc/guardian/g1.pem")
    key: Path = setting(..., "The private key of the certificate.", example="/etc/guardian/g1.key")
    ca: Path | None = setting(
        None, "Authorities of which clients must show a certificate.", example="/etc/guardian/clients-ca.pem"
    )
    crl: Path | None = setting(
        None, "Clients' certificates that were revoked.", example="/etc/guardian/clients-crl.pem"
    )

    def __post_init__(self) -> None:
        if self.crl is not None and self.ca is None:
            raise InvalidInput("crl is given without ca, so that no client shows a certificate: give both")


@dataclass(frozen=True, slots=True)
class RestConfig(Section):
    """Configure the REST API of Cruise Control."""

    default_cluster: str = setting(
        "", "The cluster of /kafkacruisecontrol; default: the only one that is registered.", example="live"
    )


@dataclass(frozen=True, slots=True)
class LogConfig(Section):
    """Configure the member's own log."""

    format: Literal["text", "json"] = setting("text", "Lines for people, or a line of JSON each.")
    level: Literal["debug", "info", "warning", "error"] = setting("info", "The least level that is written.")


@dataclass(frozen=True, slots=True)
class TracesConfig(Section):
    """Send what happens to tickets as spans."""

    endpoint: str = setting("", "An OTLP collector (gRPC).", example="http://127.0.0.1:4317")

    def __post_init__(self) -> None:
        is_http = _scheme("endpoint", self.endpoint) in ("http", "https") and urlsplit(self.endpoint).netloc
        if self.endpoint and not is_http:
            raise InvalidInput(f"endpoint is {self.endpoint!r}: use http://host:4317 or https://host:4317")


@dataclass(frozen=True, slots=True)
class DiskConfig(Section):
    """Guard the disk that the member's data is on."""

    reserve_mb: int = setting(512, "With less free where `data` is, changes are refused.", least=0, most=1 << 30)
    verify_h: float = setting(
        24.0, "Time between two readings of all that is stored, to compare checksums; 0: never.", least=0, most=8760
    )


@dataclass(frozen=True, slots=True)
class LimitsConfig(Section):
    """Limit what is kept, and for how long."""

    session_idle_s: float = setting(
        3600.0, "A client's session that is not used for longer is removed.", least=60, most=365 * _DAY_S
    )
    sessions: int = setting(
        100_000, "Beyond so many sessions the least recently used are removed.", least=100, most=100_000
    )
    audit_days: float = setting(90.0, "Older audit records are removed.", least=1, most=36_500)
    ticket_days: float = setting(
        90.0, "Tickets that ended before are removed, with their plans and executions.", least=1, most=36_500
    )
    ticket_export: Path | None = setting(
        None,
        "The file to which tickets are appended before they are removed.",
        example="/var/lib/guardian/tickets.jsonl",
    )
    event_days: float = setting(7.0, "Older events of tickets and throttles are removed.", least=0.01, most=3650)
    lake_days: float = setting(30.0, "Older hours of the metrics lake are removed.", least=1, most=36_500)
    events_per_partition: int = setting(
        20_000, "Older segment events are removed; live segments stay.", least=1000, most=1_000_000_000
    )


@dataclass(frozen=True, slots=True)
class PortsConfig(Section):
    """Limit what clients make a member's ports hold."""

    grpc_connections: int = setting(
        0, "Connections of `grpc` at the same time; 0: by the limit of open files, 4096 at most.", least=0, most=1 << 20
    )
    grpc_per_address: int = setting(GRPC_PER_ADDRESS, "Connections of `grpc` from one address.", least=1, most=1 << 20)
    grpc_calls_per_address: int = setting(
        1024, "Calls and streams of `grpc` under way from one address.", least=1, most=1 << 20
    )
    grpc_idle_s: float = setting(
        300.0, "A connection of `grpc` without a call is closed after that time.", least=10, most=_DAY_S
    )
    http_connections: int = setting(
        0, "Connections of `http` at the same time; 0: by the limit of open files, 1024 at most.", least=0, most=1 << 20
    )
    http_per_address: int = setting(
        HTTP_PER_ADDRESS,
        "Connections of `http` from one address; more where all come through a proxy.",
        least=1,
        most=1 << 20,
    )
    handshake_s: float = setting(
        10.0, "Time for TLS and the beginning of HTTP/2, and for the head of a request.", least=1, most=600
    )
    body_s: float = setting(60.0, "Time for the whole body of a request, and for taking an answer.", least=1, most=3600)
    live_pages: int = setting(20, "Pages of one person that show what changes as it does.", least=1, most=10_000)


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """Configure one member of a group of Guardian's."""

    name: str = setting(..., "The member's name, unique in the group, and in its certificate.", example="g1")
    data: Path = setting(..., "The folder of the store and the Raft journal.", example="/var/lib/guardian")
    grpc: str = setting(..., "The address for brokers, admins and the CLI.", example="127.0.0.1:9750")
    http: str = setting(
        ..., "The address of the console, REST, /healthz, /livez, /readyz and /metrics.", example="127.0.0.1:9751"
    )
    raft: str = setting(..., "The address for the other members.", example="127.0.0.1:9752")
    lake: str = setting(
        ...,
        "The path of the metrics lake, or a URL that all members reach.",
        example="/var/lib/guardian/lake",
        everywhere=True,
    )
    advertise: str = setting(
        "", "Address where clients reach `grpc`; default: the same.", example="g1.example.net:9750"
    )
    join: bool = setting(
        False, "Wait to be added to a group that runs (`guardian raft add`), whose members are in [peers]."
    )
    allow_plaintext: bool = setting(False, "Listen on other addresses than loopback without TLS.")
    secrets: Path | None = setting(
        None,
        "The folder of passwords and authorities that clusters name, a file each; nothing else is in it.",
        example="/etc/guardian/secrets",
    )
    approvals: Path | None = setting(
        None,
        "The file of who may approve which tickets, where no approval policy is stored (guardian/tickets/README.md).",
        example="/etc/guardian/approvals.toml",
        everywhere=True,
    )
    links: Path | None = setting(
        None,
        "The file of the links between IDCs (docs/configuration.md).",
        example="/etc/guardian/links.toml",
        everywhere=True,
    )
    prices: Path | None = setting(
        None,
        "The price list of `guardian audit costs` and of the console's page of costs (guardian/activity/README.md).",
        example="/etc/guardian/prices.toml",
        everywhere=True,
    )
    peers: Mapping[str, str] = setting(
        dict,
        "The `raft` of each other member at the group's first start, or, with `join`, of the group as it is.",
        example={"g2": "10.0.0.2:9752"},
    )
    tls: TlsConfig | None = setting(
        None,
        "TLS of the Raft port, both ways; files are read again when they change. The certificate bears raft:NAME "
        "(docs/tls.md).",
    )
    grpc_tls: TlsConfig | None = setting(
        None, "TLS of `grpc`, both ways, likewise: callers show a certificate of `ca`.", lacks=("allow_shared_ca",)
    )
    http_tls: HttpTlsConfig | None = setting(None, "TLS of `http`, likewise.")
    reporter_tls: TlsConfig | None = setting(
        None,
        "TLS of calls to brokers' reporters; without it they are in plain text.",
        lacks=("crl", "allow_shared_ca"),
    )
    security: SecurityConfig | None = setting(None, everywhere=True)
    log: LogConfig = setting(LogConfig)
    traces: TracesConfig = setting(TracesConfig)
    rest: RestConfig = setting(RestConfig)
    disk: DiskConfig = setting(DiskConfig)
    limits: LimitsConfig = setting(LimitsConfig)
    ports: PortsConfig = setting(PortsConfig)
    collect: CollectConfig = setting(CollectConfig)
    audit: AuditConfig = setting(AuditConfig)
    execute: ExecuteConfig = setting(ExecuteConfig)
    kafka: KafkaConfig = setting(KafkaConfig)
    throttle: ThrottleSettings = setting(ThrottleSettings)
    healing: HealingPolicies = setting(
        HealingPolicies, read=HealingPolicies.read, sections=(HealingPolicy,), patterns="clusters", everywhere=True
    )
    protection: ProtectionSettings = setting(ProtectionSettings, everywhere=True)
    planner: Mapping[str, object] = setting(
        dict, read=planner_section, sections=(PlannerSettings,), many="one", everywhere=True
    )
    plans: PlansConfig = setting(PlansConfig)
    hooks: Mapping[str, Hook] = setting(dict, read=hooks_of, sections=HOOK_SECTIONS)
    sinks: tuple[Sink, ...] = setting((), read=sinks_of, sections=(Sink,), everywhere=True)

    @property
    def audit_url(self) -> str:
        """Return where client activity is kept; empty: nowhere."""
        if self.audit.url is not None:
            return self.audit.url
        return "" if self.peers or self.join else str(self.data / "activity")

    @property
    def author_may_approve(self) -> bool:
        """Return whether authors approve their own tickets where no file says so: only where callers may be anybody."""
        return self.security is None and self.grpc_tls is None and self.http_tls is None

    @property
    def client_address(self) -> str:
        """Return where clients reach this member."""
        return self.advertise or self.grpc

    def __post_init__(self) -> None:
        for field_name, name in (("name", self.name), *(("peers", peer) for peer in self.peers)):
            require_member_name(field_name, name)
        if self.name in self.peers:
            raise InvalidInput(f"peers names this member itself, {self.name!r}: list only the others")
        self._check_endpoints()
        self._check_secrets()
        self._check_shared("lake", self.lake)
        self._check_audit()

    def _check_endpoints(self) -> None:
        sections = {"grpc": "grpc_tls", "http": "http_tls", "raft": "tls"}
        for name, endpoint in (("grpc", self.grpc), ("http", self.http), ("raft", self.raft)):
            require_endpoint(name, endpoint)
            section = sections[name]
            if not (is_loopback(endpoint) or getattr(self, section) is not None or self.allow_plaintext):
                raise InvalidInput(
                    f"{name} is {endpoint!r}, which others reach without TLS: give [{section}], use 127.0.0.1:port, "
                    "or say allow_plaintext = true where the network is trusted"
                )
        self._check_security()
        for peer, endpoint in self.peers.items():
            require_endpoint(f"peers.{peer}", endpoint)
        if self.advertise:
            require_endpoint("advertise", self.advertise)
        elif self.grpc.rsplit(":", 1)[0] in ANY_HOSTS:
            raise InvalidInput(f"advertise is empty and grpc is {self.grpc!r}: give the host:port that clients reach")
        if self.join and not self.peers:
            raise InvalidInput(
                "join is true, but [peers] is empty: name the members of the group, it hears nobody else"
            )

    def _check_security(self) -> None:
        """Tokens and sessions in plain text are anybody's; and TLS alone does not say who opens the console."""
        for name, endpoint in (("grpc", self.grpc), ("http", self.http)):
            if is_loopback(endpoint):
                continue
            section = f"{name}_tls"
            if self.security is not None and getattr(self, section) is None:
                raise InvalidInput(
                    f"{name} is {endpoint!r}, where tokens and sessions would travel in plain text: give "
                    f"[{section}], or use 127.0.0.1:port"
                )
        asks = self.security is not None or (self.http_tls is not None and self.http_tls.ca is not None)
        if not (is_loopback(self.http) or asks or self.allow_plaintext):
            raise InvalidInput(
                f"http is {self.http!r}, and nobody would have to say who he is: give [security], http_tls.ca, or use "
                "127.0.0.1:port"
            )

    def _check_secrets(self) -> None:
        """Check that no secret of the member is in the folder of secrets. What is in that folder can be named by who
        registers a cluster, and is sent to its brokers. Raises InvalidInput.
        """
        if self.secrets is None:
            return
        folder = self.secrets.resolve()
        own: dict[str, Path | None] = {"data": self.data, "audit.password_file": self.audit.password_file}
        for section in ("tls", "grpc_tls", "http_tls", "reporter_tls"):
            if (files := getattr(self, section)) is not None:
                own[f"{section}.key"] = files.key
        if self.security is not None:
            names = ("roles", "key_file", "tokens", "audit_file")
            own |= {f"security.{name}": getattr(self.security, name) for name in names}
            oidc = self.security.oidc
            own["security.oidc.client_secret_file"] = oidc.client_secret_file if oidc is not None else None
        for name, path in own.items():
            if path is not None and path.resolve().is_relative_to(folder):
                raise InvalidInput(
                    f"secrets is {str(self.secrets)!r}, and {name} is in that folder (got {str(path)!r}); clusters "
                    "name what is in there: keep it elsewhere"
                )

    def _check_audit(self) -> None:
        address = parse_url(self.audit_url)
        if isinstance(address, Path):
            if self.audit.password_file is not None:
                raise InvalidInput("audit.password_file is given, but audit.url is no clickhouse:// URL: leave it out")
            if self.audit_url:
                self._check_shared("audit.url", self.audit_url)

    def _check_shared(self, name: str, place: str) -> None:
        """Check that all members can reach the place: one that is on another host can't reach a path of this one.
        Raises InvalidInput.
        """
        if _scheme(name, place):
            return
        distant = [peer for peer, endpoint in self.peers.items() if not is_loopback(endpoint)]
        if distant:
            raise InvalidInput(
                f"{name} is the local path {place!r}, which the member {distant[0]} on another host can't reach: "
                "use a URL that all members share"
            )
        if self.join and not is_loopback(self.raft):
            raise InvalidInput(
                f"{name} is the local path {place!r}, which the group on other hosts can't reach: "
                "use the URL that its members share"
            )


def planner_settings(section: Mapping[str, object]) -> PlannerSettings:
    """Return what a section [planner] says. Raises InvalidInput that names the field, the value and the fix."""
    found = PlannerSettings.of(section)
    require_goals("planner.goals", found.goals)
    require_goals("planner.weights", [goal for goal, _ in found.weights])
    return found


def require_goals(field_name: str, names: Iterable[str]) -> None:
    """Raises InvalidInput that names the field and the goals that are meant perhaps."""
    for name in names:
        try:
            require_known(name)
        except InvalidInput as error:
            raise InvalidInput(f"{field_name}: {error}") from None


def require_member_name(field_name: str, name: str) -> None:
    """Raises InvalidInput that names the field."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"{field_name} has {name!r}: use up to 63 letters, digits, '.', '_' and '-', "
            "starting with a letter or digit"
        )


def is_loopback(endpoint: str) -> bool:
    return endpoint.rsplit(":", 1)[0] in LOOPBACK_HOSTS


def cautions_of(config: ServerConfig) -> tuple[str, ...]:
    """Return what a member may be started with, though hardly anybody means it: a sentence each, with the fix."""
    cautions = []
    if config.grpc_tls is not None and config.security is None:
        cautions.append(
            f"every certificate of {config.grpc_tls.ca} may do everything, brokers' too: [grpc_tls] is given and "
            "[security] is not, add [security] with a roles file (docs/security.md)"
        )
    if config.tls is not None and config.tls.allow_shared_ca:
        cautions.append(
            f"a certificate of {config.tls.ca} for a member's name opens the Raft port, a client's too: "
            "tls.allow_shared_ca is true, use an authority for Raft alone or certificates that bear raft:NAME "
            "(docs/tls.md)"
        )
    return tuple(cautions)


def embedded(data: Path) -> ServerConfig:
    """The one-member group that `guardian server` runs without a configuration file."""
    data = data.absolute()  # the lake's path is told to clients in other folders
    return ServerConfig(
        name="guardian",
        data=data,
        grpc=DEFAULT_ENDPOINT,
        http="127.0.0.1:9751",
        raft="127.0.0.1:9752",
        lake=str(data / "lake"),
        collect=CollectConfig(interval_s=10.0, flush_s=30.0),
    )


def load(path: Path) -> ServerConfig:
    """Return the configuration in a member's TOML file. Raises InvalidInput that names the field and the fix."""
    return settings.load(path, "configuration", lambda table: settings.read(ServerConfig, table))
