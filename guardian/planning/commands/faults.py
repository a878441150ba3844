"""Faults of `guardian what-if`, such as cut, kill and log-dir: what they would do as Kafka stands now.

The member asks Kafka and plays the fault; nothing is changed, and no samples are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import typer

from guardian.cli.options import ClusterOption, EndpointsOption, Output, OutputOption, connect
from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, print_json, print_table
from guardian.cli.shared import with_options_of
from guardian.errors import InvalidInput
from guardian.model.faults.fault import Blow
from guardian.model.text import some
from guardian.model.units import parse_duration_ms
from protos.guardian.v1 import insight_pb2 as pb

_NEVER = "never"
_SHORT_S = 2.0
_ACKS = {"": pb.PRODUCER_ACKS_UNSPECIFIED, "1": pb.ACKS_LEADER, "all": pb.ACKS_ALL}

_READ_LOST = {pb.IN_NO_WAY: "nothing", pb.IN_SOME_WAYS: "perhaps some", pb.IN_ALL_WAYS: "some"}

_BrokersOption = Annotated[
    list[int] | None, typer.Option("--broker", help="A broker's id; may be repeated.", show_default="none")
]
_RacksOption = Annotated[list[str] | None, typer.Option("--rack", help="May be repeated.", show_default="none")]
_IdcsOption = Annotated[list[str] | None, typer.Option("--idc", help="May be repeated.", show_default="none")]
_BackOption = Annotated[
    str, typer.Option("--back-after", metavar="TIME", help="They are started again after so long; or never.")
]
_LogDirsOption = Annotated[
    list[str] | None,
    typer.Option("--log-dir", metavar="PATH", help="A log dir's path; may be repeated.", show_default="none"),
]
_SlowForOption = Annotated[
    str, typer.Option("--for", metavar="TIME", help="All is as fast as before after so long; or never.")
]
_OrderOption = Annotated[
    str, typer.Option("--order", help="These are started first, 30 s apart, such as 3,2,1.", show_default="all at once")
]


def cut(
    number: Annotated[
        int,
        typer.Argument(
            help="1 follower from leader, 2 leader from followers, 3 follower from "
            "controllers, 4 leader from controllers, 5 follower alone, 6 leader "
            "alone, 7 controllers from brokers, 8 controller from its quorum."
        ),
    ],
    brokers: _BrokersOption = None,
    racks: _RacksOption = None,
    idcs: _IdcsOption = None,
    lasting: Annotated[
        str, typer.Option("--for", metavar="TIME", help="The network is whole again after so long; or never.")
    ] = "60s",
) -> pb.PredictFaultRequest:
    """One of the eight ways in which a network can be cut, around brokers: what is lost, how long producers wait.

    Example: guardian what-if cut 6 --cluster live --broker 1 --for 45s
    """
    return pb.PredictFaultRequest(
        cut=pb.NetworkCut(
            number=max(number, 0), brokers=brokers, racks=racks, idcs=idcs, seconds=_seconds("--for", lasting)
        )
    )


def kill(
    brokers: _BrokersOption = None,
    racks: _RacksOption = None,
    idcs: _IdcsOption = None,
    back_after: _BackOption = "60s",
    order: _OrderOption = "",
) -> pb.PredictFaultRequest:
    """Brokers' processes end at once, and what they wrote stays: who leads, how long producers wait, who is waited for.

    Example: guardian what-if kill --cluster live --broker 1 --back-after 5m
    """
    return pb.PredictFaultRequest(kill=_down(brokers, racks, idcs, back_after, order))


def power(
    brokers: _BrokersOption = None,
    racks: _RacksOption = None,
    idcs: _IdcsOption = None,
    back_after: _BackOption = "60s",
    order: _OrderOption = "",
) -> pb.PredictFaultRequest:
    """Brokers lose power, and with it what was never fsynced.

    Example: guardian what-if power --cluster live --rack r1
    """
    return pb.PredictFaultRequest(power=_down(brokers, racks, idcs, back_after, order))


def lose(
    brokers: _BrokersOption = None,
    racks: _RacksOption = None,
    idcs: _IdcsOption = None,
    back_after: _BackOption = _NEVER,
    order: _OrderOption = "",
) -> pb.PredictFaultRequest:
    """Brokers are gone with their disks; those that come back are empty.

    Example: guardian what-if lose --cluster live --broker 4
    """
    return pb.PredictFaultRequest(lose=_down(brokers, racks, idcs, back_after, order))


def clock(
    brokers: _BrokersOption = None,
    racks: _RacksOption = None,
    idcs: _IdcsOption = None,
    ahead: Annotated[str, typer.Option(metavar="TIME", help="How much clocks are ahead.", show_default="none")] = "",
    behind: Annotated[str, typer.Option(metavar="TIME", help="How much they are behind.", show_default="none")] = "",
    lasting: Annotated[
        str, typer.Option("--for", metavar="TIME", help="Clocks are right again after so long; or never.")
    ] = "60s",
) -> pb.PredictFaultRequest:
    """Brokers' wall clocks are wrong: leaders refuse records whose time is too far from theirs.

    Example: guardian what-if clock --cluster live --broker 1 --behind 2h
    """
    if bool(ahead) == bool(behind):
        raise InvalidInput(f"--ahead and --behind: one is needed (got {'both' if ahead else 'none'}); give one of them")
    by_s = _seconds("--ahead", ahead) if ahead else -_seconds("--behind", behind)
    return pb.PredictFaultRequest(
        clock=pb.WrongClocks(brokers=brokers, racks=racks, idcs=idcs, seconds=_seconds("--for", lasting), ahead_s=by_s)
    )


def log_dir(
    brokers: _BrokersOption = None,
    log_dirs: _LogDirsOption = None,
    back_after: Annotated[
        str, typer.Option("--back-after", metavar="TIME", help="It is repaired, with what it had; or never.")
    ] = _NEVER,
) -> pb.PredictFaultRequest:
    """A log dir fails (EIO), and its broker goes on with its others, or halts where it has none.

    Example: guardian what-if log-dir --cluster live --broker 1 --log-dir /data/disk2
    """
    return pb.PredictFaultRequest(
        log_dir=pb.FailedLogDirs(brokers=brokers, log_dirs=log_dirs, seconds=_seconds("--back-after", back_after))
    )


def slow_follower(
    share: Annotated[float, typer.Option(metavar="SHARE", help="Of what is written, that the link carries: 0.05.")],
    brokers: _BrokersOption = None,
    racks: _RacksOption = None,
    idcs: _IdcsOption = None,
    lasting: _SlowForOption = "60s",
) -> pb.PredictFaultRequest:
    """The link to brokers carries less than is written to the partitions that they follow.

    Example: guardian what-if slow-follower --cluster live --broker 3 --share 0.05
    """
    return pb.PredictFaultRequest(
        slow_follower=pb.SlowFollowers(
            brokers=brokers, racks=racks, idcs=idcs, seconds=_seconds("--for", lasting), share=share
        )
    )


def slow_disk(
    each: Annotated[str, typer.Option("--each", metavar="TIME", help="How long each write takes, such as 2s.")],
    brokers: _BrokersOption = None,
    racks: _RacksOption = None,
    idcs: _IdcsOption = None,
    log_dirs: _LogDirsOption = None,
    lasting: _SlowForOption = "60s",
) -> pb.PredictFaultRequest:
    """Disks take long for each write: those of the brokers, or those of some log dirs.

    Example: guardian what-if slow-disk --cluster live --broker 1 --log-dir /data/disk2 --each 2s
    """
    return pb.PredictFaultRequest(
        slow_disk=pb.SlowDisks(
            brokers=brokers,
            racks=racks,
            idcs=idcs,
            seconds=_seconds("--for", lasting),
            each_s=_seconds("--each", each),
            log_dirs=log_dirs,
        )
    )


def _down(
    brokers: list[int] | None, racks: list[str] | None, idcs: list[str] | None, back_after: str, order: str
) -> pb.BrokersDown:
    return pb.BrokersDown(
        brokers=brokers, racks=racks, idcs=idcs, seconds=_seconds("--back-after", back_after), order=_ids(order)
    )


def _seconds(option: str, text: str) -> float:
    return 0.0 if text == _NEVER else parse_duration_ms(option, text) / 1000


def _ids(text: str) -> list[int]:
    found = [each.strip() for each in text.split(",")] if text else []
    wrong = [each for each in found if not (each.isascii() and each.isdigit() and len(each) < 10)]
    if wrong:
        raise InvalidInput(f"--order: no broker id (got {wrong[0]!r}); use ids with commas between, such as 3,2,1")
    return [int(each) for each in found]


@dataclass(frozen=True, slots=True)
class _Asked:
    """The options that all faults share."""

    cluster: str
    topics: tuple[str, ...]
    acks: str
    client: dict[str, str]
    limit: int
    fail: bool
    endpoints: str
    output: Output

    @classmethod
    def of(
        cls,
        cluster: ClusterOption = "",
        topic: Annotated[
            list[str] | None, typer.Option("--topic", help="A pattern, such as 'orders-*'. May be repeated.")
        ] = None,
        acks: Annotated[str, typer.Option(help="What producers ask for: 1 or all.", show_default="both")] = "",
        client: Annotated[
            list[str] | None,
            typer.Option("--client", metavar="KEY=MS", help="A producer's setting, such as request.timeout.ms=10000."),
        ] = None,
        limit: Annotated[int, typer.Option("--limit", min=1, help="Show so many topics, the worst.")] = 20,
        fail: Annotated[bool, typer.Option("--fail", help="Exit with 1 when records may be lost.")] = False,
        endpoints: EndpointsOption = "",
        output: OutputOption = Output.TABLE,
    ) -> _Asked:
        """Return what was typed. Raises InvalidInput."""
        pairs = [each.partition("=") for each in client or ()]
        for key, sign, _ in pairs:
            if not sign:
                raise InvalidInput(f"--client: no value (got {key!r}); use KEY=MS, such as request.timeout.ms=10000")
        if acks not in _ACKS:
            raise InvalidInput(f"--acks: unknown (got {acks!r}); use 1 or all, or leave it out for both")
        settings = {key: value for key, _, value in pairs}
        return cls(cluster, tuple(topic or ()), acks, settings, limit, fail, endpoints, output)


def _predict(asked: _Asked, request: pb.PredictFaultRequest) -> None:
    request.cluster, request.acks = asked.cluster, _ACKS[asked.acks]
    request.topics.extend(asked.topics)
    request.client.update(asked.client)
    request.max_topics = 0 if asked.output is Output.JSON else asked.limit
    with connect(asked.endpoints) as client:
        report = client.predict_fault(request)
    if asked.output is Output.JSON:
        print_json(as_dict(report))
    else:
        _show(report)
    if asked.fail and report.topics_that_may_lose:
        raise typer.Exit(1)


def _show(report: pb.FaultReport) -> None:
    verdict = (
        f"NOT SAFE: {report.topics_that_may_lose} of them may lose records" if report.topics_that_may_lose else "SAFE"
    )
    echo(f"cluster {report.cluster}, {report.fault}: {report.topics_in_all} topics are touched: {verdict}")
    if report.topics:
        echo()
        print_table(
            ("TOPIC", "ACKS", "PARTITIONS", "MAY LOSE", "LOST", "READ AND LOST", "SILENT", "UNTIL", "READERS WAIT"),
            [_row(topic) for topic in report.topics],
            right=("PARTITIONS", "MAY LOSE"),
            more=more_of(report.topics, "loses", "awaited"),
        )
    hidden = report.topics_in_all - len({topic.topic for topic in report.topics})
    if hidden:
        echo(f"{hidden} more topics, hurt the same or less: --limit {report.topics_in_all} shows all")
    if report.advice:
        echo()
    for sentence in report.advice:
        echo(f"note: {sentence}")


def _row(topic: pb.FaultPrediction) -> tuple[str, ...]:
    return (
        topic.topic,
        "all" if topic.acks_all else "1",
        str(topic.partitions),
        str(topic.may_lose),
        _lost(topic),
        _READ_LOST.get(topic.read_lost, "not told by this member"),
        _span(topic.silent_s),
        _until(topic),
        _span(topic.unread_s) if topic.HasField("unread_s") else "not told by this member",
    )


def _lost(topic: pb.FaultPrediction) -> str:
    seconds = _span(topic.lost_s)
    told = {
        pb.LOST_NOTHING: "nothing",
        pb.LOST_SECONDS: f"records of {seconds}",
        pb.LOST_SINCE_BEHIND: "records since the new leader fell behind",
        pb.LOST_UNFLUSHED: "all that was never fsynced",
        pb.LOST_EVERYTHING: "everything",
    }
    return told.get(topic.lost, "unknown to this version")


def _span(span: pb.SecondsSpan) -> str:
    if not span.most_s:
        return "none"
    if span.most_s <= _SHORT_S:
        return f"up to {span.most_s:g} s"
    return f"{span.least_s:.0f} to {span.most_s:.0f} s"


def _until(topic: pb.FaultPrediction) -> str:
    if not topic.silent_s.most_s:
        return "-"
    told = {
        pb.NEVER_ENDED: f"broker {some(topic.awaited)} is back" if topic.awaited else "never",
        pb.HEALED: "it is over",
        pb.ISR_SHRUNK: "the ISR shrinks",
        pb.LEADER_ELECTED: "another leads",
        pb.BROKER_RETURNED: f"broker {some(topic.awaited)} is back",
    }
    return told.get(topic.ended, "unknown to this version")


COMMANDS: dict[str, Callable[..., None]] = {
    str(blow): with_options_of(_Asked.of, _predict, globals()[blow.name.lower()]) for blow in Blow
}
"""Commands of `guardian what-if`, by name."""
