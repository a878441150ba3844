"""A plan's page in a browser: bars before and after, flows between racks and data centres, in light and in dark.

Charts are elements of the page, so that what is drawn can be read from it. Where Chromium is not installed these tests
are skipped, and say so: all else of the page is tested without it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from guardian.model.plan import (
    GoalResult,
    LinkTransfer,
    LoadResource,
    LoadSummary,
    PartitionMove,
    Plan,
    RackTransfer,
    ReplicaPlacement,
)
from guardian.model.topology import TopicPartition
from guardian.planning.pages.plan_page import plan_page
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.integration

LIGHT, DARK = ("#b4bdc8", "#1769c0"), ("#6b7685", "#5ab0f5")  # before, after
FLOW = 'fill-opacity="0.4"'


@pytest.fixture(scope="module")
def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("chromium is missing, so that the plan's page is not opened: apt-get install chromium")
    return found


def opened(chromium: str, folder: Path, plan: Plan, *flags: str) -> str:
    """The page's elements once its script has run."""
    page = folder / "plan.html"
    page.write_text(plan_page(plan))
    command = [
        chromium,
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *(f"--user-data-dir={folder / 'profile'}", "--window-size=1300,2000", *flags, "--dump-dom", page.as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def chart(page: str, name: str) -> str:
    found = re.search(rf'<div class="chart[^"]*" id="{name}".*?</(?:svg|canvas)>', page, re.DOTALL)
    assert found, f"chart {name} is not drawn"
    return found[0]


def heights(drawn: str, color: str) -> list[float]:
    """Of the bars of a color, from left to right; a bar is drawn from its foot: right, up, left."""
    return [float(up) for up in re.findall(rf'd="M\S+ \S+l\S+ 0l0 -?([\d.]+)l\S+ 0Z" fill="{color}"', drawn)]


def plan(brokers: int, disks: int) -> Plan:
    """Broker 1 has twice the load of any other, and gives a third of it away; capacities are equal."""
    loads = [
        LoadSummary(broker, log_dir, size * (2 if broker == 1 else 1), size * 1.2, resource, size * 4)
        for broker in range(1, brokers + 1)
        for log_dir, resource, size in (
            ("", LoadResource.CPU, 100.0),
            ("", LoadResource.DISK, 3e12),
            *((f"/data/d{disk}/kafka", LoadResource.DISK, 3e12 / disks) for disk in range(disks)),
        )
    ]
    move = PartitionMove(
        TopicPartition("orders", 0),
        (ReplicaPlacement(1, "/data/d0/kafka"),),
        (ReplicaPlacement(2, "/data/d1/kafka"),),
        size_bytes=5_000_000_000,
        reason="log dir /data/d0/kafka of broker 1 disk 100% above the mean",
        goal="disk-spread",
    )
    return Plan(
        cluster="live",
        kind="balance",
        moves=(move,),
        loads=tuple(loads),
        goals=(
            GoalResult("disk-spread", False, 0.5, 0.0, 0.09),
            GoalResult("cpu-spread", False, 0.5, 0.2, 0.09, False),
        ),
        unmet=("broker cpu spread is 0.110",),
        links=(LinkTransfer("shanghai", "suzhou", 5_000_000_000, 100.0, 1.5),),
        racks=(RackTransfer("r1", "r2", 3_000_000_000), RackTransfer("r1", "r3", 2_000_000_000)),
    )


def test_three_brokers_have_their_bars_and_flows_and_the_whole_plan_is_readable(chromium: str, tmp_path: Path) -> None:
    page = opened(chromium, tmp_path, plan(brokers=3, disks=2))

    before, after = (heights(chart(page, "brokers"), color) for color in LIGHT)
    assert [round(each / before[1], 2) for each in before] == [2.0, 1.0, 1.0]
    assert [round(each / before[1], 2) for each in after] == [1.2, 1.2, 1.2]
    dirs = chart(page, "log_dirs")
    assert [len(heights(dirs, color)) for color in LIGHT] == [6, 6]
    assert ">1:d0</text>" in dirs
    assert ">50 %</text>" in dirs  # of capacity, since all have one
    racks, idcs = chart(page, "racks"), chart(page, "idcs")
    assert racks.count(FLOW) == 2
    assert idcs.count(FLOW) == 1
    assert ">r1  5.0 GB</text>" in racks
    assert ">suzhou  5.0 GB</text>" in idcs
    for text in (
        "<dt>Brokers: Disk, spread</dt><dd>0.50 → 0.00</dd>",
        "<li>broker cpu spread is 0.110</li>",
        '<td>cpu-spread</td><td class="number">0.500</td><td class="number">0.200</td><td class="number">0.090</td>'
        '<td class="alarm">NO</td>',
        '<td>suzhou</td><td class="number">5.0 GB</td><td class="number">2 min</td><td class="number">1.50</td>',
        "<td>1:d0</td><td>2:d1</td>",
        "<td>log dir d0 of broker 1 disk 100% above the mean</td>",
    ):
        assert text in page


def test_three_hundred_brokers_stand_from_the_highest_to_the_lowest(chromium: str, tmp_path: Path) -> None:
    large = plan(brokers=300, disks=14)
    backwards = replace(large, loads=large.loads[::-1])

    page = opened(chromium, tmp_path, backwards)

    before, after = (heights(chart(page, "brokers"), color) for color in LIGHT)
    assert len(before) == len(after) == 300
    assert before == sorted(before, reverse=True)
    assert "300 of them, from the highest before to the lowest" in page
    assert "<canvas" in chart(page, "log_dirs")  # thousands of elements would be slow


def test_at_night_the_page_is_dark(chromium: str, tmp_path: Path) -> None:
    page = opened(chromium, tmp_path, plan(brokers=3, disks=2), "--blink-settings=preferredColorScheme=0")

    brokers = chart(page, "brokers")
    assert [len(heights(brokers, color)) for color in DARK] == [3, 3]
    assert [len(heights(brokers, color)) for color in LIGHT] == [0, 0]
