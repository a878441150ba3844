"""`guardian plan model` and `guardian plan score`: planning without a server, a lake or Spark."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from guardian.cli.files import write_file
from guardian.cli.options import Output, OutputOption
from guardian.cli.printing import echo
from guardian.cli.render import print_json, print_table
from guardian.errors import InvalidInput
from guardian.model.tasks import Balance, Leaders, Remove, Task
from guardian.model.units import human_bytes
from guardian.planning.commands.plan.compiling import announce_compiling
from guardian.planning.commands.plan.overrides import Overrides
from guardian.planning.pages.plan_page import plan_page

if TYPE_CHECKING:
    from spark_analytics.checker import Violation
    from spark_analytics.model.cluster_model import ClusterModel
    from spark_analytics.planners.score import Score

_ModelArgument = Annotated[Path, typer.Argument(help="A cluster-model-v1 file, .json or .json.gz.")]


def plan_model(
    overrides: Overrides,
    model: _ModelArgument,
    out: Annotated[Path | None, typer.Option("--out", help="Write the placement-v1 here, .json or .json.gz.")] = None,
    picture: Annotated[Path | None, typer.Option("--picture", help="Draw the plan as an HTML page.")] = None,
    remove: Annotated[
        list[int] | None, typer.Option("--remove", help="Empty this broker; may be repeated.", show_default="none")
    ] = None,
    leaders_only: Annotated[bool, typer.Option("--leaders-only", help="Copy nothing: move leaders only.")] = False,
    capacity: Annotated[
        Path | None,
        typer.Option("--capacity", help="Cruise Control's capacity.json instead of the model's.", show_default="none"),
    ] = None,
    broker_sets: Annotated[
        Path | None,
        typer.Option("--broker-sets", help="Cruise Control's brokerSets.json, as labels.", show_default="none"),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Plan for a model in a file, without a server: writes the placement and prints its score.

    The model has brokers with their capacities and replicas with their loads (spark_analytics/README.md). What is
    written is what the plan keeps: without moves that no order is safe for. Exit code 1 when the checker, which is not
    the planner, finds that the plan breaks a rule.

    Example: guardian plan model mixed-100.model.json.gz --out mixed-100.placement.json.gz --max-bytes 10TB
    """
    if remove and leaders_only:
        raise InvalidInput("--remove needs copies and --leaders-only forbids them: give one")
    asked = overrides.alone()
    task: Task = Remove(tuple(remove), balance=True) if remove else Leaders() if leaders_only else Balance()
    known = read_model(model, capacity, broker_sets)
    from spark_analytics.checker import check
    from spark_analytics.planners import planning, score
    from spark_analytics.readers import placement_v1

    announce_compiling()
    started = time.perf_counter()
    solution = planning.solve(known, task, asked)
    wall_s = time.perf_counter() - started
    plan = planning.explained(known, task, asked, solution)
    slot_log_dir, leader_slot = placement_v1.kept(plan, known, solution.found.slot_log_dir, solution.found.leader_slot)
    if out is not None:
        placement_v1.write(out, known, slot_log_dir, leader_slot, wall_s=wall_s)
        echo(f"Wrote {out}", err=True)
    if picture is not None:
        write_file(picture, plan_page(plan))
    show_score(score.of(known, slot_log_dir, leader_slot, asked), output, {"wall_s": round(wall_s, 3)})
    for sentence in plan.unmet:
        echo(f"Not met: {sentence}", err=output is Output.JSON)
    fail_on([str(violation) for violation in check(known, plan, asked, task)], output)


def score_placement(
    model: _ModelArgument,
    placement: Annotated[
        Path | None, typer.Argument(help="A placement-v1 file; without one, the model as it is.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Score a placement that anyone made for a model, and name the rules that it breaks.

    Exit code 1 when it breaks one.

    Example: guardian plan score mixed-100.model.json.gz cruise-control.placement.json.gz
    """
    known = read_model(model)
    from spark_analytics.checker import check
    from spark_analytics.planners import score
    from spark_analytics.readers import placement_v1

    violations: tuple[Violation, ...] = ()
    slot_log_dir, leader_slot = known.slot_log_dir, known.leader_slot
    if placement is not None:
        slot_log_dir, leader_slot = placement_v1.read(placement, known)
        violations = check(known, placement_v1.plan_of(placement, known))
    show_score(score.of(known, slot_log_dir, leader_slot), output)
    fail_on([str(violation) for violation in violations], output)


def fail_on(violations: Sequence[str], output: Output) -> None:
    """Shows them, and ends the command with exit code 1 if there are any."""
    for violation in violations:
        echo(f"Broken: {violation}", err=output is Output.JSON)
    if violations:
        raise typer.Exit(1)


def read_model(model: Path, capacity: Path | None = None, broker_sets: Path | None = None) -> ClusterModel:
    """Raises InvalidInput when a file can't be read, or the analyze extra is missing."""
    try:
        from spark_analytics.readers import (
            broker_sets_json,
            capacity_json,
            cluster_model_v1,
        )
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"a model in a file needs {error.name}, which is not installed: pip install 'kafka-guardian[analyze]'"
        ) from None
    known = cluster_model_v1.read(model)
    if capacity is not None:
        capacities = capacity_json.read(capacity)
        for remark in capacity_json.remarks(known, capacities):
            echo(f"Note: {remark}", err=True)
        known = capacity_json.with_capacities(known, capacities)
    if broker_sets is not None:
        sets = broker_sets_json.read(broker_sets)
        for remark in broker_sets_json.remarks(known, sets):
            echo(f"Note: {remark}", err=True)
        known = broker_sets_json.with_broker_sets(known, sets)
    return known


def show_score(score: Score, output: Output, more: Mapping[str, object] | None = None) -> None:
    """`more` are fields that JSON has besides; of those a table shows `wall_s`."""
    told = more or {}
    if output is Output.JSON:
        print_json({**score.as_dict(), **told})
        return
    took = f", found in {told['wall_s']:.2f} s" if "wall_s" in told else ""
    inside = f", {human_bytes(score.bytes_between_log_dirs)} between log dirs" if score.bytes_between_log_dirs else ""
    echo(
        f"{score.cluster}: {score.brokers} brokers, {score.replicas} replicas; {score.replica_moves} replicas move "
        f"({human_bytes(score.bytes_to_copy)}{inside}), {score.leader_moves} leaders{took}"
    )
    print_table(
        ("RESOURCE", "SPREAD BEFORE", "SPREAD AFTER", "OVER LIMIT"),
        [
            (
                row.resource,
                f"{row.spread_before:.3f}",
                f"{row.spread_after:.3f}",
                str(row.brokers_over_limit),
            )
            for row in score.spreads
        ],
        right=("SPREAD BEFORE", "SPREAD AFTER", "OVER LIMIT"),
    )
    echo(
        f"topic excess {score.topic_excess_before} -> {score.topic_excess_after}, rack violations "
        f"{score.rack_violations}, replicas on dead brokers {score.replicas_on_dead}, without a place {score.unplaced}"
    )
    sys.stdout.flush()
