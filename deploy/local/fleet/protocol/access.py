"""Access rules: who may do what. A simulated cluster has no authorizer, unless somebody gives it rules."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from deploy.local.fleet.protocol.asked import NO_ERROR, Asked, Handlers, Values, coded
from guardian.errors import InvalidInput
from guardian.kafka.acls import ResourceType
from guardian.kafka.kafka_python import (
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    CreateAclsRequest,
    DeleteAclsRequest,
    DescribeAclsRequest,
    kafka_errors,
)
from guardian.model.acl import AclBinding

_WITHOUT = kafka_errors.SecurityDisabledError


def _describe(asked: Asked, _: Any) -> Values:
    """All of them, whatever the filter: Guardian asks for no less."""
    try:
        rules = asked.truth.describe_acls()
    except InvalidInput as error:
        return coded(str(error), _WITHOUT) | {"resources": []}
    return {
        "error_code": NO_ERROR,
        "error_message": None,
        "resources": [
            {
                "resource_type": int(ResourceType[rule.resource_type]),
                "resource_name": rule.resource_name,
                "pattern_type": int(ACLResourcePatternType[rule.pattern_type]),
                "acls": [
                    {
                        "principal": rule.principal,
                        "host": rule.host,
                        "operation": int(ACLOperation[rule.operation]),
                        "permission_type": int(ACLPermissionType[rule.permission]),
                    }
                ],
            }
            for rule in rules
        ],
    }


def _create(asked: Asked, request: Any) -> Values:
    rules = [
        _rule(
            each.resource_type,
            each.resource_pattern_type,
            each.resource_name,
            each,
        )
        for each in request.creations
    ]
    try:
        refused = asked.truth.create_acls(rules)
    except InvalidInput as error:
        return {"results": [coded(str(error), _WITHOUT) for _ in rules]}
    return {"results": [coded(refused.get(rule, ""), kafka_errors.InvalidRequestError) for rule in rules]}


def _delete(asked: Asked, request: Any) -> Values:
    """A filter names all of a rule, or it matches none."""
    rules = [
        _rule(each.resource_type_filter, each.pattern_type_filter, each.resource_name_filter, each, "_filter")
        for each in request.filters
    ]
    try:
        asked.truth.delete_acls(rules)
    except InvalidInput as error:
        return {"filter_results": [coded(str(error), _WITHOUT) | {"matching_acls": []} for _ in rules]}
    return {"filter_results": [coded("", _WITHOUT) | {"matching_acls": []} for _ in rules]}


def _rule(resource_type: int, pattern_type: int, resource_name: str, given: Any, suffix: str = "") -> AclBinding:
    return AclBinding(
        _name(ResourceType, resource_type),
        _name(ACLResourcePatternType, pattern_type),
        resource_name,
        getattr(given, f"principal{suffix}"),
        getattr(given, f"host{suffix}"),
        _name(ACLOperation, given.operation),
        _name(ACLPermissionType, given.permission_type),
    )


def _name(kind: type[IntEnum], value: int) -> str:
    return kind(value).name


HANDLERS: Handlers = {
    DescribeAclsRequest: _describe,
    CreateAclsRequest: _create,
    DeleteAclsRequest: _delete,
}
