"""What is measured after a plan stands beside what the plan said, by broker and resource."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from guardian.console.rendering import show_share
from guardian.model.plan import LoadResource, LoadSummary, Plan
from guardian.planning.pages.measured import measured_tables

MB = 1_000_000.0
IN, DISK = LoadResource.NW_IN, LoadResource.DISK


def load(broker: int, before: float, after: float, resource: str = IN, **others: bool) -> LoadSummary:
    return LoadSummary(broker, "", before, after, resource, **others)


def test_each_broker_that_stays_is_shown_as_it_was_as_it_should_be_and_as_it_is() -> None:
    plan = Plan(
        "live",
        "balance",
        (),
        loads=(
            load(1, 30 * MB, 20 * MB),
            load(2, 10 * MB, 20 * MB),
            load(3, 5 * MB, 0, is_leaving=True),
            load(1, 9e9, 8e9, DISK),
            LoadSummary(1, "/data/a", 1, 2, DISK),
        ),
    )
    now = [load(1, 22 * MB, 20 * MB), load(2, 18 * MB, 20 * MB), load(4, 1, 1)]
    network, disk = measured_tables(plan, now)
    assert [(row.broker, row.before, row.predicted, row.measured) for row in network.rows] == [
        (1, "30.0 MB/s", "20.0 MB/s", "22.0 MB/s"),
        (2, "10.0 MB/s", "20.0 MB/s", "18.0 MB/s"),
    ]
    assert (network.uneven_before, network.uneven_predicted) == (0.5, 0.0)
    assert round(network.rows[0].apart or 0, 3) == 0.1
    assert [(row.measured, row.apart) for row in disk.rows] == [("-", None)], "what nobody measured is not zero"
    assert disk.uneven_measured is None


@given(st.lists(st.floats(1, 1e9), min_size=1, max_size=8))
def test_a_plan_that_came_true_is_apart_by_nothing(loads: list[float]) -> None:
    plan = Plan("live", "balance", (), loads=tuple(load(at, 2 * each, each) for at, each in enumerate(loads)))
    (table,) = measured_tables(plan, [load(at, each, each) for at, each in enumerate(loads)])
    assert all(row.apart == 0 for row in table.rows)
    assert table.uneven_measured == table.uneven_predicted


def test_what_is_hardly_apart_has_no_sign() -> None:
    assert [show_share(apart) for apart in (-0.0004, -0.0, 0.0, -0.06)] == ["0 %", "0 %", "0 %", "-6 %"]
