"""Access rules, told and changed: exactly the rules that are named, never what a filter happens to match.

Without an authorizer a cluster has none: it refuses every question about them, and every single rule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import IntEnum
from typing import Any

from guardian.errors import InvalidInput
from guardian.kafka.kafka_python import (
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    CreateAclsRequest,
    DeleteAclsRequest,
    DescribeAclsRequest,
    kafka_errors,
)
from guardian.kafka.reasons import NO_ERROR, reason
from guardian.kafka.session import BrokerSession
from guardian.kafka.topics import Session
from guardian.model.acl import AclBinding


class ResourceType(IntEnum):
    """Number the kinds of resources as Kafka does; kafka-python lacks USER, of KIP-373."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class NoAuthorizer(Exception):
    """The brokers have no access rules."""


def no_authorizer(cluster: str) -> InvalidInput:
    """Return what to say of a cluster that has no authorizer."""
    return InvalidInput(
        f"cluster {cluster} has no authorizer, so there are no ACLs: set authorizer.class.name on its nodes"
    )


async def describe_acls(session: BrokerSession) -> Any:
    """Return the answer that names every rule. Raises NoAuthorizer."""
    try:
        return await session.ask_recent(_describe_request)
    except kafka_errors.SecurityDisabledError as error:
        raise NoAuthorizer from error


def read_acls(response: Any) -> Iterator[AclBinding]:
    """Yield the rules of an answer."""
    for resource in response.resources:
        for acl in resource.acls:
            yield AclBinding(
                _name(ResourceType, resource.resource_type),
                _name(ACLResourcePatternType, resource.pattern_type),
                resource.resource_name,
                acl.principal,
                acl.host,
                _name(ACLOperation, acl.operation),
                _name(ACLPermissionType, acl.permission_type),
            )


async def create_acls(session: Session, acls: Collection[AclBinding]) -> dict[AclBinding, str]:
    """The rules that were refused, with the reason. The answers come in the order of the questions."""
    asked = tuple(acls)
    if not asked:
        return {}
    creations = [
        CreateAclsRequest.AclCreation(
            resource_type=_number(ResourceType, "resource_type", acl.resource_type),
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
            resource_type_filter=_number(ResourceType, "resource_type", acl.resource_type),
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


def is_without_authorizer(refused: Mapping[AclBinding, str]) -> bool:
    """Return whether a rule was refused as there is no authorizer: then all were."""
    return any(why.startswith(kafka_errors.SecurityDisabledError.message) for why in refused.values())


def _describe_request() -> Any:
    return DescribeAclsRequest(
        resource_type_filter=ResourceType.ANY,
        resource_name_filter=None,
        pattern_type_filter=ACLResourcePatternType.ANY,
        principal_filter=None,
        host_filter=None,
        operation=ACLOperation.ANY,
        permission_type=ACLPermissionType.ANY,
    )


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


def _name(kind: type[IntEnum], value: int) -> str:
    """Return the name: of a newer Kafka there may be values that this client does not know."""
    return next((member.name for member in kind if member == value), f"UNKNOWN_{value}")
