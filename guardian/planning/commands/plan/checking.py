"""`guardian plan check`: what a plan that anyone made would do to a cluster, before it is carried out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from guardian.cli.options import EndpointsOption, Output, OutputOption, connect, now_ms
from guardian.cli.printing import echo
from guardian.cli.render import print_json
from guardian.errors import InvalidInput
from guardian.federation.commands.directory import read_directory
from guardian.federation.commands.registered import registered
from guardian.model.units import parse_duration_ms
from guardian.planning.commands.plan.offline import fail_on, read_model, show_score
from guardian.planning.commands.plan.overrides import Overrides
from guardian.planning.commands.spark import analysing

if TYPE_CHECKING:
    from spark_analytics.jobs.check import Verdict


def check_plan(
    overrides: Overrides,
    file: Annotated[Path, typer.Argument(help="A JSON file as kafka-reassign-partitions takes it.")],
    cluster: Annotated[str, typer.Option("--cluster", help="The cluster that it is for.", show_default="none")] = "",
    model: Annotated[
        Path | None,
        typer.Option("--model", help="A cluster-model-v1 file instead of a cluster: needs no server."),
    ] = None,
    window: Annotated[str, typer.Option(help="How much of the newest traffic to look at, such as 5m or 24h.")] = "1h",
    lake: Annotated[
        str, typer.Option(help="The lake's path or URL.", show_default="the one that Guardian writes")
    ] = "",
    master: Annotated[str, typer.Option(help="The Spark master.")] = "local[*]",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Check a reassignment that anyone made: the rules that it breaks, how even it leaves the cluster, what it copies.

    Rules are racks, IDC policies, labels, exclusions, room on disks and brokers while all of it is copied, and the
    limits of the planner's settings. Exit code 1 when it breaks one.

    Example: guardian plan check reassignment.json --cluster live --window 30m

    Example: guardian plan check reassignment.json --model mixed-100.model.json.gz -o json
    """
    if bool(cluster) == (model is not None):
        raise InvalidInput("give --cluster, or --model with a file, and not both: the plan is held against one of them")
    if model is not None:
        found = _against_model(overrides, file, model)
    else:
        found = _against_lake(overrides, file, cluster, window, lake, master, endpoints)
    _show(found, output)
    fail_on(found.violations, output)


def _against_model(overrides: Overrides, file: Path, model: Path) -> Verdict:
    known = read_model(model)
    from spark_analytics.jobs.check import read_plan, verdict

    return verdict(known, read_plan(file, known.cluster), overrides.alone())


def _against_lake(
    overrides: Overrides, file: Path, cluster: str, window: str, lake: str, master: str, endpoints: str
) -> Verdict:
    until_ms = now_ms()
    asked = (until_ms - parse_duration_ms("window", window), until_ms)
    with connect(endpoints) as client:
        settings = overrides.for_members(client)
        directory = read_directory(client)
        registered(directory.clusters, cluster)  # before Spark is started
        url = lake or client.member().lake_url
        present = client.live_facts(cluster)
    with analysing("guardian plan check", url, asked, master) as (spark, known):
        from spark_analytics.jobs.check import read_plan, verdict_of

        return verdict_of(spark, url, read_plan(file, cluster), known, settings, directory, present)


def _show(found: Verdict, output: Output) -> None:
    if found.score is not None:
        show_score(found.score, output, {"input": found.input, "moves": found.moves, "violations": found.violations})
    elif output is Output.JSON:
        print_json(
            {"cluster": found.cluster, "input": found.input, "moves": found.moves, "violations": found.violations}
        )
    else:
        echo(f"{found.cluster}: {found.moves} moves, some of which the cluster can't tell the cost of")
