"""`need.sh`, by which make gets tools: what it installs for whom, and what it says.

id and apt-get are fakes here; `tests/integration/deploy/test_fresh_machine.py` has real ones.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

NEED = Path(__file__).parents[3] / "deploy" / "local" / "need.sh"
INSTALLS = """#!/bin/sh
echo "$*" >>"$0.log"
tool=$(dirname "$0")/tool
case "$1" in install) touch "$tool" && chmod +x "$tool" ;; esac
"""
FAILS = "#!/bin/sh\necho 'E: Unable to locate package a-tool' >&2\nexit 100\n"
INSTALLS_TOO_OLD = "#!/bin/sh\nexit 0\n"


class Bin:
    """All that is on the PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("sh", "mktemp", "tail", "rm", "touch", "chmod", "dirname"):
            found = shutil.which(name)
            assert found is not None
            (folder / name).symlink_to(found)

    def add(self, name: str, script: str) -> None:
        (self.folder / name).write_text(script)
        (self.folder / name).chmod(0o755)

    def need(self) -> subprocess.CompletedProcess[str]:
        command = [str(NEED), "the tool, for tests", "a-tool tool-data", "tool", "--version"]
        return subprocess.run(
            command, env={"PATH": str(self.folder)}, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )


@pytest.fixture
def machine(tmp_path: Path) -> Bin:
    return Bin(tmp_path)


def test_what_is_there_is_not_talked_of(machine: Bin) -> None:
    machine.add("tool", "#!/bin/sh\n")
    done = machine.need()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(("user", "apt"), [(1000, INSTALLS), (1000, ""), (0, "")])
def test_who_can_not_install_it_is_told_the_command(machine: Bin, user: int, apt: str) -> None:
    machine.add("id", f"#!/bin/sh\necho {user}\n")
    if apt:
        machine.add("apt-get", apt)
    done = machine.need()
    said = "the tool, for tests is missing: as root, apt-get install a-tool tool-data\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
    assert not (machine.folder / "apt-get.log").exists()


def test_root_gets_it_with_one_line_and_once(machine: Bin) -> None:
    machine.add("id", "#!/bin/sh\necho 0\n")
    machine.add("apt-get", INSTALLS)
    done = machine.need()
    line = "installing the tool, for tests: apt-get install a-tool tool-data\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, line, "")
    assert (machine.folder / "apt-get.log").read_text().splitlines()[-1].endswith("a-tool tool-data")
    assert machine.need().stdout == ""


def test_what_apt_says_is_shown_where_it_fails(machine: Bin) -> None:
    machine.add("id", "#!/bin/sh\necho 0\n")
    machine.add("apt-get", FAILS)
    done = machine.need()
    assert done.returncode == 2
    assert "E: Unable to locate package a-tool" in done.stderr
    assert "the tool, for tests is missing, and apt-get could not install it" in done.stderr


def test_a_tool_that_is_too_old_in_debian_is_told(machine: Bin) -> None:
    machine.add("id", "#!/bin/sh\necho 0\n")
    machine.add("apt-get", INSTALLS_TOO_OLD)
    done = machine.need()
    assert done.returncode == 2
    assert "missing, or too old, with a-tool tool-data installed too (not so: tool --version)" in done.stderr
