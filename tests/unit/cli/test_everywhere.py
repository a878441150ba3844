"""What all commands have: output for people and programs, ways to reach Guardian, other names, --watch, exit codes."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml
from typer.core import TyperGroup, TyperOption
from typer.testing import CliRunner, Result

from guardian.cli import completing, contexts, exits, main, watching
from guardian.cli.contexts import Context, Contexts
from guardian.cli.everywhere import ALIASES, WATCHABLE
from guardian.cli.options import Connection, connect, use
from guardian.cli.output import Output, choose
from guardian.cli.printing import echo
from guardian.errors import (
    ClusterUnavailable,
    Conflict,
    GuardianError,
    InvalidInput,
    NotAllowed,
    NotFound,
    NotSignedIn,
    OutcomeUnknown,
    Overloaded,
    Unavailable,
)
from tests.command_line import app
from tests.unit.member.member import Member, plan


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(command, TyperGroup):
        for name, child in command.commands.items():
            yield from commands(child, (*path, name))
    else:
        yield path, command


ALL = dict(commands(typer.main.get_command(app)))


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("GUARDIAN_ENDPOINTS", "GUARDIAN_CONTEXT", "GUARDIAN_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GUARDIAN_LOCAL", str(tmp_path))
    monkeypatch.setenv("GUARDIAN_CONFIG", str(tmp_path / "config.yaml"))
    yield
    use(Connection())
    choose(Output.TABLE)


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


def run(*arguments: str, **more: Any) -> Result:
    return CliRunner().invoke(app, list(arguments), **more)


@pytest.mark.parametrize("path", [path for path, one in ALL.items() if not one.hidden], ids=" ".join)
def test_a_command_that_asks_guardian_is_told_how_to_reach_it(path: tuple[str, ...]) -> None:
    options = {flag for each in ALL[path].params if isinstance(each, TyperOption) for flag in each.opts}
    flags = [flag for each in ALL[path].params for flag in each.opts]
    assert len(flags) == len(set(flags)), "an option has two meanings"
    if "--endpoints" in options and path != ("context", "add"):
        assert options >= {"--context", "--timeout", "--ca", "--certificate", "--key"}


def test_each_result_can_be_had_by_programs() -> None:
    """Those without -o print no result: they serve, run for hours, or make a file that programs read."""
    without = {path for path, one in ALL.items() if not any(each.name == "output" for each in one.params)}
    files = {"apply", "certs", "config", "context", "docs", "export", "import", "local", "token"}
    own = {path for path in without if path[0] not in files}
    assert {" ".join(path) for path in own} <= {
        "acl propose", "analyze", "audit export", "config example", "config schema", "login", "logout",
        "raft snapshot restore", "raft snapshot salvage", "raft snapshot save", "server", "version",
    }  # fmt: skip


def test_other_names_do_the_same_and_are_hidden() -> None:
    for (group, alias), name in ALIASES.items():
        one, other = ALL[group, name], ALL[group, alias]
        assert (one.hidden, other.hidden) == (False, True)
        assert [each.opts for each in one.params] == [each.opts for each in other.params]


def test_yaml_and_wide_come_with_every_command(member: Member) -> None:
    env = {"GUARDIAN_ENDPOINTS": member.endpoint}
    (as_json,) = json.loads(run("cluster", "list", "-o", "json", env=env).stdout)
    assert yaml.safe_load(run("cluster", "list", "-o", "yaml", env=env).stdout) == [as_json]
    for noun, more in (
        ("cluster", "CONTROLLERS CLUSTER ID PROTOCOL SAMPLING PAUSED"),
        ("broker", "REGISTERED REPORTER METRICS URL"),
    ):
        heads = {each: run(noun, "list", "-o", each, env=env).stdout.splitlines()[0] for each in ("wide", "table")}
        assert heads["wide"].split() == [*heads["table"].split(), *more.split()]
        assert run(noun, "list", env=env).stdout.splitlines()[0] == heads["table"], "-o is of one command only"
    refused = run("cluster", "list", "-o", "xml", env=env)
    assert refused.exit_code == 2


def test_verbs_of_tickets_answer_programs_too(member: Member) -> None:
    env = {"GUARDIAN_ENDPOINTS": member.endpoint}
    with connect(member.endpoint) as client:
        ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True, throttle=1_000_000)
    approved = json.loads(run("ticket", "approve", ticket.id, "-o", "json", env=env).stdout)
    assert (approved["id"], approved["state"]) == (ticket.id, "APPROVED")
    cancelled = yaml.safe_load(run("ticket", "stop", ticket.id, "-o", "yaml", env=env).stdout)
    assert cancelled["id"] == ticket.id
    assert cancelled["state"] != "APPROVED"


def test_a_context_says_where_and_how_long(member: Member) -> None:
    contexts.save(Contexts().with_one(Context("here", (member.endpoint,), timeout="7s")))
    assert run("cluster", "list", "--context", "here").exit_code == 0
    with connect("") as client:
        assert (client.endpoints, client._calls.timeout_s) == ((member.endpoint,), 7.0)
    use(Connection(timeout="90s"))
    with connect("") as client:
        assert client._calls.timeout_s == 90.0
    wrong = run("cluster", "list", "--timeout", "soon")
    assert isinstance(wrong.exception, InvalidInput)
    assert "--timeout is 'soon': use a number and" in str(wrong.exception)


def test_the_shell_is_offered_what_guardian_knows(member: Member) -> None:
    with connect(member.endpoint) as client:
        ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True, throttle=1_000_000)

    def offered(*words: str) -> list[str]:
        typed = "guardian " + " ".join(words)
        env = {
            "GUARDIAN_ENDPOINTS": member.endpoint,
            "_GUARDIAN_COMPLETE": "complete_bash",
            "COMP_WORDS": typed,
            "COMP_CWORD": str(len(typed.split(" ")) - 1),
        }
        return run(env=env, prog_name="guardian").stdout.split()

    assert offered("ticket", "list", "--cluster", "l") == ["live"]
    assert offered("ticket", "show", "") == [ticket.id]
    assert offered("plan", "balance", "--cluster", "") == ["live"]
    assert offered("tick") == ["ticket"]
    assert "yaml" in offered("ticket", "list", "-o", "")


@pytest.mark.slow
def test_a_member_that_does_not_answer_offers_nothing() -> None:
    complete = completing.offering(completing.clusters)
    context = typer.Context(typer.main.get_command(app))
    context.params = {"endpoints": "127.0.0.1:1"}
    assert complete(context, "") == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInput("x"), 2),
        (NotFound("x"), 2),
        (Conflict("x"), 2),
        (ClusterUnavailable("x"), 2),
        (Unavailable("x"), 3),
        (Overloaded("x", 5), 3),
        (OutcomeUnknown("x"), 4),
        (NotSignedIn("x"), 5),
        (NotAllowed("x"), 5),
    ],
)
def test_exit_codes_tell_scripts_what_to_do(
    error: GuardianError, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr("guardian.cli.tree.tree_for", lambda _: fail)
    monkeypatch.setattr(sys, "argv", ["guardian", "status"])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == code
    assert code in exits.MEANINGS
    assert capsys.readouterr().err == "Error: x\n"


def test_a_watch_into_a_pipe_tells_only_what_changed(capsys: pytest.CaptureFixture[str]) -> None:
    answers = iter(["one", "one", Unavailable("nobody leads"), "two", "two", KeyboardInterrupt()])

    def show() -> None:
        answer = next(answers)
        if isinstance(answer, BaseException):
            raise answer
        sys.stdout.write(f"{answer}\n")

    watching.again_and_again(show, 2.0, pause=lambda _: None)
    assert capsys.readouterr() == ("one\ntwo\n", "nobody leads\n")


def test_a_watch_on_a_terminal_draws_the_screen_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", screen)
    turns = iter([None, KeyboardInterrupt()])

    def pause(_: float) -> None:
        if error := next(turns):
            raise error

    now = datetime(2026, 11, 23, 2, 0, 0, tzinfo=UTC)
    watching.again_and_again(lambda: echo("all is well"), 2.0, pause, lambda: now)
    drawn = screen.getvalue().split("\x1b[H\x1b[2J\x1b[3J")
    assert drawn == ["", *["all is well\n\n02:00:00, every 2 s, until Ctrl-C\n"] * 2]


def test_what_asking_again_would_not_mend_ends_a_watch() -> None:
    def show() -> None:
        raise NotFound("ticket 't-1' does not exist")

    with pytest.raises(NotFound):
        watching.again_and_again(show, 2.0, pause=lambda _: None)


def test_a_command_is_watched_until_ctrl_c(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []

    def watched(show: Callable[[], None], every_s: float) -> None:
        def pause(seconds: float) -> None:
            looks.append(seconds)
            if len(looks) == 3:
                raise KeyboardInterrupt

        again_and_again(show, every_s, pause)

    again_and_again = watching.again_and_again
    monkeypatch.setattr(watching, "again_and_again", watched)
    env = {"GUARDIAN_ENDPOINTS": member.endpoint}
    result = run("cluster", "list", "--watch", "--every", "5s", env=env)
    assert (result.exit_code, looks) == (0, [5.0, 5.0, 5.0])
    assert result.stdout.count("CLUSTER") == 1, "nothing changed: it is written once"


def test_watchable_commands_exist() -> None:
    assert set(ALL) >= WATCHABLE


def test_help_has_no_colour_where_nobody_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    shown = run("ticket", "--help", color=True).stdout
    assert "\x1b[3" not in shown
