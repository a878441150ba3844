"""Who may use which HTTP route (of RPCs: guardian.core.permitting).

A rule is about a method and a path, whose `{name}` stands for one part of it and `{name:path}` for the rest. The first
one that fits counts. What a route does with a cluster is checked again where it is done, by the rule of the RPC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from guardian.core.permitting import Where
from guardian.model.identity import Role


@dataclass(frozen=True, slots=True)
class RouteRule:
    """`cluster` names the part of the path that is the cluster; `knows_people`: open to all, but it shows who asks."""

    where: Where
    roles: tuple[Role, ...] = ()
    cluster: str = "cluster"
    is_metrics: bool = False
    knows_people: bool = False


_OPEN = RouteRule(Where.OPEN)
_METRICS = RouteRule(Where.ANYWHERE, (Role.VIEWER,), is_metrics=True)
_LOOK = RouteRule(Where.ANYWHERE, (Role.VIEWER,))
_ABOUT = RouteRule(Where.CLUSTER, (Role.VIEWER,))
_WORK = RouteRule(Where.ANYWHERE, (Role.OPERATOR,))
_ALL = RouteRule(Where.EVERYWHERE, (Role.VIEWER,))

ROUTES: dict[tuple[str, str], RouteRule] = {
    ("GET", "/"): _LOOK,
    ("GET", "/healthz"): _OPEN,
    ("GET", "/readyz"): _OPEN,
    ("GET", "/metrics"): _METRICS,
    ("GET", "/metrics/tenants"): _METRICS,
    ("GET", "/sd/prometheus"): _METRICS,
    ("GET", "/auth/login"): _OPEN,
    ("POST", "/auth/token"): _OPEN,
    ("GET", "/auth/oidc"): _OPEN,
    ("GET", "/auth/oidc/start"): _OPEN,
    ("GET", "/auth/callback"): _OPEN,
    ("POST", "/auth/logout"): RouteRule(Where.OPEN, knows_people=True),
    ("GET", "/auth/me"): _LOOK,
    # The console: a cluster's pages read the lake beside the API, and so are checked here.
    ("GET", "/console/"): _LOOK,
    ("GET", "/console/audit"): _ALL,
    ("GET", "/console/findings"): _LOOK,
    ("GET", "/console/machines"): _LOOK,
    ("GET", "/console/members"): _LOOK,
    ("GET", "/console/search"): _LOOK,
    ("GET", "/console/static/{name}"): _OPEN,
    ("GET", "/console/theme"): _OPEN,
    ("GET", "/console/tenants"): _LOOK,
    ("GET", "/console/tenants/{name}"): _LOOK,
    ("GET", "/console/tenants/{name}/usage"): _LOOK,
    **{
        ("GET", f"/console/clusters/{{cluster}}{page}"): _ABOUT
        for page in (
            "",
            "/activity",
            "/brokers",
            "/brokers/{broker_id}",
            "/brokers/{broker_id}/activity",
            "/brokers/{broker_id}/disks/{disk:path}",
            "/disks",
            "/durability",
            "/topics",
            "/topics/{topic}",
            "/topics/{topic}/activity",
            "/topics/{topic}/durability",
        )
    },
    ("GET", "/console/plans"): _LOOK,
    ("POST", "/console/plans/check"): _LOOK,
    ("POST", "/console/plans/ticket"): _WORK,
    ("GET", "/console/tickets"): _LOOK,
    ("GET", "/console/tickets/live"): _LOOK,
    ("GET", "/console/tickets/{ticket_id}"): _LOOK,
    ("GET", "/console/tickets/{ticket_id}/live"): _LOOK,
    ("GET", "/console/tickets/{ticket_id}/plan"): _LOOK,
    ("GET", "/console/tickets/{ticket_id}/series"): _LOOK,
    ("POST", "/console/tickets/{ticket_id}/approve"): _WORK,  # approver: as the API says
    ("POST", "/console/tickets/{ticket_id}/throttle"): _WORK,
    ("POST", "/console/tickets/{ticket_id}/{action}"): _WORK,
    # Cruise Control's API: what an endpoint's acting needs is checked where its parameters are known.
    ("GET", "/clusters/{cluster}/kafkacruisecontrol/{endpoint}"): _ABOUT,
    ("POST", "/clusters/{cluster}/kafkacruisecontrol/{endpoint}"): _ABOUT,
    ("GET", "/kafkacruisecontrol/{endpoint}"): _LOOK,
    ("POST", "/kafkacruisecontrol/{endpoint}"): _LOOK,
    ("GET", "/api/v1/clusters"): _LOOK,
    ("GET", "/api/v1/clusters/{cluster}"): _ABOUT,
    ("GET", "/api/v1/clusters/{cluster}/brokers"): _ABOUT,
    ("GET", "/api/v1/clusters/{cluster}/brokers/{broker}/metrics"): _ABOUT,
    ("GET", "/api/v1/clusters/{cluster}/durability"): _ABOUT,
    ("GET", "/api/v1/clusters/{cluster}/topics"): _ABOUT,
    ("GET", "/api/v1/clusters/{cluster}/topics/{topic}"): _ABOUT,
    ("POST", "/api/v1/clusters/{cluster}/plans"): _ABOUT,
    ("GET", "/api/v1/plans/{plan_hash}"): _LOOK,
    ("GET", "/api/v1/tickets"): _LOOK,
    ("POST", "/api/v1/tickets"): _LOOK,  # a dry run needs no more; what makes a ticket, the route asks for
    ("GET", "/api/v1/tickets/{ticket_id}"): _LOOK,
    ("GET", "/api/v1/tickets/{ticket_id}/preview"): _LOOK,
    **{
        ("POST", f"/api/v1/tickets/{{ticket_id}}/{act}"): _WORK
        for act in (
            "submit",
            "approve",
            "reject",
            "cancel",
            "pause",
            "resume",
            "roll-back",
            "adopt",
            "wait",
            "throttle",
        )
    },
    ("GET", "/api/v1/findings"): _LOOK,
    ("GET", "/api/v1/healing"): _LOOK,
    ("GET", "/api/v1/events"): _LOOK,
    ("GET", "/api/v1/audit"): _ALL,
    ("GET", "/api/v1/members"): _LOOK,
    ("GET", "/api/v1/openapi.json"): _LOOK,
    ("GET", "/api/v1/{rest:path}"): _LOOK,
    ("POST", "/api/v1/{rest:path}"): _LOOK,
}


# What programs ask: no page of the console, and nothing that a person types into a form.
_FOR_PROGRAMS = ("/api/v1/", "/clusters/", "/kafkacruisecontrol/", "/metrics", "/sd/")


def is_for_programs(path: str) -> bool:
    """Whether the path is one of REST, of Cruise Control's API or of Prometheus."""
    return path.startswith(_FOR_PROGRAMS)


def find_rule(method: str, path: str) -> tuple[RouteRule, dict[str, str]] | None:
    """The rule and what the path's names stand for; None: nobody may."""
    asked = "GET" if method == "HEAD" else method
    for (each, _), pattern, rule in _compiled():
        match = pattern.fullmatch(path) if each == asked else None
        if match:
            return rule, match.groupdict()
    return None


def template_pattern(template: str) -> re.Pattern[str]:
    """What paths of a template look like."""
    parts = re.split(r"(\{[a-z_]+(?::path)?\})", template)
    made = (
        f"(?P<{part[1:-1].partition(':')[0]}>{'.*' if part.endswith(':path}') else '[^/]+'})"
        if part.startswith("{")
        else re.escape(part)
        for part in parts
    )
    return re.compile("".join(made))


@lru_cache(maxsize=1)
def _compiled() -> list[tuple[tuple[str, str], re.Pattern[str], RouteRule]]:
    return [(key, template_pattern(key[1]), rule) for key, rule in ROUTES.items()]
