"""The page of a plan holds the whole plan, and nothing that a topic's name could turn into a script."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.resources import files

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
from guardian.planning.pages.plan_page import payload, plan_page

MOVE = PartitionMove(
    partition=TopicPartition("orders", 0),
    original=(ReplicaPlacement(1, "/d0"), ReplicaPlacement(2, "/d0")),
    target=(ReplicaPlacement(3, "/d1"), ReplicaPlacement(2, "/d0")),
    size_bytes=5_000,
    reason="broker 1 disk 62% above the mean, -5 kB",
    goal="disk-spread",
)
PLAN = Plan(
    cluster="live",
    kind="balance",
    moves=(MOVE,),
    input="12 samples",
    loads=(
        LoadSummary(1, "", 8_000.0, 3_000.0, LoadResource.DISK, 10_000.0),
        LoadSummary(3, "", 5_000.0, 0.0, LoadResource.DISK, 20_000.0, is_leaving=True),
        LoadSummary(1, "/d0", 8_000.0, 3_000.0, LoadResource.DISK),
        LoadSummary(1, "", 70.0, 40.0),
    ),
    unmet=("rack r3 holds 2 of 5 brokers' capacity",),
    links=(LinkTransfer("shanghai", "suzhou", 5_000),),
    racks=(RackTransfer("r1", "r3", 5_000), RackTransfer("r1", "r2", 0)),
    seconds=90.0,
    goals=(GoalResult("rack", True, 1.0, 0.0, 0.0), GoalResult("cpu-spread", False, 0.5, 0.4)),
    notes=("/d0 of broker 1 is slow",),
)


def embedded(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="payload">(.*?)</script>', page, re.DOTALL)
    assert found
    content: dict[str, object] = json.loads(found[1])
    return content


def test_the_page_holds_the_plan() -> None:
    page = plan_page(PLAN)
    content = embedded(page)
    assert content == json.loads(json.dumps(payload(PLAN)))
    assert content["brokers"] == {
        "disk": [["1", 8000.0, 3000.0, 10000.0, False], ["3", 5000.0, 0.0, 20000.0, True]],
        "traffic": [["1", 70.0, 40.0, 0.0, False]],
    }
    assert content["log_dirs"] == {"disk": [["1:d0", 8000.0, 3000.0, 0.0, False]]}
    assert content["racks"] == [["r1", "r3", 5000]]
    assert content["idcs"] == [["shanghai", "suzhou", 5000]]
    assert content["unmet"] == ["rack r3 holds 2 of 5 brokers' capacity"]
    assert content["lines"] == [["shanghai", "suzhou", 5000, 0.0, None]]
    assert content["notes"] == ["d0 of broker 1 is slow"]
    assert content["goals"] == [
        ["rack", True, 1.0, 0.0, 0.0, True],
        ["cpu-spread", False, 0.5, 0.4, None, True],
    ]
    assert content["moves"] == [["orders-0", "1:d0, 2:d0", "3:d1, 2:d0", 5000, "disk-spread", MOVE.reason, 1]]


def test_spreads_are_of_use_relative_to_capacity() -> None:
    disk = (LoadSummary(3, "", 0.0, 5_000.0, LoadResource.DISK, 20_000.0), *PLAN.loads[:1])
    staying = replace(PLAN, loads=disk)
    before, after = next(row[1:] for row in payload(staying)["spreads"] if row[0] == "broker disk")  # type: ignore[attr-defined]
    assert before == 0.8 / 0.4 - 1
    assert after == 0.3 / 0.275 - 1


def test_the_page_needs_no_other_file_and_no_network() -> None:
    library = (files("guardian.console") / "static" / "echarts.min.js").read_text()
    page = plan_page(PLAN)
    assert library in page
    page = page.replace(library, "")
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", page)
    assert "@import" not in page.split("</style>")[0]


def test_a_name_can_not_end_the_script() -> None:
    plan = Plan("live</title><script>", "balance", (MOVE,), input="</script><script>alert(1)</script>")
    page = plan_page(plan)
    assert page.count("</script>") == plan_page(PLAN).count("</script>")
    assert "live</title>" not in page
    assert embedded(page)["input"] == "</script><script>alert(1)</script>"


def test_the_same_plan_gives_the_same_page() -> None:
    assert plan_page(PLAN) == plan_page(PLAN)


def test_a_plan_without_moves_has_a_page() -> None:
    assert embedded(plan_page(Plan("live", "balance", ())))["moves"] == []
