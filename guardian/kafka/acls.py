"""Access rules, told and changed: exactly the rules that are named, never what a filter happens to match."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum
from typing import Any

from kafka.protocol.admin import (
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ACLResourceType,
    CreateAclsRequest,
    DeleteAclsRequest,
)

from guardian.errors import InvalidInput
from guardian.kafka.reasons import NO_ERROR, reason
from guardian.kafka.topics import Session
from guardian.model.acl import AclBinding


async def create_acls(session: Session, acls: Collection[AclBinding]) -> dict[AclBinding, str]:
    """The rules that were refused, with the reason. The answers come in the order of the questions."""
    asked = tuple(acls)
    if not asked:
        return {}
    creations = [
        CreateAclsRequest.AclCreation(
            resource_type=_number(ACLResourceType, "resource_type", acl.resource_type),
            resource_name=acl.resource_name,
            resource_pattern_type=_number(ACLResourcePatternType, "pattern_type", acl.pattern_type),
            principal=acl.principal,
            host=acl.host,
            operation=_number(ACLOperation, "operation", acl.operation),
            permission_type=_number(ACLPermissionType, "permission", acl.permission),
        )
        for acl in asked
    ]
    response = await session.ask_any(lambda: CreateAclsRequest(creations=creations, min_version=1))
    return _refusals(asked, response.results)


async def delete_acls(session: Session, acls: Collection[AclBinding]) -> dict[AclBinding, str]:
    """The rules that were refused, with the reason. Each filter names all of a rule, so it matches that one alone."""
    asked = tuple(acls)
    if not asked:
        return {}
    filters = [
        DeleteAclsRequest.DeleteAclsFilter(
            resource_type_filter=_number(ACLResourceType, "resource_type", acl.resource_type),
            resource_name_filter=acl.resource_name,
            pattern_type_filter=_number(ACLResourcePatternType, "pattern_type", acl.pattern_type),
            principal_filter=acl.principal,
            host_filter=acl.host,
            operation=_number(ACLOperation, "operation", acl.operation),
            permission_type=_number(ACLPermissionType, "permission", acl.permission),
        )
        for acl in asked
    ]
    response = await session.ask_any(lambda: DeleteAclsRequest(filters=filters, min_version=1))
    matches = {
        acl: reason(match.error_code, match.error_message)
        for acl, result in zip(asked, response.filter_results, strict=True)
        for match in result.matching_acls
        if match.error_code != NO_ERROR
    }
    return matches | _refusals(asked, response.filter_results)


def _refusals(asked: tuple[AclBinding, ...], results: Any) -> dict[AclBinding, str]:
    return {
        acl: reason(result.error_code, result.error_message)
        for acl, result in zip(asked, results, strict=True)
        if result.error_code != NO_ERROR
    }


def _number(kind: type[IntEnum], field: str, name: str) -> IntEnum:
    """ANY and MATCH belong to filters that match many rules: never to a rule."""
    if name not in kind.__members__ or name in ("UNKNOWN", "ANY", "MATCH"):
        known = ", ".join(member for member in kind.__members__ if member not in ("UNKNOWN", "ANY", "MATCH"))
        raise InvalidInput(f"{field} of an access rule is {name!r}: use one of {known}")
    return kind[name]
