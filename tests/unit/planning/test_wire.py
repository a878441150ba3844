"""The section [planner] comes over the wire as it was written."""

from __future__ import annotations

import math

from guardian.model.planner_settings import PlannerSettings
from guardian.planning.wire import planner_from_proto, planner_to_proto


def test_a_section_comes_back_as_the_same_settings() -> None:
    section = {
        "target_spread": 0.2,
        "topic_spread": False,
        "max_bytes": 2_000_000_000_000,
        "max_replicas": 4000,
        "excluded_topics": ["a*", "b"],
        "weights": {"cpu-spread": 2},
    }
    assert PlannerSettings.of(planner_from_proto(planner_to_proto(section))) == PlannerSettings.of(section)
    assert planner_from_proto(planner_to_proto({})) == {}


def test_what_is_infinite_is_so_by_default() -> None:
    assert planner_from_proto(planner_to_proto({"max_bytes": math.inf, "disk_limit": 0.7})) == {"disk_limit": 0.7}
