"""Bodies and parameters of requests, made of what describes them: the OpenAPI document's schemas, the signatures of
handlers that read forms, and Cruise Control's parameters.

Nobody has to list what is new. A value is that of the field's name where there is one, and the least of its type else.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, get_args, get_type_hints

from fastapi.params import File, Form

from guardian.rest.cruise_control.endpoints import Endpoint, Kind, Parameter

Values = Callable[[str], Any]
Schema = Mapping[str, Any]
_DRY_RUN = "dryrun"
_HOW_TO_ANSWER = ("json", "get_response_schema")
_REFERENCE = "#/components/schemas/"


def json_bodies(schemas: Mapping[str, Schema], schema: Schema, of: Values, name: str = "") -> Iterator[Any]:
    """Yield values that a schema allows: one of a plain type, several of an object or a choice."""
    schema = _resolved(schemas, schema)
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            for each in schema[choice]:
                if each.get("type") != "null":
                    yield from json_bodies(schemas, each, of, name)
            return
    if "const" in schema or "enum" in schema:
        yield from [schema["const"]] if "const" in schema else schema["enum"]
    elif schema["type"] == "object" and "properties" in schema:
        yield from _objects(schemas, schema, of)
    elif schema["type"] == "array":
        given = of(name)
        is_given = isinstance(given, list) and not _is_object(schemas, schema["items"])
        yield from ([given] if is_given else [[next(json_bodies(schemas, schema["items"], of, name))]])
    else:
        yield _plain(schema, of, name)


def _objects(schemas: Mapping[str, Schema], schema: Schema, of: Values) -> Iterator[dict[str, Any]]:
    """Yield an object of each kind: with what is required and its first list, with all but lists, and with all of it.

    Where there are objects within it, it has one of these at a time beside the flags, and the first one alone and
    beside all that is plain.
    """
    filled = {name: list(json_bodies(schemas, each, of, name)) for name, each in schema["properties"].items()}
    required = schema.get("required", ())
    inner = [name for name, each in schema["properties"].items() if _is_object(schemas, each)]
    plain = {name: values[0] for name, values in filled.items() if name not in inner}
    flags = {name: value for name, value in plain.items() if value is True}
    if inner and "kind" not in required:
        base = {name: filled[name][0] for name in required}
        for name in inner:
            yield from ({**base, **flags, name: value} for value in filled[name])
            yield {**plain, name: filled[name][0]}
            yield {**base, name: filled[name][-1]}
        return
    first_list = {name: value for name, value in plain.items() if isinstance(value, list) and name not in required}
    for kind in filled["kind"] if "kind" in required else [None]:
        base = {name: kind if name == "kind" else filled[name][0] for name in required}
        yield {**base, **dict(islice(first_list.items(), 1))}
        yield {**{name: value for name, value in plain.items() if not isinstance(value, list)}, **base}
        yield {**plain, **base}


def _is_object(schemas: Mapping[str, Schema], schema: Schema) -> bool:
    schema = _resolved(schemas, schema)
    choices = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return schema.get("type") == "object" or any(_is_object(schemas, each) for each in choices)


def _resolved(schemas: Mapping[str, Schema], schema: Schema) -> Schema:
    return schemas[schema["$ref"].removeprefix(_REFERENCE)] if "$ref" in schema else schema


def _plain(schema: Schema, of: Values, name: str) -> Any:
    """Return a value of a plain type, or an object that the schema says nothing about."""
    kinds: dict[str, type | tuple[type, ...]] = {"string": str, "integer": int, "number": (int, float), "object": dict}
    value: Any = of(name)
    of_several = schema["type"]
    kind: str = of_several[0] if isinstance(of_several, list) else of_several
    if kind == "boolean":
        return value is not False
    if isinstance(value, kinds[kind]) and (schema.get("format") != "int64" or str(value).isdigit()):
        return value
    least: dict[str, Any] = {"string": "1", "integer": int(schema.get("minimum", 1)), "number": 1, "object": {}}
    return schema.get("default") or least[kind]


def forms(handler: Callable[..., Any], of: Values) -> Iterator[dict[str, str]]:
    """Yield the forms that a handler's signature asks for: all of it but files, and without the flags; none: it reads
    no form."""
    fields: dict[str, str] = {}
    flags: set[str] = set()
    hints = get_type_hints(handler, include_extras=True)
    for name in inspect.signature(handler).parameters:
        kind, *said = get_args(hints[name]) or (hints[name],)
        if any(isinstance(each, Form) and not isinstance(each, File) for each in said):
            if kind is bool:
                flags.add(name)
            fields[name] = "true" if kind is bool else str(of(name)) if kind is str else "1"
    if fields:
        yield fields
        yield {name: value for name, value in fields.items() if name not in flags}


def queries(endpoint: Endpoint, of: Values) -> Iterator[dict[str, str]]:
    """Yield Cruise Control's parameters: those that are required, to be carried out too, and with one other at a time.

    Left out are those without an effect.
    """
    required = {each.name: _parameter(each, of) for each in endpoint.parameters if each.is_required}
    yield required
    if endpoint.parameter(_DRY_RUN):
        yield {**required, _DRY_RUN: "false"}
    for each in endpoint.parameters:
        if not (each.name in (*required, _DRY_RUN, *_HOW_TO_ANSWER) or each.why_refused or each.why_ignored):
            yield {**required, each.name: _parameter(each, of)}


def _parameter(parameter: Parameter, of: Values) -> str:
    if parameter.choices:
        return parameter.choices[0]
    if parameter.kind in (Kind.TEXT, Kind.PATTERN, Kind.WORDS):
        return str(of(parameter.name))
    return {
        Kind.BOOLEAN: "true",
        Kind.SHARE: "1",
        Kind.RANGE: "0",
        Kind.LOG_DIRS: f"1-{of('path')}",
    }.get(parameter.kind, str(max(1, parameter.minimum)))
