"""A support bundle has what helps, says what it lacks, and holds no secret."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner, Result

from guardian.client import GuardianClient
from guardian.errors import InvalidInput
from guardian.member.commands.config_pages import settings_of
from tests.command_line import app
from tests.unit.member.member import Member, plan

pytestmark = pytest.mark.slow

SECRET = "hunter2-Zq9"  # noqa: S105  of nobody


class Pages(BaseHTTPRequestHandler):
    """A member's HTTP port, of which one page is not well."""

    def do_GET(self) -> None:
        is_metrics = self.path == "/metrics"
        body = f'guardian_up{{password="{SECRET}"}} 1\n' if is_metrics else "nobody leads\n"
        self.send_response(200 if is_metrics else 503)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUARDIAN_LOCAL", str(tmp_path / "local"))
    monkeypatch.setenv("GUARDIAN_CONFIG", str(tmp_path / "config.yaml"))
    monkeypatch.delenv("GUARDIAN_CONTEXT", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


@pytest.fixture
def http() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["support-bundle", *arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def content(archive: Path) -> dict[str, str]:
    with tarfile.open(archive) as opened:
        files = {entry.name.partition("/")[2]: opened.extractfile(entry) for entry in opened.getmembers()}
        return {name: file.read().decode() for name, file in files.items() if file is not None}


def test_what_is_in_it(member: Member, http: str, tmp_path: Path) -> None:
    with GuardianClient([member.endpoint]) as client:
        ticket, _ = client.create_ticket(
            plan(3, 2), author="ann", submit=True, throttle=1_000_000, reason=f"password={SECRET}"
        )
    config = tmp_path / "g1.toml"
    config.write_text(f'name = "g1"\n[oidc]\nclient_secret = "{SECRET}"\npassword_file = "/etc/p"\n')
    log = tmp_path / "g1.log"
    log.write_text(f"cut\n{'x' * 1_100_000}\nsigned in with token={SECRET}\nlast line\n")
    archive = tmp_path / "b.tar.gz"
    shown = run(
        "--endpoints", member.endpoint, "--out", str(archive), "--config", str(config), "--log", str(log),
        "--log-size", "1MB", "--http", http, "-o", "json",
    )  # fmt: skip
    files = content(archive)
    said = json.loads(shown.stdout)
    assert said["missing"] == {}
    assert set(said["contains"]) | {"CONTENTS.txt"} == set(files)
    place = http.removeprefix("http://").replace(":", "_")
    assert set(files) >= {
        "CONTENTS.txt", "versions.json", "members.json", "raft.json", "clusters.json", "tickets.json", "events.json",
        "executions.json", "audit.json", "findings.json", "healing.json", "sinks.json", "approvals.json",
        "config/g1.toml", "logs/g1.log", f"http/{place}/metrics.txt", f"http/{place}/readyz.txt",
    }  # fmt: skip
    assert [each["id"] for each in json.loads(files["tickets.json"])] == [ticket.id]
    assert [each["name"] for each in json.loads(files["clusters.json"])] == ["live"]
    assert json.loads(files["members.json"])[member.endpoint]["name"] == "g1"
    assert files["config/g1.toml"] == ('name = "g1"\n[oidc]\nclient_secret = "[redacted]"\npassword_file = "/etc/p"\n')
    assert files["logs/g1.log"] == "signed in with token=[redacted]\nlast line\n"
    assert files[f"http/{place}/readyz.txt"] == "HTTP 503\nnobody leads\n"
    for name in files:
        assert SECRET not in files[name], name
        assert name == "CONTENTS.txt" or name in files["CONTENTS.txt"]
    assert archive.stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_where_nobody_answers_there_still_is_what_this_machine_knows(tmp_path: Path) -> None:
    log = tmp_path / "g1.log"
    log.write_text("no leader\n")
    archive = tmp_path / "b.tar.gz"
    result = run(
        "--endpoints", "127.0.0.1:1", "--timeout", "1s", "--out", str(archive), "--log", str(log),
        "--http", "http://127.0.0.1:1", "--config", str(tmp_path / "none.toml"),
    )  # fmt: skip
    files = content(archive)
    assert files["logs/g1.log"] == "no leader\n"
    assert "no answer: " in files["raft.json"]
    assert "tickets.json" not in files
    assert "What could not be had:" in files["CONTENTS.txt"]
    assert "not in it: tickets.json: no Guardian member answered" in result.stderr
    assert "not in it: config/none.toml: " in result.stderr


def test_the_federation_of_this_folder_is_found(tmp_path: Path, member: Member) -> None:
    data = tmp_path / "local" / "members" / "g1" / "data"
    data.mkdir(parents=True)
    (data.parent / "guardian.toml").write_text('name = "g1"\n')
    (tmp_path / "local" / "g1.log").write_text("serving\n")
    found = {
        "name": "g1", "data": str(data), "grpc": member.endpoint, "http": "127.0.0.1:1",
        "process": {"log": str(tmp_path / "local" / "g1.log")},
    }  # fmt: skip
    (tmp_path / "local" / "state.json").write_text(json.dumps({"members": [found]}))
    archive = tmp_path / "b.tar.gz"
    run("--out", str(archive))
    files = content(archive)
    assert (files["config/guardian.toml"], files["logs/g1.log"]) == ('name = "g1"\n', "serving\n")


def journalctl(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands for systemd's, which a container does not have."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "journalctl"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


def test_a_member_that_logs_to_the_journal_is_asked_there(
    member: Member, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journalctl(tmp_path, f'echo "$@"; echo "signed in with token={SECRET}"', monkeypatch)
    archive = tmp_path / "b.tar.gz"
    run("--endpoints", member.endpoint, "--out", str(archive), "--unit", "guardian.service", "--since", "1h")
    asked, line = content(archive)["logs/journal-guardian.service.log"].splitlines()
    assert asked.startswith("--unit=guardian.service --since=@")
    assert line == "signed in with token=[redacted]"


def test_of_a_long_journal_the_last_is_taken(member: Member, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journalctl(tmp_path, "seq 1 200000", monkeypatch)
    archive = tmp_path / "b.tar.gz"
    run("--endpoints", member.endpoint, "--out", str(archive), "--unit", "g", "--log-size", "1MB")
    lines = content(archive)["logs/journal-g.log"].splitlines()
    assert lines[-1] == "200000"
    assert lines == [str(each) for each in range(int(lines[0]), 200001)]
    assert 100_000 < len(lines) < 200_000


@pytest.mark.parametrize("script", ["echo no such journal >&2; exit 1", None])
def test_a_journal_that_can_not_be_had_is_told_of(
    member: Member, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None
) -> None:
    if script is None:
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        journalctl(tmp_path, script, monkeypatch)
    archive = tmp_path / "b.tar.gz"
    result = run("--endpoints", member.endpoint, "--out", str(archive), "--unit", "g")
    why = "journalctl has nothing of g: no such journal" if script else "journalctl is not installed"
    assert f"not in it: logs/journal-g.log: {why}" in result.stderr


def test_nothing_is_overwritten_and_no_half_is_left(member: Member, tmp_path: Path) -> None:
    there = tmp_path / "b.tar.gz"
    there.write_text("mine")
    with pytest.raises(InvalidInput, match="which exists: give another name"):
        run("--endpoints", member.endpoint, "--out", str(there))
    assert there.read_text() == "mine"
    with pytest.raises(InvalidInput, match="which can't be written: No such file or directory"):
        run("--endpoints", member.endpoint, "--out", str(tmp_path / "no" / "b.tar.gz"))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["b.tar.gz"]


# How people put a secret into a setting that is none, or into a variable: in an address, a command, a header.
FORMS = (
    f"https://ann:{SECRET}@example.net/x",
    f"https://{SECRET}@example.net/x",
    f"https://example.net/x?a=b&sig={SECRET}#{SECRET}",
    f"https://hooks.example.net/services/T0/{SECRET}",
    f"curl -u ann:{SECRET} --password {SECRET} https://example.net",
    f"Cookie: theme=dark; guardian_session={SECRET}",
    f"Authorization: Bearer {SECRET}{SECRET}",
    ["curl", "-u", f"ann:{SECRET}", "--api-token", SECRET, f"https://example.net/?k={SECRET}"],
    {"password": SECRET, "tokens": [SECRET]},
)
# What Guardian and the libraries in it read; of these a name that says so is enough.
VARIABLES = (
    "GUARDIAN_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_CLIENT_SECRET", "KAFKA_PASSWORD",
    "GUARDIAN_SECRET",
)  # fmt: skip


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(inner)}" for key, inner in value.items()) + " }"
    return json.dumps(value)


def variable(name: str) -> str:
    return f"GUARDIAN_{name}".replace(".", "_").replace("-", "_").upper()


def test_a_secret_in_any_setting_or_variable_does_not_leave(
    member: Member, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Generated from the declarations: a setting that comes later is in it."""
    names = list(settings_of())
    assert {"sinks.url", "hooks.by-command.command", "audit.url", "security.oidc.issuer"} <= set(names)
    configs = []
    for number, form in enumerate(FORMS):
        lines = []
        for name in names:
            section, _, key = name.rpartition(".")
            lines += [f"[{section}]"] * bool(section) + [f"{key} = {toml(form)}"]
        configs.append(tmp_path / f"g{number}.toml")
        configs[-1].write_text("\n".join(lines))
    log = tmp_path / "g1.log"
    texts = [form for form in FORMS if isinstance(form, str)]
    planted = [(variable(name), text) for name in names for text in texts] + [(name, SECRET) for name in VARIABLES]
    log.write_text("".join(f"{name}={text}\n" for name, text in planted))
    for name, text in planted:
        if not name.startswith(("GUARDIAN_LOCAL", "GUARDIAN_CONFIG", "GUARDIAN_CONTEXT", "GUARDIAN_TOKEN")):
            monkeypatch.setenv(name, text)
    monkeypatch.setenv("GUARDIAN_SECRET", SECRET)
    archive = tmp_path / "b.tar.gz"
    given = [word for config in configs for word in ("--config", str(config))]
    result = run(
        "--endpoints", member.endpoint, "--out", str(archive), *given, "--log", str(log), "--log-size", "64MB",
        "--http", f"http://ann:{SECRET}@127.0.0.1:1",
    )  # fmt: skip
    files = content(archive)
    assert len([name for name in files if name.startswith("config/")]) == len(FORMS)
    assert f"{VARIABLES[-1]}=[redacted]" in files["logs/g1.log"]
    for name, text in files.items():
        assert SECRET not in name
        assert SECRET not in text, next(line for line in text.splitlines() if SECRET in line)
    assert SECRET not in result.output
    assert SECRET not in result.stderr
