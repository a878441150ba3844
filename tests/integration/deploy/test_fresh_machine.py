"""`make demo` and `make test` on a Debian that has nothing but make: they install what they need, or name it.

The tests are of one machine, which comes to have more from each to the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.integration.deploy.fresh_machine import THERE, FreshMachine
from tests.patience import CALL_S

# It downloads a gigabyte, and compiles.
pytestmark = [pytest.mark.long, pytest.mark.timeout(7200)]

COMMANDS = [f"apt-get install {names}" for names in ("python3 python3-venv", "default-jdk-headless", "maven")]
PROOFS = (
    "live: Kafka shows every target",
    "bulk: Kafka shows every target",
    "live: offsets of every topic unchanged in order and count",
    "bulk: offsets of every topic unchanged in order and count",
    "no process left",
    "no file left",
)
_MISSING = re.compile(r"^.+ is missing: as root, (.+)$", re.MULTILINE)
_INSTALLING = re.compile(r"^installing .+: (apt-get install .+)$", re.MULTILINE)
# Of the tools that tests need each has one that uses it. None is of network namespaces: those tests remove links whose
# makers have ended, as it looks from here, and the links are this machine's.
SOME_TESTS = (
    "tests/unit/deploy/test_need.py",
    "tests/unit/security/certificates/test_folder.py",
    "tests/integration/faults/test_shims.py",
    "tests/integration/faults/test_recorder.py",
    "tests/integration/planning/test_plan_page.py",
    "tests/integration/security/test_oidc.py",
    "tests/integration/kafka/test_connections_of_clusters.py",
)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FreshMachine]:
    with FreshMachine(tmp_path_factory.mktemp("fresh")) as machine:
        yield machine


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "make.log"


def named(commands: list[str]) -> set[str]:
    """Their packages."""
    return {name for command in commands for name in command.removeprefix("apt-get install ").split()}


def test_who_is_not_root_is_told_the_commands(machine: FreshMachine, log: Path) -> None:
    before = machine.packages()
    done = machine.run("make demo", log, user="nobody")
    assert _MISSING.findall(done.stdout) == COMMANDS
    assert done.returncode == 2
    assert machine.packages() == before


def test_a_machine_without_apt_is_told_the_commands(machine: FreshMachine, log: Path) -> None:
    before = machine.packages()
    tool = machine.path("/usr/bin/apt-get")
    away = tool.rename(tool.with_name("away"))
    try:
        done = machine.run("make demo", log)
    finally:
        away.rename(tool)
    assert _MISSING.findall(done.stdout) == COMMANDS
    assert done.returncode == 2
    assert machine.packages() == before


def test_the_demo_installs_what_it_needs_with_a_line_each_and_its_proofs_hold(machine: FreshMachine, log: Path) -> None:
    before = machine.wanted_packages()
    done = machine.run("make demo", log)
    assert done.returncode == 0, done.stdout[-5000:]
    assert _INSTALLING.findall(done.stdout) == COMMANDS
    assert named(COMMANDS) == machine.wanted_packages() - before
    assert "all proofs hold" in done.stdout.splitlines()[-1]
    assert "  FAIL  " not in done.stdout
    for proof in (
        "live: Kafka shows every target",
        "bulk: Kafka shows every target",
        "no process left",
        "no file left",
    ):
        assert f"  ok    {proof}" in done.stdout
    assert machine.processes() == []


def test_a_demo_that_is_kept_answers_at_the_address_that_it_prints_until_it_is_ended(
    machine: FreshMachine, log: Path
) -> None:
    done = machine.run("make demo KEEP=1", log)
    assert done.returncode == 0, done.stdout[-5000:]
    assert _INSTALLING.findall(done.stdout) == [], "all of it is there already"
    consoles = re.findall(r"^  g\d's console: (http://\S+)$", done.stdout, re.MULTILINE)
    assert len(consoles) == 3
    for console in consoles:
        page = httpx.get(console, timeout=CALL_S, follow_redirects=True)
        assert page.status_code == 200
        assert "<title>" in page.text
        assert "live" in page.text
        assert "bulk" in page.text
    *_, home, status, wipe = re.findall(r"^  (export .+|/.+/guardian .+)$", done.stdout, re.MULTILINE)
    assert machine.processes()
    looked = machine.run(f"{home}; {status}", log)
    assert looked.returncode == 0, looked.stdout
    ended = machine.run(f"{home}; {wipe}", log)
    assert ended.returncode == 0, ended.stdout
    assert machine.processes() == []
    assert not machine.path(f"{THERE}/.guardian/demo").exists()


def test_the_tests_install_what_they_need_with_a_line_each_and_pass(machine: FreshMachine, log: Path) -> None:
    before = machine.wanted_packages()
    done = machine.run(f'make test TESTS="{" ".join(SOME_TESTS)}"', log)
    assert done.returncode == 0, done.stdout[-5000:]
    said = _INSTALLING.findall(done.stdout)
    assert len(said) == len(set(said))
    assert named(said) >= machine.wanted_packages() - before
    assert {"krb5-kdc", "gcc", "iproute2", "libfuse3-dev", "fuse3", "chromium"} <= named(said)
    assert "installing Go into .venv" in done.stdout
    assert "installing Node.js into .venv" in done.stdout
    assert " skipped" not in done.stdout
    assert machine.processes() == []
