"""`guardian support-bundle`: what somebody else needs to help, in one archive, without secrets.

It is asked for when something is wrong, so nothing that fails stops it. What could not be had is said in the archive's
CONTENTS.txt, beside what everything else in it is. Nothing is changed, and nothing is sent anywhere.
"""

from __future__ import annotations

import io
import json
import platform
import ssl
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from google.protobuf.message import Message

from guardian import __version__
from guardian.cli.local_home import STATE, default_home
from guardian.cli.options import EndpointsOption, Output, OutputOption, chosen, client_bearing, client_tls, connect
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, say
from guardian.client import GuardianClient
from guardian.config import is_loopback
from guardian.errors import GuardianError, InvalidInput, Unavailable
from guardian.events.rules.notifying import as_json
from guardian.model.ticket import TicketState
from guardian.model.units import human_bytes, parse_bytes, parse_duration_ms
from guardian.model.wire.approvals import approvals_to_proto
from guardian.model.wire.federation import cluster_to_proto
from guardian.model.wire.tickets import execution_to_proto, ticket_to_proto
from guardian.security.rules.redacting import redact, redact_tree

_HTTP_S = 10.0
_TICKETS = 200
_AUDIT = 5000
_EVENTS = 20_000
_MOST_LOG = 64 << 20
_JOURNALCTL = "journalctl"
_JOURNAL_S = 30.0
_MOST_LINES = 500_000
_UNIT_FOLDERS = (Path("/etc/systemd/system"), Path("/usr/local/lib/systemd/system"), Path("/usr/lib/systemd/system"))
_OVER = (TicketState.SUCCEEDED, TicketState.REJECTED, TicketState.EXPIRED, TicketState.ROLLED_BACK)


@dataclass(frozen=True, slots=True)
class Source:
    """A file of the bundle: what it is, for people, and how it is made; redaction comes after."""

    path: str
    what: str
    make: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Made:
    """`content` is without secrets; `failure` says why there is none."""

    source: Source
    content: bytes = b""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Archive:
    """The file of the bundle; `name` is the folder in it."""

    path: Path
    name: str
    began: datetime

    @classmethod
    def new(cls, out: Path | None) -> Archive:
        """Name an archive that begins now. Raises InvalidInput where its file exists."""
        began = datetime.now(UTC)
        name = f"guardian-support-{began:%Y%m%dT%H%M%SZ}"
        path = out or Path(f"{name}.tar.gz")
        if path.exists():
            raise InvalidInput(f"--out is {str(path)!r}, which exists: give another name")
        return cls(path, name, began)


@dataclass(frozen=True, slots=True)
class Reach:
    """How far back the bundle goes, and how much of each log it takes; `log_size` as it was typed."""

    from_ms: int
    log_size: str
    log_bytes: int

    @classmethod
    def of(cls, began: datetime, since: str, log_size: str) -> Reach:
        """Read --since and --log-size. Raises InvalidInput."""
        from_ms = int(began.timestamp() * 1000) - parse_duration_ms("--since", since)
        log_bytes = parse_bytes("--log-size", log_size)
        if not 0 < log_bytes <= _MOST_LOG:
            raise InvalidInput(f"--log-size is {log_size!r}: use 1 byte to 64MB")
        return cls(from_ms, log_size, log_bytes)


@dataclass(frozen=True, slots=True)
class Locations:
    """Where members leave something: their HTTP ports, and their files and systemd units on this machine."""

    members: list[str]
    configs: list[Path]
    logs: list[Path]
    units: list[str]

    @classmethod
    def of(cls, configs: list[Path], logs: list[Path], http: list[str], units: list[str], endpoints: str) -> Locations:
        """Join what was named to what is found here; units are looked for only where none was named."""
        found_configs, found_logs = _local_files()
        return cls(
            members=list(dict.fromkeys([*http, *_http_of(endpoints)])),
            configs=[*configs, *found_configs],
            logs=[*logs, *found_logs],
            units=units or _installed_units(),
        )


def support_bundle(
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The archive.", show_default="guardian-support-TIME.tar.gz in this folder"),
    ] = None,
    since: Annotated[str, typer.Option("--since", help="How far back events, the audit and journals go.")] = "24h",
    config: Annotated[
        list[Path] | None,
        typer.Option(
            "--config", help="A member's configuration on this machine. May be repeated; local ones are found."
        ),
    ] = None,
    log: Annotated[
        list[Path] | None,
        typer.Option("--log", help="A member's log on this machine. May be repeated; local ones are found."),
    ] = None,
    log_size: Annotated[
        str, typer.Option("--log-size", metavar="SIZE", help="Of each log so much of its end, up to 64MB.")
    ] = "5MB",
    unit: Annotated[
        list[str] | None,
        typer.Option(
            "--unit",
            help="A systemd unit on this machine, for its journal. May be repeated.",
            show_default="guardian*.service, where installed",
        ),
    ] = None,
    http: Annotated[
        list[str] | None,
        typer.Option(
            "--http",
            help="http://host:port of a member, for its metrics. May be repeated.",
            show_default="the context's",
        ),
    ] = None,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Gather what somebody needs to help you: status, Raft, tickets, events, findings, metrics, configurations, logs.

    Passwords, tokens and keys are taken out; names of hosts, topics, clients and people stay. Look before you send it.

    Example: guardian support-bundle --config /etc/guardian/g1.toml --log /var/log/guardian/g1.log
    """
    archive = Archive.new(out)
    reach = Reach.of(archive.began, since, log_size)
    locations = Locations.of(config or [], log or [], http or [], unit or [], endpoints)
    with connect(endpoints) as client:
        made = [_made(source) for source in _sources(client, locations, reach, endpoints)]
    _write(archive, made)
    _report(archive.path, made, output)


def _sources(client: GuardianClient, locations: Locations, reach: Reach, endpoints: str) -> Iterator[Source]:
    yield from _of_this_machine()
    yield from _of_the_group(client, reach.from_ms)
    yield from _of_pages(locations.members, endpoints)
    yield from _of_files("config", "its configuration", locations.configs, 1 << 20)
    yield from _of_files("logs", f"its log, the last {reach.log_size}", locations.logs, reach.log_bytes)
    yield from _of_journal(locations.units, reach.from_ms, reach.log_bytes)


def _of_this_machine() -> Iterator[Source]:
    yield Source("versions.json", "what runs the CLI", _versions)


def _of_the_group(client: GuardianClient, from_ms: int) -> Iterator[Source]:
    def everybody(ask: Callable[[str], Message]) -> dict[str, object]:
        found: dict[str, object] = {}
        for endpoint in client.known_endpoints():
            try:
                found[endpoint] = as_dict(ask(endpoint))
            except GuardianError as error:
                found[endpoint] = f"no answer: {error}"
        return found

    yield Source("members.json", "each member as it sees itself", lambda: everybody(client.member_at))
    yield Source("raft.json", "the Raft group as each member sees it", lambda: everybody(client.raft_status))
    yield Source("clusters.json", "the Kafka clusters and brokers", lambda: _clusters(client))
    yield Source("tickets.json", f"the newest {_TICKETS} tickets", lambda: _tickets(client))
    yield Source("executions.json", "what each ticket that is not over is at", lambda: _executions(client))
    yield Source("events.json", "what happened to tickets and throttles", lambda: _events(client, from_ms))
    yield Source("audit.json", "who changed what: with people's names", lambda: _audit(client, from_ms))
    yield Source("findings.json", "what is wrong, as the leader finds", lambda: as_dict(client.findings()))
    yield Source("healing.json", "what healing is at", lambda: as_dict(client.healing()))
    yield Source("sinks.json", "where events are sent to, and how far", lambda: [as_dict(s) for s in client.sinks()])
    yield Source("approvals.json", "who may approve what", lambda: as_dict(approvals_to_proto(client.approvals())))


def _of_pages(members: Sequence[str], endpoints: str) -> Iterator[Source]:
    for member in members:
        place = urlsplit(member).netloc.rpartition("@")[2].replace(":", "_")
        for page, what in (("metrics", "its metrics"), ("readyz", "whether it can serve")):
            url = f"{member.rstrip('/')}/{page}"
            yield Source(f"http/{place}/{page}.txt", f"{what}, of {member}", lambda url=url: _page(url, endpoints))  # type: ignore[misc]


def _of_files(folder: str, what: str, files: Sequence[Path], most: int) -> Iterator[Source]:
    """Two files of the same name get their folders' names too."""
    names = [file.name for file in files]
    for file in files:
        name = file.name if names.count(file.name) == 1 else "_".join(file.absolute().parts[1:])
        yield Source(f"{folder}/{name}", f"{what}, {file}", lambda file=file: _tail(file, most))  # type: ignore[misc]


def _of_journal(units: Sequence[str], from_ms: int, most: int) -> Iterator[Source]:
    """Yield what a member wrote to stderr as a systemd unit, which no file has."""
    for unit in units:
        place = f"logs/journal-{unit}.log"
        yield Source(place, f"the journal of {unit} since then", lambda unit=unit: _journal(unit, from_ms, most))  # type: ignore[misc]


def _made(source: Source) -> Made:
    try:
        value = source.make()
    except (GuardianError, OSError) as error:
        return Made(source, failure=redact(str(error)) or type(error).__name__)
    if isinstance(value, str):
        return Made(source, redact(value).encode())
    return Made(source, json.dumps(redact_tree(value), indent=2, ensure_ascii=False).encode() + b"\n")


def _write(archive: Archive, made: Sequence[Made]) -> None:
    """Write all of it or nothing, readable for its owner only. Raises InvalidInput."""
    path, began = archive.path, archive.began
    part = path.with_name(f".{path.name}.part")
    try:
        part.touch(mode=0o600)
        with tarfile.open(part, "w:gz") as opened:
            for file, content in [("CONTENTS.txt", _contents(began, made).encode())] + [
                (each.source.path, each.content) for each in made if not each.failure
            ]:
                entry = tarfile.TarInfo(str(PurePosixPath(archive.name) / file))
                entry.size, entry.mtime, entry.mode = len(content), int(began.timestamp()), 0o600
                opened.addfile(entry, io.BytesIO(content))
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InvalidInput(f"--out is {str(path)!r}, which can't be written: {error.strerror}") from None


def _report(path: Path, made: Sequence[Made], output: Output) -> None:
    failed = [each for each in made if each.failure]
    for each in failed:
        echo(f"not in it: {each.source.path}: {each.failure}", err=True)
    sentence = (
        f"{path}: {len(made) - len(failed)} files, {human_bytes(path.stat().st_size)}; {len(failed)} could not be had. "
        "Secrets are taken out; CONTENTS.txt in it says what the rest is. Look before you send it."
    )
    files = [each.source.path for each in made if not each.failure]
    missing = {each.source.path: each.failure for each in failed}
    say(sentence, {"file": str(path), "contains": files, "missing": missing}, output)


def _contents(began: datetime, made: Sequence[Made]) -> str:
    width = max(len(each.source.path) for each in made)
    had = [f"  {each.source.path:{width}}  {redact(each.source.what)}" for each in made if not each.failure]
    lacking = [f"  {each.source.path:{width}}  {each.failure}" for each in made if each.failure]
    return "\n".join(
        [
            f"A support bundle of Guardian, made by the CLI {__version__} at {began:%Y-%m-%d %H:%M:%S} UTC.",
            "",
            "What looks like a password, token or private key was replaced by [redacted]. Names of hosts, brokers,",
            "topics, clients and people are in it: nobody could help without. Look through it before you send it.",
            "",
            *had,
            *(["", "What could not be had:", *lacking] if lacking else []),
            "",
        ]
    )


def _versions() -> dict[str, object]:
    installed = sorted((each.name, each.version) for each in metadata.distributions())
    return {
        "guardian": __version__,
        "python": sys.version,
        "platform": platform.platform(),
        "packages": dict(installed),
    }


def _clusters(client: GuardianClient) -> list[object]:
    return [as_dict(cluster_to_proto(cluster)) for cluster in client.list_clusters()]


def _tickets(client: GuardianClient) -> list[object]:
    return [as_dict(ticket_to_proto(ticket)) for ticket, _ in islice(client.walk_tickets(), _TICKETS)]


def _executions(client: GuardianClient) -> Mapping[str, object]:
    wanted = [state for state in TicketState if state not in _OVER]
    found = {each.id: client.ticket(each.id)[1] for each, _ in islice(client.walk_tickets(states=wanted), _TICKETS)}
    return {each: as_dict(execution_to_proto(execution)) for each, execution in found.items() if execution is not None}


def _events(client: GuardianClient, from_ms: int) -> list[object]:
    return [as_json(event) for event in client.events(from_ms=from_ms, last=_EVENTS)]


def _audit(client: GuardianClient, from_ms: int) -> list[object]:
    return [as_dict(record) for record in islice(client.audit(from_ms), _AUDIT)]


def _page(url: str, endpoints: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise InvalidInput(f"--http is {url!r}: use http://host:port or https://host:port")
    tls, bearing = client_tls(endpoints), client_bearing(endpoints)
    is_private = url.startswith("https://") or is_loopback(urlsplit(url).netloc)
    shown = dict(bearing()) if bearing is not None and is_private else {}
    context = None
    if url.startswith("https://"):
        context = ssl.create_default_context(cafile=str(tls.ca) if tls is not None else None)
        if tls is not None and tls.certificate is not None and tls.key is not None:
            context.load_cert_chain(tls.certificate, tls.key)
    asked = urllib.request.Request(url, headers=shown)  # noqa: S310  http and https only, see above
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(asked, timeout=_HTTP_S) as answer:
            return str(answer.read().decode(errors="replace"))
    except urllib.error.HTTPError as error:
        return f"HTTP {error.code}\n{error.read().decode(errors='replace')}"


def _tail(file: Path, most: int) -> str:
    """Return the end of the file, from a line's beginning."""
    with file.open("rb") as opened:
        size = opened.seek(0, io.SEEK_END)
        opened.seek(max(0, size - min(most, _MOST_LOG)))
        content = opened.read()
    return _last(content, most, is_cut=size > most).decode(errors="replace")


def _last(content: bytes, most: int, *, is_cut: bool = False) -> bytes:
    if is_cut or len(content) > most:
        return content[-most:].partition(b"\n")[2]
    return content


def _installed_units() -> list[str]:
    return sorted({file.name for folder in _UNIT_FOLDERS for file in folder.glob("guardian*.service")})


def _journal(unit: str, from_ms: int, most: int) -> str:
    """The last of it, from a line's beginning."""
    what = (f"--unit={unit}", f"--since=@{from_ms // 1000}", f"--lines={_MOST_LINES}")
    asked = [_JOURNALCTL, *what, "--no-pager", "--quiet", "--output=short-iso"]
    try:
        told = subprocess.run(asked, capture_output=True, timeout=_JOURNAL_S, check=False)
    except FileNotFoundError:
        raise InvalidInput(f"{_JOURNALCTL} is not installed, which reads the journal of {unit}: give --log") from None
    except subprocess.TimeoutExpired:
        raise Unavailable(
            f"{_JOURNALCTL} took longer than {_JOURNAL_S:g} s over {unit}: give a shorter --since"
        ) from None
    if told.returncode:
        said = told.stderr.decode(errors="replace").strip() or f"exit code {told.returncode}"
        raise InvalidInput(f"{_JOURNALCTL} has nothing of {unit}: {said}")
    return _last(told.stdout, most).decode(errors="replace")


def _http_of(endpoints: str) -> list[str]:
    context = chosen(endpoints).context
    scheme = context.http.partition("://")[0] if context else ""
    here = [f"{scheme}://{member['http']}" for member in _local_members() if "http" in member]
    if context is None or not context.http:
        return []
    return here if context.http in here else [context.http]


def _local_files() -> tuple[list[Path], list[Path]]:
    """Configurations and logs of the members that `guardian local` runs in this folder."""
    found = _local_members()
    configs = [Path(member["data"]).parent / "guardian.toml" for member in found]
    logs = [Path(member["process"]["log"]) for member in found if member.get("process")]
    return [each for each in configs if each.is_file()], [each for each in logs if each.is_file()]


def _local_members() -> list[dict[str, Any]]:
    try:
        return list(json.loads((default_home() / STATE).read_text())["members"])
    except (OSError, ValueError, LookupError, TypeError):
        return []
