"""`guardian raft`: what is shown, asked and refused, over a member in this process."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from guardian.errors import Conflict, GuardianError, InvalidInput, NotFound, Unavailable
from guardian.replication.commands.raft import _promote, _status_row, _what_is_missing, print_members
from guardian.replication.commands.raft_probing import conclude
from metastore import levels
from protos.guardian.v1.raft_pb2 import RaftMember, RaftStatus
from tests.command_line import app
from tests.unit.member.member import Member

Cli = Callable[..., Result]


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


@pytest.fixture
def cli(member: Member) -> Cli:
    def run(*arguments: str, answer: str | None = None) -> Result:
        return CliRunner().invoke(app, ["raft", *arguments], env={"GUARDIAN_ENDPOINTS": member.endpoint}, input=answer)

    return run


def test_the_status_is_that_of_each_member(cli: Cli, member: Member) -> None:
    lines = cli("status").stdout.splitlines()
    assert lines[0].split()[:4] == ["ENDPOINT", "NAME", "STATE", "LEADER"]
    assert lines[1].split()[:4] == [member.endpoint, "g1", "leader", "g1"]
    assert lines[1].split()[-2:] == ["taken", "pending"]
    (shown,) = json.loads(cli("status", "-o", "json").stdout)
    assert (shown["endpoint"], shown["status"]["name"]) == (member.endpoint, "g1")


def test_a_member_that_does_not_answer_is_shown_as_such() -> None:
    result = CliRunner().invoke(app, ["raft", "status"], env={"GUARDIAN_ENDPOINTS": "127.0.0.1:1"})
    assert result.stdout.splitlines()[1].split()[:3] == ["127.0.0.1:1", "unreachable", "-"]
    assert isinstance(result.exception, Unavailable)
    assert "no Guardian member answered at 127.0.0.1:1: check" in str(result.exception)


def test_why_changes_are_refused_is_told() -> None:
    full = RaftStatus(name="g1", is_refusing_writes=True)
    split = RaftStatus(name="g1", is_refusing_writes=True, is_outvoted=True)
    told = [_status_row("h:1", found)[-2] for found in (RaftStatus(name="g1"), full, split)]
    assert told == ["taken", "refused: disk full", "refused: histories differ"]


def test_a_group_without_a_leader_is_told_whom_to_start() -> None:
    voters = [RaftMember(name=name, is_voter=True) for name in ("g1", "g2", "g3")]
    voters.append(RaftMember(name="g4"))
    seen = [RaftStatus(name=name, term=3, members=voters) for name in ("g1", "g4")]
    assert _what_is_missing(seen) == "No leader: 2 of the 3 voters must run, 1 answered here; start g2, g3"
    seen.append(RaftStatus(name="g2", term=3, members=voters))
    assert "an election is under way" in _what_is_missing(seen)
    seen.append(RaftStatus(name="g3", term=3, leader="g3", members=voters))
    assert _what_is_missing(seen) == ""


def test_members_are_shown_with_their_roles_and_lag(cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli("members").stdout.splitlines()[1].split()[:2] == ["g1", "leader"]
    found = [
        RaftMember(name="g1", raft="h1:1", endpoint="h1:2", is_voter=True, is_connected=True, match_index=100),
        RaftMember(name="g2", raft="h2:1", is_voter=True, match_index=90),
        RaftMember(name="g3", raft="h3:1", endpoint="h3:2", is_connected=True),
    ]
    print_members(found, "g1", 100)
    assert [line.split() for line in capsys.readouterr().out.splitlines()[1:]] == [
        ["g1", "leader", "h1:1", "h1:2", "yes", "0"],
        ["g2", "voter", "h2:1", "-", "no", "10"],
        ["g3", "learner", "h3:1", "h3:2", "yes", "-"],
    ]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (("transfer-leader",), Conflict, "nobody to hand leadership to"),
        (("add", "g2", "--raft", "nowhere"), InvalidInput, "raft is 'nowhere': use host:port"),
        (("add", "g 2", "--raft", "h:1"), InvalidInput, "name has 'g 2': use up to 63 letters"),
        (("replace", "g1", "g1", "--raft", "h:1", "--yes"), InvalidInput, "NEW is 'g1', as is OLD"),
        (("add", "g2", "--raft", "h:1"), Conflict, "its group can't grow"),
        (("promote", "g9", "--wait", "1ms"), NotFound, "'g9' is no member: the members are g1"),
        (("remove", "g9", "--yes"), NotFound, "'g9' is no member: the members are g1"),
        (("remove", "g1", "--yes"), Conflict, "last voter"),
        (("snapshot", "verify", "/nowhere/a.tar"), InvalidInput, "/nowhere/a.tar can't be used: No such file"),
        (("snapshot", "restore", "/nowhere/a.tar"), InvalidInput, "who shall be restored is not said"),
        (
            ("snapshot", "restore", "a", "--data", "d", "--name", "g1", "--raft", "h"),
            InvalidInput,
            "--raft is 'h': use host:port",
        ),
        (("snapshot", "save", "/nowhere/a.tar"), InvalidInput, "/nowhere/a.tar can't be written: No such file"),
        (("snapshot", "salvage", "/nowhere", "/nowhere/a.tar"), InvalidInput, "data directory /nowhere has no store"),
    ],
)
def test_what_can_not_be_is_refused_in_one_sentence(
    cli: Cli, arguments: tuple[str, ...], kind: type[GuardianError], message: str
) -> None:
    result = cli(*arguments)
    assert isinstance(result.exception, kind), result.output
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)


def test_who_serves_is_asked_of_each_member_itself(cli: Cli, member: Member) -> None:
    """The client alone would ask the one that answers, in the place of the other."""
    assert (cli("probe").exit_code, cli("probe").stderr) == (0, "All 1 members serve\n")
    shown = cli("probe", "-o", "json", "--endpoints", f"{member.endpoint},127.0.0.1:1", "--until-all", "600ms")
    assert shown.exit_code == 3
    found = {each["endpoint"]: each["serves"] for each in json.loads(shown.stdout)}
    assert found == {member.endpoint: True, "127.0.0.1:1": False}


@pytest.mark.parametrize(
    ("whys", "code", "sentence"),
    [
        (["", "", ""], 0, "All 3 members serve"),
        (["", "no leader", ""], 1, "2 of 3 members serve, and lose nothing: mend what is between them and b"),
        (["no leader", "", "no leader"], 3, "1 of 3 members serve as seen from here: this may be the side"),
        (["", "no leader", "", "no leader"], 3, "2 of 4 members serve as seen from here"),
    ],
)
def test_a_majority_is_told_from_the_side_that_is_cut_off(whys: list[str], code: int, sentence: str) -> None:
    told = conclude(dict(zip("abcd", whys, strict=False)))
    assert (told[0], told[1].startswith(sentence)) == (code, True), told


def test_a_removal_is_asked_about_first(cli: Cli, member: Member) -> None:
    result = cli("remove", "g1", answer="n\n")
    assert (result.exit_code, "Remove g1 from a group of 1 voters?" in result.output) == (1, True)


def test_a_file_that_is_there_is_not_written_over(cli: Cli, tmp_path: Path) -> None:
    archive = tmp_path / "a.tar"
    archive.write_text("mine")
    assert "is there already" in str(cli("snapshot", "save", str(archive)).exception)
    assert archive.read_text() == "mine"


def test_a_member_that_runs_is_not_salvaged(cli: Cli, tmp_path: Path) -> None:
    with (tmp_path / "LOCK").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused = cli("snapshot", "salvage", str(tmp_path), str(tmp_path / "a.tar"))
    assert "is used by a member that runs: stop it" in str(refused.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["LOCK"]


def test_what_is_in_the_configuration_is_not_given_again(cli: Cli, tmp_path: Path) -> None:
    result = cli("snapshot", "restore", "a.tar", "--config", str(tmp_path / "g.toml"), "--name", "g1")
    assert "leave --name, --data and --raft out" in str(result.exception)


def test_no_snapshot_is_left_when_the_member_fails(cli: Cli, member: Member, tmp_path: Path) -> None:
    """A store in memory has nothing to save."""
    archive = tmp_path / "a.tar"

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    member.replica.save_snapshot = refuse  # type: ignore[method-assign, assignment]
    assert "No space left" in str(cli("snapshot", "save", str(archive)).exception)
    assert list(tmp_path.iterdir()) == []


class Lagging:
    """A client whose learner has caught up after some attempts."""

    def __init__(self, attempts: int) -> None:
        self.attempts = attempts

    def raft_members(self) -> list[RaftMember]:
        return [RaftMember(name="g4")]

    def raft_status(self) -> RaftStatus:
        behind = [RaftMember(name="g4", match_index=100 - 10 * self.attempts)]
        return RaftStatus(last_index=100, members=behind)

    def promote_member(self, _name: str) -> None:
        if self.attempts:
            self.attempts -= 1
            raise Conflict("it lags")


def test_a_promotion_waits_for_the_learner_and_says_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter(range(100))
    _promote(Lagging(3), "g4", 60, lambda: next(clock), lambda _: None)  # type: ignore[arg-type]
    assert capsys.readouterr().out.splitlines() == [
        "g4 is 20 entries behind: it lags",
        "g4 is 10 entries behind: it lags",
        "g4 is 0 entries behind: it lags",
        "g4 is a voter",
    ]


def test_a_promotion_that_takes_too_long_says_why() -> None:
    clock = iter(range(100))
    with pytest.raises(Conflict, match="it lags"):
        _promote(Lagging(9), "g4", 5, lambda: next(clock), lambda _: None)  # type: ignore[arg-type]


def test_a_snapshot_is_taken_from_a_member_that_answers(member: Member, tmp_path: Path) -> None:
    archive = tmp_path / "a.tar"
    asked = []

    def refuse(directory: Path) -> None:
        asked.append(directory)
        raise LookupError("member g1 has no log at index 0: save a snapshot later")

    member.replica.save_snapshot = refuse  # type: ignore[method-assign]
    environment = {"GUARDIAN_ENDPOINTS": f"127.0.0.1:1,{member.endpoint},127.0.0.1:2"}
    for _ in range(3):  # whichever comes first
        result = CliRunner().invoke(app, ["raft", "snapshot", "save", str(archive)], env=environment)
        assert isinstance(result.exception, Unavailable)
    assert len(asked) == 3
    assert list(tmp_path.iterdir()) == []


def test_the_first_version_has_no_upgrade_to_finish(cli: Cli) -> None:
    done = cli("finish-upgrade", "--yes")
    assert (done.exit_code, done.stderr) == (0, "The group is at feature level 0, and nothing is left to finish\n")


def test_an_upgrade_is_finished_once_everybody_knows_its_level(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "LEVEL", 1)
    looked = cli("finish-upgrade", "--dry-run")
    assert (looked.stdout.splitlines()[1].split(), looked.exit_code) == (["g1", "1"], 0)
    assert "the group is at 0. Nothing was changed" in looked.stderr
    assert json.loads(cli("finish-upgrade", "--dry-run", "-o", "json").stdout) == {
        "level": 0,
        "known_by": {"g1": 1},
        "next": 1,
    }
    assert cli("finish-upgrade", answer="n\n").exit_code != 0
    assert "The group is at feature level 1" in cli("finish-upgrade", "--yes").stderr
    again = cli("finish-upgrade", "--yes")
    assert (again.exit_code, "nothing is left to finish" in again.stderr) == (0, True)


def test_an_upgrade_is_not_finished_while_nobody_who_knows_its_level_is_reached(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = [RaftMember(name="g1", is_voter=True), RaftMember(name="g2", is_voter=True)]

    def status(_client: object, endpoint: str = "", *_: object) -> RaftStatus:
        if endpoint:
            raise Unavailable("no answer within 3 s")
        return RaftStatus(name="g1", leader="g1", members=group, known_level=1)

    monkeypatch.setattr("guardian.client.GuardianClient.raft_status", status)
    result = cli("finish-upgrade", "--yes")
    assert isinstance(result.exception, Conflict)
    assert "g1, g2 run an older version or were not reached" in str(result.exception)


def test_an_upgrade_is_not_finished_while_a_member_is_older(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    group = [RaftMember(name="g1", is_voter=True), RaftMember(name="g2", is_voter=True)]

    def status(*_: object) -> RaftStatus:
        return RaftStatus(name="g1", leader="g1", members=group, known_level=1)

    monkeypatch.setattr("guardian.client.GuardianClient.raft_status", status)
    result = cli("finish-upgrade", "--yes")
    assert result.stdout.splitlines()[2].split(maxsplit=1) == ["g2", "not reached"]
    assert isinstance(result.exception, Conflict)
    assert "g2 run an older version or were not reached" in str(result.exception)
