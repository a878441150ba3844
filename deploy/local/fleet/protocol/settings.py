"""What topics, brokers and clients are told to do: configurations and quotas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deploy.local.fleet.protocol.asked import NO_ERROR, Asked, Handlers, Values, coded
from guardian.errors import InvalidInput
from guardian.kafka.admin import BROKER, TOPIC, ConfigResource
from guardian.kafka.fake import DEFAULTS
from guardian.kafka.kafka_python import (
    AlterClientQuotasRequest,
    DescribeClientQuotasRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    kafka_errors,
)
from guardian.model.quota import EVERY, QuotaEntity

_KINDS = {2: TOPIC, 4: BROKER}
_OWN = {TOPIC: 1, BROKER: 2}  # where a value is set on the resource itself
_OF_ALL_BROKERS, _DEFAULT = 3, 5
_DELETE = 1
_USER, _CLIENT_ID = "user", "client-id"


def _describe(asked: Asked, request: Any) -> Values:
    return {"results": [_described(asked, each, request.include_synonyms) for each in request.resources]}


def _described(asked: Asked, wanted: Any, has_synonyms: bool) -> Values:
    """A broker answers for itself alone, and for the default of all."""
    kind, name = _KINDS.get(wanted.resource_type, ""), wanted.resource_name
    told = {"resource_type": wanted.resource_type, "resource_name": name, "configs": []}
    if not kind or (kind == BROKER and name not in ("", str(asked.node))):
        return told | coded("another broker is asked", kafka_errors.InvalidRequestError)
    found = asked.truth.describe_configs([(kind, name)]).get((kind, name))
    if found is None:
        return told | coded(f"there is no {kind.lower()} {name}", kafka_errors.UnknownTopicOrPartitionError)
    source = _OWN[kind] if name else _OF_ALL_BROKERS
    values = [(key, value, source) for key, value in found.items()]
    values += [(key, value, _DEFAULT) for key, value in DEFAULTS[kind].items() if name and key not in found]
    keys = wanted.configuration_keys
    told["configs"] = [
        {
            "name": key,
            "value": value,
            "read_only": False,
            "config_source": where,
            "is_default": where == _DEFAULT,
            "is_sensitive": False,
            "synonyms": _synonyms(kind, key, value, where) if has_synonyms else [],
        }
        for key, value, where in values
        if keys is None or key in keys
    ]
    return told | coded("", kafka_errors.UnknownError)


def _synonyms(kind: str, key: str, value: str, where: int) -> list[Values]:
    """Return the values of a key from the one in force on: what would hold without it comes after it."""
    found = [(value, where)]
    if where != _DEFAULT and key in DEFAULTS[kind]:
        found.append((DEFAULTS[kind][key], _DEFAULT))
    return [{"name": key, "value": each, "source": source} for each, source in found]


def _alter(asked: Asked, request: Any) -> Values:
    told = []
    for each in request.resources:
        changes = {config.name: None if config.config_operation == _DELETE else config.value for config in each.configs}
        resource = (_KINDS.get(each.resource_type, ""), each.resource_name)
        try:
            code = _altered(asked, resource, changes, is_tried=request.validate_only)
        except InvalidInput as error:  # a key that Guardian never sets
            code = coded(str(error), kafka_errors.InvalidConfigurationError)
        told.append({"resource_type": each.resource_type, "resource_name": each.resource_name, **code})
    return {"responses": told}


def _altered(asked: Asked, resource: ConfigResource, changes: dict[str, str | None], *, is_tried: bool) -> Values:
    kind, name = resource
    truth = asked.truth
    if kind == TOPIC:
        refused = truth.refused_topic_configs({name: changes})
        if not refused and not is_tried:
            truth.alter_configs({resource: changes})
        return coded(refused.get(name, ""), kafka_errors.InvalidConfigurationError)
    if kind == BROKER and asked.is_controller:
        if int(name) not in truth.known_brokers():
            return coded(f"broker {name} is not registered", kafka_errors.BrokerIdNotRegisteredError)
        truth.alter_configs_through_controller({resource: changes})
        return coded("", kafka_errors.UnknownError)
    if kind != BROKER or name != str(asked.node):
        return coded("another broker is asked", kafka_errors.InvalidRequestError)
    return coded(truth.alter_configs({resource: changes}).get(resource, ""), kafka_errors.InvalidRequestError)


def _quotas(asked: Asked, _: Any) -> Values:
    return {
        "error_code": NO_ERROR,
        "error_message": None,
        "entries": [
            {
                "entity": _parts(entity),
                "values": [{"key": key, "value": value} for key, value in values.items()],
            }
            for entity, values in asked.truth.describe_client_quotas().items()
        ],
    }


def _alter_quotas(asked: Asked, request: Any) -> Values:
    told = []
    for entry in request.entries:
        entity = _entity(entry.entity)
        changes = {each.key: None if each.remove else each.value for each in entry.ops}
        code = coded("", kafka_errors.UnknownError)
        try:
            if not request.validate_only:
                asked.truth.alter_client_quotas({entity: changes})
        except InvalidInput as error:  # a quota that Guardian never sets
            code = coded(str(error), kafka_errors.InvalidRequestError)
        told.append({"entity": _parts(entity), **code})
    return {"entries": told}


def _parts(entity: QuotaEntity) -> list[Values]:
    given = ((_USER, entity.user), (_CLIENT_ID, entity.client_id))
    return [
        {"entity_type": kind, "entity_name": None if name == EVERY else name}
        for kind, name in given
        if name is not None
    ]


def _entity(parts: Iterable[Any]) -> QuotaEntity:
    names = {part.entity_type: EVERY if part.entity_name is None else part.entity_name for part in parts}
    return QuotaEntity(names.get(_USER), names.get(_CLIENT_ID))


HANDLERS: Handlers = {
    DescribeConfigsRequest: _describe,
    IncrementalAlterConfigsRequest: _alter,
    DescribeClientQuotasRequest: _quotas,
    AlterClientQuotasRequest: _alter_quotas,
}
