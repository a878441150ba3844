"""`guardian plan model` and `plan check` on a model in a file: no server, no lake, no Spark."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from guardian.errors import GuardianError
from guardian.model.plan import Plan
from spark_analytics import checker
from spark_analytics.checker import Rule, Violation
from spark_analytics.jobs import check as job
from spark_analytics.planners import planning
from tests.command_line import app


def run(*arguments: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr or the error's sentence)"""
    result = CliRunner().invoke(app, list(arguments))
    if isinstance(result.exception, GuardianError):
        return 2, result.stdout, str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Six brokers in three racks; all twelve partitions of t are on brokers 1 and 2, and 1 leads them."""
    follows = {"cpu": 1.0, "nw_in": 100.0, "nw_out": 0.0, "disk": 1000.0}
    leads = {"cpu": 2.0, "nw_in": 100.0, "nw_out": 200.0, "disk": 1000.0, "lead_cpu": 1.0}
    capacity = {"cpu": 100.0, "nw_in": 1e5, "nw_out": 1e5, "disk": 1e6}
    path = tmp_path / "small.json"
    path.write_text(
        json.dumps(
            {
                "format": "cluster-model-v1",
                "name": "small",
                "brokers": [{"id": broker, "rack": f"r{broker % 3}", "capacity": capacity} for broker in range(1, 7)],
                "replicas": [
                    {"topic": "t", "partition": number, "broker": broker, "isLeader": is_leader, "load": load}
                    for number in range(12)
                    for broker, is_leader, load in ((1, True, leads), (2, False, follows))
                ],
            }
        )
    )
    return path


def reassignment(tmp_path: Path, *partitions: dict[str, Any]) -> Path:
    path = tmp_path / "reassignment.json"
    path.write_text(json.dumps({"version": 1, "partitions": list(partitions)}))
    return path


def entry(number: int, *replicas: int) -> dict[str, Any]:
    return {"topic": "t", "partition": number, "replicas": list(replicas)}


def test_a_sound_reassignment_is_scored(tmp_path: Path, model: Path) -> None:
    sound = reassignment(tmp_path, entry(0, 4, 2), entry(1, 3, 5))
    code, out, error = run("plan", "check", str(sound), "--model", str(model), "-o", "json")
    found = json.loads(out)
    assert (code, error, found["violations"]) == (0, "", [])
    assert (found["moves"], found["replica_moves"], found["bytes_to_copy"]) == (2, 3, 3_000_000_000)
    disk = next(each for each in found["spreads"] if each["resource"] == "disk")
    assert disk["spread_before"] > disk["spread_after"] > 0
    code, out, error = run("plan", "check", str(sound), "--model", str(model))
    assert (code, error) == (0, "")
    assert "3 replicas move (3.0 GB), 2 leaders" in out


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (entry(0, 1, 4), "share racks more than they must: t-0 would have 2 replicas in one rack"),
        (entry(0, 77, 2), "a broker is not in the model: t-0 on broker 77"),
        (entry(99, 1, 2), "a partition is not in the model: t-99"),
        (entry(0, 1, 2, 3), "the number of replicas is not what it should be: t-0 from 2 to 3"),
    ],
)
def test_a_rule_that_a_reassignment_breaks_is_named_and_ends_with_1(
    tmp_path: Path, model: Path, broken: dict[str, Any], told: str
) -> None:
    file = str(reassignment(tmp_path, broken))
    code, out, _ = run("plan", "check", file, "--model", str(model))
    assert code == 1
    assert f"{told}" in out
    code, out, error = run("plan", "check", file, "--model", str(model), "-o", "json")
    assert code == 1
    assert told in json.loads(out)["violations"][0]
    assert told in error


def test_the_settings_limits_count(tmp_path: Path, model: Path) -> None:
    sound = reassignment(tmp_path, entry(0, 4, 2))
    code, out, _ = run("plan", "check", str(sound), "--model", str(model), "--max-bytes", "10MB")
    assert code == 1
    assert "the plan costs more than was allowed: 1000000000 B to copy, 10000000 B are allowed" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--model", "{model}", "--cluster", "live"), "give --cluster, or --model with a file, and not both"),
        ((), "give --cluster, or --model with a file, and not both"),
        (("--model", "{none}"), "none.json"),
    ],
)
def test_what_a_plan_is_checked_against_is_named_once(
    tmp_path: Path, model: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    given = [each.format(model=model, none=tmp_path / "none.json") for each in arguments]
    code, _, error = run("plan", "check", str(reassignment(tmp_path, entry(0, 4, 2))), *given)
    assert code == 2
    assert sentence in error


def test_a_file_that_is_no_reassignment_is_refused(tmp_path: Path, model: Path) -> None:
    wrong = tmp_path / "wrong.json"
    assert "plan is" in run("plan", "check", str(wrong), "--model", str(model))[2]
    wrong.write_text("{}")
    assert "version is missing: use 1" in run("plan", "check", str(wrong), "--model", str(model))[2]


def test_the_job_is_for_one_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(reassignment(tmp_path, entry(0, 4, 2)))
    asked = ["--lake", str(tmp_path), "--cluster", "a", "--cluster", "b", "--plan", file, "--out", str(tmp_path / "o")]
    assert job.main(asked) == 2
    assert "cluster is a, b: a plan is for one, give it alone" in capsys.readouterr().err


# plan model


def test_what_is_written_is_what_the_plan_keeps(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    explained = planning.explained

    def without_the_first(*arguments: Any) -> Plan:
        made = explained(*arguments)
        return replace(made, moves=made.moves[1:], loads=())

    placement = tmp_path / "placement.json"
    code, out, _ = run("plan", "model", str(model), "--out", str(placement), "-o", "json")
    assert code == 0
    whole = json.loads(placement.read_text())["partitions"]
    assert json.loads(out)["replica_moves"] > 0
    monkeypatch.setattr(planning, "explained", without_the_first)
    run("plan", "model", str(model), "--out", str(placement))
    assert len(json.loads(placement.read_text())["partitions"]) == len(whole) - 1


def test_a_plan_that_breaks_a_rule_is_told_and_ends_with_1(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = (Violation(Rule.RACKS, "t-0"), Violation(Rule.LABEL, "t-1"))
    monkeypatch.setattr(checker, "check", lambda *_: broken)
    code, out, _ = run("plan", "model", str(model))
    assert code == 1
    assert [line for line in out.splitlines() if line.startswith("Broken: ")] == [f"Broken: {each}" for each in broken]


def test_goals_may_be_given_with_commas(tmp_path: Path, model: Path) -> None:
    placement = tmp_path / "placement.json"
    asked = ("--goals", "disk-spread,ReplicaDistributionGoal", "--out", str(placement))
    assert run("plan", "model", str(model), *asked)[0] == 0
    assert json.loads(placement.read_text())["partitions"]
