"""`guardian analyze` as it is typed: a process, with a member and a small lake."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from deploy.local import processes
from deploy.local.members import plan_members, start_member, wait_ready
from tests.integration.synthetic_lake import STEP, skewed
from tests.patience import PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[3]
# Python runs this at its start. A Spark worker that is about to plan waits until the test lets it go on.
STUCK = """
import sys

class Stuck:
    def find_spec(self, name, *_):
        if name == "spark_analytics.planners.planning" and "pyspark.daemon" in sys.orig_argv:
            open({gate!r}).read()

sys.meta_path.insert(0, Stuck())
"""


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[str]:
    """Of a member that knows nothing of the cluster."""
    group = plan_members(1, tmp_path)
    with ExitStack() as stack:
        member = start_member(group[0], group, tmp_path / "members-lake", tmp_path / "member.log")
        assert member.process is not None
        stack.callback(processes.stop_all, [member.process])
        wait_ready([member])
        yield member.grpc


def wait_for_reader(gate: Path, process: subprocess.Popen[str]) -> int:
    """The end to write to of a pipe that somebody waits at."""

    def opened() -> int | None:
        assert process.poll() is None, process.communicate()
        try:
            return os.open(gate, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return None

    return wait_for("somebody reads", opened)


def test_sigterm_in_the_middle_of_a_round_ends_it_at_once_and_in_order(endpoint: str, tmp_path: Path) -> None:
    gate, scratch, site = (tmp_path / name for name in ("gate", "tmp", "site"))
    os.mkfifo(gate)
    scratch.mkdir()
    site.mkdir()
    (site / "sitecustomize.py").write_text(STUCK.format(gate=str(gate)))
    now_ms = time.time_ns() // 1_000_000
    cluster = skewed("live")
    cluster.started = dict.fromkeys(cluster.brokers, now_ms - 3_600_000)
    cluster.sample_all(start=now_ms - 8 * STEP).write(tmp_path / "lake")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "guardian.cli.main", "analyze", "--cluster", "live", "--every", "1h"),
            *("--window", "10m", "--lake", str(tmp_path / "lake"), "--endpoints", endpoint, "--master", "local[1]"),
        ],
        cwd=scratch,
        env={**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": f"{site}{os.pathsep}{ROOT}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        held = wait_for_reader(gate, process)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE_S)
        os.close(held)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, err
    [line] = out.splitlines()
    assert " given up, as this is to end (" in line
    assert "Traceback" not in err
    assert list(scratch.iterdir()) == []
