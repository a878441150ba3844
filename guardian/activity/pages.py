"""What topics and tenants of a cluster move and hold, and what that costs by the members' price list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import Response

from guardian.activity.model import CostLine, PriceList
from guardian.activity.rules.costs import by_tenant, cost_of, dearest_first
from guardian.activity.wire import cost_lines, price_list_from_proto
from guardian.console.cluster import Name
from guardian.console.paging import Columns, List, page_of
from guardian.console.sections import get
from guardian.console.views import ReadingPages
from guardian.security.rules.routing import VIEW_CLUSTER

_MOST_TENANTS = 50


@dataclass(frozen=True, slots=True)
class Priced:
    """A line, and what it costs; None: nobody knows, or nothing has a price."""

    line: CostLine
    cost: float | None


COST_COLUMNS: Columns[Priced] = {
    "topic": lambda each: each.line.topic,
    "tenant": lambda each: each.line.tenant,
    "written": lambda each: each.line.produced,
    "read": lambda each: each.line.fetched,
    "stored": lambda each: each.line.stored,
    "tiered": lambda each: each.line.tiered,
    "cost": lambda each: each.cost,
}


class CostPages(ReadingPages):
    @get("/clusters/{cluster}/costs", VIEW_CLUSTER)
    def costs(self, request: Request, name: Name, asked: List) -> Response:
        view = self._views.of_cluster(request, name, "costs")
        seen = view.part(self._looks.costs, view.cluster)
        reply, tiered, span_ms = seen or (None, None, 0)
        for sentence in (*reply.unknown, *(["tiered storage"] if tiered is None else [])) if reply else ():
            view.say(f"Not known: {sentence}.")
        prices = price_list_from_proto(reply.prices) if reply and reply.HasField("prices") else None
        lines = cost_lines(reply, tiered) if reply else ()
        return view.shown(
            "costs.html",
            f"Costs of {name}",
            ("Costs", ""),
            page=page_of(_priced(lines, prices, span_ms), asked, _text, COST_COLUMNS, "-cost" if prices else "-stored"),
            tenants=_priced(dearest_first(by_tenant(lines), prices, span_ms)[:_MOST_TENANTS], prices, span_ms),
            has_prices=prices is not None,
        )


def _priced(lines: Sequence[CostLine], prices: PriceList | None, span_ms: int) -> list[Priced]:
    return [Priced(line, cost_of(line, prices, span_ms)) for line in lines]


def _text(each: Priced) -> str:
    """Return the text that a search looks at."""
    return f"{each.line.topic} {each.line.tenant}"
