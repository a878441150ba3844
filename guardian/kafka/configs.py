"""Dynamic configuration of topics and brokers: what is set or in force, and how keys are set and deleted.

A broker answers for its own configuration alone, and any broker for topics, from its metadata.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from guardian.errors import InvalidInput
from guardian.kafka.admin import BROKER, TOPIC, ConfigResource, require_writable_keys
from guardian.kafka.kafka_python import DescribeConfigsRequest, IncrementalAlterConfigsRequest, kafka_errors
from guardian.kafka.patience import Patience
from guardian.kafka.reasons import NO_ERROR, no_answer, reason
from guardian.kafka.session import BrokerSession
from guardian.kafka.slices import MAX_NAMED, mapping_slices
from guardian.model.cluster_state import ConfigOrigin, SettingInForce

Values = Mapping[str, str | None]  # by key; None: it is deleted

_RESOURCE_TYPES = {TOPIC: 2, BROKER: 4}
_DYNAMIC_SOURCES = {TOPIC: 1, BROKER: 2}  # set on that very resource
_DEFAULT_SOURCE = 3  # set for all brokers of the cluster: on the resource without a name
_ORIGINS = {origin.value: origin for origin in ConfigOrigin}
_SET, _DELETE = 0, 1


class Selection(NamedTuple):
    """Which configuration to describe.

    Of `keys` alone, or (None) of all; what is `in_force`, or what is set on exactly these resources.
    """

    topics: frozenset[str]
    brokers: frozenset[int]
    of_all_brokers: bool  # the default that is set for all of them
    keys: frozenset[str] | None
    in_force: bool


def select(resources: Collection[ConfigResource], keys: Collection[str] | None, *, in_force: bool) -> Selection:
    """Return what to describe. Raises InvalidInput for a resource that is no topic and no broker."""
    return Selection(
        frozenset(name for kind, name in resources if kind == TOPIC),
        frozenset(_broker_id(name) for kind, name in resources if _require_kind(kind) == BROKER and name),
        (BROKER, "") in resources,
        None if keys is None else frozenset(keys),
        in_force,
    )


async def describe(
    session: BrokerSession, selection: Selection, patience: Patience | None
) -> dict[ConfigResource, dict[str, str]]:
    """Return the configuration of those resources that exist and whose broker answers in time."""
    keys = selection.keys

    def read(kind: str, answer: Any) -> dict[str, dict[str, str]]:
        return read_configs(kind, answer, keys, in_force=selection.in_force)

    if selection.topics:
        await session.find_recent()  # brokers tell topics' settings from their metadata
    found = await session.ask_until_known(
        selection.topics,
        lambda names: _describe_request(TOPIC, names, keys),
        lambda answer: read(TOPIC, answer),
        patience,
        MAX_NAMED,  # each comes with all of its keys, where no keys are named
    )
    answers, _ = await session.ask_each(
        selection.brokers, lambda broker: _describe_request(BROKER, [str(broker)], keys), patience
    )
    configs = {(TOPIC, name): values for name, values in found.items()}
    for answer in answers.values():
        configs |= {(BROKER, name): values for name, values in read(BROKER, answer).items()}
    if selection.of_all_brokers:
        answer = await session.ask_recent(lambda: _describe_request(BROKER, [""], keys))
        configs |= {(BROKER, name): values for name, values in read(BROKER, answer).items()}
    return configs


def read_configs(kind: str, response: Any, keys: frozenset[str] | None, *, in_force: bool) -> dict[str, dict[str, str]]:
    """Return, by resource name, what is in force, or what is set on the resource itself; of these keys, or (None) all.

    A sensitive value comes without its text, and none of ours is sensitive: left out.
    """
    configs = {}
    for result in response.results:
        error = kafka_errors.for_code(result.error_code)
        if issubclass(error, kafka_errors.AuthorizationError):
            raise error(f"describe configuration of {kind.lower()} {result.resource_name}")
        if result.error_code == NO_ERROR:
            source = _DYNAMIC_SOURCES[kind] if result.resource_name else _DEFAULT_SOURCE
            configs[result.resource_name] = {
                config.name: config.value
                for config in result.configs
                if (in_force or config.config_source == source)
                and (keys is None or config.name in keys)
                and config.value is not None
            }
    return configs


async def describe_settings(
    session: BrokerSession, topics: Collection[str], patience: Patience | None
) -> dict[str, tuple[SettingInForce, ...]]:
    """Return, of those topics that exist, what is in force and no default."""
    if topics:
        await session.find_recent()
    return await session.ask_until_known(topics, _synonyms_request, read_settings, patience, MAX_NAMED)


def read_settings(response: Any) -> dict[str, tuple[SettingInForce, ...]]:
    """Return, by topic, what is in force and no default, by key."""
    found = {}
    for result in response.results:
        error = kafka_errors.for_code(result.error_code)
        if issubclass(error, kafka_errors.AuthorizationError):
            raise error(f"describe configuration of topic {result.resource_name}")
        if result.error_code == NO_ERROR:
            settings = (_setting(each) for each in result.configs if each.config_source in _ORIGINS)
            found[result.resource_name] = tuple(
                sorted(
                    (each for each in settings if each.origin is not ConfigOrigin.DEFAULT), key=lambda each: each.key
                )
            )
    return found


def _setting(config: Any) -> SettingInForce:
    """Kafka lists what a value hides, the nearest first, and begins with the value itself."""
    hidden = next((each for each in config.synonyms[1:] if each.source in _ORIGINS), None)
    return SettingInForce(
        config.name,
        None if config.is_sensitive else config.value,
        _ORIGINS[config.config_source],
        "" if hidden is None or config.is_sensitive else f"{hidden.name}={hidden.value or ''}",
        None if hidden is None else _ORIGINS[hidden.source],
    )


def require_writable(changes: Mapping[ConfigResource, Values]) -> None:
    """Raise InvalidInput unless each resource is a topic or one broker, and Guardian ever sets its keys."""
    for kind, name in changes:
        if _require_kind(kind) == BROKER:
            _broker_id(name)
    require_writable_keys(changes)


async def alter(session: BrokerSession, changes: Mapping[ConfigResource, Values]) -> dict[ConfigResource, str]:
    """Return the resources that were refused, or whose broker gave no answer, with the reason."""
    brokers = {_broker_id(name): values for (kind, name), values in changes.items() if kind == BROKER}
    topics = {name: values for (kind, name), values in changes.items() if kind == TOPIC}
    refused: dict[ConfigResource, str] = {}
    refused |= await alter_topics(session, topics)
    answers, failures = await session.ask_each(
        brokers, lambda broker: alter_request(BROKER, [(str(broker), brokers[broker])])
    )
    for answer in answers.values():
        refused |= read_refusals(BROKER, answer)
    return refused | {(BROKER, str(broker)): no_answer(broker, error) for broker, error in failures.items()}


async def alter_topics(
    session: BrokerSession, changes: Mapping[str, Values], *, validate_only: bool = False
) -> dict[ConfigResource, str]:
    """Return the topics that were refused, with the reason; only look at the changes, with `validate_only`."""
    refused: dict[ConfigResource, str] = {}
    for part in mapping_slices(changes, weight=len):
        answer = await session.ask_any(partial(alter_request, TOPIC, part.items(), validate_only=validate_only))
        refused |= read_refusals(TOPIC, answer)
    return refused


def alter_request(kind: str, changes: Iterable[tuple[str, Values]], *, validate_only: bool = False) -> Any:
    """Set and delete keys of resources of one kind, by name; only look at it, with `validate_only`."""
    return IncrementalAlterConfigsRequest(
        resources=[
            (
                _RESOURCE_TYPES[kind],
                name,
                [(key, _DELETE if value is None else _SET, value) for key, value in values.items()],
            )
            for name, values in changes
        ],
        validate_only=validate_only,
    )


def read_refusals(kind: str, response: Any, forgiven: frozenset[int] = frozenset()) -> dict[ConfigResource, str]:
    """Return the resources that were refused, with the reason; `forgiven` are codes that are no error."""
    return {
        (kind, result.resource_name): reason(result.error_code, result.error_message)
        for result in response.responses
        if result.error_code != NO_ERROR and result.error_code not in forgiven
    }


def _describe_request(kind: str, names: Iterable[str], keys: frozenset[str] | None) -> Any:
    asked = None if keys is None else sorted(keys)
    return DescribeConfigsRequest(resources=[(_RESOURCE_TYPES[kind], name, asked) for name in names])


def _synonyms_request(topics: Iterable[str]) -> Any:
    resources = [(_RESOURCE_TYPES[TOPIC], topic, None) for topic in topics]
    return DescribeConfigsRequest(resources=resources, include_synonyms=True)


def _require_kind(kind: str) -> str:
    if kind not in _RESOURCE_TYPES:
        raise InvalidInput(f"configuration resource type is {kind!r}: use {TOPIC} or {BROKER}")
    return kind


def _broker_id(name: str) -> int:
    # An empty name is the default of all brokers: too wide for anything that Guardian does.
    if not (name.isascii() and name.isdigit()):
        raise InvalidInput(f"broker of a configuration is {name!r}: use a broker id, such as '1'")
    return int(name)
