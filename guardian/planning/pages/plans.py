"""The pages of plans: what one would do, before anybody lets it.

GET  /console/plans                 hand one in; the plans of recent tickets
POST /console/plans/check           a reassignment file, checked against the live cluster: nothing is stored
POST /console/plans/ticket          the same file, made a ticket: a draft, or waiting for approval
GET  /console/tickets/ID/plan       the plan that a ticket carries
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated

from fastapi import File, Form, Request, UploadFile
from fastapi.responses import RedirectResponse, Response

from guardian.console.live import LiveFeeds
from guardian.console.paging import Asked
from guardian.console.rendering import Renderer
from guardian.console.sections import Pages, get, post, router_of
from guardian.console.urls import url
from guardian.errors import ClusterUnavailable, Conflict, GuardianError, InvalidInput, NotFound
from guardian.interop import reassignment_json
from guardian.model.plan import Plan
from guardian.model.tasks import ReplicationFactor
from guardian.model.throttle import DEFAULT_THROTTLE
from guardian.model.ticket import Ticket
from guardian.model.units import bytes_text, parse_rate
from guardian.planning.pages.plans_view import DrawnPlan, drawn, shown_plan
from guardian.security.rules.routing import OPERATE, VIEW
from guardian.tickets.pages.tickets import LOCAL, NAME_COOKIE, actor_of, remember_name
from guardian.tickets.pages.tickets_kept import Recent
from guardian.tickets.pages.tickets_view import TONES
from guardian.web.keeping import Kept
from guardian.web.parts import Person, WebParts

_MOST_CHARS = 16 << 20
_RECENT = 50
_LOOKED_AT = 500  # tickets, for those with a plan
_FRESH_S = 30.0  # which plan a ticket carries does not change
_LIST_FRESH_S = 1.5
_KEPT_S = 600.0  # a plan never changes; the racks of one that does not name them do, sometimes
_MOST_DRAWN = 16
_DEFAULT_THROTTLE = bytes_text(DEFAULT_THROTTLE)
_STATUS = {InvalidInput: 400, Conflict: 409, ClusterUnavailable: 502}

FileText = Annotated[str, Form()]
Upload = Annotated[UploadFile | None, File()]


@dataclass(frozen=True, slots=True)
class _Choices:
    """The clusters that a plan may be for, and the newest tickets that carry one."""

    clusters: tuple[str, ...]
    tickets: tuple[Ticket, ...]


def pages(web: WebParts, render: Renderer, _: LiveFeeds) -> Pages:
    """The section of plans."""
    made = PlanPages(web, render)
    return Pages(router_of(made, web.form_guard), made.close)


class PlanPages:
    def __init__(self, web: WebParts, render: Renderer) -> None:
        self._web = web
        self._render = render
        self._tickets: Recent[tuple[Person, str], Ticket] = Recent(_FRESH_S)
        # A person who has seen a ticket that names a plan may see the plan.
        self._drawn: Recent[tuple[Person, str], DrawnPlan] = Recent(_KEPT_S, _MOST_DRAWN)
        self._lists: Recent[Person, _Choices] = Recent(_LIST_FRESH_S)
        self._racks: Kept[tuple[Person, str], Mapping[int, str]] = Kept(self._racks_of, fresh_s=30.0)

    def close(self) -> None:
        self._racks.close()

    @get("/plans", VIEW)
    def plans(self, request: Request) -> Response:
        return self._form(request)

    @post("/plans/check", OPERATE)
    def check(
        self,
        request: Request,
        cluster: Annotated[str, Form()] = "",
        text: FileText = "",
        file: Upload = None,
        throttle: Annotated[str, Form()] = _DEFAULT_THROTTLE,
        changes_factor: Annotated[bool, Form()] = False,
        actor: Annotated[str, Form()] = "",
    ) -> Response:
        """Show what the file would do, with the sizes and places of the live cluster."""
        given = text
        try:
            given = _text_of(text, file)
            plan = _read(given, cluster, changes_factor=changes_factor)
            who = actor_of(self._web.user_of(request), actor)
            client = self._web.client(request)
            _, resolved = client.create_ticket(
                plan, author=who, throttle=parse_rate("the throttle", throttle), dry_run=True
            )
        except (InvalidInput, Conflict, ClusterUnavailable, NotFound) as error:
            return self._form(request, error, cluster, given, throttle)
        hidden = {
            "cluster": cluster,
            "text": given,
            "throttle": throttle,
            "changes_factor": "true" if changes_factor else "",
            "actor": actor,
            "key": uuid.uuid4().hex,
        }
        person = self._web.user_of(request)
        return self._shown(request, self._draw(person, resolved), Asked(size=200), hidden=hidden)

    @post("/plans/ticket", OPERATE)
    def make_ticket(
        self,
        request: Request,
        cluster: Annotated[str, Form()] = "",
        text: FileText = "",
        throttle: Annotated[str, Form()] = _DEFAULT_THROTTLE,
        changes_factor: Annotated[bool, Form()] = False,
        actor: Annotated[str, Form()] = "",
        reason: Annotated[str, Form()] = "",
        key: Annotated[str, Form()] = "",
        submit: Annotated[bool, Form()] = False,
    ) -> Response:
        """`key` makes a form that is sent twice one ticket."""
        try:
            plan = _read(text, cluster, changes_factor=changes_factor)
            ticket, _ = self._web.client(request).create_ticket(
                plan,
                author=actor_of(self._web.user_of(request), actor),
                throttle=parse_rate("the throttle", throttle),
                submit=submit,
                reason=reason,
                idempotency_key=key,
            )
        except (InvalidInput, Conflict, ClusterUnavailable, NotFound) as error:
            return self._form(request, error, cluster, text, throttle)
        self._lists.forget()
        answer = RedirectResponse(url("tickets", ticket.id), 303)
        remember_name(request, answer, actor)
        return answer

    @get("/tickets/{ticket_id}/plan", VIEW)
    def plan(
        self,
        request: Request,
        ticket_id: str,
        q: str = "",
        page: int = 1,
        sort: str = "",
        size: int = 50,
        resource: str = "",
    ) -> Response:
        person, client = self._web.user_of(request), self._web.client(request)
        ticket = self._tickets.of((person, ticket_id), lambda: client.ticket(ticket_id)[0])
        if not ticket.plan_hash:
            raise NotFound(f"ticket {ticket_id} carries no plan: it makes its own while it runs")
        plan_hash = ticket.plan_hash
        plan = self._drawn.of((person, plan_hash), lambda: self._draw(person, client.plan(plan_hash)))
        return self._shown(request, plan, Asked(q, page, sort, size), resource, ticket_id=ticket_id)

    def _form(
        self,
        request: Request,
        error: GuardianError | None = None,
        cluster: str = "",
        text: str = "",
        throttle: str = _DEFAULT_THROTTLE,
    ) -> Response:
        person = self._web.user_of(request)
        choices = self._lists.of(person, lambda: self._read_choices(person))
        return self._render(
            request,
            "plans.html",
            status=next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 404 if error else 200),
            section="plans",
            title="Plans",
            crumbs=(),
            error=str(error) if error else "",
            clusters=choices.clusters,
            cluster=cluster,
            text=text,
            throttle=throttle,
            asks_name=self._asks_name(request),
            name=request.cookies.get(NAME_COOKIE, LOCAL),
            tickets=[(ticket, TONES[ticket.state]) for ticket in choices.tickets],
        )

    def _read_choices(self, person: Person) -> _Choices:
        client = self._web.client_for(person)
        clusters = sorted(each.name for each in client.list_clusters() if person.sees(each.name))
        newest = (ticket for ticket, _ in islice(client.walk_tickets(), _LOOKED_AT))
        tickets = (ticket for ticket in newest if ticket.plan_hash and person.sees(ticket.cluster))
        return _Choices(tuple(clusters), tuple(islice(tickets, _RECENT)))

    def _asks_name(self, request: Request) -> bool:
        return self._web.user_of(request).name == LOCAL

    def _draw(self, person: Person, plan: Plan) -> DrawnPlan:
        return drawn(plan, {} if plan.racks else self._racks.of((person, plan.cluster)))

    def _shown(
        self,
        request: Request,
        shown: DrawnPlan,
        asked: Asked,
        resource: str = "",
        ticket_id: str = "",
        hidden: Mapping[str, str] | None = None,
    ) -> Response:
        where = url("tickets", ticket_id, "plan") if ticket_id else ""
        return self._render(
            request,
            "plan.html",
            section="tickets" if ticket_id else "plans",
            title=f"Plan: {shown.plan.kind} of {shown.plan.cluster}",
            crumbs=_crumbs(ticket_id),
            ticket_id=ticket_id,
            hidden=hidden,
            make_url=url("plans", "ticket"),
            again="",
            error="",
            asks_name=False,
            name="",
            **shown_plan(shown, asked, resource, where),
        )

    def _racks_of(self, key: tuple[Person, str]) -> Mapping[int, str]:
        person, name = key
        clusters = self._web.client_for(person).list_clusters()
        found = next((cluster for cluster in clusters if cluster.name == name), None)
        return {broker.id: broker.rack for broker in found.brokers if broker.rack} if found else {}


def _crumbs(ticket_id: str) -> tuple[tuple[str, str], ...]:
    if not ticket_id:
        return (("Plans", url("plans")), ("Checked", ""))
    return (("Tickets", url("tickets")), (ticket_id, url("tickets", ticket_id)), ("Plan", ""))


def _text_of(text: str, file: UploadFile | None) -> str:
    """Return what was pasted, or what is in the file. Raises InvalidInput."""
    if file is None or not file.filename:
        return text
    if text.strip():
        raise InvalidInput("a plan is pasted and a file is given: leave one of them out")
    content = file.file.read(_MOST_CHARS + 1)
    if len(content) > _MOST_CHARS:
        raise InvalidInput(f"the file is larger than {_MOST_CHARS >> 20} MiB: split it")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise InvalidInput("the file is not text: give the JSON of kafka-reassign-partitions") from None


def _read(text: str, cluster: str, *, changes_factor: bool) -> Plan:
    if not cluster:
        raise InvalidInput("cluster is empty: choose one, the file does not name it")
    if not text.strip():
        raise InvalidInput("the plan is empty: paste the JSON of kafka-reassign-partitions, or choose a file")
    if len(text) > _MOST_CHARS:
        raise InvalidInput(f"the plan is longer than {_MOST_CHARS >> 20} MiB: split it")
    plan = reassignment_json.read(text, cluster)
    return replace(plan, kind=ReplicationFactor.kind) if changes_factor else plan
