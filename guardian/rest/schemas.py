"""JSON schemas of what the API answers with, and takes, generated from the protobuf messages themselves. Pure.

A message becomes JSON as `-o json` of the CLI writes it: the proto's names, every field there, bytes in base64. Whole
numbers of 64 bits are strings, since they do not fit a JavaScript number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import Message

from guardian.errors import InvalidInput
from guardian.execution.rules.lasting import takes_s
from guardian.model.plan import Plan
from guardian.model.wire.plans import plan_to_proto
from guardian.model.wire.status import TOLD
from protos.guardian.v1 import federation_pb2

_Message = TypeVar("_Message", bound=Message)
_F = FieldDescriptor
_WHOLE = {"type": "integer"}
_LARGE = {"type": "string", "format": "int64", "pattern": "^-?[0-9]+$"}
_REAL = {"type": ["number", "string"]}  # Infinity and NaN are strings
_SCALARS: dict[int, dict[str, Any]] = {
    **{each: _WHOLE for each in (_F.TYPE_INT32, _F.TYPE_UINT32, _F.TYPE_SINT32)},  # noqa: C420  each use copies it
    **{each: _LARGE for each in (_F.TYPE_INT64, _F.TYPE_UINT64, _F.TYPE_SINT64)},  # noqa: C420
    **{each: _REAL for each in (_F.TYPE_DOUBLE, _F.TYPE_FLOAT)},  # noqa: C420
    _F.TYPE_BOOL: {"type": "boolean"},
    _F.TYPE_STRING: {"type": "string"},
    _F.TYPE_BYTES: {"type": "string", "format": "byte"},
}
_REFERENCE = "#/components/schemas/"


def as_dict(message: Message) -> dict[str, Any]:
    """The JSON form of a message."""
    return MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)


def plan_as_dict(plan: Plan) -> dict[str, Any]:
    """Return the JSON form of a plan, with how long it takes, as the CLI has it."""
    return as_dict(plan_to_proto(plan)) | {"takes_s": takes_s(plan)}


def message_of(message: _Message, document: dict[str, Any]) -> _Message:
    """Return the message that a JSON form tells; what it leaves out has the default. Raises InvalidInput."""
    try:
        return ParseDict(document, message)
    except ParseError as error:
        name = message.DESCRIPTOR.name
        raise InvalidInput(f"body: no {name} ({str(error).splitlines()[0]}); see openapi.json") from None


def reference(message: type[Message]) -> dict[str, Any]:
    return _reference(message.DESCRIPTOR.name)


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"{_REFERENCE}{name}"}


def components(messages: Iterable[type[Message]]) -> dict[str, Any]:
    """Schemas of these messages and of all that they hold, by name."""
    found: dict[str, Any] = {}
    waiting: list[Any] = [message.DESCRIPTOR for message in messages]  # two kinds, which share no type
    while waiting:
        descriptor = waiting.pop()
        if descriptor.name not in found:
            found[descriptor.name], more = _of(descriptor)
            waiting += more
    return dict(sorted(found.items()))


def components_of_requests(messages: Iterable[type[Message]], taken: Collection[str] = ()) -> dict[str, Any]:
    """Return schemas as `components` does, of messages of which any field may be left out. Those of a name that is
    taken, by a message of which every field is there, have another one."""
    return {
        _free(name, taken): _with_free_names({key: value for key, value in schema.items() if key != "required"}, taken)
        for name, schema in components(messages).items()
    }


def _free(name: str, taken: Collection[str]) -> str:
    return f"{name}Input" if name in taken else name


def _with_free_names(schema: Any, taken: Collection[str]) -> Any:
    if isinstance(schema, list):
        return [_with_free_names(each, taken) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: f"{_REFERENCE}{_free(value.removeprefix(_REFERENCE), taken)}"
        if key == "$ref"
        else _with_free_names(value, taken)
        for key, value in schema.items()
    }


def _of(descriptor: Descriptor) -> tuple[dict[str, Any], list[Descriptor]]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    more: list[Descriptor] = []
    for field in descriptor.fields:
        properties[field.name] = _field(field)
        if not field.has_presence:
            required.append(field.name)
        message = _message_of(field)
        if message is not None:
            more.append(message)
    schema: dict[str, Any] = {"type": "object", "title": descriptor.name, "properties": properties}
    return ({**schema, "required": required} if required else schema), more


def _message_of(field: FieldDescriptor) -> Descriptor | None:
    """Return what else is to be described."""
    message = field.message_type
    if message is None or message.file.package == "google.protobuf":
        return None
    if message.GetOptions().map_entry:
        return _message_of(message.fields_by_name["value"])
    return message


def _field(field: FieldDescriptor) -> dict[str, Any]:
    message = field.message_type
    if message is not None and message.GetOptions().map_entry:
        return {"type": "object", "additionalProperties": _one(message.fields_by_name["value"])}
    return {"type": "array", "items": _one(field)} if field.is_repeated else _one(field)


def _one(field: FieldDescriptor) -> dict[str, Any]:
    if field.enum_type is not None:
        return _enum(field.enum_type)
    if field.message_type is not None:
        return {} if field.message_type.file.package == "google.protobuf" else _reference(field.message_type.name)
    return dict(_SCALARS[field.type])


def _enum(enum: EnumDescriptor) -> dict[str, Any]:
    return {"type": "string", "enum": [value.name for value in enum.values]}


TAKES_S: dict[str, Any] = {
    "type": "array",
    "items": {"type": ["number", "null"]},
    "minItems": 2,
    "maxItems": 2,
    "description": "How long it takes by the members' usual settings: at least, and at most (null: nothing bounds it).",
}
OWN_SCHEMAS: dict[str, Any] = {
    "Problem": {
        "type": "object",
        "title": "Problem",
        "description": "RFC 9457: `detail` is one sentence, which names the field, the value and the fix.",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string", "enum": [f"urn:guardian:{told.name}" for told in TOLD.values()]},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
        },
    },
    "ListedTopic": {
        "type": "object",
        "title": "ListedTopic",
        "required": ["name", "partitions", "replication_factor", "under_replicated", "offline"],
        "properties": {
            "name": {"type": "string"},
            "partitions": {"type": "integer"},
            "replication_factor": {"type": "integer", "description": "The least of its partitions."},
            "under_replicated": {"type": "integer"},
            "offline": {"type": "integer", "description": "Partitions without a leader."},
            "entry": reference(federation_pb2.Topic),
        },
    },
    "TopicPartition": {
        "type": "object",
        "title": "TopicPartition",
        "required": ["partition", "leader", "replicas", "isr"],
        "properties": {
            "partition": {"type": "integer"},
            "leader": {"type": "integer", "description": "-1: there is none."},
            "replicas": {"type": "array", "items": {"type": "integer"}},
            "isr": {"type": "array", "items": {"type": "integer"}},
        },
    },
}
"""Schemas of what is no message."""
