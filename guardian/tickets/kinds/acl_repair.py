"""acl-repair: access rules put right from a list that somebody reviewed.

What is to be added goes in before anything goes out, so that nobody is locked out between the two. The ticket holds
only what changes something, so taking it back is the same the other way round. A DENY rule is as any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from guardian.errors import InvalidInput
from guardian.model.acl import ALLOW, DENY, LITERAL, PREFIXED, AclBinding
from guardian.model.effects import CreateAcls, DeleteAcls
from guardian.model.tasks import PlanTask
from guardian.tickets.kinds.requested import (
    Facts,
    Moment,
    Option,
    OptionType,
    Query,
    RequestKind,
    RequestStep,
    refusals,
)

MAX_RULES = 1000
# As guardian.kafka.acls can send them.
RESOURCE_TYPES = ("TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER")
OPERATIONS = (
    "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS",
    "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS",
)  # fmt: skip
CLUSTER_NAME = "kafka-cluster"
_RULE_VALUES = {
    "resource_type": RESOURCE_TYPES,
    "operation": OPERATIONS,
    "pattern_type": (LITERAL, PREFIXED),
    "permission": (ALLOW, DENY),
}
_FIELDS = tuple(each.name for each in fields(AclBinding))
_SHAPE = 'use {"add": [], "remove": []}'


@dataclass(frozen=True, slots=True)
class AclRepair(PlanTask):
    """Name access rules to add, and others to take out."""

    kind: ClassVar[str] = "acl-repair"
    add: tuple[AclBinding, ...] = ()
    remove: tuple[AclBinding, ...] = ()

    def __post_init__(self) -> None:
        for name, rules in (("add", self.add), ("remove", self.remove)):
            if len(rules) > MAX_RULES:
                raise InvalidInput(f"{name} has {len(rules)} rules: use up to {MAX_RULES}, in several tickets")
            for index, rule in enumerate(rules):
                _require_rule(f"{name}[{index}]", rule)
        both = set(self.add) & set(self.remove)
        if both:
            raise InvalidInput(f"{min(both)} is to be added and removed: keep one")
        if not self.add and not self.remove:
            raise InvalidInput("add and remove are empty: name at least one rule")


class AclRepairKind(RequestKind[AclRepair]):
    name = AclRepair.kind
    task = AclRepair
    command = "acl", "repair"
    help = """Ask for a reviewed list of access rules: what is missing is added, then the others are taken out.

    Example: guardian acl repair --cluster live --rules rules.json --dry-run
    """
    options = (Option("rules", OptionType.FILE, 'A file of {"add": [rule, ...], "remove": [rule, ...]}.'),)
    opening = "begins with the access rules that are missing"
    idle = "paused: no access rule is changed"

    def ask(self, values: Mapping[str, Any], now_ms: int) -> AclRepair:
        return read(values["rules"])

    def query(self, task: AclRepair, moment: Moment) -> Query:
        return Query(acls=True)

    def resolve(self, task: AclRepair, cluster: str, facts: Facts, now_ms: int) -> AclRepair:
        """Return the repair without what is so already."""
        _require_what_kafka_takes(task.add)
        add = tuple(rule for rule in task.add if rule not in facts.acls)
        remove = tuple(rule for rule in task.remove if rule in facts.acls)
        if not add and not remove:
            raise InvalidInput(
                f"all {self.count(task)} rules are as asked for in cluster {cluster} already: nothing to do"
            )
        return AclRepair(add, remove)

    def step(self, task: AclRepair, moment: Moment, facts: Facts, refused: tuple[str, ...]) -> RequestStep:
        wanted, unwanted = (task.remove, task.add) if moment.is_back else (task.add, task.remove)
        missing = tuple(rule for rule in wanted if rule not in facts.acls)
        left = tuple(rule for rule in unwanted if rule in facts.acls)
        if missing:
            return RequestStep(None, (CreateAcls(missing),), f"adds {_count(missing)}{refusals(refused)}")
        if left:
            return RequestStep(None, (DeleteAcls(left),), f"takes out {_count(left)}{refusals(refused)}")
        if moment.is_back:
            reason = f"the access rules are as before: {len(wanted)} added again, {len(unwanted)} taken out"
            return moment.ended(reason)
        return moment.ended(f"{len(wanted)} access rules were added and {len(unwanted)} taken out")

    def count(self, task: AclRepair) -> int:
        return len(task.add) + len(task.remove)

    def notes(self, task: AclRepair) -> Iterator[str]:
        yield from (f"adds {rule}" for rule in task.add)
        yield from (f"takes out {rule}" for rule in task.remove)

    def is_repeated(self, made: AclRepair, asked: AclRepair) -> bool:
        return set(made.add) <= set(asked.add) and set(made.remove) <= set(asked.remove)


KIND = AclRepairKind()


def read(text: str) -> AclRepair:
    """Return the repair of a file {"add": [rule, ...], "remove": [rule, ...]}, each an object of AclBinding's fields.

    Raises InvalidInput, naming the field, its value and the fix.
    """
    try:
        document = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidInput(f"the file of rules is not JSON ({error}): {_SHAPE}") from None
    if not isinstance(document, dict) or document.keys() - {"add", "remove"}:
        raise InvalidInput(f'the file of rules is no object of "add" and "remove": {_SHAPE}')
    repair = AclRepair(_rules(document, "add"), _rules(document, "remove"))
    _require_what_kafka_takes(repair.add)
    return repair


def as_rule(rule: AclBinding) -> dict[str, str]:
    """Return the rule as the file of rules has it."""
    return {name: str(getattr(rule, name)) for name in _FIELDS}


def _rules(document: Mapping[str, object], name: str) -> tuple[AclBinding, ...]:
    entries = document.get(name, [])
    if not isinstance(entries, list):
        raise InvalidInput(f"{name} is no list: use a list of rules")
    return tuple(dict.fromkeys(_rule(entry, f"{name}[{index}]") for index, entry in enumerate(entries)))


def _rule(entry: object, path: str) -> AclBinding:
    if not isinstance(entry, dict):
        raise InvalidInput(f"{path} is no object: use one with {', '.join(_FIELDS)}")
    values = {"host": "*", "pattern_type": LITERAL, "permission": ALLOW, **entry}
    unknown = sorted(map(str, values.keys() - set(_FIELDS)))
    if unknown:
        raise InvalidInput(f"{path} has a field {unknown[0]!r}: use only {', '.join(_FIELDS)}")
    for name in _FIELDS:
        value = values.get(name)
        if not isinstance(value, str) or not value:
            raise InvalidInput(f"{path}.{name} is {value!r}: use a text that is not empty")
    return AclBinding(**values)


def _require_rule(path: str, rule: AclBinding) -> None:
    for name, known in _RULE_VALUES.items():
        if getattr(rule, name) not in known:
            raise InvalidInput(f"{path}.{name} is {getattr(rule, name)!r}: use one of {', '.join(known)}")
    for name in ("resource_name", "host"):
        if not getattr(rule, name):
            raise InvalidInput(f"{path}.{name} is '': use a text that is not empty")
    if ":" not in rule.principal:
        raise InvalidInput(f"{path}.principal is {rule.principal!r}: use TYPE:NAME, such as User:ann")


def _require_what_kafka_takes(added: tuple[AclBinding, ...]) -> None:
    """Raise InvalidInput for a rule that Kafka never makes. What is there already may be taken out, whatever it is."""
    for index, rule in enumerate(added):
        if rule.resource_type == "CLUSTER" and rule.resource_name != CLUSTER_NAME:
            raise InvalidInput(
                f"add[{index}].resource_name: to Kafka each cluster has one name (got {rule.resource_name!r}); "
                f"use {CLUSTER_NAME}"
            )


def _count(rules: tuple[AclBinding, ...]) -> str:
    return f"{rules[0]}{f' and {len(rules) - 1} more' if len(rules) > 1 else ''}"
