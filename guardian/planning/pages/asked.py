"""The pages by which a plan, or an operation on brokers, is asked for, looked at and made a ticket.

GET  /console/clusters/NAME/ask                what may be asked for
GET  /console/clusters/NAME/ask/FORM           a form; its query fills fields: ?brokers=7
POST /console/clusters/NAME/ask/FORM           begins to make the plan: nothing is stored
GET  /console/plans/asked/ID                   how far it is, then the plan
POST /console/plans/asked/ID/give-up           nobody waits for it any more
POST /console/plans/asked/ID/ticket            the plan, or the operation, made a ticket

A page without scripts loads itself anew while the plan is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Form, Request
from fastapi.responses import RedirectResponse, Response

from guardian.client import GuardianClient
from guardian.console.filling import Field, Shape
from guardian.console.looking import Looks
from guardian.console.paging import Asked
from guardian.console.rendering import Renderer, is_part
from guardian.console.sections import get, post
from guardian.console.urls import url
from guardian.errors import ClusterUnavailable, Conflict, GuardianError, InvalidInput, NotFound, Overloaded
from guardian.model.operation import Ask
from guardian.model.plan import Plan
from guardian.planning.model import PlansConfig
from guardian.planning.orders import PlanOrder
from guardian.planning.pages.asked_plan import AskedPlan
from guardian.planning.pages.asked_plans import AskedPlans, Make, Told
from guardian.planning.pages.asking import FORMS, THROTTLE, AskForm, PlanForm
from guardian.planning.pages.asking import Form as AskedFor
from guardian.planning.pages.plans_view import DrawnPlan, drawn, shown_plan
from guardian.security.rules.routing import OPERATE, VIEW, VIEW_CLUSTER
from guardian.tickets.pages.tickets import LOCAL, NAME_COOKIE, actor_of, remember_name
from guardian.tickets.pages.tickets_kept import Recent
from guardian.web.parts import Person, WebParts
from protos.guardian.v1 import planning_pb2

_STATUS = {InvalidInput: 400, NotFound: 404, Conflict: 409, Overloaded: 429, ClusterUnavailable: 502}
_DRAWN_S = 3600.0
_MOST_DRAWN = 16


async def _typed(request: Request) -> Mapping[str, str]:
    """Return what a form has sent, but for files."""
    return {name: value for name, value in (await request.form()).items() if isinstance(value, str)}


Typed = Annotated[Mapping[str, str], Depends(_typed)]


class AskPages:
    """Handlers run in a pool of threads; what they wait for is short: plans are made by threads of their own."""

    def __init__(self, web: WebParts, render: Renderer, looks: Looks) -> None:
        self._web = web
        self._render = render
        self._looks = looks
        self._asked = AskedPlans(web.now_ms, web.asked)
        self._drawn: Recent[str, DrawnPlan] = Recent(_DRAWN_S, _MOST_DRAWN)

    def close(self) -> None:
        self._asked.close()

    @get("/clusters/{cluster}/ask", VIEW_CLUSTER)
    def choices(self, request: Request, cluster: str) -> Response:
        return self._render(
            request,
            "asking.html",
            section="plans",
            title=f"Ask for a change of {cluster}",
            crumbs=(*self._above(request, cluster), ("Ask", "")),
            cluster=cluster,
            plans=[form for form in FORMS.values() if isinstance(form, PlanForm)],
            operations=[form for form in FORMS.values() if isinstance(form, AskForm)],
        )

    @get("/clusters/{cluster}/ask/{form}", VIEW_CLUSTER)
    def form(self, request: Request, cluster: str, form: str) -> Response:
        return self._form(request, cluster, _form_of(form), dict(request.query_params))

    @post("/clusters/{cluster}/ask/{form}", VIEW_CLUSTER)
    def ask(self, request: Request, cluster: str, form: str, typed: Typed) -> Response:
        """Begin to make the plan. It stores nothing, so that who may look may ask; an operation asks for more."""
        asked_for, person = _form_of(form), self._web.user_of(request)
        try:
            make = self._make(person, cluster, asked_for, typed)
            asked = self._asked.start(person, cluster, form, _own(asked_for, typed), make)
        except (InvalidInput, Overloaded) as error:
            return self._form(request, cluster, asked_for, typed, error)
        return RedirectResponse(url("plans", "asked", asked.id), 303)

    @get("/plans/asked/{asked_id}", VIEW)
    def asked(
        self,
        request: Request,
        asked_id: str,
        q: str = "",
        page: int = 1,
        sort: str = "",
        size: int = 50,
        resource: str = "",
    ) -> Response:
        asked = self._asked.of(self._web.user_of(request), asked_id)
        return self._shown(request, asked, Asked(q, page, sort, size), resource)

    @post("/plans/asked/{asked_id}/give-up", VIEW)
    def give_up(self, request: Request, asked_id: str) -> Response:
        asked = self._asked.give_up(self._web.user_of(request), asked_id)
        return RedirectResponse(_form_url(asked), 303)

    @post("/plans/asked/{asked_id}/ticket", OPERATE)
    def make_ticket(
        self,
        request: Request,
        asked_id: str,
        actor: Annotated[str, Form()] = "",
        reason: Annotated[str, Form()] = "",
        submit: Annotated[bool, Form()] = False,
    ) -> Response:
        """Make the ticket; a form that is sent twice makes one."""
        person = self._web.user_of(request)
        asked = self._asked.of(person, asked_id)
        if asked.plan is None:
            raise Conflict(f"plan {asked_id}: not made (it is {asked.doing or 'over'}); look at its page")
        try:
            make = _TicketMaker(self._web.client(request), actor_of(person, actor), reason, submit)
            ticket_id = make.of_form(asked, asked.plan, FORMS[asked.form])
        except (InvalidInput, Conflict, ClusterUnavailable, NotFound) as error:
            return self._shown(request, asked, Asked(), error=error)
        answer = RedirectResponse(url("tickets", ticket_id), 303)
        remember_name(request, answer, actor)
        return answer

    def _make(self, person: Person, cluster: str, form: AskedFor, typed: Mapping[str, str]) -> Make:
        client = self._web.client_for(person)
        if isinstance(form, PlanForm):
            return partial(_plan_of, client, cluster, form.order(typed))
        return partial(_rehearsed, client, cluster, form.ask(typed), actor_of(person, ""), form.throttle(typed))

    def _form(
        self,
        request: Request,
        cluster: str,
        form: AskedFor,
        typed: Mapping[str, str],
        error: GuardianError | None = None,
    ) -> Response:
        return self._render(
            request,
            "ask.html",
            status=_status_of(error),
            section="plans",
            title=f"{form.wish}: {cluster}",
            crumbs=(*self._above(request, cluster), ("Ask", url("clusters", cluster, "ask")), (form.wish, "")),
            cluster=cluster,
            form=form,
            is_plan=isinstance(form, PlanForm),
            fields=[(field, _filled(field, typed)) for field in form.fields],
            settings=[(field, _filled(field, typed)) for field in form.settings],
            error=str(error) if error else "",
        )

    def _shown(
        self,
        request: Request,
        asked: AskedPlan,
        wanted: Asked,
        resource: str = "",
        error: GuardianError | None = None,
    ) -> Response:
        form = FORMS[asked.form]
        above = (*self._above(request, asked.cluster), ("Ask", url("clusters", asked.cluster, "ask")))
        common: dict[str, Any] = {
            "section": "plans",
            "title": f"{form.wish}: {asked.cluster}",
            "crumbs": (*above, ("Plan", "")),
            "asked": asked,
            "form": form,
            "again": _form_url(asked),
        }
        if asked.plan is None:
            return self._render(request, "asked.html", status=_status_of(asked.error), **common)
        if is_part(request) and wanted == Asked():
            return Response(headers={"HX-Refresh": "true"})  # the page that waited lacks the plan's drawings
        plan, person = asked.plan, self._web.user_of(request)
        seen = self._drawn.of(asked.id, lambda: drawn(plan, {}))
        return self._render(
            request,
            "plan.html",
            status=_status_of(error),
            **common,
            **shown_plan(seen, wanted, resource, url("plans", "asked", asked.id)),
            ticket_id="",
            hidden={} if plan.moves or isinstance(form, AskForm) else None,
            make_url=url("plans", "asked", asked.id, "ticket"),
            error=str(error) if error else "",
            asks_name=person.name == LOCAL,
            name=request.cookies.get(NAME_COOKIE, LOCAL),
        )

    def _above(self, request: Request, cluster: str) -> tuple[tuple[str, str], ...]:
        """Return the way to the cluster. Raises NotFound, also for one that the person may not see."""
        self._looks.cluster(request, cluster)
        return (("Federation", url("")), (cluster, url("clusters", cluster)))


class _TicketMaker:
    """Make the ticket of what was asked for, once however often: by the id under which it was asked for."""

    def __init__(self, client: GuardianClient, author: str, reason: str, submit: bool) -> None:
        self._client = client
        self._author = author
        self._reason = reason
        self._submit = submit

    def of_form(self, asked: AskedPlan, plan: Plan, form: AskedFor) -> str:
        """Return the ticket's id. Raises GuardianError."""
        if isinstance(form, PlanForm):
            return self._of_plan(asked.id, plan, form.order(asked.given))
        return self._of_ask(asked, form.ask(asked.given), form.throttle(asked.given))

    def _of_plan(self, key: str, plan: Plan, order: PlanOrder) -> str:
        ticket, _ = self._client.create_ticket(
            plan,
            author=self._author,
            throttle=int(order.changes.get(THROTTLE, 0)),
            submit=self._submit,
            reason=self._reason,
            idempotency_key=key,
        )
        return ticket.id

    def _of_ask(self, asked: AskedPlan, ask: Ask, throttle: int) -> str:
        ticket, _ = self._client.ask_for(
            asked.cluster,
            ask,
            author=self._author,
            throttle=throttle,
            submit=self._submit,
            reason=self._reason,
            idempotency_key=asked.id,
        )
        return ticket.id


def _plan_of(client: GuardianClient, cluster: str, order: PlanOrder, tell: Told) -> Plan:
    return client.make_plan(cluster, order, lambda progress: tell(_words(progress)))


def _rehearsed(client: GuardianClient, cluster: str, ask: Ask, author: str, throttle: int, tell: Told) -> Plan:
    """Return what the operation would do now; ends with what `tell` raises, and the member's plan with it."""
    looks = partial(tell, "what it would do is looked at")
    looks()
    ticket, plan = client.ask_for(
        cluster,
        ask,
        author=author,
        throttle=throttle,
        dry_run=True,
        plan_s=PlansConfig().longest_s,
        while_waiting=looks,
    )
    return plan if plan is not None else Plan(cluster, ticket.kind, ())


def _words(progress: planning_pb2.PlanProgress) -> str:
    before = [
        f"{count} of {whose} come first"
        for count, whose in ((progress.own_before, "your own"), (progress.others_before, "other people's"))
        if count
    ]
    return "; ".join([progress.description, *before])


def _form_of(name: str) -> AskedFor:
    form = FORMS.get(name)
    if form is None:
        raise NotFound(f"form: unknown (got {name[:40]!r}); use one of {', '.join(FORMS)}")
    return form


def _own(form: AskedFor, typed: Mapping[str, str]) -> dict[str, str]:
    """Return what was typed into the form's own fields."""
    return {field.name: typed[field.name] for field in (*form.fields, *form.settings) if typed.get(field.name)}


def _filled(field: Field, typed: Mapping[str, str]) -> str:
    """Return what a field shows: what was typed, else its default. A tick that is not sent was taken away."""
    if field.shape is Shape.TICK and typed.get("sent"):
        return typed.get(field.name, "")
    return typed.get(field.name, field.default)


def _form_url(asked: AskedPlan) -> str:
    return url("clusters", asked.cluster, "ask", asked.form, sent="1", **asked.given)


def _status_of(error: GuardianError | None) -> int:
    return next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 503 if error else 200)
