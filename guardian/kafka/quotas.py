"""Client quotas over the wire: kafka-python has the messages of KIP-546 and no method for them.

A name of null is the default of its kind, and an entity of an IP address is none of ours: left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from guardian.kafka.kafka_python import AlterClientQuotasRequest, DescribeClientQuotasRequest, kafka_errors
from guardian.model.quota import EVERY, QuotaChanges, QuotaEntity

_USER, _CLIENT_ID = "user", "client-id"
_NO_ERROR = 0


def describe_request() -> Any:
    return DescribeClientQuotasRequest(components=[], strict=False)


def read_quotas(response: Any) -> dict[QuotaEntity, dict[str, float]]:
    """Every entity of users and client ids, with all that is set for it."""
    return {
        entity: {value.key: value.value for value in entry.values}
        for entry in response.entries or ()
        if (entity := _entity(entry.entity)) is not None
    }


def alter_request(changes: QuotaChanges) -> Any:
    entries = [
        (list(_parts(entity)), [(key, value or 0.0, value is None) for key, value in values.items()])
        for entity, values in changes.items()
    ]
    return AlterClientQuotasRequest(entries=entries, validate_only=False)


def read_refusals(response: Any) -> dict[QuotaEntity, str]:
    refused = {}
    for entry in response.entries:
        entity = _entity(entry.entity)
        if entry.error_code != _NO_ERROR and entity is not None:
            error = kafka_errors.for_code(entry.error_code)
            refused[entity] = f"{error.message}: {entry.error_message or error.description}"
    return refused


def _entity(parts: Any) -> QuotaEntity | None:
    names = {part.entity_type: EVERY if part.entity_name is None else part.entity_name for part in parts}
    if not names or names.keys() - {_USER, _CLIENT_ID}:
        return None
    return QuotaEntity(names.get(_USER), names.get(_CLIENT_ID))


def _parts(entity: QuotaEntity) -> Iterator[tuple[str, str | None]]:
    for kind, name in ((_USER, entity.user), (_CLIENT_ID, entity.client_id)):
        if name is not None:
            yield kind, None if name == EVERY else name
