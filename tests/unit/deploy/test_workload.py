from pathlib import Path

import pytest

from deploy.local.traffic import plan_traffic
from deploy.local.workload import Gap, Workload, WorkloadPlan, judge_gaps, main, read_counts, sequence_of
from guardian.errors import InvalidInput
from guardian.model.topology import Cluster, ClusterSecurity, SecurityProtocol, TopicPartition


def test_a_plan_survives_its_file(tmp_path: Path) -> None:
    login = ClusterSecurity(SecurityProtocol.SASL_SSL, "PLAIN", "guardian", "secret")
    plan = WorkloadPlan(
        Cluster("live", "127.0.0.1:9092", security=login),
        plan_traffic({1: "a", 2: "b"}, seed=4),
        tmp_path / "counts.json",
        seed=4,
    )
    plan.write(tmp_path / "plan.json")
    assert WorkloadPlan.read(tmp_path / "plan.json") == plan
    assert plan.topics == ("clicks", "orders", "payments")


@pytest.mark.parametrize("text", ["", "{}", '{"cluster": 1}', "[]"])
def test_a_malformed_plan_is_refused_by_its_path(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=r"workload plan .*plan\.json can't be read"):
        WorkloadPlan.read(path)


def test_counts_are_read_per_partition(tmp_path: Path) -> None:
    path = tmp_path / "counts.json"
    path.write_text('{"counts": {"orders": {"0": 7, "11": 0}}}')
    assert read_counts(path) == {TopicPartition("orders", 0): 7, TopicPartition("orders", 11): 0}


def test_what_retention_takes_while_it_is_read_is_no_loss() -> None:
    part, other = TopicPartition("orders", 0), TopicPartition("orders", 1)
    starts = {part: 4074, other: 0}
    assert judge_gaps([Gap(part, 2749, 4074)], starts) == (1325, [])
    lost = [
        Gap(part, 4080, 4082),  # still within what retention left
        Gap(part, 4000, 3998),  # twice
        Gap(other, 5, 6),
    ]
    assert judge_gaps(lost, starts) == (
        0,
        [
            "orders-0 went from offset 4079 to 4082",
            "orders-0 went from offset 3999 to 3998",
            "orders-1 went from offset 4 to 6",
        ],
    )


def test_missing_counts_are_no_traceback(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"counts .* can't be read"):
        read_counts(tmp_path / "counts.json")


def test_a_record_tells_its_sequence_and_a_foreign_one_tells_none() -> None:
    assert sequence_of((5).to_bytes(8, "big") + b"payload") == 5
    assert [sequence_of(value) for value in (None, b"", b"short")] == [-1, -1, -1]


def test_the_process_wants_one_plan() -> None:
    with pytest.raises(InvalidInput, match="give the path of one plan file"):
        main([])


def test_a_workload_that_is_stopped_before_its_first_record_ends_at_once(tmp_path: Path) -> None:
    workload = Workload(WorkloadPlan(Cluster("live", "127.0.0.1:1"), (), tmp_path / "counts.json"))
    with pytest.raises(SystemExit) as ended:
        workload.stop()
    assert ended.value.code == 0
