"""`guardian what-if`: what a fault, a growth or a bigger machine would do.

Faults are in `faults.py`; the rest is reckoned with Spark from samples, for one cluster or all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from guardian.cli.options import EndpointsOption, OnlyClustersOption, Output, OutputOption, connect, now_ms
from guardian.cli.printing import echo
from guardian.cli.render import print_json, print_table
from guardian.cli.shared import with_options_of
from guardian.errors import GuardianError
from guardian.federation.commands.directory import read_directory
from guardian.federation.commands.registered import chosen_clusters
from guardian.model.units import parse_duration_ms
from guardian.planning.commands import faults
from guardian.planning.commands.planner_settings import SettingsOption, planner_settings, section_of
from guardian.planning.commands.spark import analysing
from spark_analytics.whatif.questions import Carry, Grow, Question, Shrink, Upgrade

if TYPE_CHECKING:
    from spark_analytics.whatif.answering import Answer
    from spark_analytics.whatif.capacity import Use

app = typer.Typer(
    help="What would happen to data and load, if: a dry run of bad days and of growth.", no_args_is_help=True
)

_MOST_ROWS = 10

LakeOption = Annotated[str, typer.Option("--lake", help="The lake's URL.", show_default="the one that Guardian writes")]
MasterOption = Annotated[str, typer.Option("--master", help="The Spark master.")]
_BrokersOption = Annotated[
    list[int] | None, typer.Option("--broker", help="A broker's id; may be repeated.", show_default="none")
]
_TopicsOption = Annotated[list[str] | None, typer.Option("--topic", help="May be repeated.", show_default="all")]


def carry(
    brokers: _BrokersOption = None,
    racks: Annotated[list[str] | None, typer.Option("--rack", help="May be repeated.", show_default="none")] = None,
    idcs: Annotated[list[str] | None, typer.Option("--idc", help="May be repeated.", show_default="none")] = None,
) -> Question:
    """Brokers, a rack or an IDC are gone: who carries their load, who is overloaded, is there room to rebuild.

    Example: guardian what-if carry --cluster live --rack r1
    """
    return Carry(tuple(brokers or ()), tuple(racks or ()), tuple(idcs or ()))


def grow(
    times: Annotated[float, typer.Option(help="Traffic becomes so many times as much.")] = 2.0,
    topics: _TopicsOption = None,
    stored: Annotated[
        bool, typer.Option(help="What is stored grows as well, as it does under retention by time.")
    ] = True,
) -> Question:
    """Traffic grows, all of it or that of some topics: which brokers and disks go over their limits.

    Example: guardian what-if grow --cluster live --topic orders --times 3
    """
    return Grow(times, tuple(topics or ()), stored)


def upgrade(
    brokers: _BrokersOption = None,
    cpu: Annotated[float, typer.Option(help="So many times the CPU.")] = 1.0,
    network: Annotated[float, typer.Option(help="So many times the network.")] = 1.0,
    disk: Annotated[float, typer.Option(help="So many times the disk.")] = 1.0,
) -> Question:
    """Bigger machines: which limits that relieves.

    Example: guardian what-if upgrade --cluster live --broker 7 --disk 2
    """
    return Upgrade(tuple(brokers or ()), cpu, network, disk)


def shrink(
    label: Annotated[str, typer.Option(help="Only brokers of this label may go.", show_default="any")] = "",
) -> Question:
    """Find how many brokers could go, by capacity, racks, IDCs and replication factor, and the proof that no more can.

    Example: guardian what-if shrink --cluster live
    """
    return Shrink(label)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The options that all questions share. `window` is [from, to) in ms since the epoch."""

    clusters: tuple[str, ...]
    window: tuple[int, int]
    settings: Path | None
    lake: str
    master: str
    fail: bool
    endpoints: str
    output: Output

    @classmethod
    def of(
        cls,
        clusters: OnlyClustersOption = None,
        window: Annotated[str, typer.Option(help="How much of the newest traffic to look at.")] = "1h",
        settings: SettingsOption = None,
        lake: LakeOption = "",
        master: MasterOption = "local[*]",
        fail: Annotated[bool, typer.Option("--fail", help="Exit with 1 when it is not safe.")] = False,
        endpoints: EndpointsOption = "",
        output: OutputOption = Output.TABLE,
    ) -> _Asked:
        until_ms = now_ms()
        span = (until_ms - parse_duration_ms("window", window), until_ms)
        section_of(settings)  # what is wrong is told before anything is read
        return cls(tuple(clusters or ()), span, settings, lake, master, fail, endpoints, output)


def _answer(asked: _Asked, question: Question) -> None:
    with connect(asked.endpoints) as client:
        settings = planner_settings(client, asked.settings)
        directory = read_directory(client)
        names = chosen_clusters(directory.clusters, asked.clusters)
        lake = asked.lake or client.member().lake_url
    with analysing("guardian what-if", lake, asked.window, asked.master) as (spark, window):
        from spark_analytics.jobs.whatif import answers

        found = answers(spark, lake, dict.fromkeys(names, question), window, settings, directory)
    refused = [answer for answer in found.values() if isinstance(answer, GuardianError)]
    if len(refused) == len(found):
        raise type(refused[0])("; ".join(dict.fromkeys(map(str, refused))))
    _show_all(found, asked.output)
    if asked.fail and not all(not isinstance(answer, GuardianError) and answer.is_safe for answer in found.values()):
        raise typer.Exit(1)


def _show_all(found: Mapping[str, Answer | GuardianError], output: Output) -> None:
    if output is Output.JSON:
        print_json(
            {
                cluster: {"error": str(answer)} if isinstance(answer, GuardianError) else dataclasses.asdict(answer)
                for cluster, answer in found.items()
            }
        )
        return
    for cluster, answer in found.items():
        if isinstance(answer, GuardianError):
            echo(f"cluster {cluster}: {answer}")
        else:
            _show(answer)


def _show(answer: Answer) -> None:
    echo(f"cluster {answer.cluster}, {answer.question}: {'SAFE' if answer.is_safe else 'NOT SAFE'}")
    for sentence in answer.sentences:
        echo(f"  {sentence}")
    _show_uses([*answer.over, *answer.full])
    echo()


def _show_uses(uses: Sequence[Use]) -> None:
    if not uses:
        return
    echo()
    print_table(
        ("BROKER", "LOG DIR", "RESOURCE", "NOW", "THEN", "LIMIT"),
        [
            (
                str(use.broker),
                use.log_dir or "-",
                use.resource,
                f"{use.before:.0%}",
                f"{use.after:.0%}",
                f"{use.limit:.0%}",
            )
            for use in uses[:_MOST_ROWS]
        ],
        right=("NOW", "THEN", "LIMIT"),
    )
    _show_rest(len(uses))


def _show_rest(rows: int) -> None:
    if rows > _MOST_ROWS:
        echo(f"... and {rows - _MOST_ROWS} more: -o json has them all")


_QUESTIONS: dict[str, Callable[..., Question]] = {
    "carry": carry,
    "grow": grow,
    "upgrade": upgrade,
    "shrink": shrink,
}
for name, fault in faults.COMMANDS.items():
    app.command(name)(fault)
for name, command in _QUESTIONS.items():
    app.command(name)(with_options_of(_Asked.of, _answer, command))
