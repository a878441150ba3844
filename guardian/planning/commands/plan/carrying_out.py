"""From an order to plans, shown, written, drawn, and made draft tickets.

Exit codes: 0 when every cluster has what was asked for. 1 when a part of it: a cluster has no plan while others have
theirs, or a plan can't become a ticket yet. 2, with a sentence for each cluster, when there is nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import typer

from guardian.cli.files import write_file
from guardian.cli.options import Output, actor, connect
from guardian.cli.plan_tables import plan_as_dict, show_plan
from guardian.cli.printing import echo
from guardian.cli.render import print_json
from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.federation.commands.directory import read_directory
from guardian.federation.commands.registered import chosen_clusters
from guardian.interop import reassignment_json
from guardian.model.directory import Directory
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.planning.commands.plan.asking import asked_for
from guardian.planning.commands.plan.clients import with_clients
from guardian.planning.commands.plan.compiling import announce_compiling
from guardian.planning.commands.plan.request import Request
from guardian.planning.commands.plan.ticketing import instead_of_ticket, warning
from guardian.planning.commands.present import shown_by_kafka
from guardian.planning.commands.spark import analysing
from guardian.planning.orders import OrderedTask
from guardian.planning.pages.plan_page import plan_page
from guardian.planning.rules.resolving import resolved

Outcomes = Mapping[str, Plan | GuardianError]


def carry_out(request: Request, task: OrderedTask) -> None:
    """Have the plans made by a member, or with Spark here, and show them, write them, make tickets of them."""
    order = None if request.why_spark else request.order(task)
    with connect(request.endpoints) as client:
        settings = request.overrides.for_members(client)
        directory = read_directory(client)
        chosen_clusters(directory.clusters, request.clusters)  # before anything is planned
        said = "" if request.dry_run else warning(task, directory)
        if said:
            echo(said, err=True)
        if order is not None:
            found: Outcomes = {cluster: asked_for(client, cluster, order) for cluster in request.clusters}
        else:
            found = _made_here(client, request, task, settings, directory)
        _require_one(found)
        if request.output is Output.JSON:
            print_json([_as_dict(cluster, outcome) for cluster, outcome in found.items()])
        is_whole = [_show(client, request, settings, directory, *each) for each in found.items()]
    if not all(is_whole):
        raise typer.Exit(1)


def _made_here(
    client: GuardianClient, request: Request, task: OrderedTask, settings: PlannerSettings, directory: Directory
) -> Outcomes:
    """Make the plan with Spark, of the lake's windows and of what a member says that Kafka shows now."""
    asked = {cluster: resolved(task, directory, cluster) for cluster in request.clusters}
    lake = request.lake or client.member().lake_url
    known = {cluster: with_clients(client, cluster, request.newest(), each) for cluster, each in asked.items()}
    echo(f"Spark plans on this machine: {request.why_spark}.", err=True)
    present, unknown = shown_by_kafka(client, request.clusters)
    if not present:
        return unknown
    window = request.window(max(facts.at_ms for facts in present.values()))
    with analysing("guardian plan", lake, window, request.master) as (spark, span):
        from spark_analytics.jobs.plans import outcomes

        announce_compiling()
        tasks = {cluster: known[cluster][0] for cluster in present}
        made = {**unknown, **outcomes(spark, lake, tasks, span, settings, directory, present)}
    return {cluster: _with_notes(made[cluster], known[cluster][1]) for cluster in request.clusters}


def _with_notes(outcome: Plan | GuardianError, notes: tuple[str, ...]) -> Plan | GuardianError:
    return outcome if isinstance(outcome, GuardianError) else replace(outcome, notes=(*outcome.notes, *notes))


def _require_one(found: Outcomes) -> None:
    """Raises why there is no plan at all."""
    reasons = [outcome for outcome in found.values() if isinstance(outcome, GuardianError)]
    if len(reasons) == len(found):
        raise type(reasons[0])("; ".join(dict.fromkeys(map(str, reasons))))


def _as_dict(cluster: str, outcome: Plan | GuardianError) -> dict[str, object]:
    if isinstance(outcome, GuardianError):
        return {"cluster": cluster, "error": str(outcome)}
    return plan_as_dict(outcome)


def _show(
    client: GuardianClient,
    request: Request,
    settings: PlannerSettings,
    directory: Directory,
    cluster: str,
    outcome: Plan | GuardianError,
) -> bool:
    """Show the outcome and return whether the cluster has all that was asked for."""
    if isinstance(outcome, GuardianError):
        echo(f"Cluster {cluster} has no plan: {outcome}", err=True)
        return False
    _write_files(request, outcome)
    if request.output is Output.TABLE:
        show_plan(outcome)
    if not outcome.moves:
        return True
    sentences = instead_of_ticket(outcome, directory)
    for sentence in sentences:
        echo(sentence, err=request.output is Output.JSON)
    if request.dry_run:
        return True
    return not sentences and _is_drafted(client, request, settings, outcome)


def _is_drafted(client: GuardianClient, request: Request, settings: PlannerSettings, plan: Plan) -> bool:
    try:
        ticket, resolved = client.create_ticket(
            plan,
            author=actor(),
            throttle=int(settings.throttle),
            idempotency_key=request.key,
            expires_in_ms=request.expires_in_ms,
        )
    except GuardianError as error:
        if len(request.clusters) == 1:
            raise
        echo(f"Cluster {plan.cluster} has no ticket: {error}", err=True)
        return False
    for note in resolved.notes:
        if note not in plan.notes:
            echo(f"Note: {note}.", err=True)
    echo(
        f"Draft ticket {ticket.id} for cluster {plan.cluster}. Next: guardian ticket submit {ticket.id}",
        err=request.output is Output.JSON,
    )
    return True


def _write_files(request: Request, plan: Plan) -> None:
    if request.out:
        write_file(request.out, reassignment_json.write(plan.moves, target=True))
    if request.rollback:
        write_file(request.rollback, reassignment_json.write(plan.moves, target=False))
    if request.picture:
        write_file(request.picture, plan_page(plan))
