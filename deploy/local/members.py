"""Guardian members on loopback: their configuration files, processes and readiness."""

from __future__ import annotations

import json
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from deploy.local import certificates, ports, processes
from deploy.local.ports import HOST
from deploy.local.processes import LocalProcess
from guardian.errors import Unavailable

READY_DEADLINE_S = 600.0  # ends what hangs; a member that has ended is told of at once
# A laptop's minutes are short: metrics every two seconds, and in the lake four seconds later at the most.
COLLECT = {"interval_s": 2.0, "flush_s": 4.0}
# All brokers share one disk with everything else on it, which is often nearly full: a share of it kept free would be
# more than they ever hold.
PLANNER = {"disk_reserve": 0.0}
# Brokers share a few cores with everything else. A client waits longer for a member.
KAFKA = {"rpc_timeout_s": 15.0}


APPROVALS = "approvals.toml"
_ONE_PERSON = """[[rules]]
name = "one person on a laptop"
approvers = ["*"]
author_may_approve = true

[[rules]]
name = "healing"
authors = ["healing"]
automatic = true
"""


@dataclass(frozen=True, slots=True)
class Member:
    """One member of the group; `grpc`, `http` and `raft` are host:port. Its process is None until it is started.

    `certificates` is the folder of its group's; None: in plain text.
    """

    name: str
    data: Path
    grpc: str
    http: str
    raft: str
    process: LocalProcess | None = None
    certificates: Path | None = None

    @property
    def url(self) -> str:
        """Return the URL of the member's HTTP port."""
        return f"http{'s' if self.certificates else ''}://{self.http}"

    @property
    def pid(self) -> int | None:
        """None when the process does not run."""
        return self.process.pid if self.process and processes.is_alive(self.process) else None

    @property
    def config(self) -> Path:
        return self.data.parent / "guardian.toml"


def plan_members(count: int, home: Path, certs: Path | None = None) -> tuple[Member, ...]:
    """Members g1, g2, ... with free ports, before anything runs. `certs`: the folder of their certificates."""
    planned = []
    for number in range(1, count + 1):
        grpc, http, raft = (f"{HOST}:{port}" for port in ports.pick(3))
        data = home / "members" / f"g{number}" / "data"
        planned.append(Member(f"g{number}", data, grpc, http, raft, certificates=certs))
    return tuple(planned)


def with_free_ports(member: Member) -> Member:
    """The member at its old ports, where they are still free. Only for a group of which nothing runs.

    The Raft port stays what it was: the group's log says where its members are.
    """
    kept = [int(endpoint.rsplit(":", 1)[1]) for endpoint in (member.grpc, member.http)]
    grpc, http = (f"{HOST}:{ports.keep_or_pick(port)}" for port in kept)
    return replace(member, grpc=grpc, http=http)


def render_config(
    member: Member,
    group: Sequence[Member],
    lake: Path,
    *,
    join: bool = False,
    planner: Mapping[str, object] = PLANNER,
    more: str = "",
    links: Path | None = None,
    collect: Mapping[str, object] | None = None,
    kafka: Mapping[str, object] = KAFKA,
) -> str:
    """Return the member's TOML; with `join` of one that waits to be added to the group. `planner`, `kafka` and
    `collect` (None: COLLECT) are its sections of that name, `more` are further ones, `links` is the file of lines
    between data centres.

    A JSON string is a TOML string too.
    """
    own: dict[str, object] = {
        "name": member.name,
        "data": str(member.data),
        "grpc": member.grpc,
        "http": member.http,
        "raft": member.raft,
        "lake": str(lake),
        "join": join,
        "secrets": str(lake.parent / "secrets"),
        **({"links": str(links)} if links is not None else {}),
        # With TLS the author is not the approver, and on a laptop there is nobody else.
        **({"approvals": str(_approvals(lake))} if member.certificates else {}),
    }
    sections: dict[str, Mapping[str, object]] = {
        "peers": {other.name: other.raft for other in group if other.name != member.name},
        "collect": COLLECT if collect is None else collect,
        "audit": {"url": str(lake.parent / "activity")},
        "planner": planner,
        "kafka": kafka,
        **(certificates.member_sections(member.certificates, member.name) if member.certificates else {}),
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in own.items()]
    for section, values in sections.items():
        lines += ["", f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    return "\n".join([*lines, "", more]).rstrip() + "\n"


def _approvals(lake: Path) -> Path:
    return lake.parent / APPROVALS


def start_member(
    member: Member,
    group: Sequence[Member],
    lake: Path,
    log: Path,
    *,
    join: bool = False,
    planner: Mapping[str, object] = PLANNER,
    more: str = "",
    links: Path | None = None,
    collect: Mapping[str, object] | None = None,
    kafka: Mapping[str, object] = KAFKA,
) -> Member:
    """Writes the member's configuration and starts it; it is not ready yet. See `render_config` for the rest."""
    member.data.mkdir(parents=True, exist_ok=True)
    lake.mkdir(parents=True, exist_ok=True)
    text = render_config(
        member, group, lake, join=join, planner=planner, more=more, links=links, collect=collect, kafka=kafka
    )
    member.config.write_text(text)
    if member.certificates and not _approvals(lake).exists():
        _approvals(lake).write_text(_ONE_PERSON)
    command = [sys.executable, "-m", "guardian.cli.main", "server", "--config", str(member.config)]
    return replace(member, process=processes.spawn(command, log, cwd=member.data.parent))


def wait_ready(members: Sequence[Member], deadline_s: float = READY_DEADLINE_S) -> None:
    """Returns when every member answers 200 at /readyz.

    Raises Unavailable, with the last log lines, when one has ended or the deadline has passed.
    """
    deadline = time.monotonic() + deadline_s
    waiting = list(members)
    while waiting := [member for member in waiting if not is_ready(member)]:
        for member in waiting:
            if member.pid is None:
                raise Unavailable(f"member {member.name} has ended; its log says last:\n{_tail(member)}")
        if time.monotonic() > deadline:
            member = waiting[0]
            raise Unavailable(
                f"member {member.name} is not ready after {deadline_s:.0f} s; its log says last:\n{_tail(member)}"
            )
        time.sleep(0.1)


def is_ready(member: Member) -> bool:
    trust = ssl.create_default_context(cafile=member.certificates / "ca.pem") if member.certificates else None
    try:
        with urllib.request.urlopen(f"{member.url}/readyz", timeout=10.0, context=trust) as answer:  # noqa: S310  http(s)
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _tail(member: Member) -> str:
    return processes.last_lines(member.process) if member.process else ""
