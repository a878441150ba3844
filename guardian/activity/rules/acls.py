"""ACLs judged by what was used of them. Pure.

A rule is used when an authorization that was allowed fits it. Its principal, resource, operation and address must fit,
with what Kafka implies (who may read, write, delete or alter a resource may describe it). Several rules may fit one
use: each of them counts as used, for which of them decided can't be known. A used rule is too wide when it covers more
topics than were used (a prefix or *), everybody where few came, or all operations where few were needed.

What a broker hands to the controller (topics created, configs altered, reassignments) a controller authorizes, and
controllers send no slices. A rule for that which nobody was seen to use may be in use every day: it is UNSEEN, never
UNUSED.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from guardian.activity.rules.rows import TOPIC
from guardian.model.acl import ALL, ALLOW, ANY_HOST, ANY_NAME, ANY_PRINCIPAL, PREFIXED, AclBinding

MANY_NAMES = 100
_IMPLIES = {
    "READ": {"READ", "DESCRIBE"},
    "WRITE": {"WRITE", "DESCRIBE"},
    "DELETE": {"DELETE", "DESCRIBE"},
    "ALTER": {"ALTER", "DESCRIBE"},
    "ALTER_CONFIGS": {"ALTER_CONFIGS", "DESCRIBE_CONFIGS"},
}
# Some of these brokers authorize, too (DeleteRecords, topics that are created by themselves, followers' fetches).
AT_CONTROLLERS = {
    "TOPIC": frozenset({ALL, "CREATE", "DELETE", "ALTER", "ALTER_CONFIGS"}),
    "CLUSTER": frozenset({ALL, "CREATE", "ALTER", "ALTER_CONFIGS", "DESCRIBE", "CLUSTER_ACTION"}),
    "GROUP": frozenset({ALL, "ALTER_CONFIGS"}),
    "USER": frozenset({ALL, "CREATE_TOKENS"}),
}
"""By resource type, the operations that controllers authorize, of requests that brokers pass on to them."""


@dataclass(frozen=True, slots=True)
class Use:
    """That somebody did something, at least once."""

    principal: str
    resource_type: str
    resource: str
    operation: str
    last_ms: int


class Verdict(Enum):
    USED = "used"
    UNUSED = "unused"
    TOO_WIDE = "too wide"
    UNSEEN = "unseen"


@dataclass(frozen=True, slots=True)
class Judgement:
    """`covered` is how many of the cluster's topics the rule fits; 0: of no interest, or not known."""

    acl: AclBinding
    verdict: Verdict
    why: str
    names: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    principals: tuple[str, ...] = ()
    covered: int = 0
    last_ms: int = 0


def judge(
    acls: Iterable[AclBinding],
    uses: Iterable[Use],
    uses_from: Mapping[str, Sequence[Use]],
    topics: Collection[str],
) -> list[Judgement]:
    """One for each rule that allows, in their order. `uses_from` has the uses by address, of the rules' hosts."""
    index = _Uses(uses)
    by_host = {host: _Uses(found) for host, found in uses_from.items()}
    return [
        _judge(acl, (index if acl.host == ANY_HOST else by_host[acl.host]).of(acl), topics)
        for acl in acls
        if acl.permission == ALLOW
    ]


def hosts_of(acls: Iterable[AclBinding]) -> set[str]:
    """The addresses that rules name."""
    return {acl.host for acl in acls if acl.permission == ALLOW and acl.host != ANY_HOST}


def _judge(acl: AclBinding, used: Sequence[Use], topics: Collection[str]) -> Judgement:
    is_in_part_unseen = acl.operation in AT_CONTROLLERS.get(acl.resource_type, ())
    if not used:
        if is_in_part_unseen:
            return Judgement(acl, Verdict.UNSEEN, "nobody was seen to use it, but controllers authorize that unseen")
        return Judgement(acl, Verdict.UNUSED, "nobody used it")
    names = tuple(sorted({use.resource for use in used}))
    operations = tuple(sorted({use.operation for use in used}))
    principals = tuple(sorted({use.principal for use in used}))
    is_pattern = acl.pattern_type == PREFIXED or acl.resource_name == ANY_NAME
    covered = sum(_fits_name(acl, topic) for topic in topics) if is_pattern and acl.resource_type == TOPIC else 0
    reasons = []
    if covered > len(names):
        reasons.append(f"it covers {covered} topics, and {_counted(names, 'was', 'were')} used")
    elif is_pattern and acl.resource_name == ANY_NAME and acl.resource_type != TOPIC:
        reasons.append(f"it covers every {acl.resource_type.lower()}, and {_counted(names, 'was', 'were')} used")
    if acl.principal == ANY_PRINCIPAL:
        reasons.append(f"it is for everybody, and {_counted(principals, 'came', 'came')}")
    if acl.operation == ALL:
        unseen = ", besides what controllers authorize unseen" if is_in_part_unseen else ""
        reasons.append(f"it allows all, and {', '.join(operations)} was needed{unseen}")
    verdict = Verdict.TOO_WIDE if reasons else Verdict.USED
    last_ms = max(use.last_ms for use in used)
    return Judgement(acl, verdict, "; ".join(reasons), names, operations, principals, covered, last_ms)


class _Uses:
    """By principal and resource type, so that a rule looks at few of them."""

    def __init__(self, uses: Iterable[Use]) -> None:
        self._by_principal: dict[tuple[str, str], list[Use]] = defaultdict(list)
        self._by_type: dict[str, list[Use]] = defaultdict(list)
        for use in uses:
            self._by_principal[use.principal, use.resource_type].append(use)
            self._by_type[use.resource_type].append(use)

    def of(self, acl: AclBinding) -> list[Use]:
        if acl.principal == ANY_PRINCIPAL:
            candidates = self._by_type.get(acl.resource_type, [])
        else:
            candidates = self._by_principal.get((acl.principal, acl.resource_type), [])
        allowed = _IMPLIES.get(acl.operation, {acl.operation})
        return [
            use
            for use in candidates
            if (acl.operation == ALL or use.operation in allowed) and _fits_name(acl, use.resource)
        ]


def _fits_name(acl: AclBinding, name: str) -> bool:
    if acl.pattern_type == PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name in (ANY_NAME, name)


def _counted(names: Sequence[str], one: str, many: str) -> str:
    if len(names) > 3:
        return f"{len(names)} {many}"
    return f"{', '.join(names)} {one if len(names) == 1 else many}"
