"""`guardian analyze`: plans for every cluster again and again, from a Spark session that stays warm."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from guardian.cli.options import EndpointsOption, OnlyClustersOption, actor, connect
from guardian.cli.printing import echo
from guardian.client import GuardianClient
from guardian.errors import GuardianError, InvalidInput, NotFound
from guardian.federation.commands.directory import read_directory
from guardian.lake.model.window import Window
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance
from guardian.model.ticket import OPEN_STATES
from guardian.model.units import human_bytes, parse_duration_ms
from guardian.planning.commands.planner_settings import SettingsOption, planner_settings
from guardian.planning.commands.present import shown_by_kafka

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_REASON = "guardian analyze"
# A draft that nobody has taken up, or a ticket under way: another draft for the cluster would only be in the way.


def analyze(
    every: Annotated[str, typer.Option(help="How often, such as 5m.")] = "5m",
    cluster: OnlyClustersOption = None,
    window: Annotated[str, typer.Option(help="How much of the newest traffic to look at.")] = "24h",
    submit_drafts: Annotated[
        bool, typer.Option("--submit-drafts", help="Make a draft ticket of each plan, unless one is in hand.")
    ] = False,
    lake: Annotated[str, typer.Option(help="The lake's path or URL; by default the one that Guardian writes.")] = "",
    master: Annotated[str, typer.Option(help="The Spark master.")] = "local[*]",
    settings: SettingsOption = None,
    endpoints: EndpointsOption = "",
) -> None:
    """Plan how to balance every cluster, again and again; one line a round. It ends on SIGTERM or Ctrl-C.

    A round under way is given up then: what it planned would be stale when it is wanted again. With
    security on give it the role planner, else its drafts are of kind run-plan.

    Example: guardian analyze --every 5m --submit-drafts
    """
    every_ms = parse_duration_ms("every", every)
    window_ms = parse_duration_ms("window", window)
    try:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        from spark_analytics.jobs.rounds import rounds
        from spark_analytics.jobs.session import local_session
        from spark_analytics.jobs.stopping import stopping
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"`guardian analyze` needs {error.name}, which is not installed: pip install 'kafka-guardian[analyze]'"
        ) from None
    with connect(endpoints) as client, ExitStack() as stack:
        spark = local_session("guardian analyze", master, is_large=True)
        stack.callback(_end, spark)
        stopped = stack.enter_context(stopping(spark.sparkContext.cancelAllJobs))

        def work(now_ms: int) -> str:
            names = cluster or sorted(known.name for known in client.list_clusters())
            source = lake or client.member().lake_url
            drafts = round_of(now_ms, every_ms, window_ms) if submit_drafts else ""
            chosen = planner_settings(client, settings)  # of this round: members may have been told others
            return _round(client, spark, source, names, (now_ms - window_ms, now_ms), chosen, drafts)

        for line in rounds(work, every_ms / 1000, stopped, (GuardianError, PySparkException, Py4JError)):
            echo(line)


def _end(spark: SparkSession) -> None:
    """End the session. Who ends us may have ended Spark's own process as well, as a service manager does."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, OSError):
        spark.stop()


def round_of(now_ms: int, every_ms: int, window_ms: int) -> str:
    """The same for all of us that ask for the same at about the same time, each on a clock of its own."""
    return f"{window_ms}-{every_ms}-{now_ms // every_ms}"


def _round(
    client: GuardianClient,
    spark: SparkSession,
    lake: str,
    clusters: Sequence[str],
    window: tuple[int, int],
    settings: PlannerSettings,
    drafts: str,
) -> str:
    """`drafts` names the round in the drafts that it makes; empty: it makes none."""
    from spark_analytics.jobs.plans import outcomes

    if not clusters:
        return "no clusters yet: guardian cluster add"
    present, unknown = shown_by_kafka(client, clusters)
    # Of one that is not registered only the lake knows anything; of all others it does not know who died just now.
    alone = [name for name, why in unknown.items() if isinstance(why, NotFound)]
    tasks = {name: Balance() for name in clusters if name in present or name in alone}
    made = dict[str, Plan | GuardianError](unknown)
    if tasks:
        made |= outcomes(spark, lake, tasks, Window(*window), settings, read_directory(client), present)
    said = []
    for name, outcome in made.items():
        if name in alone:
            said.append(f"{name}: not registered, so the lake alone tells who lives")
        if isinstance(outcome, GuardianError):
            said.append(f"{name}: {outcome}")
        elif not outcome.moves:
            said.append(f"{name}: nothing to move")
        else:
            drafted = _draft(client, outcome, int(settings.throttle), drafts) if drafts else ""
            said.append(f"{name}: {len(outcome.moves)} moves, {human_bytes(outcome.bytes_to_copy)} to copy{drafted}")
    return "; ".join(said)


def _draft(client: GuardianClient, plan: Plan, throttle: int, drafts: str) -> str:
    in_hand = client.tickets(plan.cluster, OPEN_STATES)
    if in_hand:
        return f", ticket {in_hand[0].id} is in hand"
    try:
        # Two of us whose rounds are the same make one draft: the second is told of the first one's.
        key = f"analyze-{plan.cluster}-{drafts}"
        ticket, _ = client.create_ticket(plan, author=actor(), throttle=throttle, reason=_REASON, idempotency_key=key)
    except GuardianError as error:
        return f", no draft: {error}"
    return f", draft {ticket.id}"
