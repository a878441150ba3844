"""--dry-run: every command that changes something has it, or says here why not; and it changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.core import TyperGroup
from typer.testing import CliRunner, Result

from guardian.client import GuardianClient
from guardian.errors import Conflict, InvalidInput, NotFound
from guardian.model.actor import Agent
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import ReplicaPlacement
from guardian.model.protection import DiskKey, Lever, LeverKind, Protection
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.protection.loop.protection import ReplicatedProtectionStore
from guardian.replication.commands.raft_rehearsing import after, heir_of, view_of
from guardian.security.rules.tokens import parse_tokens
from protos.guardian.v1.raft_pb2 import RaftMember, RaftStatus
from raft.protocol import AddLearner, Promote, Remove
from tests.command_line import app
from tests.unit.member.member import Member, plan

# Commands that change nothing: they look, they calculate, or they write the one new file that they are asked for.
LOOKS = {
    "acl propose", "apply diff", "apply links", "apply schema", "audit acls", "audit broker", "audit changes",
    "audit export", "audit idle-topics", "audit principal", "audit topic", "audit verify",
    "broker list", "broker metrics", "broker show", "certs show", "cluster list", "cluster show", "collection",
    "config example", "config explain", "config schema", "context list", "context show", "group disk-reads",
    "disk queue", "disk show", "docs cli", "docs configuration",
    "docs rest", "docs rights", "durability", "events", "exclusion cordons", "exclusion list",
    "export broker-sets", "export capacity", "export federation", "export placement", "export reassignment",
    "export topic", "findings", "forecast", "healing policy", "healing status", "idc-policy list", "links",
    "local status", "machine list", "plan check", "plan model", "plan score", "raft members", "raft probe",
    "raft snapshot save",
    "raft snapshot salvage", "raft snapshot verify", "raft status", "status", "support-bundle", "tenant list",
    "ticket approvals",
    "ticket why-approval",
    "whoami",
    "roles",
    "audit costs",
    "quota list",
    "topic show",
    "ticket list", "ticket preview", "ticket show", "ticket watch", "tiering partition", "tiering segments",
    "tiering topics", "tiering verify", "token list", "topic list", "version", "what-if carry", "what-if clock",
    "what-if cut", "what-if grow", "what-if kill", "what-if lose", "what-if power", "what-if log-dir", "what-if shrink",
    "what-if slow-disk", "what-if slow-follower", "what-if upgrade",
}  # fmt: skip

# Those that change something and have no --dry-run, with the reason.
WITHOUT_DRY_RUN = {
    "analyze": "makes drafts only, and only with --submit-drafts; without it it says what it would draft",
    "context add": "a file of one's own, which `context add` changes back",
    "context remove": "the same; it asks",
    "context use": "the same",
    "local down": "ends a laptop's own processes, which `local up` starts again",
    "local fleet": "runs in front of you until Ctrl-C; --no-register tells Guardian nothing",
    "local up": "a laptop's own clusters: `local status` shows what stands",
    "local wipe": "a laptop's own clusters, and their data, which `local up` makes anew",
    "login": "asks the provider of identities, and a person in a browser",
    "logout": "forgets what `login` gets again",
    "server": "is what everything else asks",
    "tiering orphans": "shows what --sweep would delete unless --yes is given: it is a dry run by itself",
}

# Those after which something is gone that the next command can't bring back: they ask, or take --yes.
DESTRUCTIVE = {
    "apply apply", "certs revoke", "cluster remove", "context remove", "raft finish-upgrade", "raft remove",
    "raft replace", "tiering orphans", "token revoke",
}  # fmt: skip

# Those whose name sounds like it, and that need no --yes.
ASKS_NOBODY = {
    "broker remove": "a ticket, which somebody else approves",
    "disk release": "what is let go is held again when the disk needs it",
    "exclusion lift": "`exclusion add` brings it back",
    "idc-policy drop": "`idc-policy put` brings it back; what a topic has is not dropped",
    "local wipe": "a demo's data, which `local up` makes anew",
    "machine drop": "`machine put` brings it back",
    "plan remove": "a draft, which somebody approves",
    "tenant drop": "`tenant put` brings it back; what a topic has is not dropped",
    "ticket cancel": "what is on its way goes back, nothing is lost; it must not wait for an answer",
    "ticket reject": "the same plan makes another ticket",
    "ticket rollback": "needs approval's rights, and moves replicas where they were",
    "topic drop": "`topic put` brings it back; nothing changes in Kafka",
    "raft snapshot restore": "takes a new or empty folder only",
}
_SOUNDS_DESTRUCTIVE = {
    "cancel", "drop", "lift", "reject", "release", "remove", "replace", "restore", "revoke", "rollback", "wipe",
}  # fmt: skip


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if isinstance(command, TyperGroup):
        for name, child in command.commands.items():
            yield from commands(child, (*path, name))
    elif not command.hidden:
        yield " ".join(path), command


OPTIONS = {
    name: {flag for each in command.params for flag in each.opts}
    for name, command in commands(typer.main.get_command(app))
}


def test_every_command_that_changes_something_can_be_rehearsed() -> None:
    without = {name for name, options in OPTIONS.items() if "--dry-run" not in options}
    assert without == LOOKS | set(WITHOUT_DRY_RUN)
    assert not LOOKS & set(WITHOUT_DRY_RUN)


def test_what_destroys_something_asks_first() -> None:
    assert {name for name, options in OPTIONS.items() if "--yes" in options} == DESTRUCTIVE
    assert not DESTRUCTIVE & set(ASKS_NOBODY)
    sounding = {name for name in OPTIONS if name.split()[-1] in _SOUNDS_DESTRUCTIVE}
    assert sounding <= DESTRUCTIVE | set(ASKS_NOBODY)
    assert set(ASKS_NOBODY) <= sounding


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


Cli = Callable[..., Result]


@pytest.fixture
def cli(member: Member) -> Cli:
    def run(*arguments: str) -> Result:
        before = member.replica.status().last_index
        result = CliRunner().invoke(app, list(arguments), env={"GUARDIAN_ENDPOINTS": member.endpoint, "USER": "ann"})
        if "--dry-run" in arguments:
            assert member.replica.status().last_index == before
        return result

    return run


@pytest.fixture
def ticket(member: Member) -> Ticket:
    with GuardianClient([member.endpoint]) as client:
        return client.create_ticket(plan(3, 2), author="ann", submit=True, throttle=1_000_000, expires_in_ms=-1)[0]


def state_of(member: Member, ticket: Ticket) -> TicketState:
    found = member.store.read_local().ticket(ticket.id)
    assert found is not None
    return found.state


@pytest.mark.parametrize(
    ("verb", "would"),
    [("approve", "APPROVED"), ("reject", "REJECTED"), ("cancel", "REJECTED")],
)
def test_an_act_on_a_ticket_says_what_would_become_of_it(
    cli: Cli, member: Member, ticket: Ticket, verb: str, would: str
) -> None:
    shown = cli("ticket", verb, ticket.id, "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert f"Ticket {ticket.id} is PENDING and would become {would}. Nothing was changed." in shown.stdout
    told = json.loads(cli("ticket", verb, ticket.id, "--dry-run", "-o", "json").stdout)
    assert (told["ticket"], told["dry_run"], told["state"], told["would_be"]) == (ticket.id, True, "PENDING", would)
    assert state_of(member, ticket) is TicketState.PENDING


def test_the_approval_of_moves_shows_each_request(cli: Cli, ticket: Ticket) -> None:
    shown = cli("ticket", "approve", ticket.id, "--dry-run").stdout
    assert "REQUEST" in shown
    assert "Nothing was sent." in shown


@pytest.mark.parametrize("verb", ["pause", "resume", "rollback", "submit", "adopt", "wait"])
def test_what_the_tickets_state_does_not_allow_is_refused(cli: Cli, member: Member, ticket: Ticket, verb: str) -> None:
    refused = cli("ticket", verb, ticket.id, "--dry-run")
    assert isinstance(refused.exception, Conflict), refused.output
    assert "PENDING" in str(refused.exception)
    assert state_of(member, ticket) is TicketState.PENDING


@pytest.mark.parametrize("of_brokers", [False, True], ids=["moves", "brokers"])
def test_a_way_back_that_a_member_would_refuse_is_refused(cli: Cli, member: Member, of_brokers: bool) -> None:
    ask = Ask(AskKind.REMOVE, (2,)) if of_brokers else None
    placed = plan(3, 2).moves[0]
    move = replace(placed, original=(ReplicaPlacement(1), ReplicaPlacement(2)))
    task = ExecutionTask(1, move, TaskState.DONE, started_at_ms=5)
    kind = "remove-brokers" if of_brokers else "balance"
    created = (TicketTransition(TicketState.PENDING, 5, "ann", "created"),)
    stored = "" if of_brokers else member.store.put_plan(plan(3, 2))
    made = Ticket("t-1", "live", kind, TicketState.PENDING, "ann", stored, 10**6, 5, 5, created, "k", ask=ask)
    member.store.add_ticket(made)
    for state in (TicketState.APPROVED, TicketState.RUNNING, TicketState.SUCCEEDED):
        before, said = state_of(member, made), TicketTransition(state, 5, Agent.EXECUTOR, "")
        begun = Execution("t-1", (task,)) if state is TicketState.RUNNING else None
        member.store.advance("t-1", before, said, begun, 0)
    shown = cli("ticket", "rollback", "t-1", "--dry-run")
    assert "is SUCCEEDED and would become ROLLING_BACK" in shown.stdout, shown.output
    member.kafka.kill_broker(1)
    refused = cli("ticket", "rollback", "t-1", "--dry-run")
    assert isinstance(refused.exception, Conflict), refused.output
    assert "t-0 of ticket t-1 can't go back to broker 1, which is down" in str(refused.exception)


def test_a_draft_that_is_submitted_for_show_stays_one(cli: Cli, member: Member) -> None:
    with GuardianClient([member.endpoint]) as client:
        draft, _ = client.create_ticket(plan(3, 2), author="ann", throttle=1_000_000)
    shown = cli("ticket", "submit", draft.id, "--dry-run")
    assert "is DRAFT and would become PENDING" in shown.stdout
    assert state_of(member, draft) is TicketState.DRAFT


def test_a_throttle_is_checked_as_the_server_does(cli: Cli, member: Member, ticket: Ticket) -> None:
    shown = cli("ticket", "throttle", ticket.id, "20MB", "--dry-run").stdout
    assert "would stay so (Throttle 1.0 MB/s per broker -> 20.0 MB/s)" in shown
    low = cli("ticket", "throttle", ticket.id, "1k", "--dry-run")
    assert isinstance(low.exception, InvalidInput)
    assert "throttle is 1000 bytes/s: use 100000 to" in str(low.exception)
    most = cli("ticket", "throttle", ticket.id, "20MB", "--max-throttle", "10MB", "--dry-run")
    assert "max_throttle is 10000000 bytes/s" in str(most.exception)
    stored = member.store.read_local().ticket(ticket.id)
    assert stored is not None
    assert stored.throttle == 1_000_000


def test_a_standing_rate_is_checked_by_the_server_and_not_stored(cli: Cli, member: Member) -> None:
    asked = ("broker", "throttle", "--cluster", "live", "1", "20MB", "--for", "8h", "--dry-run")
    shown = cli(*asked)
    assert shown.exit_code == 0, shown.output
    assert "A ticket of kind throttle-override can run on cluster live; nothing was stored." in shown.stdout
    assert isinstance(cli("broker", "throttle", "--cluster", "none", *asked[4:]).exception, NotFound)
    assert not tuple(member.store.read_local().walk_tickets())


def test_a_configuration_is_shown_with_its_value_before_and_not_stored(cli: Cli, member: Member) -> None:
    member.kafka.set_config(("TOPIC", "t"), "retention.ms", "1000")
    asked = ("topic", "config", "t", "--cluster", "live", "--set", "retention.ms=2000", "--dry-run")
    shown = cli(*asked)
    assert shown.stdout.splitlines() == [
        "A ticket of kind topic-config can run on cluster live; nothing was stored.",
        "- retention.ms of topic t: 1000 -> 2000",
    ]
    refused = cli("topic", "config", "t", "--cluster", "live", "--set", "retention.ms=soon", "--dry-run")
    assert "cluster live refuses the configuration of topic t: INVALID_CONFIG" in str(refused.exception)
    unproven = cli("topic", "delete", "t", "--cluster", "live", "--dry-run")
    assert "who used the topics is not known: audit.url is not set" in str(unproven.exception)
    assert not tuple(member.store.read_local().walk_tickets())


def test_a_cluster_is_compared_with_what_is_registered(cli: Cli, member: Member) -> None:
    known = cli("cluster", "add", "live", "--bootstrap", "k1:9092", "--label", "77=gold", "--dry-run").stdout
    assert "cluster live at k1:9092 would replace its entry" in known
    assert "broker 77 must be there by then" in known
    new = json.loads(cli("cluster", "add", "new", "--bootstrap", "k1:9092", "--dry-run", "-o", "json").stdout)
    assert (new["replaces"], new["not_known_yet"]) == (False, [])
    assert [each.name for each in member.store.read_local().clusters()] == ["live"]


def test_nothing_held_is_nothing_to_release(cli: Cli) -> None:
    assert isinstance(cli("disk", "release", "--cluster", "live", "--dry-run").exception, NotFound)
    refused = cli("disk", "release", "--cluster", "live", "--disk", "sdb", "--dry-run")
    assert "--disk is 'sdb', and --broker is missing" in str(refused.exception)


def test_what_is_held_would_be_released_and_stays(cli: Cli, member: Member) -> None:
    held = ReplicatedProtectionStore(member.store)
    levers = [
        Lever(DiskKey(broker, disk), LeverKind.LOG_DIR_RATE, "", "", 20_000_000, 50_000_000)
        for broker, disk in ((1, "sda"), (2, "sdb"))
    ]
    held.save(Protection("live", tuple(levers)), "held")
    shown = cli("disk", "release", "--cluster", "live", "--broker", "2", "--for", "2h", "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.splitlines() == [
        "would be released: log dir rate of broker 2, 20.0 MB/s, for broker 2, disk sdb",
        "nothing would be held back there for 2h; nothing was changed",
    ]
    assert len(json.loads(cli("disk", "release", "--cluster", "live", "--dry-run", "-o", "json").stdout)) == 2
    assert isinstance(cli("disk", "release", "--cluster", "live", "--broker", "3", "--dry-run").exception, NotFound)
    assert list(held.protection("live").levers) == levers


def test_a_snapshot_is_checked_before_it_is_restored(cli: Cli, tmp_path: Path) -> None:
    archive, data = tmp_path / "g.tar", tmp_path / "data"
    assert cli("raft", "snapshot", "save", str(archive)).exit_code == 0
    where = ("--name", "g9", "--data", str(data), "--raft", "127.0.0.1:9", "--dry-run")
    shown = cli("raft", "snapshot", "restore", str(archive), *where)
    assert "is whole" in shown.stdout, shown.output
    assert not data.exists()
    data.mkdir()
    (data / "mine").write_text("x")
    assert "is not an empty folder" in str(cli("raft", "snapshot", "restore", str(archive), *where).exception)
    archive.write_bytes(archive.read_bytes()[:-2000])
    assert isinstance(cli("raft", "snapshot", "restore", str(archive), *where).exception, InvalidInput)


def group(**more: Any) -> RaftStatus:
    members = [
        RaftMember(name="g1", raft="h1:1", match_index=5000, is_voter=True, is_connected=True),
        RaftMember(name="g2", raft="h2:1", match_index=4990, is_voter=True, is_connected=True),
        RaftMember(name="g3", raft="h3:1", match_index=4995, is_voter=True, is_connected=True),
        RaftMember(name="g4", raft="h4:1", match_index=more.pop("learner_has", 4999), is_connected=True),
        RaftMember(name="g5", raft="h5:1"),
    ]
    return RaftStatus(name="g1", leader="g1", group_id="g", last_index=5000, members=members, **more)


def test_changes_of_the_group_go_by_the_leaders_rules() -> None:
    view = view_of(group())
    added, sentence = after(AddLearner("g6", "h6:1"), view)
    assert sentence == "g6 would be added as a learner"
    assert after(Promote("g6"), added)[1] == "g6 would become a voter"
    assert after(Promote("g4"), view)[0].configuration.voters == {"g1", "g2", "g3", "g4"}
    assert after(Promote("g2"), view)[1] == "g2 is a voter already"
    assert after(Remove("g1"), view)[1] == "g1 would hand its leadership over, then leave the group"
    assert after(Remove("nobody"), view)[1] == "nobody is no member already"
    for change, why in (
        (AddLearner("g6", "h2:1"), "member g2 at h2:1 is in the group already"),
        (Promote("g5"), "learner g5 is not connected"),
        (Promote("g9"), "member g9 is not in the group"),
    ):
        with pytest.raises(Conflict, match=why):
            after(change, view)
    with pytest.raises(Conflict, match="lags by 4990 entries"):
        after(Promote("g4"), view_of(group(learner_has=10)))


def test_leadership_goes_to_who_can_have_it() -> None:
    view = view_of(group())
    assert heir_of(view, "") == "g3"
    assert heir_of(view, "g2") == "g2"
    with pytest.raises(NotFound, match="'g9' is no member: the members are g1, g2, g3, g4, g5"):
        heir_of(view, "g9")
    with pytest.raises(Conflict, match="g4 is a learner"):
        heir_of(view, "g4")


def test_a_group_of_one_is_left_as_it_is(cli: Cli, member: Member) -> None:
    added = cli("raft", "add", "g4", "--raft", "127.0.0.1:1", "--dry-run")
    assert "g4 would be added as a learner. The group would have 1 voters (g1) and 1 learners (g4)." in added.stdout
    assert isinstance(cli("raft", "remove", "g1", "--dry-run").exception, Conflict)
    assert isinstance(cli("raft", "transfer-leader", "--dry-run").exception, Conflict)
    led = json.loads(cli("raft", "transfer-leader", "g1", "--dry-run", "-o", "json").stdout)
    assert (led["leader"], led["would_lead"]) == ("g1", "g1")
    replaced = cli("raft", "replace", "g1", "g4", "--raft", "127.0.0.1:1", "--dry-run").stdout
    assert "g4 would become a voter; g1 would hand its leadership over, then leave the group" in replaced
    assert [each.name for each in member.replica.status().members] == ["g1"]


def test_tokens_are_not_written(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    run = CliRunner().invoke
    shown = run(app, ["token", "create", "ci", "--file", str(file), "--dry-run"])
    assert "would get a token of ci" in shown.stdout
    assert "gdn_" not in shown.stdout
    assert not file.exists()
    run(app, ["token", "create", "ci", "--file", str(file)])
    stored = file.read_text()
    gone = run(app, ["token", "revoke", "ci", "--file", str(file), "--dry-run"])
    assert "would revoke " in gone.stdout
    unasked = run(app, ["token", "revoke", "ci", "--file", str(file)])
    assert isinstance(unasked.exception, InvalidInput | SystemExit)
    assert file.read_text() == stored
    assert len(parse_tokens(stored)) == 1


def test_certificates_are_not_made(tmp_path: Path) -> None:
    folder = tmp_path / "certs"

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["certs", *arguments, "--folder", str(folder)])

    assert "would make" in run("init", "--dry-run").stdout
    assert not folder.exists()
    assert isinstance(run("issue", "ann", "--person", "--dry-run").exception, NotFound)
    run("init")
    assert isinstance(run("init", "--dry-run").exception, Conflict)
    assert "would make" in run("issue", "ann", "--person", "--dry-run").stdout
    assert not (folder / "ann.pem").exists()
    run("issue", "ann", "--person")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert isinstance(run("issue", "ann", "--dry-run").exception, Conflict)
    assert "ann: would be renewed" in run("renew", "ann", "--dry-run").stdout
    assert "would revoke the certificates of ann" in run("revoke", "ann", "--dry-run").stdout
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
