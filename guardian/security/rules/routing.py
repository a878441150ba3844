"""Who may use which HTTP route (of RPCs: guardian.security.rules.permitting).

A rule stands at the handler that it guards, as `@access(VIEW)`; a member does not start with a route without one.
A template's `{name}` stands for one part of a path and `{name:path}` for the rest. The first route that fits counts.
What a route does with a cluster is checked again where it is done, by the rule of the RPC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from guardian.security.model.identity import Role
from guardian.security.rules.permitting import Where

Handler = TypeVar("Handler", bound=Callable[..., Any])
_RULE = "access_rule"


@dataclass(frozen=True, slots=True)
class RouteRule:
    """Say who may ask for a route. With Where.CLUSTER the path has a `{cluster}`. `knows_people`: open to all, but it
    shows who asks."""

    where: Where
    roles: tuple[Role, ...] = ()
    is_metrics: bool = False
    knows_people: bool = False


OPEN = RouteRule(Where.OPEN)
METRICS = RouteRule(Where.ANYWHERE, (Role.VIEWER,), is_metrics=True)
VIEW = RouteRule(Where.ANYWHERE, (Role.VIEWER,))
VIEW_CLUSTER = RouteRule(Where.CLUSTER, (Role.VIEWER,))
VIEW_ALL = RouteRule(Where.EVERYWHERE, (Role.VIEWER,))
OPERATE = RouteRule(Where.ANYWHERE, (Role.OPERATOR,))


def access(rule: RouteRule) -> Callable[[Handler], Handler]:
    """Return a decorator that declares who may use a handler's route."""

    def declare(handler: Handler) -> Handler:
        setattr(handler, _RULE, rule)
        return handler

    return declare


class RouteTable:
    """List the rules of an application's routes, by method and template, in the order in which they are tried."""

    def __init__(self, routes: Iterable[tuple[str, str, Callable[..., Any]]]) -> None:
        """Take method, template and handler of each route. Raises TypeError where a handler declares no rule."""
        self.rules: dict[tuple[str, str], RouteRule] = {}
        for method, template, handler in routes:
            self.rules.setdefault((method, template), _rule_at(method, template, handler))
        self._compiled = [(key[0], template_pattern(key[1]), rule) for key, rule in self.rules.items()]

    def find(self, method: str, path: str) -> tuple[RouteRule, dict[str, str]] | None:
        """Return the rule and what the path's names stand for; None: nobody may."""
        asked = "GET" if method == "HEAD" else method
        for each, pattern, rule in self._compiled:
            match = pattern.fullmatch(path) if each == asked else None
            if match:
                return rule, match.groupdict()
        return None


def _rule_at(method: str, template: str, handler: Callable[..., Any]) -> RouteRule:
    rule: RouteRule | None = getattr(handler, _RULE, None)
    if rule is None:
        raise TypeError(f"{method} {template}: no rule says who may use it; declare one with @access at its handler")
    if rule.where is Where.CLUSTER and "{cluster}" not in template:
        raise TypeError(f"{method} {template}: its rule is about a cluster; name {{cluster}} in the path")
    return rule


# What programs ask: no page of the console, and nothing that a person types into a form.
_FOR_PROGRAMS = ("/api/v1/", "/clusters/", "/kafkacruisecontrol/", "/metrics", "/sd/")


def is_for_programs(path: str) -> bool:
    """Return whether the path is one of REST, of Cruise Control's API or of Prometheus."""
    return path.startswith(_FOR_PROGRAMS)


def template_pattern(template: str) -> re.Pattern[str]:
    """Return the pattern of a template's paths."""
    parts = re.split(r"(\{[a-z_]+(?::path)?\})", template)
    made = (
        f"(?P<{part[1:-1].partition(':')[0]}>{'.*' if part.endswith(':path}') else '[^/]+'})"
        if part.startswith("{")
        else re.escape(part)
        for part in parts
    )
    return re.compile("".join(made))
