"""`guardian forecast`: when disks fill up and brokers get hot, if they go on as they did."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

from guardian.cli.exits import UNKNOWN
from guardian.cli.options import EndpointsOption, OnlyClustersOption, Output, OutputOption, connect, now_ms
from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import print_json, print_table
from guardian.federation.commands.registered import chosen_clusters
from guardian.model.forecast import Forecast, Outlook
from guardian.model.units import human_bytes, parse_duration_ms
from guardian.planning.commands.planner_settings import SettingsOption, planner_settings, section_of
from guardian.planning.commands.spark import analysing
from guardian.planning.commands.whatif import LakeOption, MasterOption

_DAY_MS = 86_400_000
_BYTES = ("disk",)
_RATES = ("nw_in", "nw_out", "disk_io")
_TRENDS = ("per_day", "per_day_low", "per_day_high", "days", "days_soonest", "days_latest")


def forecast(
    clusters: OnlyClustersOption = None,
    window: Annotated[str, typer.Option(help="How far back to look; days tell more than hours.")] = "14d",
    within: Annotated[str, typer.Option(help="Show what may reach its limit within this time.")] = "30d",
    everything: Annotated[bool, typer.Option("--all", help="Show every disk and broker.")] = False,
    fail: Annotated[bool, typer.Option("--fail", help="Exit with 1 when anything may reach its limit.")] = False,
    settings: SettingsOption = None,
    lake: LakeOption = "",
    master: MasterOption = "local[*]",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Say in how many days disks are full and brokers hot, with a 95 % band, from the trend in the lake.

    The limits are the planner's: 80 % of disk and network and 70 % of CPU, unless the members' settings say otherwise.

    Example: guardian forecast --cluster live --window 14d --within 60d
    """
    until_ms = now_ms()
    days = parse_duration_ms("within", within) / _DAY_MS
    section_of(settings)  # what is wrong is told before anything is read
    with connect(endpoints) as client:
        limits = planner_settings(client, settings)
        names = chosen_clusters(client.list_clusters(), clusters or ())
        lake = lake or client.member().lake_url
    span = (until_ms - parse_duration_ms("window", window), until_ms)
    with analysing("guardian forecast", lake, span, master) as (spark, span_read):
        from spark_analytics.jobs.forecast import forecasts

        found = forecasts(spark, lake, names, span_read, limits)
    shown = {
        cluster: [each for each in some if everything or each.days_soonest <= days] for cluster, some in found.items()
    }
    if output is Output.JSON:
        print_json({cluster: [_as_dict(each) for each in some] for cluster, some in shown.items()})
    else:
        for cluster, some in shown.items():
            _show(cluster, some, found[cluster], within)
    if fail and any(each.days_soonest <= days for some in found.values() for each in some):
        raise typer.Exit(1)
    if unknown := [cluster for cluster, some in found.items() if not _is_known(some)]:
        echo(
            f"Nothing is known of {', '.join(unknown)}: take a longer --window, or see `guardian collection`", err=True
        )
        raise typer.Exit(UNKNOWN)


def _is_known(found: Sequence[Forecast]) -> bool:
    """Tell whether the trend of anything is known."""
    return any(each.outlook is not Outlook.UNKNOWN for each in found)


def _as_dict(forecast: Forecast) -> dict[str, object]:
    """Return the forecast without infinities, which JSON does not have: null is never, or not known where the outlook
    says so.
    """
    lacking = _TRENDS if forecast.outlook is Outlook.UNKNOWN else ()
    return {
        name: None if name in lacking or (isinstance(value, float) and not math.isfinite(value)) else value
        for name, value in dataclasses.asdict(forecast).items()
    }


def _show(cluster: str, shown: Sequence[Forecast], found: Sequence[Forecast], within: str) -> None:
    untold = sum(each.outlook is Outlook.UNKNOWN for each in found)
    lacking = f"; {untold} have too few samples to tell: take a longer --window" if untold else ""
    if not found:
        echo(f"cluster {cluster}: there are no samples of it in this window: take a longer --window")
    elif untold == len(found) and not shown:
        echo(f"cluster {cluster}: {untold} disks and broker loads have too few samples to tell: take a longer --window")
    elif not shown:
        all_of_them = f"none of {len(found) - untold} disks and broker loads may reach its limit within {within}"
        echo(f"cluster {cluster}: {all_of_them}{lacking}")
    else:
        echo(f"cluster {cluster}, {len(shown)} of {len(found)} disks and broker loads{lacking}:")
        _show_rows(shown)
        short = sum(each.is_short for each in shown)
        if short:
            echo(f"{short} of these rest on less than two weeks: a weekly wave may look like a trend there")


def _show_rows(forecasts: Iterable[Forecast]) -> None:
    shown = list(forecasts)
    print_table(
        ("BROKER", "LOG DIR", "RESOURCE", "NOW", "LIMIT", "A DAY", "DAYS LEFT", "SOONEST", "LATEST", "OUTLOOK"),
        [_row(each) for each in shown],
        right=("NOW", "LIMIT", "A DAY", "DAYS LEFT", "SOONEST", "LATEST"),
        more=more_of(shown, "per_day_low", "per_day_high", "points", "span_days"),
    )


def _row(forecast: Forecast) -> tuple[str, ...]:
    known = forecast.outlook is not Outlook.UNKNOWN
    return (
        str(forecast.broker),
        forecast.log_dir or "-",
        forecast.resource,
        _amount(forecast.now, forecast.resource),
        _amount(forecast.limit, forecast.resource),
        _amount(forecast.per_day, forecast.resource) if known else "-",
        _days(forecast.days),
        _days(forecast.days_soonest),
        _days(forecast.days_latest),
        forecast.outlook.value,
    )


def _amount(value: float, resource: str) -> str:
    if not math.isfinite(value):
        return "-"
    if resource in _BYTES:
        return human_bytes(value)
    return f"{human_bytes(value)}/s" if resource in _RATES else f"{value:.0f} %"


def _days(days: float) -> str:
    return f"{days:.1f}" if math.isfinite(days) else "-"
