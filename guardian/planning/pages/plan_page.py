"""A plan as one HTML file that needs nothing else: it opens from a disk, a mail or a ticket, also without a network.

What could not be met, goals, before and after per broker and log dir for each resource, what is copied between racks
and between IDCs, and why each partition moves. The page's script draws what `payload` says; nothing is computed there
but what is on screen.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from importlib.resources import files
from string import Template

from guardian.execution.rules.lasting import lasting_text
from guardian.model.log_dirs import names_of, places_text, shortened
from guardian.model.plan import GoalResult, LoadSummary, PartitionMove, Plan, spreads
from guardian.model.text import escaped, escaped_tree

_STATIC = files("guardian.console") / "static"
_SCRIPTS = ("units.js", "plan-charts.js", "plan.js")
# A browser lists this many rows without effort; the page says how many are left out, the JSON has them all.
_MOST_MOVES = 2000


def plan_page(plan: Plan) -> str:
    """The page's text. The same plan gives the same page, to the byte."""
    template = Template((_STATIC / "plan.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=_text(f"{plan.kind} of {plan.cluster}"),
        style=(_STATIC / "plan.css").read_text(encoding="utf-8"),
        library=(_STATIC / "echarts.min.js").read_text(encoding="utf-8"),
        script="\n".join((_STATIC / name).read_text(encoding="utf-8") for name in _SCRIPTS),
        payload=_embedded(payload(plan)),
    )


def payload(plan: Plan) -> dict[str, object]:
    """Return what the page shows, as JSON; by resource, rows of `brokers` and `log_dirs` are [name, before, after,
    capacity, is leaving].
    """
    names = names_of(plan.moves, plan.loads)
    return {
        "cluster": plan.cluster,
        "kind": plan.kind,
        "input": plan.input,
        "moves_total": len(plan.moves),
        "bytes": plan.bytes_to_copy,
        "takes": lasting_text(plan),
        "throttle": plan.throttle,
        "notes": [shortened(sentence, names) for sentence in plan.notes],
        "unmet": [shortened(sentence, names) for sentence in plan.unmet],
        "goals": [_goal(goal) for goal in plan.goals],
        "brokers": _by_resource((load for load in plan.loads if not load.log_dir), names),
        "log_dirs": _by_resource((load for load in plan.loads if load.log_dir), names),
        "spreads": [[kind, before, after] for kind, (before, after) in spreads(plan.loads).items()],
        "racks": _flows((rack.from_rack, rack.to_rack, rack.bytes) for rack in plan.racks),
        "idcs": _flows((link.from_idc, link.to_idc, link.bytes) for link in plan.links),
        "lines": [[link.from_idc, link.to_idc, link.bytes, link.seconds, link.cost] for link in plan.links],
        "moves": [_move(move, names) for move in plan.moves[:_MOST_MOVES]],
    }


def _goal(goal: GoalResult) -> list[object]:
    """JSON has no infinity: null is not asked for."""
    asked = goal.target if math.isfinite(goal.target) else None
    return [goal.goal, goal.is_hard, goal.before, goal.after, asked, goal.is_met]


def _by_resource(loads: Iterable[LoadSummary], names: Mapping[str, str]) -> dict[str, list[list[object]]]:
    rows: dict[str, list[list[object]]] = {}
    for load in loads:
        name = f"{load.broker}:{names[load.log_dir]}" if load.log_dir else str(load.broker)
        row = [name, load.before, load.after, load.capacity, load.is_leaving and not load.after]
        rows.setdefault(load.resource or "traffic", []).append(row)
    return rows


def _flows(flows: Iterable[tuple[str, str, int]]) -> list[list[object]]:
    return [[source or "-", destination or "-", size] for source, destination, size in flows if size]


def _move(move: PartitionMove, names: Mapping[str, str]) -> list[object]:
    return [
        str(move.partition),
        places_text(move.original, names) or "(new)",
        places_text(move.target, names),
        move.bytes_to_copy,
        move.goal,
        shortened(move.reason, names),
        move.stage + 1,
    ]


def _embedded(value: object) -> str:
    """JSON inside a script element: a topic's or log dir's name must not end the element."""
    return json.dumps(escaped_tree(value), ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")


def _text(value: str) -> str:
    return escaped(value).replace("&", "&amp;").replace("<", "&lt;")
