"""What brokers carry now beside what a plan said that they would: GET /console/tickets/ID/measured.

Measured is what a plan that is made now begins with: the same samples, units and definitions as the ticket's own plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import Response

from guardian.console.live import LiveFeeds
from guardian.console.rendering import Renderer
from guardian.console.sections import Pages, get, router_of
from guardian.console.urls import url
from guardian.console.views import View
from guardian.errors import NotFound
from guardian.model.plan import LoadSummary, Plan, spreads
from guardian.model.tasks import Balance
from guardian.planning.orders import PlanOrder
from guardian.planning.pages.plans_view import amount, title_of
from guardian.security.rules.routing import VIEW
from guardian.tickets.pages.tickets_kept import PlanShelf
from guardian.web.keeping import Kept
from guardian.web.parts import Person, WebParts

_FRESH_S = 60.0
_STALE_S = 600.0


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """Tell a load of a broker: before the plan, as the plan said it would be, and now; a dash where it is not known."""

    broker: int
    before: str
    predicted: str
    measured: str
    apart: float | None


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """Hold all brokers of one resource; `uneven_...` are spreads (max/mean - 1), None where nothing is measured."""

    title: str
    rows: tuple[MeasuredRow, ...]
    uneven_before: float
    uneven_predicted: float
    uneven_measured: float | None


def measured_tables(plan: Plan, loads: Sequence[LoadSummary]) -> tuple[MeasuredTable, ...]:
    """Return what the plan predicted of brokers beside `loads`, whose `before` is what is measured now. Brokers that
    leave by the plan are left out: they are to carry nothing."""
    now = {(load.broker, load.resource): load.before for load in loads if not load.log_dir}
    told = [load for load in plan.loads if not load.log_dir and not load.is_leaving]
    predicted, measured = spreads(told), spreads([load for load in loads if not load.log_dir])
    return tuple(
        MeasuredTable(
            title_of(resource),
            tuple(_row(load, now.get((load.broker, resource))) for load in told if load.resource == resource),
            *predicted[_place(resource)],
            measured[_place(resource)][0] if _place(resource) in measured else None,
        )
        for resource in dict.fromkeys(load.resource for load in told)
    )


def _row(load: LoadSummary, now: float | None) -> MeasuredRow:
    return MeasuredRow(
        load.broker,
        amount(load.before, load.resource),
        amount(load.after, load.resource),
        "-" if now is None else amount(now, load.resource),
        None if now is None or not load.after else now / load.after - 1,
    )


def _place(resource: str) -> str:
    return f"broker {resource}".rstrip()


def pages(web: WebParts, render: Renderer, _: LiveFeeds) -> Pages:
    """The section of what is measured after tickets."""
    made = MeasuredPages(web, render)
    return Pages(router_of(made, web.form_guard), made.close)


class MeasuredPages:
    def __init__(self, web: WebParts, render: Renderer) -> None:
        self._web = web
        self._render = render
        self._plans = PlanShelf()
        self._now: Kept[tuple[Person, str], Plan] = Kept(
            self._look, fresh_s=_FRESH_S, stale_s=_STALE_S, patience_s=web.dear_wait_s
        )

    def close(self) -> None:
        self._now.close()

    @get("/tickets/{ticket_id}/measured", VIEW)
    def measured(self, request: Request, ticket_id: str) -> Response:
        """One that is still running is beside its plan too: it is not there yet."""
        person, client = self._web.user_of(request), self._web.client(request)
        ticket, _ = client.ticket(ticket_id)
        if not ticket.plan_hash:
            raise NotFound(f"ticket {ticket_id} carries no plan: it made its own while it ran")
        plan = self._plans.plan(client, ticket.plan_hash)
        crumbs = (("Tickets", url("tickets")), (ticket_id, url("tickets", ticket_id)))
        view = View(self._render, request, "tickets", crumbs)
        now = view.part(lambda _: self._now.of((person, ticket.cluster)))
        return view.shown(
            "measured.html",
            f"Measured beside predicted: {ticket_id}",
            ("Measured", ""),
            ticket=ticket,
            now=now,
            tables=measured_tables(plan, now.loads) if now is not None else (),
        )

    def _look(self, key: tuple[Person, str]) -> Plan:
        person, cluster = key
        return self._web.client_for(person).make_plan(cluster, PlanOrder(Balance()))
