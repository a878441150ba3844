"""`guardian raft`: the group that keeps Guardian's state, its members, and snapshots of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from guardian.cli.options import DryRunOption, EndpointsOption, Output, OutputOption, YesOption, confirm, connect
from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, print_json, print_table, require_an_answer, say
from guardian.client import GuardianClient
from guardian.errors import Conflict, GuardianError, InvalidInput, NotFound, Unavailable
from guardian.model.units import human_bytes, parse_duration_ms
from guardian.replication.commands import snapshot
from guardian.replication.commands.raft_probing import probe_until
from guardian.replication.commands.raft_rehearsing import rehearse_change, rehearse_handover
from protos.guardian.v1.raft_pb2 import RaftMember, RaftStatus, Verification
from raft.protocol import AddLearner, Promote, Remove

_POLL_S = 0.5

app = typer.Typer(help="Look at the Raft group, change its members, take and restore snapshots.", no_args_is_help=True)
app.add_typer(snapshot.app, name="snapshot")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The member's name, as in its configuration.")]
RaftOption = Annotated[str, typer.Option("--raft", help="host:port of the new member's Raft port.")]
WaitOption = Annotated[
    str, typer.Option("--wait", help="How long to wait for the learner to catch up before it is promoted, such as 60s.")
]


@app.command("status")
def status(endpoints: EndpointsOption = "", output: OutputOption = Output.TABLE) -> None:
    """Show how each member sees the group: who leads, its log, and how far behind it is.

    Example: guardian raft status
    """
    with connect(endpoints) as client:
        seen = _everybody(client)
    if output is Output.JSON:
        statuses = seen.items()
        print_json(
            [{"endpoint": endpoint, "status": as_dict(found) if found else None} for endpoint, found in statuses]
        )
        return
    numbers = ("TERM", "FIRST", "LAST", "COMMIT", "APPLIED", "STALE", "DISK FREE")
    print_table(
        ("ENDPOINT", "NAME", "STATE", "LEADER", *numbers, "WRITES", "VERIFIED"),
        [_status_row(endpoint, found) for endpoint, found in seen.items()],
        right=numbers,
        more=more_of(seen.values(), "group_id", "level", "known_level", "disk_reserve_bytes"),
    )
    answers = [found for found in seen.values() if found is not None]
    require_an_answer(answers, list(seen))
    if lack := _what_is_missing(answers):
        echo(lack, err=True)


@app.command("members")
def members(endpoints: EndpointsOption = "", output: OutputOption = Output.TABLE) -> None:
    """Show who belongs to the group, as the leader knows it.

    Example: guardian raft members -o json
    """
    with connect(endpoints) as client:
        found = client.raft_status()
    if output is Output.JSON:
        print_json([as_dict(member) for member in found.members])
        return
    print_members(found.members, found.leader, found.last_index)
    for member in found.members:
        if member.stop_reason:
            echo(f"{member.name} stopped: {member.stop_reason}", err=True)


@app.command("probe")
def probe(
    until_all: Annotated[
        str, typer.Option("--until-all", help="Wait so long until all serve, such as 2m.", show_default="ask once")
    ] = "",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Ask each member itself for a linearizable read: who is cut off. Exits with 0: all serve, 1: most, 3: fewer.

    Example: guardian raft probe --endpoints 10.0.0.1:9750,10.0.1.1:9750,10.0.2.1:9750 --until-all 2m
    """
    with connect(endpoints) as client:
        probe_until(client, parse_duration_ms("--until-all", until_all) / 1000 if until_all else 0.0, output)


@app.command("transfer-leader")
def transfer_leader(
    to: Annotated[str, typer.Argument(metavar="[NAME]", help="Who shall lead; empty: whoever has the most.")] = "",
    dry_run: DryRunOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Hand leadership over, before the leader's machine is taken down.

    Example: guardian raft transfer-leader g2
    """
    with connect(endpoints) as client:
        if dry_run:
            rehearse_handover(client, to, output)
            return
        leader = client.transfer_leader(to)
    say(f"{leader} leads", {"leader": leader}, output)


@app.command("add")
def add(
    name: NameArgument,
    raft: RaftOption,
    dry_run: DryRunOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Add a member as a learner: it gets the data and does not count yet. Start it with `join = true` and [peers].

    Example: guardian raft add g4 --raft 10.0.0.4:9752
    """
    with connect(endpoints) as client:
        if dry_run:
            rehearse_change(client, [AddLearner(name, raft)], output)
            return
        client.add_member(name, raft)
    say(
        f"{name} is a learner of the group. "
        f"Next: start {name} with `join = true`, members of the group as [peers] and an empty data folder, then: "
        f"guardian raft promote {name}",
        {"added": name, "raft": raft},
        output,
    )


@app.command("promote")
def promote(
    name: NameArgument,
    wait: WaitOption = "60s",
    dry_run: DryRunOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Make a voter of a learner, once it has caught up.

    Example: guardian raft promote g4
    """
    with connect(endpoints) as client:
        if dry_run:
            _require_member(client, name)
            rehearse_change(client, [Promote(name)], output)
            return
        _promote(client, name, parse_duration_ms("--wait", wait) / 1000, output=output)
    if output is Output.JSON:
        print_json({"promoted": name})


@app.command("remove")
def remove(
    name: NameArgument,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Take a member out of the group, dead or alive. A leader hands its leadership over first.

    Example: guardian raft remove g1 --yes
    """
    with connect(endpoints) as client:
        known = _require_member(client, name)
        if dry_run:
            rehearse_change(client, [Remove(name)], output)
            return
        voters = sum(member.is_voter for member in known)
        confirm(f"Remove {name} from a group of {voters} voters?", yes)
        client.remove_member(name)
    sentence = f"{name} is no member any more: stop it, and delete its data before it joins again"
    say(sentence, {"removed": name}, output)


@app.command("replace")
def replace(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The member that goes, dead or alive.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The new member's name.")],
    raft: RaftOption,
    wait: WaitOption = "10m",
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Put a new member into the place of an old one: add, catch up, promote, remove. Again after a failure: it goes on.

    Example: guardian raft replace g1 g4 --raft 10.0.0.4:9752
    """
    if old == new:
        raise InvalidInput(f"NEW is {new!r}, as is OLD: the new member needs a name of its own, such as {new}-b")
    with connect(endpoints) as client:
        if dry_run:
            rehearse_change(client, [AddLearner(new, raft), Promote(new), Remove(old)], output)
            return
        if old not in {member.name for member in client.raft_members()}:
            _tell(f"{old} is no member any more", output)
        else:
            confirm(f"Replace {old} by {new}?", yes)
        client.add_member(new, raft)
        _tell(f"{new} is in the group", output)
        _promote(client, new, parse_duration_ms("--wait", wait) / 1000, output=output)
        client.remove_member(old)
    say(f"{old} is no member any more", {"removed": old, "added": new}, output)


@app.command("finish-upgrade")
def finish_upgrade(
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Let the group use what a new version brought, once all members run it. After that no older version may join.

    Example: guardian raft finish-upgrade --dry-run
    """
    with connect(endpoints) as client:
        now = client.raft_status()
        told = {found.name: found.known_level for found in _everybody(client).values() if found is not None}
        group = [member.name for member in now.members]
        level = min((told.get(name, 0) for name in group), default=0)
        behind = [name for name in group if name not in told or told[name] < max(told.values())]
        is_due = level > now.level and not behind
        if output is Output.JSON:
            known = {name: told.get(name) for name in group}
            print_json({"level": now.level, "known_by": known, "next": level if is_due else now.level})
        else:
            print_table(
                ("MEMBER", "KNOWS LEVEL"),
                [(name, str(told[name]) if name in told else "not reached") for name in group],
                right=("KNOWS LEVEL",),
            )
        if behind:
            raise Conflict(
                f"{', '.join(behind)} run an older version or were not reached: bring all members to one version first"
            )
        if not is_due:
            echo(f"The group is at feature level {now.level}, and nothing is left to finish", err=True)
            return
        if dry_run:
            echo(f"All know feature level {level}; the group is at {now.level}. Nothing was changed", err=True)
            return
        if not yes:
            typer.confirm(f"Raise the group to feature level {level}? No older version can join it then", abort=True)
        client.raise_level(level, told)
    echo(f"The group is at feature level {level}", err=True)


def print_members(found: Sequence[RaftMember], leader: str, last_index: int) -> None:
    print_table(
        ("NAME", "ROLE", "RAFT", "ENDPOINT", "CONNECTED", "BEHIND"),
        [
            (
                member.name,
                "leader" if member.name == leader else "voter" if member.is_voter else "learner",
                member.raft,
                member.endpoint or "-",
                "yes" if member.is_connected else "no",
                str(max(0, last_index - member.match_index)) if member.match_index else "-",
            )
            for member in found
        ],
        right=("BEHIND",),
        more=more_of(found, "match_index", "is_voter"),
    )


def _promote(
    client: GuardianClient,
    name: str,
    wait_s: float,
    now_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    output: Output = Output.TABLE,
) -> None:
    """Tries again while the leader says that the learner lags. Raises its last refusal."""
    _require_member(client, name)
    deadline = now_s() + wait_s
    said = ""
    while True:
        try:
            client.promote_member(name)
        except (Conflict, Unavailable) as error:
            if now_s() >= deadline:
                raise
            waits = f"{name} {_behind(client, name)}: {error}" if isinstance(error, Conflict) else str(error)
            if waits != said:
                _tell(waits, output)
                said = waits
            sleep(_POLL_S)
        else:
            _tell(f"{name} is a voter", output)
            return


def _tell(progress: str, output: Output) -> None:
    """Tell of progress on the way to the result: a program reads only that on stdout."""
    echo(progress, err=output is Output.JSON)


def _behind(client: GuardianClient, name: str) -> str:
    try:
        status = client.raft_status()
    except GuardianError:
        return "waits"
    member = next((member for member in status.members if member.name == name), None)
    if member is None or not member.match_index:
        return "has nothing yet"
    return f"is {max(0, status.last_index - member.match_index)} entries behind"


def _require_member(client: GuardianClient, name: str) -> Sequence[RaftMember]:
    """Raises NotFound for a name that is nobody's."""
    known = client.raft_members()
    if name not in {member.name for member in known}:
        raise NotFound(f"{name!r} is no member: the members are {', '.join(member.name for member in known)}")
    return known


def _everybody(client: GuardianClient) -> dict[str, RaftStatus | None]:
    """Ask all by endpoint: those that were given, and those of all members that these tell of, learners too."""
    seen: dict[str, RaftStatus | None] = {}
    to_ask = list(client.endpoints)
    while to_ask:
        endpoint = to_ask.pop(0)
        if endpoint not in seen:
            seen[endpoint] = found = _status_at(client, endpoint)
            to_ask += [member.endpoint for member in found.members if member.endpoint] if found else []
    return seen


def _status_at(client: GuardianClient, endpoint: str) -> RaftStatus | None:
    try:
        return client.raft_status(endpoint)
    except GuardianError:
        return None


def _what_is_missing(answers: Sequence[RaftStatus]) -> str:
    """Say why nothing can be changed now; empty while somebody leads."""
    if any(found.leader for found in answers):
        return ""
    newest = max(answers, key=lambda found: (found.term, found.last_index))
    voters = {member.name for member in newest.members if member.is_voter}
    silent = sorted(voters - {found.name for found in answers})
    needed = len(voters) // 2 + 1
    if len(voters) - len(silent) >= needed:
        return "No leader: an election is under way, or the members don't reach each other's Raft ports"
    return (
        f"No leader: {needed} of the {len(voters)} voters must run, {len(voters) - len(silent)} answered here; "
        f"start {', '.join(silent)}"
    )


def _status_row(endpoint: str, found: RaftStatus | None) -> tuple[str, ...]:
    if found is None:
        return (endpoint, "unreachable", *("-",) * 11)
    return (
        endpoint,
        found.name,
        found.state,
        found.leader or "none",
        str(found.term),
        str(found.first_index),
        str(found.last_index),
        str(found.commit_index),
        str(found.applied_index),
        "unknown" if found.staleness_ms < 0 else f"{found.staleness_ms} ms",
        human_bytes(found.disk_free_bytes),
        _changes(found),
        _verified(found.verification),
    )


def _changes(found: RaftStatus) -> str:
    """Tell whether the member takes changes, or why not."""
    if found.is_outvoted:
        return "refused: histories differ"
    return "refused: disk full" if found.is_refusing_writes else "taken"


def _verified(found: Verification) -> str:
    """Tell how much of what the member stored was read back, with its checksums, since it started."""
    if found.is_running:
        return f"{found.share:.0%}"
    if found.problem:
        return "failed"
    return "yes" if found.verified_at_ms else "pending"
