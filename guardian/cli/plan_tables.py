"""A plan as a person reads it in a terminal: what it moves and why, what it changes, costs, and leaves undone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, print_table
from guardian.execution.rules.lasting import lasting_text, takes_s
from guardian.model.log_dirs import names_of, places_text, shortened
from guardian.model.plan import GoalResult, LoadResource, LoadSummary, PartitionMove, Plan, spreads
from guardian.model.units import figure_text, human_bytes, human_duration
from guardian.model.wire.plans import plan_to_proto

# More than a screen of rows tells a person nothing: the rest is in -o json and in the picture.
_MOST_MOVES = 40
_MOST_BARS = 20


def plan_as_dict(plan: Plan) -> dict[str, object]:
    """Return the plan as JSON has it, with `takes_s`: at least, and at most (null: nothing bounds it)."""
    return as_dict(plan_to_proto(plan)) | {"takes_s": takes_s(plan)}


def show_plan(plan: Plan, most_moves: int = _MOST_MOVES) -> None:
    """Prints the plan: its moves, goals and loads before and after, lines it uses, time, and what it could not do."""
    echo(f"Cluster {plan.cluster}: {plan.kind}, {_size(plan)}. {plan.input}")
    names = names_of(plan.moves, plan.loads)
    _show_moves(plan.moves, names, most_moves)
    _show_goals(plan)
    if plan.moves:
        show_loads(plan.loads, names)
    _show_lines(plan)
    if plan.notes or plan.unmet:
        echo()
    for sentence in plan.notes:
        echo(f"Note: {shortened(sentence, names)}")
    for sentence in plan.unmet:
        echo(f"Not met: {shortened(sentence, names)}")


def _size(plan: Plan) -> str:
    if not plan.moves:
        return "nothing to move"
    takes = lasting_text(plan)
    time_text = f", {takes} at {_rate(plan.throttle)}" if takes else ""
    copy = f"{human_bytes(plan.bytes_to_copy)} to copy" if plan.bytes_to_copy else "nothing to copy"
    return f"{_moves(len(plan.moves))}, {copy}{time_text}"


def _moves(count: int) -> str:
    return "1 move" if count == 1 else f"{count} moves"


def _show_moves(moves: Sequence[PartitionMove], names: Mapping[str, str], most: int) -> None:
    if not moves:
        return
    print_table(
        ("PARTITION", "FROM", "TO", "COPY", "WHY"),
        [
            (
                str(move.partition),
                places_text(move.original, names) or "(new)",
                places_text(move.target, names),
                _copy(move),
                shortened(move.reason, names),
            )
            for move in moves[:most]
        ],
        right=("COPY",),
        more=more_of(moves[:most], "size_bytes", "stage", "goal", "relief"),
    )
    if len(moves) > most:
        echo(f"... and {len(moves) - most} more: -o json, --out and --picture have them all")


def _copy(move: PartitionMove) -> str:
    if move.bytes_to_copy:
        return human_bytes(move.bytes_to_copy)
    return "none" if move.is_new or move.changes_replication_factor else "leader only"


def _show_goals(plan: Plan) -> None:
    """Those that were asked for, changed or are not met: a hard goal that holds before and after is only counted."""
    shown = [goal for goal in plan.goals if not goal.is_met or (plan.moves and _says_something(goal))]
    if shown:
        echo()
        print_table(
            ("GOAL (SPREADS: MAX/MEAN - 1)", "BEFORE", "AFTER", "ASKED", "MET"),
            [
                (
                    goal.goal + (" (hard)" if goal.is_hard else ""),
                    figure_text(goal.before),
                    figure_text(goal.after),
                    figure_text(goal.target) if math.isfinite(goal.target) else "-",
                    _met(goal),
                )
                for goal in shown
            ],
            right=("BEFORE", "AFTER", "ASKED"),
        )
    kept = sum(goal.is_hard and goal.is_met for goal in plan.goals)
    if kept:
        echo(f"Hard goals kept: {kept} of {sum(goal.is_hard for goal in plan.goals)}")


def _says_something(goal: GoalResult) -> bool:
    return goal.before != goal.after or (not goal.is_hard and math.isfinite(goal.target))


def _met(goal: GoalResult) -> str:
    if not goal.is_met:
        return "NO"
    return "yes" if math.isfinite(goal.target) else "-"


def _show_lines(plan: Plan) -> None:
    if not plan.links:
        return
    echo()
    print_table(
        ("FROM IDC", "TO IDC", "COPY", "AT LEAST", "COST"),
        [
            (
                link.from_idc or "-",
                link.to_idc or "-",
                human_bytes(link.bytes),
                human_duration(link.seconds * 1000) if link.seconds else "-",
                "-" if link.cost is None else f"{link.cost:.2f}",
            )
            for link in plan.links
        ],
        right=("COPY", "AT LEAST", "COST"),
    )


def show_loads(loads: Sequence[LoadSummary], names: Mapping[str, str]) -> None:
    """Prints before and after of brokers, and of log dirs, in what was most uneven of all that changes; then how even
    each resource is that changes.

    `names` are those that `short_log_dirs` gives. Spread is max/mean - 1, of use relative to capacity where known.
    """
    changing = {(bool(load.log_dir), load.resource) for load in loads if load.before != load.after}
    found = spreads([load for load in loads if (bool(load.log_dir), load.resource) in changing])
    for place, rows in (
        ("broker", [load for load in loads if not load.log_dir]),
        ("log dir", [load for load in loads if load.log_dir]),
    ):
        kinds = [kind for kind in found if kind == place or kind.startswith(f"{place} ")]
        if kinds:
            worst = max(kinds, key=lambda kind: found[kind][0]).removeprefix(place).strip()
            _show_bars(place, worst, [load for load in rows if load.resource == worst], names)
    if found:
        echo()
        print_table(
            ("SPREAD (MAX/MEAN - 1) OF", "BEFORE", "AFTER"),
            [(kind, f"{before:.2f}", f"{after:.2f}") for kind, (before, after) in found.items()],
            right=("BEFORE", "AFTER"),
        )


def _show_bars(place: str, resource: str, loads: Sequence[LoadSummary], names: Mapping[str, str]) -> None:
    """Show the loads as bars; of many only those that change most."""
    changing = sorted(loads, key=lambda load: -abs(load.after - load.before))[:_MOST_BARS]
    shown = [load for load in loads if load in changing]
    before, after = (f"{resource or 'traffic'} {when}".upper() for when in ("before", "after"))
    echo()
    print_table(
        (place.upper(), before, after, "BEFORE", "AFTER"),
        [
            (
                f"{load.broker}:{names.get(load.log_dir, load.log_dir)}" if load.log_dir else str(load.broker),
                _amount(load.before, resource),
                _amount(load.after, resource),
                _bar(load.before, shown),
                _bar(load.after, shown) + (" leaves" if load.is_leaving and not load.after else ""),
            )
            for load in shown
        ],
        right=(before, after),
        more=more_of(shown, "capacity", "is_leaving"),
    )
    if len(loads) > len(shown):
        echo(f"... and {len(loads) - len(shown)} that change less: -o json and --picture have them all")


def _amount(value: float, resource: str) -> str:
    if resource in (LoadResource.REPLICAS, LoadResource.LEADERS):
        return f"{value:.0f}"
    if resource == LoadResource.CPU:
        return f"{value:.0f} %"
    return human_bytes(value) + ("" if resource == LoadResource.DISK else "/s")


def _rate(throttle: int) -> str:
    return f"{human_bytes(throttle)}/s per broker"


def _bar(value: float, loads: Sequence[LoadSummary], width: int = 20) -> str:
    highest = max(max(load.before, load.after) for load in loads)
    return "█" * round(width * value / highest) if highest > 0 else ""


def describe_move(move: PartitionMove, names: Mapping[str, str]) -> str:
    """`[1:d0, 2:d1] -> [3:d0, 2:d1]`"""
    return f"[{places_text(move.original, names)}] -> [{places_text(move.target, names)}]"
