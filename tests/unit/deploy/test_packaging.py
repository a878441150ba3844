"""Units, container files and the chart name what there is."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import jsonschema
import pytest
import yaml
from typer.core import TyperGroup

from tests.command_line import COMMAND
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[3]
SYSTEMD = ROOT / "deploy" / "systemd"
CONTAINER = ROOT / "deploy" / "container"
CHART = ROOT / "deploy" / "helm" / "guardian"
UNITS = sorted(path for path in SYSTEMD.iterdir() if path.suffix in (".service", ".timer"))
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def unit(path: Path) -> dict[str, list[tuple[str, str]]]:
    """By section what it sets, in order; a key may come more than once."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for line in path.read_text().splitlines():
        if line.startswith("["):
            current = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            key, _, value = line.partition("=")
            current.append((key, value))
    return sections


def require_command(words: list[str]) -> None:
    command = COMMAND
    while isinstance(command, TyperGroup):
        command = command.commands[words.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known


@pytest.mark.parametrize("path", UNITS, ids=[path.name for path in UNITS])
def test_what_a_unit_runs_is_a_command(path: Path) -> None:
    commands = [shlex.split(value) for key, value in unit(path).get("Service", ()) if key == "ExecStart"]
    ours = [words[1:] for words in commands if words[0].endswith("/guardian")]
    for words in ours:
        require_command(words)
    assert bool(ours) == (path.suffix == ".service")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("path", UNITS, ids=[path.name for path in UNITS])
def test_systemd_takes_the_unit(path: Path, tmp_path: Path) -> None:
    for each in UNITS:  # a timer asks for its service
        text = each.read_text().replace("/opt/guardian/bin/guardian", shutil.which("true") or "/bin/true")
        (tmp_path / each.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / path.name)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_member_that_lost_its_disk_is_not_started_again() -> None:
    """Exit codes: 65 (damaged data) and 70 of raft/replica.py, 2 of a wrong configuration."""
    service = dict(unit(SYSTEMD / "guardian.service")["Service"])
    assert (service["Restart"], service["RestartPreventExitStatus"].split()) == ("on-failure", ["2", "65", "70"])


@pytest.mark.parametrize("name", ["Containerfile", "Containerfile.analyze"])
def test_what_a_container_file_copies_and_runs_exists(name: str) -> None:
    text = (CONTAINER / name).read_text().replace("\\\n", " ")
    ignored = (ROOT / ".containerignore").read_text().split()
    copied = [words[1:-1] for line in text.splitlines() if (words := line.split()) and words[0] == "COPY"]
    for source in (source for sources in copied if not sources[0].startswith("--from") for source in sources):
        assert (ROOT / source).exists(), source
        assert source not in ignored
    installs = re.findall(r"pip install [^&\n]*", text)
    assert installs
    for line in installs:
        assert "--require-hashes" in line or "--no-deps /tmp/wheel" in line, "all that is fetched is locked"
    (command,) = re.findall(r"^CMD (\[.*\])$", text, re.MULTILINE)
    require_command(json.loads(command))


def test_the_members_image_has_all_packages_of_the_wheel() -> None:
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    text = (CONTAINER / "Containerfile").read_text()
    assert set(re.findall(r"^COPY (\w+) \1$", text, re.MULTILINE)) == set(packages["packages"])


def test_versions_are_the_projects() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert {chart["version"], chart["appVersion"], values["image"]["tag"]} == {VERSION}
    for page in (SYSTEMD / "README.md", CONTAINER / "README.md", CONTAINER / "Containerfile.analyze"):
        assert set(re.findall(r"(?:guardian[\w-]*[:-])(\d+\.\d+\.\d+)", page.read_text())) <= {VERSION}


TLS = {"enabled": True, "secret": "c", "raftSecret": "r"}


@pytest.mark.parametrize(
    ("change", "is_valid"),
    [
        ({}, False),  # a lake and a Secret must be given
        ({"lake": "s3://guardian/lake", "tls": TLS}, False),  # who may what is not said
        ({"lake": "s3://guardian/lake", "tls": TLS, "security": {"secret": "s"}}, True),
        ({"lake": "s3://guardian/lake", "tls": {**TLS, "raftSecret": ""}, "security": {"secret": "s"}}, False),
        ({"lake": "s3://guardian/lake", "tls": {"enabled": True, "secret": "c"}, "security": {"secret": "s"}}, False),
        ({"lake": "s3://guardian/lake", "tls": {"enabled": False}}, True),
        ({"lake": "s3://guardian/lake", "tls": {**TLS, "secret": ""}, "security": {"secret": "s"}}, False),
        ({"lake": "/var/lib/lake", "tls": {"enabled": False}}, False),
        ({"lake": "s3://guardian/lake", "tls": {"enabled": False}, "members": 2}, False),
        ({"lake": "s3://guardian/lake", "tls": {"enabled": False}, "replicas": 3}, False),
    ],
)
def test_values_of_the_chart_are_checked(change: dict[str, object], is_valid: bool) -> None:
    values = {**yaml.safe_load((CHART / "values.yaml").read_text()), **change}
    validator = jsonschema.Draft7Validator(json.loads((CHART / "values.schema.json").read_text()))
    assert validator.is_valid(values) == is_valid
