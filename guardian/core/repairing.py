"""Access rules put right from a list that somebody reviewed: what is missing is added, what is unused taken out. Pure.

    plan of kind acl-repair ── settings "acl.add", "acl.remove": one rule each ──▶ step ──▶ CreateAcls, DeleteAcls

What is to be added goes in before anything goes out, so that nobody is locked out between the two. The plan that a
ticket carries holds only what changes something, so cancelling is the same the other way round. A DENY rule is as any
other.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace

from guardian.core.effects import AclEffect, CreateAcls, DeleteAcls
from guardian.errors import InvalidInput
from guardian.model.acl import ALLOW, AclBinding
from guardian.model.plan import Plan
from guardian.model.ticket import TicketState

ACL_REPAIR = "acl-repair"  # the kind of plan
MAX_RULES = 1000
_ADD, _REMOVE = "acl.add", "acl.remove"
_FIELDS = tuple(field.name for field in fields(AclBinding))
# As guardian.kafka.acls can send them.
RESOURCE_TYPES = ("TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN")
OPERATIONS = (
    "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS",
    "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS",
)  # fmt: skip
_PATTERNS = ("LITERAL", "PREFIXED")
_PERMISSIONS = ("ALLOW", "DENY")


@dataclass(frozen=True, slots=True)
class Repair:
    """Rules to be there, and rules to be gone."""

    add: tuple[AclBinding, ...] = ()
    remove: tuple[AclBinding, ...] = ()


@dataclass(frozen=True, slots=True)
class RepairStep:
    """As `executing.Step`, of a ticket that has no moves."""

    transition: tuple[TicketState, str] | None
    effects: tuple[AclEffect, ...]
    sentence: str


def read(text: str) -> Repair:
    """A file of {"add": [rule, ...], "remove": [rule, ...]}, each rule an object of AclBinding's fields.

    Raises InvalidInput, naming the field, its value and the fix.
    """
    try:
        document = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidInput(f'the file of rules is not JSON ({error}): use {{"add": [], "remove": []}}') from None
    if not isinstance(document, dict) or document.keys() - {"add", "remove"}:
        raise InvalidInput('the file of rules is no object of "add" and "remove": use {"add": [], "remove": []}')
    repair = Repair(_rules(document, "add"), _rules(document, "remove"))
    both = set(repair.add) & set(repair.remove)
    if both:
        raise InvalidInput(f"{describe(min(both))} is to be added and removed: keep one")
    if not repair.add and not repair.remove:
        raise InvalidInput("add and remove are empty: name at least one rule")
    return repair


def plan_of(cluster: str, repair: Repair) -> Plan:
    """The plan that carries the repair."""
    settings = [(_ADD, _text(rule)) for rule in repair.add] + [(_REMOVE, _text(rule)) for rule in repair.remove]
    notes = [f"adds {describe(rule)}" for rule in repair.add] + [
        f"takes out {describe(rule)}" for rule in repair.remove
    ]
    text = "a reviewed list of access rules"
    return Plan(cluster, ACL_REPAIR, (), input=text, settings=tuple(settings), notes=tuple(notes))


def repair_of(plan: Plan) -> Repair:
    """What a plan of this kind asks for. Raises InvalidInput."""
    rules = {name: [text for key, text in plan.settings if key == name] for name in (_ADD, _REMOVE)}
    document = {"add": [_parsed(text) for text in rules[_ADD]], "remove": [_parsed(text) for text in rules[_REMOVE]]}
    return read(json.dumps(document))


def resolved(plan: Plan, present: Collection[AclBinding]) -> Plan:
    """The plan without what is so already. Raises InvalidInput when that is all of it, or when there are moves."""
    if plan.moves:
        raise InvalidInput(f"moves of the plan has {len(plan.moves)}: a plan of kind {ACL_REPAIR} moves nothing")
    asked = repair_of(plan)
    repair = Repair(
        tuple(rule for rule in asked.add if rule not in present),
        tuple(rule for rule in asked.remove if rule in present),
    )
    if not repair.add and not repair.remove:
        raise InvalidInput(
            f"all {len(asked.add) + len(asked.remove)} rules are as asked for in cluster {plan.cluster} already: "
            "nothing to do"
        )
    left_out = len(asked.add) + len(asked.remove) - len(repair.add) - len(repair.remove)
    made = plan_of(plan.cluster, repair)
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
    why = "".join(f"; Kafka refused {describe(rule)}: {reason}" for rule, reason in sorted(refused.items())[:3])
    if missing:
        return RepairStep(None, (CreateAcls(tuple(missing)),), f"adds {_count(missing)}{why}")
    if left:
        return RepairStep(None, (DeleteAcls(tuple(left)),), f"takes out {_count(left)}{why}")
    if is_back:
        reason = f"the access rules are as before: {len(wanted)} added again, {len(unwanted)} taken out"
        return RepairStep((TicketState.CANCELLED, reason), (), reason)
    reason = f"{len(wanted)} access rules were added and {len(unwanted)} taken out"
    return RepairStep((TicketState.SUCCEEDED, reason), (), reason)


def describe(rule: AclBinding) -> str:
    """A rule in words: "ALLOW User:ann READ TOPIC orders from *"."""
    star = "*" if rule.pattern_type == "PREFIXED" else ""
    return (
        f"{rule.permission} {rule.principal} {rule.operation} {rule.resource_type} {rule.resource_name}{star} "
        f"from {rule.host}"
    )


def as_rule(rule: AclBinding) -> dict[str, str]:
    """The rule as the file of rules has it."""
    return {name: str(getattr(rule, name)) for name in _FIELDS}


def _rules(document: Mapping[str, object], name: str) -> tuple[AclBinding, ...]:
    entries = document.get(name, [])
    if not isinstance(entries, list):
        raise InvalidInput(f"{name} is no list: use a list of rules")
    if len(entries) > MAX_RULES:
        raise InvalidInput(f"{name} has {len(entries)} rules: use up to {MAX_RULES}, in several tickets")
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
    _require_one_of(values, "resource_type", RESOURCE_TYPES, path)
    _require_one_of(values, "operation", OPERATIONS, path)
    _require_one_of(values, "pattern_type", _PATTERNS, path)
    _require_one_of(values, "permission", _PERMISSIONS, path)
    if ":" not in values["principal"]:
        raise InvalidInput(f"{path}.principal is {values['principal']!r}: use TYPE:NAME, such as User:ann")
    return AclBinding(**values)


def _require_one_of(values: Mapping[str, str], name: str, known: Iterable[str], path: str) -> None:
    if values[name] not in known:
        raise InvalidInput(f"{path}.{name} is {values[name]!r}: use one of {', '.join(known)}")


def _text(rule: AclBinding) -> str:
    return json.dumps(as_rule(rule), sort_keys=True)


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise InvalidInput(f"a rule of the plan is {text[:60]!r}: use the JSON of one") from None


def _count(rules: list[AclBinding]) -> str:
    more = f" and {len(rules) - 1} more" if len(rules) > 1 else ""
    return f"{describe(rules[0])}{more}"
