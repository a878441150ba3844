"""Access rules put right from a list that somebody reviewed: what is missing is added, what is unused taken out. Pure.

    plan of kind acl-repair ── task: the rules to add and to remove ──▶ step ──▶ CreateAcls, DeleteAcls

What is to be added goes in before anything goes out, so that nobody is locked out between the two. The plan that a
ticket carries holds only what changes something, so cancelling is the same the other way round. A DENY rule is as any
other.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace

from guardian.core.effects import AclEffect, CreateAcls, DeleteAcls
from guardian.errors import InvalidInput
from guardian.model.acl import ALLOW, AclBinding
from guardian.model.plan import Plan
from guardian.model.tasks import AclRepair
from guardian.model.ticket import TicketState

_FIELDS = tuple(field.name for field in fields(AclBinding))


@dataclass(frozen=True, slots=True)
class RepairStep:
    """As `executing.Step`, of a ticket that has no moves."""

    transition: tuple[TicketState, str] | None
    effects: tuple[AclEffect, ...]
    sentence: str


def read(text: str) -> AclRepair:
    """A file of {"add": [rule, ...], "remove": [rule, ...]}, each rule an object of AclBinding's fields.

    Raises InvalidInput, naming the field, its value and the fix.
    """
    try:
        document = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidInput(f'the file of rules is not JSON ({error}): use {{"add": [], "remove": []}}') from None
    if not isinstance(document, dict) or document.keys() - {"add", "remove"}:
        raise InvalidInput('the file of rules is no object of "add" and "remove": use {"add": [], "remove": []}')
    return AclRepair(_rules(document, "add"), _rules(document, "remove"))


def plan_of(cluster: str, repair: AclRepair) -> Plan:
    """Return the plan that carries the repair."""
    notes = [f"adds {rule}" for rule in repair.add] + [f"takes out {rule}" for rule in repair.remove]
    return Plan(cluster, repair.kind, (), input="a reviewed list of access rules", notes=tuple(notes), task=repair)


def repair_of(plan: Plan) -> AclRepair:
    """Return what a plan of this kind asks for. Raises InvalidInput."""
    if not isinstance(plan.task, AclRepair):
        raise InvalidInput(f"task of the plan is no {AclRepair.kind}: give the rules to add and to remove")
    return plan.task


def resolved(plan: Plan, present: Collection[AclBinding]) -> Plan:
    """The plan without what is so already. Raises InvalidInput when that is all of it, or when there are moves."""
    if plan.moves:
        raise InvalidInput(f"moves of the plan has {len(plan.moves)}: a plan of kind {plan.kind} moves nothing")
    asked = repair_of(plan)
    add = tuple(rule for rule in asked.add if rule not in present)
    remove = tuple(rule for rule in asked.remove if rule in present)
    if not add and not remove:
        raise InvalidInput(
            f"all {len(asked.add) + len(asked.remove)} rules are as asked for in cluster {plan.cluster} already: "
            "nothing to do"
        )
    left_out = len(asked.add) + len(asked.remove) - len(add) - len(remove)
    made = plan_of(plan.cluster, AclRepair(add, remove))
    notes = (*made.notes, f"{left_out} rules are as asked for already") if left_out else made.notes
    return replace(made, input=plan.input, notes=notes, made_at_ms=plan.made_at_ms)


def step(
    ticket_state: TicketState, plan: Plan, present: Collection[AclBinding], refused: Mapping[AclBinding, str]
) -> RepairStep:
    """What to send next, of a RUNNING or CANCELLING ticket. `refused` are Kafka's answers of the last tick."""
    is_back = ticket_state is TicketState.CANCELLING
    asked = repair_of(plan)
    wanted, unwanted = (asked.remove, asked.add) if is_back else (asked.add, asked.remove)
    missing = [rule for rule in wanted if rule not in present]
    left = [rule for rule in unwanted if rule in present]
    why = "".join(f"; Kafka refused {rule}: {reason}" for rule, reason in sorted(refused.items())[:3])
    if missing:
        return RepairStep(None, (CreateAcls(tuple(missing)),), f"adds {_count(missing)}{why}")
    if left:
        return RepairStep(None, (DeleteAcls(tuple(left)),), f"takes out {_count(left)}{why}")
    if is_back:
        reason = f"the access rules are as before: {len(wanted)} added again, {len(unwanted)} taken out"
        return RepairStep((TicketState.CANCELLED, reason), (), reason)
    reason = f"{len(wanted)} access rules were added and {len(unwanted)} taken out"
    return RepairStep((TicketState.SUCCEEDED, reason), (), reason)


def as_rule(rule: AclBinding) -> dict[str, str]:
    """The rule as the file of rules has it."""
    return {name: str(getattr(rule, name)) for name in _FIELDS}


def _rules(document: Mapping[str, object], name: str) -> tuple[AclBinding, ...]:
    entries = document.get(name, [])
    if not isinstance(entries, list):
        raise InvalidInput(f"{name} is no list: use a list of rules")
    return tuple(dict.fromkeys(_rule(entry, f"{name}[{index}]") for index, entry in enumerate(entries)))


def _rule(entry: object, path: str) -> AclBinding:
    if not isinstance(entry, dict):
        raise InvalidInput(f"{path} is no object: use one with {', '.join(_FIELDS)}")
    values = {"host": "*", "pattern_type": "LITERAL", "permission": ALLOW, **entry}
    unknown = sorted(map(str, values.keys() - set(_FIELDS)))
    if unknown:
        raise InvalidInput(f"{path} has a field {unknown[0]!r}: use only {', '.join(_FIELDS)}")
    for name in _FIELDS:
        value = values.get(name)
        if not isinstance(value, str) or not value:
            raise InvalidInput(f"{path}.{name} is {value!r}: use a text that is not empty")
    return AclBinding(**values)


def _count(rules: list[AclBinding]) -> str:
    more = f" and {len(rules) - 1} more" if len(rules) > 1 else ""
    return f"{rules[0]}{more}"
