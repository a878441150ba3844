"""The body of topic_configuration: topics by the replication factor that they get. Pure.

    {"replication_factor": {"topic_by_replication_factor": {"2": "logs|audit", "3": "orders-.*"}}}

What is made of legal names alone, joined by "|", names just these topics: a dot in a name stands for itself, as whoever
joined the names meant it. Anything else is an expression. Other endpoints take no body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from guardian.errors import InvalidInput
from guardian.rest.cruise_control.parameters import Asked, Factor, require_pattern

MAX_BYTES = 1 << 20
_ENDPOINT = "topic_configuration"
_OUTER, _INNER = "replication_factor", "topic_by_replication_factor"
_IN_URL = ("topic", _OUTER)
_NAMES = re.compile(r"[A-Za-z0-9._-]{1,249}(\|[A-Za-z0-9._-]{1,249})*")
_FACTOR = re.compile(r"[1-9]\d{0,2}")
_SHOWN_CHARS = 60
_SHAPE = f'use {{"{_OUTER}": {{"{_INNER}": {{"3": "topic"}}}}}}'


def with_body(asked: Asked, body: bytes) -> Asked:
    """Return the request with what its body asks for. Raises InvalidInput; a body of blanks says nothing."""
    name = asked.endpoint.name
    if len(body) > MAX_BYTES:
        raise InvalidInput(f"body of {name} has more than {MAX_BYTES} bytes: send fewer topics at once")
    if not body.strip():
        return asked
    if name != _ENDPOINT:
        raise InvalidInput(f"body of {name} has {len(body)} bytes: leave it out, and give parameters in the URL")
    given = [each for each in _IN_URL if each in asked.given]
    if given:
        raise InvalidInput(f"{given[0]} is in the URL and replication factors are in the body: give one of them")
    return replace(asked, factors=_factors(body))


def _factors(body: bytes) -> tuple[Factor, ...]:
    try:
        document = json.loads(body, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise InvalidInput(f"body is {_shown(body)}, which is no JSON: {_SHAPE}") from None
    wanted = _only(_only(document, _OUTER, body), _INNER, body)
    if not isinstance(wanted, dict) or not wanted:
        raise InvalidInput(f"body is {_shown(body)}, which names no topics: {_SHAPE}")
    factors = tuple(_factor(*each) for each in sorted(wanted.items()))
    named = [topic for factor in factors for topic in factor.topics]
    twice = next((topic for topic in sorted(set(named)) if named.count(topic) > 1), None)
    if twice is not None:
        raise InvalidInput(f"body names topic {twice} twice: give it one replication factor")
    return factors


def _factor(number: str, topics: Any) -> Factor:
    if not _FACTOR.fullmatch(number):
        raise InvalidInput(f"replication factor in the body is {number[:_SHOWN_CHARS]!r}: use a whole number from 1")
    if not isinstance(topics, str) or not topics:
        raise InvalidInput(f"topics of replication factor {number} are {str(topics)[:_SHOWN_CHARS]!r}: use a text")
    if _NAMES.fullmatch(topics):
        return Factor(int(number), topics=tuple(topics.split("|")))
    require_pattern(f"topics of replication factor {number}", topics)
    return Factor(int(number), pattern=topics)


def _only(document: Any, key: str, body: bytes) -> Any:
    if not isinstance(document, dict) or list(document) != [key]:
        raise InvalidInput(f"body is {_shown(body)}, which has not the key {key!r} alone: {_SHAPE}")
    return document[key]


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InvalidInput(f"body has the key {key[:_SHOWN_CHARS]!r} twice: keep one")
        found[key] = value
    return found


def _shown(body: bytes) -> str:
    return repr(body[:_SHOWN_CHARS].decode(errors="replace"))
