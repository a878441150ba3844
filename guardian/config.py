"""The configuration of one member: a TOML file, read once at start, frozen.

name  = "g1"                       # unique in the group, and in its certificate
data  = "/var/lib/guardian"        # the store and the Raft journal
grpc  = "127.0.0.1:9750"           # brokers, admins, the CLI
http  = "127.0.0.1:9751"           # /healthz, /readyz, /metrics
raft  = "127.0.0.1:9752"           # the other members
lake  = "/var/lib/guardian/lake"   # a path, or a URL that all members reach
approvals = "/etc/guardian/approvals.toml"   # who may approve which tickets (guardian/tickets.md), the same for all
links = "/etc/guardian/links.toml" # the lines between IDCs (guardian/model/links.py), the same for all; default: none
advertise = "127.0.0.1:9750"       # where clients reach `grpc`; default: the same
join  = false                      # true: wait to be added to a group that runs (`guardian raft add`), see [peers]
allow_plaintext = false            # true: listen on other addresses than loopback without TLS
secrets = "/etc/guardian/secrets"  # passwords and authorities that clusters name, a file each; nothing else is in there

[peers]                            # the other members' `raft`: of the group's first start (none: a group of one), or,
g2 = "10.0.0.2:9752"               # with `join`, of the group as it is; later on: whom it hears while it lags

[tls]                              # of the Raft port, both ways; read again when the files change
ca          = "/etc/guardian/ca.pem"
certificate = "/etc/guardian/g1.pem"   # bears the name raft:g1; of an authority for Raft alone g1 will do (docs/tls.md)
key         = "/etc/guardian/g1.key"
crl         = "/etc/guardian/crl.pem"  # certificates that were taken back (docs/tls.md); may be left out
allow_shared_ca = false            # true: start, though every client's certificate of g1's name opens the Raft port

[grpc_tls]                         # of `grpc`, both ways: who calls shows one of ca; read again when the files change
ca          = "/etc/guardian/clients-ca.pem"
certificate = "/etc/guardian/g1.pem"   # its names are those under which clients reach `grpc`
key         = "/etc/guardian/g1.key"
crl         = "/etc/guardian/clients-crl.pem"   # may be left out

[http_tls]                         # of `http`; read again when the files change
certificate = "/etc/guardian/g1.pem"
key         = "/etc/guardian/g1.key"
ca          = "/etc/guardian/clients-ca.pem"    # may be left out: given, only who shows a certificate of it is let in
crl         = "/etc/guardian/clients-crl.pem"   # may be left out

[log]
format = "text"                    # "json": a line of JSON each
level  = "info"                    # debug, info, warning or error

[traces]
endpoint = "http://127.0.0.1:4317" # of an OTLP collector (gRPC): what happens to tickets, as spans; default: none

[security]                         # who may do what: guardian/security_config.py; default: all, who reach the member
roles    = "/etc/guardian/roles.toml"
key_file = "/etc/guardian/members.key"

[rest]
default_cluster = "live"           # of /kafkacruisecontrol; default: the only one that is registered

[reporter_tls]                     # for brokers' reporters; without it they are called in plain text
ca          = "/etc/guardian/brokers-ca.pem"
certificate = "/etc/guardian/g1.pem"
key         = "/etc/guardian/g1.key"

[disk]
reserve_mb = 512                   # with less free where `data` is, changes are refused
verify_h   = 24.0                  # so often all that is stored is read back and its checksums compared; 0: never

[limits]
session_idle_s       = 3600.0      # a client's session that is not used for so long is forgotten
sessions             = 100000      # beyond it the least recently used are forgotten
audit_days           = 90.0        # older audit records are removed
ticket_days          = 90.0        # tickets that ended before are removed, with their plans and executions
ticket_export        = "/var/lib/guardian/tickets.jsonl" # to which they are appended first; default: nowhere
event_days           = 7.0         # older events of tickets and throttles are removed
lake_days            = 30.0        # older hours of the metrics lake are removed
events_per_partition = 20000      # older segment events are removed; live segments stay

[collect]
interval_s = 60.0                  # between two collections of a broker
flush_s    = 60.0                  # the age at which rows are written to the lake
delay_s    = 30.0                  # for so long a member that is gone keeps its brokers: a restart moves nothing

[audit]                            # client activity: who did what on the brokers (guardian/activity/README.md)
url = "/var/lib/guardian/activity" # a path, or clickhouse://user@host:8123/database; default: `data`/activity of a
                                   # group of one, else none is kept; all members of a group give the same; "": none
password_file = "/etc/guardian/clickhouse.password"   # of a ClickHouse server's user
retention_days = 30                # older activity is removed
memory_mb = 700                    # that the embedded ClickHouse of a path may use

[execute]
tick_s = 1.0                       # between two looks at what runs; less while there is more to do or small moves begin
broker_timeout_s = 1.0             # a broker that takes longer to answer is left out of the look, all others are not
tiered_warm_up_s = 600.0           # a tiered topic's new replica leads once it holds that much of writing; 0: at once
per_broker_in = 2                  # moves at the same time: into a broker,
per_broker_out = 10                # ... out of one,
per_disk = 10                      # ... that read or write a log dir,
per_line = 100                     # ... over a line between IDCs, in one direction,
per_cluster = 1250                 # ... and partitions of a cluster
slot_mb = 1                        # a move of fewer megabytes counts less than one; 0: each counts as one
plan_age_s = 86400.0               # an approved plan whose samples are older is made anew before it runs; 0: never

[throttle]                         # how fast copies may be (guardian/executor/README.md); a ticket says where to begin
adaptive = true                    # false: each ticket's rate is fixed
floor_mb_per_s = 1.0               # never below, and so much without metrics
ceiling_mb_per_s = 0.0             # never above, whatever a ticket asks for; 0: as it asks
disk_utilisation = 0.8             # limits from which on rates fall: a disk's share of time busy,
await_ms = 50.0                    # ... its time for a request,
nic_share = 0.8                    # ... an interface's share of its speed,
nic_gbit_per_s = 0.0               # ... which is this where the host does not tell it; 0: no limit then,
p99_factor = 1.5                   # ... how much slower clients' requests may become,
p99_ms = 20.0                      # ... as long as their p99 is above this,
line_share = 0.8                   # ... and a line's share of its capacity (`links`), clients included
window_s = 5.0                     # rates are judged by the last so many seconds,
settle_s = 6.0                     # ... fall again after so long, unless it is grave,
rise_s = 3.0                       # ... and rise in so long by a quarter, where they never fell faster
stale_s = 5.0                      # a broker that told nothing for so long goes to the floor
fill_lines_without_client_activity = false   # true: without [audit] clients are taken to move nothing over lines
adapt_without_disk_metrics = false # true: no floor where log dirs are on no disk that tells (overlay, NFS, ZFS)

[healing]                          # what is done by itself about broken brokers and disks: guardian/model/healing.py
mode = "observe"                   # observe, propose or act

[hooks.by-script]                  # what stops, starts or restarts a broker: all kinds in guardian/model/hook.py
kind    = "command"
command = ["/usr/local/bin/kafka-node", "{action}", "{cluster}", "{broker}"]

[protection]                       # of disks over their limits (guardian/protection.md), the same for all members
mode = "observe"                   # "act": hold back what is abnormal; "off": do not even look
look_s = 5.0                       # between two looks at an unhealthy disk
window_s = 60.0                    # a disk is unhealthy when it is over a limit for so long, on the average
step_s = 30.0                      # between two steps for one disk
utilisation = 0.9                  # limits: share of the time that the disk is busy, and ms that an I/O takes
await_ms = 50.0
floor_bytes_per_s = 1000000        # nothing is held back to less
blind_s = 300.0                    # what is held for a disk that can't be seen any more is let go after that

[planner]                          # what plans are asked for unless a command says otherwise, the same for all members
target_spread = 0.2                # all of its settings: spark_analytics/README.md
disk_limit = 0.75

[[sinks]]                          # where events of tickets and throttles are sent to: guardian/model/sink.py
name = "alerts"
kind = "alertmanager"
url  = "http://alertmanager:9093"
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from guardian.activity.address import parse_url
from guardian.core.adapting import ThrottleSettings
from guardian.core.disk_limits import DiskLimits
from guardian.core.protecting import ProtectionSettings
from guardian.core.slots import ExecutionLimits
from guardian.errors import InvalidInput
from guardian.model.healing import HealingPolicies
from guardian.model.hook import Hook
from guardian.model.planner_settings import PlannerSettings
from guardian.model.sink import Sink, sinks_of
from guardian.model.topology import DEFAULT_ENDPOINT, require_endpoint
from guardian.security_config import SecurityConfig

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
ANY_HOSTS = ("0.0.0.0", "[::]")  # noqa: S104  to be recognised
_DAY_S = 86400
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")  # it becomes part of file names in the lake


@dataclass(frozen=True, slots=True)
class CollectConfig:
    """Seconds between two collections of a broker, until a call is given up, until rows are written, and until the
    brokers of a member that is gone go to others."""

    interval_s: float = 60.0
    timeout_s: float = 10.0
    flush_s: float = 60.0
    delay_s: float = 30.0


@dataclass(frozen=True, slots=True)
class ExecuteConfig:
    """Seconds between two ticks of the executor, those that one broker may take to answer in it, and those whose writes
    a new replica of a tiered topic must hold locally before it leads (0: it leads at once); moves at the same time, as
    ExecutionLimits says; the age at which a plan is made anew before it runs (0: at none)."""

    tick_s: float = 1.0
    broker_timeout_s: float = 1.0
    tiered_warm_up_s: float = 600.0
    per_broker_in: int = 2
    per_broker_out: int = 10
    per_cluster: int = 1250
    per_disk: int = 10
    per_line: int = 100
    slot_mb: int = 1
    plan_age_s: float = _DAY_S

    @property
    def patience_s(self) -> float:
        """That a tick waits for brokers' metrics: who is later is heard at the next one."""
        return min(0.25, self.tick_s / 4)

    @property
    def limits(self) -> ExecutionLimits:
        return ExecutionLimits(
            self.per_broker_in,
            self.per_broker_out,
            self.per_cluster,
            self.per_disk,
            self.per_line,
            self.slot_mb * 1_000_000,
        )


@dataclass(frozen=True, slots=True)
class ProtectionConfig:
    """Of disks over their limits: see the module's example."""

    mode: Literal["off", "observe", "act"] = "observe"
    look_s: float = 5.0
    window_s: float = 60.0
    step_s: float = 30.0
    utilisation: float = 0.9
    await_ms: float = 50.0
    floor_bytes_per_s: int = 1_000_000
    blind_s: float = 300.0

    @property
    def settings(self) -> ProtectionSettings:
        """What decisions are made with. Raises InvalidInput."""
        return ProtectionSettings(
            self.mode == "act",
            DiskLimits(self.utilisation, self.await_ms, int(self.window_s * 1000)),
            int(self.step_s * 1000),
            self.floor_bytes_per_s,
            int(self.blind_s * 1000),
        )


@dataclass(frozen=True, slots=True)
class AuditConfig:
    """Where client activity is kept, and for how long; `url` None: where the default says, "": nowhere."""

    url: str | None = None
    password_file: Path | None = None
    retention_days: int = 30
    memory_mb: int = 700


@dataclass(frozen=True, slots=True)
class TlsConfig:
    """PEM files of the Raft port, of gRPC, or for brokers' reporters: whom to trust, who this member is, and, but for
    reporters, which certificates were taken back. `allow_shared_ca`, of the Raft port only: its authority may be the
    clients' though the member's certificate bears no Raft name."""

    ca: Path
    certificate: Path
    key: Path
    crl: Path | None = None
    allow_shared_ca: bool = False


@dataclass(frozen=True, slots=True)
class HttpTlsConfig:
    """PEM files of the HTTP port. With `ca` clients must show a certificate of it too."""

    certificate: Path
    key: Path
    ca: Path | None = None
    crl: Path | None = None

    def __post_init__(self) -> None:
        if self.crl is not None and self.ca is None:
            raise InvalidInput("http_tls.crl is given without http_tls.ca, so nobody shows a certificate: give both")


@dataclass(frozen=True, slots=True)
class RestConfig:
    """`default_cluster` is what /kafkacruisecontrol means; empty: the only one that is registered."""

    default_cluster: str = ""


@dataclass(frozen=True, slots=True)
class LogConfig:
    """How log lines look, and from which level on they are written."""

    format: Literal["text", "json"] = "text"
    level: Literal["debug", "info", "warning", "error"] = "info"


@dataclass(frozen=True, slots=True)
class TracesConfig:
    """The OTLP collector that gets spans; empty: none are made."""

    endpoint: str = ""


@dataclass(frozen=True, slots=True)
class DiskConfig:
    """Megabytes (2^20 bytes) that stay free where the data is, and how often all of it is read back."""

    reserve_mb: int = 512
    verify_h: float = 24.0


@dataclass(frozen=True, slots=True)
class LimitsConfig:
    """What is kept, and for how long: see the module's example."""

    session_idle_s: float = 3600.0
    sessions: int = 100_000
    audit_days: float = 90.0
    ticket_days: float = 90.0
    ticket_export: Path | None = None
    event_days: float = 7.0
    lake_days: float = 30.0
    events_per_partition: int = 20_000


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One member. `peers` maps the other members' names to their Raft endpoints; `advertise` is where clients reach
    this one's gRPC (empty: at `grpc`); `links` is the file of the lines between IDCs, `approvals` that of who may
    approve; `planner` is what plans are asked for, as it is written."""

    name: str
    data: Path
    grpc: str
    http: str
    raft: str
    lake: str
    peers: Mapping[str, str] = field(default_factory=dict)
    collect: CollectConfig = field(default_factory=CollectConfig)
    execute: ExecuteConfig = field(default_factory=ExecuteConfig)
    throttle: ThrottleSettings = field(default_factory=ThrottleSettings)
    advertise: str = ""
    join: bool = False
    allow_plaintext: bool = False
    secrets: Path | None = None
    tls: TlsConfig | None = None
    grpc_tls: TlsConfig | None = None
    http_tls: HttpTlsConfig | None = None
    reporter_tls: TlsConfig | None = None
    security: SecurityConfig | None = None
    log: LogConfig = field(default_factory=LogConfig)
    traces: TracesConfig = field(default_factory=TracesConfig)
    disk: DiskConfig = field(default_factory=DiskConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    audit: AuditConfig = field(default_factory=AuditConfig)
    links: Path | None = None
    approvals: Path | None = None
    planner: Mapping[str, object] = field(default_factory=dict)
    protection: ProtectionConfig = field(default_factory=ProtectionConfig)
    hooks: Mapping[str, Hook] = field(default_factory=dict)
    sinks: tuple[Sink, ...] = ()
    healing: HealingPolicies = field(default_factory=HealingPolicies)
    rest: RestConfig = field(default_factory=RestConfig)

    @property
    def audit_url(self) -> str:
        """Where client activity is kept; empty: nowhere."""
        if self.audit.url is not None:
            return self.audit.url
        return "" if self.peers or self.join else str(self.data / "activity")

    @property
    def client_address(self) -> str:
        """Where clients reach this member."""
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
        planner_settings(self.planner)
        for setting, value in (
            ("collect.interval_s", self.collect.interval_s),
            ("collect.timeout_s", self.collect.timeout_s),
            ("collect.flush_s", self.collect.flush_s),
            ("execute.tick_s", self.execute.tick_s),
            ("protection.look_s", self.protection.look_s),
        ):
            if not 0 < value <= _DAY_S:
                raise InvalidInput(f"{setting} is {value}: use seconds, more than 0 and at most {_DAY_S}")
        for setting, number, lowest, highest in (
            ("collect.delay_s", self.collect.delay_s, 1, 3600),
            ("execute.broker_timeout_s", self.execute.broker_timeout_s, 0.1, 10),
            ("execute.tiered_warm_up_s", self.execute.tiered_warm_up_s, 0, _DAY_S),
            ("disk.reserve_mb", self.disk.reserve_mb, 0, 1 << 30),
            ("disk.verify_h", self.disk.verify_h, 0, 8760),
            ("protection.window_s", self.protection.window_s, 1, 3600),
            ("protection.step_s", self.protection.step_s, 1, 3600),
            ("protection.utilisation", self.protection.utilisation, 0.01, 1),
            ("protection.await_ms", self.protection.await_ms, 0.1, 60_000),
            ("protection.floor_bytes_per_s", self.protection.floor_bytes_per_s, 1, 1 << 40),
            ("protection.blind_s", self.protection.blind_s, 1, _DAY_S),
            ("audit.retention_days", self.audit.retention_days, 1, 3650),
            ("audit.memory_mb", self.audit.memory_mb, 300, 1 << 20),
            ("execute.per_broker_in", self.execute.per_broker_in, 1, 10_000),
            ("execute.per_broker_out", self.execute.per_broker_out, 1, 10_000),
            ("execute.per_cluster", self.execute.per_cluster, 1, 1_000_000),
            ("execute.per_disk", self.execute.per_disk, 1, 10_000),
            ("execute.per_line", self.execute.per_line, 1, 1_000_000),
            ("execute.slot_mb", self.execute.slot_mb, 0, 1_000_000),
            ("execute.plan_age_s", self.execute.plan_age_s, 0, 365 * _DAY_S),
            ("limits.session_idle_s", self.limits.session_idle_s, 60, 365 * _DAY_S),
            ("limits.sessions", self.limits.sessions, 100, 100_000),
            ("limits.audit_days", self.limits.audit_days, 1, 36_500),
            ("limits.ticket_days", self.limits.ticket_days, 1, 36_500),
            ("limits.event_days", self.limits.event_days, 0.01, 3650),
            ("limits.lake_days", self.limits.lake_days, 1, 36_500),
            ("limits.events_per_partition", self.limits.events_per_partition, 1000, 1_000_000_000),
        ):
            if not lowest <= number <= highest:
                raise InvalidInput(f"{setting} is {number}: use {lowest} to {highest}")

    def _check_endpoints(self) -> None:
        sections = {"grpc": "grpc_tls", "http": "http_tls", "raft": "tls"}
        for setting, endpoint in (("grpc", self.grpc), ("http", self.http), ("raft", self.raft)):
            require_endpoint(setting, endpoint)
            section = sections[setting]
            if not (is_loopback(endpoint) or getattr(self, section) is not None or self.allow_plaintext):
                raise InvalidInput(
                    f"{setting} is {endpoint!r}, which others reach without TLS: give [{section}], use 127.0.0.1:port, "
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
        for setting, endpoint in (("grpc", self.grpc), ("http", self.http)):
            if is_loopback(endpoint):
                continue
            section = f"{setting}_tls"
            if self.security is not None and getattr(self, section) is None:
                raise InvalidInput(
                    f"{setting} is {endpoint!r}, where tokens and sessions would travel in plain text: give "
                    f"[{section}], or use 127.0.0.1:port"
                )
        asks = self.security is not None or (self.http_tls is not None and self.http_tls.ca is not None)
        if not (is_loopback(self.http) or asks or self.allow_plaintext):
            raise InvalidInput(
                f"http is {self.http!r}, and nobody would have to say who he is: give [security], http_tls.ca, or use "
                "127.0.0.1:port"
            )

    def _check_secrets(self) -> None:
        """What is in that folder can be named by who registers a cluster, and is sent to its brokers."""
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
        for setting, path in own.items():
            if path is not None and path.resolve().is_relative_to(folder):
                raise InvalidInput(
                    f"secrets is {str(self.secrets)!r}, and {setting} is in that folder (got {str(path)!r}); clusters "
                    "name what is in there: keep it elsewhere"
                )

    def _check_audit(self) -> None:
        address = parse_url(self.audit_url)
        if isinstance(address, Path):
            if self.audit.password_file is not None:
                raise InvalidInput("audit.password_file is given, but audit.url is no clickhouse:// URL: leave it out")
            if self.audit_url:
                self._check_shared("audit.url", self.audit_url)

    def _check_shared(self, setting: str, place: str) -> None:
        """Of all members: one that is on another host can't reach a path of this one."""
        if urlsplit(place).scheme:
            return
        distant = [peer for peer, endpoint in self.peers.items() if not is_loopback(endpoint)]
        if distant:
            raise InvalidInput(
                f"{setting} is the local path {place!r}, which the member {distant[0]} on another host can't reach: "
                "use a URL that all members share"
            )
        if self.join and not is_loopback(self.raft):
            raise InvalidInput(
                f"{setting} is the local path {place!r}, which the group on other hosts can't reach: "
                "use the URL that its members share"
            )


def planner_settings(section: Mapping[str, object]) -> PlannerSettings:
    """Of a section [planner]. Raises InvalidInput that names the field, the value and the fix."""
    try:
        settings = PlannerSettings.of(section)
        require_goals("goals", settings.goals)
        require_goals("weights", [goal for goal, _ in settings.weights])
    except InvalidInput as error:
        sentence = str(error)
        raise InvalidInput(sentence if sentence.startswith("planner.") else f"planner.{sentence}") from None
    return settings


def require_goals(field_name: str, names: Iterable[str]) -> None:
    """Raises InvalidInput that names the field and the goals that are meant perhaps."""
    for name in names:
        from spark_analytics.goals.registry import goal  # noqa: PLC0415  numpy is slow to load, and goals are seldom named

        try:
            goal(name)
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
    """What a member may be started with, though hardly anybody means it: a sentence each, with the fix."""
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
    """Reads a member's TOML file; raises InvalidInput that names the field, the value and the fix."""
    try:
        table = tomllib.loads(path.read_text())
    except OSError as error:
        raise InvalidInput(f"configuration {path} can't be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"configuration {path} is not valid TOML: {error}") from None
    try:
        return _from_table(table)
    except InvalidInput as error:
        raise InvalidInput(f"configuration {path}: {error}") from None


def _from_table(table: dict[str, object]) -> ServerConfig:
    _refuse_unknown("", table, {setting.name for setting in fields(ServerConfig)})
    peers = _section(table, "peers")
    return ServerConfig(
        name=_text(table, "name"),
        data=Path(_text(table, "data")),
        grpc=_text(table, "grpc"),
        http=_text(table, "http"),
        raft=_text(table, "raft"),
        lake=_text(table, "lake"),
        peers={name: _text(peers, name, "peers.") for name in peers},
        collect=CollectConfig(**_numbers(table, "collect", {"interval_s", "timeout_s", "flush_s", "delay_s"})),
        execute=_execute(table),
        throttle=_throttle(table),
        advertise=_text(table, "advertise") if "advertise" in table else "",
        join=_switch(table, "join"),
        allow_plaintext=_switch(table, "allow_plaintext"),
        secrets=Path(_text(table, "secrets")) if "secrets" in table else None,
        tls=_tls(table, "tls"),
        grpc_tls=_tls(table, "grpc_tls"),
        http_tls=_http_tls(table),
        reporter_tls=_tls(table, "reporter_tls"),
        security=SecurityConfig.of_section(_section(table, "security")) if "security" in table else None,
        log=_log(table),
        traces=_traces(table),
        disk=_disk(table),
        limits=_limits(table),
        audit=_audit(table),
        links=Path(_text(table, "links")) if "links" in table else None,
        approvals=Path(_text(table, "approvals")) if "approvals" in table else None,
        planner=_section(table, "planner"),
        protection=_protection(table),
        hooks={name: Hook.of(name, section) for name, section in _section(table, "hooks").items()},
        sinks=sinks_of(table.get("sinks", [])),
        healing=HealingPolicies.of_section(_section(table, "healing")),
        rest=_rest(table),
    )


def _tls(table: Mapping[str, object], key: str) -> TlsConfig | None:
    if key not in table:
        return None
    section = _section(table, key)
    needed = ("ca", "certificate", "key")
    others = () if key == "reporter_tls" else ("crl",)
    switch = "allow_shared_ca"
    is_allowed = key == "tls" and _switch(section, switch, "tls.")
    files = {name: value for name, value in section.items() if key != "tls" or name != switch}
    return TlsConfig(**_paths(files, key, needed, others), allow_shared_ca=is_allowed)


def _http_tls(table: Mapping[str, object]) -> HttpTlsConfig | None:
    if "http_tls" not in table:
        return None
    return HttpTlsConfig(**_paths(_section(table, "http_tls"), "http_tls", ("certificate", "key"), ("ca", "crl")))


def _paths(
    section: Mapping[str, object], key: str, needed: tuple[str, ...], others: tuple[str, ...]
) -> dict[str, Path]:
    _refuse_unknown(f"{key}.", section, {*needed, *others})
    names = [*needed, *(name for name in others if name in section)]
    return {name: Path(_text(section, name, f"{key}.")) for name in names}


def _rest(table: Mapping[str, object]) -> RestConfig:
    section = _section(table, "rest")
    _refuse_unknown("rest.", section, {setting.name for setting in fields(RestConfig)})
    return RestConfig(_text(section, "default_cluster", "rest.") if section else "")


def _log(table: Mapping[str, object]) -> LogConfig:
    section = _section(table, "log")
    _refuse_unknown("log.", section, {setting.name for setting in fields(LogConfig)})
    log_format, level = section.get("format", "text"), section.get("level", "info")
    if log_format not in ("text", "json"):
        raise InvalidInput(f'log.format is {log_format!r}: use "text" or "json"')
    if level not in ("debug", "info", "warning", "error"):
        raise InvalidInput(f'log.level is {level!r}: use "debug", "info", "warning" or "error"')
    return LogConfig(log_format, level)


def _traces(table: Mapping[str, object]) -> TracesConfig:
    section = _section(table, "traces")
    _refuse_unknown("traces.", section, {setting.name for setting in fields(TracesConfig)})
    if not section:
        return TracesConfig()
    endpoint = _text(section, "endpoint", "traces.")
    if urlsplit(endpoint).scheme not in ("http", "https") or not urlsplit(endpoint).netloc:
        raise InvalidInput(f"traces.endpoint is {endpoint!r}: use http://host:4317 or https://host:4317")
    return TracesConfig(endpoint)


def _audit(table: Mapping[str, object]) -> AuditConfig:
    section = _section(table, "audit")
    _refuse_unknown("audit.", section, {setting.name for setting in fields(AuditConfig)})
    url = section.get("url")
    if "url" in section and not isinstance(url, str):
        raise InvalidInput(f"audit.url is {url!r}: give a string")
    numbers = {name: section[name] for name in ("retention_days", "memory_mb") if name in section}
    return AuditConfig(
        url=str(url) if "url" in section else None,
        password_file=Path(_text(section, "password_file", "audit.")) if "password_file" in section else None,
        **_whole_numbers({"audit": numbers}, "audit", set(numbers)),
    )


def _execute(table: Mapping[str, object]) -> ExecuteConfig:
    section = _section(table, "execute")
    _refuse_unknown("execute.", section, {setting.name for setting in fields(ExecuteConfig)})
    spans = {name: value for name, value in section.items() if name.endswith("_s")}
    counts = {name: value for name, value in section.items() if name not in spans}
    values: dict[str, Any] = {
        **_numbers({"execute": spans}, "execute", set(spans)),
        **_whole_numbers({"execute": counts}, "execute", set(counts)),
    }
    return ExecuteConfig(**values)


_THROTTLE_RATES = {"floor_mb_per_s": "floor", "ceiling_mb_per_s": "ceiling"}
_THROTTLE_SWITCHES = ("adaptive", "fill_lines_without_client_activity", "adapt_without_disk_metrics")


def _throttle(table: Mapping[str, object]) -> ThrottleSettings:
    section = _section(table, "throttle")
    known = {setting.name for setting in fields(ThrottleSettings)} - set(_THROTTLE_RATES.values())
    _refuse_unknown("throttle.", section, known | _THROTTLE_RATES.keys())
    others = {name: value for name, value in section.items() if name not in _THROTTLE_SWITCHES}
    numbers: dict[str, Any] = _numbers({"throttle": others}, "throttle", set(others))
    for name, field_name in _THROTTLE_RATES.items():
        if name in numbers:
            numbers[field_name] = _bytes_per_s(f"throttle.{name}", numbers.pop(name))
    switches: dict[str, Any] = {name: section[name] for name in _THROTTLE_SWITCHES if name in section}
    for name, value in switches.items():
        if not isinstance(value, bool):
            raise InvalidInput(f"throttle.{name} is {value!r}: use true or false")
    try:
        return ThrottleSettings(**numbers, **switches)
    except InvalidInput as error:
        raise InvalidInput(f"throttle.{error}") from None


def _bytes_per_s(name: str, megabytes: float) -> int:
    if not 0 <= megabytes <= 1e6:
        raise InvalidInput(f"{name} is {megabytes:g}: use megabytes per second, from 0 to 1000000")
    return round(megabytes * 1_000_000)


def _protection(table: Mapping[str, object]) -> ProtectionConfig:
    section = _section(table, "protection")
    _refuse_unknown("protection.", section, {setting.name for setting in fields(ProtectionConfig)})
    mode = section.get("mode", "observe")
    if mode not in ("off", "observe", "act"):
        raise InvalidInput(f'protection.mode is {mode!r}: use "off", "observe" or "act"')
    numbers = {name: value for name, value in section.items() if name not in ("mode", "floor_bytes_per_s")}
    floor = {name: value for name, value in section.items() if name == "floor_bytes_per_s"}
    values: dict[str, Any] = {
        "mode": mode,
        **_numbers({"protection": numbers}, "protection", set(numbers)),
        **_whole_numbers({"protection": floor}, "protection", set(floor)),
    }
    return ProtectionConfig(**values)


def _disk(table: Mapping[str, object]) -> DiskConfig:
    section = _section(table, "disk")
    _refuse_unknown("disk.", section, {setting.name for setting in fields(DiskConfig)})
    verify = {name: value for name, value in section.items() if name == "verify_h"}
    others = {name: value for name, value in section.items() if name not in verify}
    values: dict[str, Any] = {
        **_whole_numbers({"disk": others}, "disk", set(others)),
        **_numbers({"disk": verify}, "disk", set(verify)),
    }
    return DiskConfig(**values)


def _limits(table: Mapping[str, object]) -> LimitsConfig:
    section = _section(table, "limits")
    _refuse_unknown("limits.", section, {setting.name for setting in fields(LimitsConfig)})
    counts = {name: section[name] for name in ("sessions", "events_per_partition") if name in section}
    paths = {name: Path(_text(section, name, "limits.")) for name in ("ticket_export",) if name in section}
    spans = {name: value for name, value in section.items() if name not in counts and name not in paths}
    values: dict[str, Any] = {
        **paths,
        **_numbers({"limits": spans}, "limits", set(spans)),
        **_whole_numbers({"limits": counts}, "limits", set(counts)),
    }
    return LimitsConfig(**values)


def _switch(table: Mapping[str, object], key: str, prefix: str = "") -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise InvalidInput(f"{prefix}{key} is {value!r}: use true or false")
    return value


def _text(table: Mapping[str, object], key: str, prefix: str = "") -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{prefix}{key} is {value!r}: give a non-empty string")
    return value


def _section(table: Mapping[str, object], key: str) -> dict[str, object]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise InvalidInput(f"{key} is {value!r}: write it as a section, [{key}]")
    return value


def _numbers(table: Mapping[str, object], key: str, known: set[str]) -> dict[str, float]:
    section = _section(table, key)
    _refuse_unknown(f"{key}.", section, known)
    numbers: dict[str, float] = {}
    for name, value in section.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidInput(f"{key}.{name} is {value!r}: give a number")
        numbers[name] = float(value)
    return numbers


def _whole_numbers(table: Mapping[str, object], key: str, known: set[str]) -> dict[str, int]:
    numbers = _numbers(table, key, known)
    for name, value in numbers.items():
        if not value.is_integer():
            raise InvalidInput(f"{key}.{name} is {value}: give a whole number")
    return {name: int(value) for name, value in numbers.items()}


def _refuse_unknown(prefix: str, table: Mapping[str, object], known: set[str]) -> None:
    for key in table:
        if key not in known:
            raise InvalidInput(f"{prefix}{key} is not a setting: use one of {', '.join(sorted(known))}")
