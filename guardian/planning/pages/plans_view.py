"""A plan as its page shows it: what each broker has before and after, and what flows where. Pure.

A plan that Guardian made carries loads, goals and what is copied between racks. One from a file carries only moves:
then what is shown is worked out from them, and called what it is: the bytes and leaders of the partitions that move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from guardian.console.paging import Asked, Columns, page_of
from guardian.execution.rules.lasting import lasting_text
from guardian.model.log_dirs import names_of, places_text, shortened
from guardian.model.plan import (
    LoadResource,
    LoadSummary,
    PartitionMove,
    Plan,
    RackTransfer,
    spreads,
)
from guardian.model.units import figure_text, human_bytes
from guardian.planning.pages.plan_page import payload

MOVED = "moved"  # bytes of the partitions that the plan moves
MOVED_LEADERS = "moved_leaders"
# A picture with more bands than these tells nothing; the rest is one band.
MOST_FLOWS = 24
MOST_BARS = 400
_BROKERS_SHOWN = 50
_OTHERS = "others"
_UNITS: dict[str, str] = {
    LoadResource.CPU: "% of a core",
    LoadResource.DISK: "B",
    LoadResource.REPLICAS: "",
    LoadResource.LEADERS: "",
    MOVED: "B",
    MOVED_LEADERS: "",
}
_TITLES: dict[str, str] = {
    LoadResource.TRAFFIC: "Traffic",
    LoadResource.CPU: "CPU",
    LoadResource.NW_IN: "Network in",
    LoadResource.NW_OUT: "Network out",
    LoadResource.DISK: "Disk",
    LoadResource.DISK_IO: "Disk io",
    LoadResource.REPLICAS: "Replicas",
    LoadResource.LEADERS: "Leaders",
    MOVED: "Bytes of what moves",
    MOVED_LEADERS: "Leaders of what moves",
}


@dataclass(frozen=True, slots=True)
class Flow:
    """Bytes that are copied from one place to another."""

    source: str
    target: str
    bytes: int


@dataclass(frozen=True, slots=True)
class MoveRow:
    """One partition of a plan. `size` is what is copied, in words."""

    number: int
    stage: int
    partition: str
    origin: str
    target: str
    copy_bytes: int
    size: str
    goal: str
    reason: str


@dataclass(frozen=True, slots=True)
class BrokerRow:
    """What a plan does to a broker: bytes copied into it, out of it, between its log dirs; and one load."""

    broker: int
    bytes_in: int
    bytes_out: int
    bytes_inside: int
    before: str
    after: str
    change: float
    leaves: bool

    @property
    def text(self) -> str:
        return str(self.broker)


def loads_of_moves(plan: Plan) -> tuple[LoadSummary, ...]:
    """Return what brokers hold of the partitions that move, before and after."""
    before, after = Counter[int](), Counter[int]()
    led_before, led_after = Counter[int](), Counter[int]()
    for move in plan.moves:
        for broker in move.original_brokers:
            before[broker] += move.size_bytes
        for broker in move.target_brokers:
            after[broker] += move.size_bytes
        if move.original:
            led_before[move.original_brokers[0]] += 1
        led_after[move.target_brokers[0]] += 1
    brokers = sorted({broker for move in plan.moves for broker in (*move.original_brokers, *move.target_brokers)})
    return tuple(
        LoadSummary(broker, "", was[broker], becomes[broker], resource)
        for resource, was, becomes in ((MOVED, before, after), (MOVED_LEADERS, led_before, led_after))
        for broker in brokers
    )


def broker_flows(moves: Sequence[PartitionMove]) -> list[Flow]:
    """Bytes from broker to broker: new replicas are fed by the leader, which stands first. Largest first."""
    sizes: Counter[tuple[str, str]] = Counter()
    for move in moves:
        if move.is_new or not move.original or not move.size_bytes:
            continue
        leader = str(move.original_brokers[0])
        for broker in move.added_brokers:
            sizes[leader, str(broker)] += move.size_bytes
        for replica in move.log_dir_moves:
            sizes[str(replica.broker), str(replica.broker)] += move.size_bytes
    return [Flow(source, target, size) for (source, target), size in sizes.most_common()]


def rack_flows(moves: Sequence[PartitionMove], racks: Mapping[int, str]) -> tuple[RackTransfer, ...]:
    """Bytes between racks, of a plan that does not say."""
    sizes: Counter[tuple[str, str]] = Counter()
    for flow in broker_flows(moves):
        if flow.source != flow.target:
            sizes[racks.get(int(flow.source), ""), racks.get(int(flow.target), "")] += flow.bytes
    return tuple(RackTransfer(source, target, size) for (source, target), size in sizes.most_common())


def gathered(flows: Sequence[Flow], most: int = MOST_FLOWS) -> list[Flow]:
    """The largest flows, and the rest as those between others: no byte is lost on the way."""
    if len(flows) <= most:
        return list(flows)
    largest = sorted(flows, key=lambda flow: (-flow.bytes, flow.source, flow.target))
    rest = sum(flow.bytes for flow in largest[most - 1 :])
    return [*largest[: most - 1], Flow(_OTHERS, _OTHERS, rest)]


def completed(plan: Plan, racks: Mapping[int, str]) -> Plan:
    """The plan with what its moves tell, where it lacks that."""
    loads = plan.loads or loads_of_moves(plan)
    between = plan.racks or (rack_flows(plan.moves, racks) if racks else ())
    return replace(plan, loads=loads, racks=between)


def flow_charts(plan: Plan, between_brokers: Sequence[Flow]) -> dict[str, list[list[object]]]:
    """[from, to, bytes] between racks, between IDCs and between brokers."""
    between: dict[str, Sequence[Flow]] = {
        "racks": [Flow(each.from_rack or "-", each.to_rack or "-", each.bytes) for each in plan.racks if each.bytes],
        "idcs": [Flow(each.from_idc or "-", each.to_idc or "-", each.bytes) for each in plan.links if each.bytes],
        "brokers": between_brokers,
    }
    return {
        name: [[flow.source, flow.target, flow.bytes] for flow in gathered(flows)] for name, flows in between.items()
    }


def move_row(number: int, move: PartitionMove, names: Mapping[str, str]) -> MoveRow:
    return MoveRow(
        number,
        move.stage + 1,
        str(move.partition),
        places_text(move.original, names) or "(new)",
        places_text(move.target, names),
        move.bytes_to_copy,
        _copy(move),
        move.goal,
        shortened(move.reason, names),
    )


# A plan has up to hundreds of thousands of moves: they are sorted and searched as they are, and made rows where shown.
NumberedMove = tuple[int, PartitionMove]
MOVE_COLUMNS: Columns[NumberedMove] = {
    "order": lambda each: each[0],
    "partition": lambda each: (each[1].partition.topic, each[1].partition.partition),
    "copy": lambda each: each[1].bytes_to_copy,
    "goal": lambda each: each[1].goal,
}


def move_text(names: Mapping[str, str], each: NumberedMove) -> str:
    """Return the text that a search looks at: what the row says."""
    move = each[1]
    reason = shortened(move.reason, names)
    return (
        f"{move.partition} {places_text(move.original, names)} {places_text(move.target, names)} {move.goal} {reason}"
    )


def _copy(move: PartitionMove) -> str:
    if move.bytes_to_copy:
        return human_bytes(move.bytes_to_copy)
    return "nothing" if move.is_new or move.changes_replication_factor else "leader only"


def uneven_resource(plan: Plan) -> str:
    """Return the resource of brokers that was most uneven: it is what the plan is about."""
    found = {
        kind.removeprefix("broker").strip(): before
        for kind, (before, _) in spreads([load for load in plan.loads if not load.log_dir]).items()
    }
    return max(found, key=lambda resource: found[resource], default="")


def broker_rows(plan: Plan, flows: Sequence[Flow], resource: str) -> list[BrokerRow]:
    """Each broker that has a load of this kind, or that anything is copied to or from; `flows` between brokers."""
    moved = {"in": Counter[int](), "out": Counter[int](), "inside": Counter[int]()}
    for flow in flows:
        if flow.source == flow.target:
            moved["inside"][int(flow.source)] += flow.bytes
        else:
            moved["out"][int(flow.source)] += flow.bytes
            moved["in"][int(flow.target)] += flow.bytes
    loads = {load.broker: load for load in plan.loads if not load.log_dir and load.resource == resource}
    brokers = sorted({*loads, *moved["in"], *moved["out"], *moved["inside"]})
    return [_broker_row(broker, loads.get(broker), resource, moved) for broker in brokers]


def most_concerned(rows: Sequence[BrokerRow], most: int) -> list[BrokerRow]:
    """Those that copy most come first."""
    return sorted(rows, key=lambda row: (-(row.bytes_in + row.bytes_out + row.bytes_inside), row.broker))[:most]


def resources_of(plan: Plan) -> list[tuple[str, str]]:
    """Return what the plan knows of brokers: the name, and what people call it."""
    known = dict.fromkeys(load.resource for load in plan.loads if not load.log_dir)
    return [(name, title_of(name)) for name in known]


def _broker_row(
    broker: int, load: LoadSummary | None, resource: str, moved: Mapping[str, Mapping[int, int]]
) -> BrokerRow:
    return BrokerRow(
        broker,
        moved["in"].get(broker, 0),
        moved["out"].get(broker, 0),
        moved["inside"].get(broker, 0),
        amount(load.before, resource) if load else "-",
        amount(load.after, resource) if load else "-",
        load.after - load.before if load else 0.0,
        load.is_leaving if load else False,
    )


def title_of(resource: str) -> str:
    return _TITLES.get(resource, resource)


def amount(value: float, resource: str) -> str:
    """`1.2 MB/s`, `284 % of a core`, `12`."""
    unit = _UNITS.get(resource)
    if unit is None:
        return f"{human_bytes(value)}/s"
    if unit == "B":
        return human_bytes(value)
    return f"{value:.0f} {unit}".strip()


@dataclass(frozen=True, slots=True)
class GoalRow:
    goal: str
    is_hard: bool
    before: str
    after: str
    asked: str
    is_met: bool


def goal_rows(plan: Plan) -> list[GoalRow]:
    return [
        GoalRow(
            goal.goal,
            goal.is_hard,
            figure_text(goal.before),
            figure_text(goal.after),
            "-" if goal.target == float("inf") else figure_text(goal.target),
            goal.is_met,
        )
        for goal in plan.goals
    ]


def bars(plan: Plan) -> dict[str, dict[str, list[list[object]]]]:
    """Return bars by `brokers` and `log_dirs`, then by resource: [name, before, after, capacity, leaves] of each; of
    many log dirs only those that change most.
    """
    shown = payload(replace(plan, moves=()))
    found: dict[str, dict[str, list[list[object]]]] = {}
    for place in ("brokers", "log_dirs"):
        rows: dict[str, list[list[object]]] = shown[place]  # type: ignore[assignment]  # as plan_page documents it
        found[place] = {resource: _changing(each) for resource, each in rows.items()}
    return found


def _changing(rows: list[list[object]]) -> list[list[object]]:
    if len(rows) <= MOST_BARS:
        return rows
    order = sorted(range(len(rows)), key=lambda at: -abs(_number(rows[at][2]) - _number(rows[at][1])))
    return [rows[at] for at in sorted(order[:MOST_BARS])]


def _number(value: object) -> float:
    return value if isinstance(value, float | int) else 0.0


@dataclass(frozen=True, slots=True)
class DrawnPlan:
    """All of a plan that its page shows whatever is asked of it: worked out once, for a plan never changes."""

    plan: Plan
    names: Mapping[str, str]
    between_brokers: Sequence[Flow]
    bars: Mapping[str, Mapping[str, list[list[object]]]]
    flows: Mapping[str, list[list[object]]]
    spreads: Mapping[str, tuple[float, float]]
    goals: Sequence[GoalRow]
    notes: Sequence[str]
    unmet: Sequence[str]
    uneven: str
    moves: Sequence[NumberedMove]
    takes: str


def drawn(given: Plan, racks: Mapping[int, str]) -> DrawnPlan:
    """`racks` of brokers are used where the plan does not say what is copied between racks."""
    plan = completed(given, racks)
    names = names_of(plan.moves, plan.loads)
    between_brokers = broker_flows(plan.moves)
    return DrawnPlan(
        plan,
        names,
        between_brokers,
        bars(plan),
        flow_charts(plan, between_brokers),
        spreads(plan.loads),
        goal_rows(plan),
        [shortened(sentence, names) for sentence in plan.notes],
        [shortened(sentence, names) for sentence in plan.unmet],
        uneven_resource(plan),
        tuple(enumerate(plan.moves, start=1)),
        lasting_text(plan),
    )


def shown_plan(shown: DrawnPlan, asked: Asked, resource: str, where: str) -> dict[str, Any]:
    """Return what the template of a plan is given of it. `resource` is what its table of brokers shows (empty: what is
    most uneven), `where` its own address, under which moves are searched and sorted (empty: they are not)."""
    plan, chosen = shown.plan, resource or shown.uneven
    of_brokers = broker_rows(plan, shown.between_brokers, chosen)
    moves = page_of(shown.moves, asked, partial(move_text, shown.names), MOVE_COLUMNS, "order")
    return {
        "plan": plan,
        "shown": shown,
        "where": where,
        "resource": chosen,
        "resources": resources_of(plan),
        "resource_title": title_of(chosen),
        "brokers": most_concerned(of_brokers, _BROKERS_SHOWN),
        "brokers_in_all": len(of_brokers),
        "moves": moves.shown_as(lambda each: move_row(*each, shown.names)),
        "keep": {"resource": resource},
    }
