"""What a helper process of a member is weighed with, as the kernel tells it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_TELL = """
import os
from pathlib import Path
from guardian.giving_way import give_way
def group():  # of a session that has no group of its own, such as the first process's, the file is empty
    words = Path("/proc/self/autogroup").read_text().split() if os.path.exists("/proc/self/autogroup") else []
    return words[-1] if words else "0"
before, group_before = os.nice(0), group()
give_way()
print(os.nice(0) - before, group_before, group())
"""


def told(*, leads_a_session: bool) -> list[int]:
    """Return by how much it is nicer, and the nice value of its group before and after."""
    done = subprocess.run(
        [sys.executable, "-c", _TELL], capture_output=True, text=True, check=True, start_new_session=leads_a_session
    )
    return [int(each) for each in done.stdout.split()]


def test_a_helper_of_the_member_s_own_session_is_nicer_and_leaves_the_session_as_it_is() -> None:
    nicer, before, after = told(leads_a_session=False)
    assert nicer > 0
    assert after == before


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this kernel does not group by sessions")
def test_a_helper_with_a_session_of_its_own_makes_that_nicer_too() -> None:
    nicer, before, after = told(leads_a_session=True)
    assert nicer > 0
    assert after > before
