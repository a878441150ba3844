"""Kafka's access rules, in Kafka's words."""

from __future__ import annotations

from dataclasses import dataclass

ANY_NAME = "*"
ANY_HOST = "*"
ANY_PRINCIPAL = "User:*"
ALL = "ALL"
LITERAL = "LITERAL"
PREFIXED = "PREFIXED"
ALLOW = "ALLOW"
DENY = "DENY"


@dataclass(frozen=True, slots=True, order=True)
class AclBinding:
    """One rule: who may (or may not) do what to which resources, from where."""

    resource_type: str  # TOPIC, GROUP, CLUSTER, ...
    pattern_type: str  # LITERAL or PREFIXED
    resource_name: str  # "*" with LITERAL: any
    principal: str
    host: str
    operation: str  # READ, WRITE, ..., ALL
    permission: str  # ALLOW or DENY

    def __str__(self) -> str:
        """Return it in words: "ALLOW User:ann READ TOPIC orders from *"."""
        star = "*" if self.pattern_type == PREFIXED else ""
        return (
            f"{self.permission} {self.principal} {self.operation} {self.resource_type} {self.resource_name}{star} "
            f"from {self.host}"
        )
