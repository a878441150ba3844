"""docs/rights.md: who may call which RPC and use which HTTP route, made from the rules themselves."""

from __future__ import annotations

from collections.abc import Iterable

from guardian.security.model.identity import Role
from guardian.security.rules.permitting import RPCS, Rule, Where
from guardian.security.rules.routing import RouteTable

_CUT = "cut to the clusters that the caller sees"
_HEAD = """\
# Who may do what

<!-- Made by `guardian docs rights --out docs/rights.md`: change the rules, not this page. -->

The rule of an RPC is an option at the method in its `.proto` (`protos/guardian/v1/access.proto`), the one of an HTTP
route an `@access` at its handler (`guardian/security/rules/routing.py`). A method without a rule does not build, and
a member does not start with a route without one.
What the roles are: [Security](security.md).
"""


def page(routes: RouteTable) -> str:
    """Return the page in Markdown."""
    rpcs = [
        (method.removeprefix("/").removeprefix("guardian.v1."), *_columns(rule.where, rule.roles), _notes(rule))
        for method, rule in sorted(RPCS.items())
    ]
    guarded = [
        (f"{method} {template}", *_columns(rule.where, rule.roles), _CUT if rule.is_metrics else "")
        for (method, template), rule in routes.rules.items()
    ]
    return "\n".join(
        [
            _HEAD,
            "## RPCs\n",
            *_table(("method", "role", "where", "besides"), rpcs),
            "\n## HTTP routes\n",
            "The first route that fits counts.\n",
            *_table(("route", "role", "where", "besides"), guarded),
            "",
        ]
    )


def _columns(where: Where, roles: tuple[Role, ...]) -> tuple[str, str]:
    return " or ".join(role.value for role in roles) or "none", where.value


def _notes(rule: Rule) -> str:
    notes = []
    if rule.who:
        notes.append(f"`{rule.who}` becomes the proven name")
    if rule.broker:
        notes.append(f"speaks for the broker in `{rule.broker}` only")
    if rule.logs_in:
        notes.append("to allowed addresses only")
    if rule.is_cut:
        notes.append(_CUT)
    return "; ".join(notes)


def _table(names: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [names, tuple("---" for _ in names), *((f"`{name}`", *others) for name, *others in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]
