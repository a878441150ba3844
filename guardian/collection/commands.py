"""`guardian collection`: which member collects which brokers, and what is moving."""

from __future__ import annotations

import time
from collections import Counter
from typing import Annotated

import typer

from guardian.cli.options import EndpointsOption, Output, OutputOption, connect
from guardian.cli.output_more import more_of
from guardian.cli.render import as_dict, print_json, print_table
from guardian.model.collection import CollectionAssignment
from guardian.model.wire.collection import assignment_to_proto


def collection(
    brokers: Annotated[bool, typer.Option("--brokers", help="A line for each broker.")] = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show which member collects which brokers' metrics.

    The brokers of a member that is gone stay its own for [collect] delay_s: a restart moves nothing. After that they go
    to the others.

    Example: guardian collection --brokers
    """
    with connect(endpoints) as client:
        found = client.collection()
    if output is Output.JSON:
        print_json(as_dict(assignment_to_proto(found)))
    elif brokers:
        moves = [found.moves.get(key) for key in sorted(found.owners)]
        print_table(
            ("CLUSTER", "BROKER", "MEMBER", "MOVES TO"),
            _broker_rows(found),
            right=("BROKER",),
            more=more_of(moves, "since"),
        )
    else:
        print_table(
            ("MEMBER", "STATE", "BROKERS", "COMING", "GOING"),
            _rows(found),
            right=("BROKERS", "COMING", "GOING"),
            more=more_of([seat for _, seat in sorted(found.seats.items())], "incarnation", "acked", "gone_since_ms"),
        )


def _rows(found: CollectionAssignment) -> list[tuple[str, ...]]:
    shares = Counter(found.owners.values())
    coming = Counter(move.to for move in found.moves.values())
    going = Counter(found.owners[key] for key in found.moves)
    now_ms = time.time() * 1000
    return [
        (
            member,
            f"gone for {max(0.0, now_ms - seat.gone_since_ms) / 1000:.0f} s" if seat.gone_since_ms else "collects",
            str(shares[member]),
            str(coming[member]),
            str(going[member]),
        )
        for member, seat in sorted(found.seats.items())
    ]


def _broker_rows(found: CollectionAssignment) -> list[tuple[str, ...]]:
    return [
        (key.cluster, str(key.broker), owner, (found.moves[key].to or "nobody") if key in found.moves else "-")
        for key, owner in sorted(found.owners.items())
    ]
