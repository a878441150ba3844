"""`guardian durability`: how safe a cluster's data is, and what the loss of a broker, a rack or an IDC would do."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from guardian.cli.options import ClusterOption, EndpointsOption, Output, OutputOption, connect
from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, print_json, print_table
from guardian.errors import InvalidInput
from guardian.model.durability import Rating
from protos.guardian.v1 import insight_pb2 as pb

_SCOPES = ("broker", "rack", "idc")


def durability(
    cluster: ClusterOption = "",
    topic: Annotated[
        list[str] | None, typer.Option("--topic", help="A pattern, such as 'orders-*'. May be repeated.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show so many topics, the worst.")] = 20,
    losses: Annotated[
        int, typer.Option("--losses", min=1, help="Show so many brokers, racks and IDCs, the worst.")
    ] = 5,
    fail_below: Annotated[
        str,
        typer.Option(
            "--fail-below", help="Exit with 1 when a topic is rated lower: at_risk, weak, one_rack, degraded, sound."
        ),
    ] = "",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Rate the durability of topics, and say what the loss of a broker, a rack or an IDC would do to them.

    offline < at_risk < weak < one_rack < degraded < sound. It asks Kafka now and changes nothing. What is said of
    acknowledged data holds with acks=all: with acks=0 or 1 the leader's copy is all that counts, whatever is set here.

    Example: guardian durability --cluster live --topic 'orders-*' --fail-below degraded
    """
    least = _rating(fail_below).gravity if fail_below else 0
    with connect(endpoints) as client:
        report = client.durability(cluster, topic or (), 0 if output is Output.JSON else limit)
    if output is Output.JSON:
        print_json(as_dict(report))
    else:
        _show(report, losses)
    if any(Rating(rating).gravity < least and count for rating, count in report.topics_by_rating.items()):
        raise typer.Exit(1)


def _rating(text: str) -> Rating:
    known = {rating.name.lower(): rating for rating in Rating}
    if text.lower() not in known:
        raise InvalidInput(f"--fail-below is {text!r}: use one of {', '.join([*known][1:])}")
    return known[text.lower()]


def _show(report: pb.DurabilityReport, losses: int) -> None:
    counts = Counter(dict(report.topics_by_rating))
    summary = ", ".join(
        f"{counts[rating]} {_name(rating)}" for rating in sorted(counts, key=lambda each: Rating(each).gravity)
    )
    echo(f"cluster {report.cluster}: {report.topics_in_all} topics{': ' + summary if summary else ''}")
    if report.topics:
        echo()
        print_table(
            (
                "TOPIC",
                "RATING",
                "PARTITIONS",
                "RF",
                "MIN ISR",
                "UNCLEAN",
                "OUT OF SYNC",
                "PREFERRED",
                "SURVIVES",
                "WHY",
            ),
            [_topic_row(topic) for topic in report.topics],
            right=("PARTITIONS", "RF", "MIN ISR", "OUT OF SYNC", "PREFERRED", "SURVIVES"),
            more=more_of(report.topics, "offline", "under_min_isr", "preferred_leaders", "start_first"),
        )
    hidden = report.topics_in_all - len(report.topics)
    if hidden:
        echo(f"{hidden} more topics, rated the same or better: --limit {report.topics_in_all} shows all")
    shown = [loss for scope in _SCOPES for loss in [one for one in report.losses if one.scope == scope][:losses]]
    if shown:
        echo()
        echo("if this were lost now, so many partitions")
        print_table(
            ("LOST", "MOVE LEADERS", "GO OFFLINE", "REFUSE WRITES", "MAY LOSE DATA"),
            [
                (f"{loss.scope} {loss.name}", *map(str, (loss.leaders, loss.offline, loss.unwritable, loss.exposed)))
                for loss in shown
            ],
            right=("MOVE LEADERS", "GO OFFLINE", "REFUSE WRITES", "MAY LOSE DATA"),
            more=more_of(shown, "brokers"),
        )
    if report.remarks:
        echo()
    for remark in report.remarks:
        echo(f"note: {remark}")


def _topic_row(topic: pb.TopicDurability) -> tuple[str, ...]:
    return (
        topic.topic,
        _name(topic.rating),
        str(topic.partitions),
        str(topic.replication_factor),
        str(topic.min_isr),
        "yes" if topic.unclean_elections else "no",
        str(topic.under_replicated),
        f"{100 * topic.preferred_leaders // max(1, topic.partitions)}%",
        _brokers(topic.survives_brokers),
        "; ".join(topic.reasons) or "-",
    )


def _brokers(count: int) -> str:
    return "no broker" if count == 0 else f"{count} broker{'s' if count > 1 else ''}"


def _name(rating: int) -> str:
    return pb.DurabilityRating.Name(pb.DurabilityRating.ValueType(rating)).lower()
