"""What each answer is made from: whom a request reached, and the cluster as it is. And error codes of refusals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from deploy.local.fleet.truth import Truth
from guardian.kafka.kafka_python import kafka_errors
from guardian.model.topology import TopicPartition

NO_ERROR = 0
CONTROLLER = 100  # its node id
Values = dict[str, Any]
Value = TypeVar("Value")
_CODES: Mapping[str, int] = {error.message: code for code, error in kafka_errors.kafka_errors.items()}


@dataclass(frozen=True, slots=True)
class Asked:
    """Whom a request reached: `node` is a broker, or the controller. `addresses` are those of all nodes."""

    truth: Truth
    node: int
    addresses: Mapping[int, tuple[str, int]]

    @property
    def is_controller(self) -> bool:
        return self.node == CONTROLLER

    @property
    def is_answered(self) -> bool:
        """Return whether the node answers at all."""
        return self.truth.has_controllers() if self.is_controller else self.truth.lives(self.node)

    @property
    def hears_controllers(self) -> bool:
        """Return whether the node can tell what only a controller knows."""
        return self.is_controller or self.truth.hears_controllers(self.node)


# Of a request of its kind: the fields of the answer.
Handler = Callable[[Asked, Any], Values]
Handlers = Mapping[Any, Handler]


def coded(why: str, otherwise: type[Any]) -> Values:
    """Return code and message of a refusal, empty: there is none. One that begins with the name of an error, as Kafka
    writes them, has its code; any other one that of `otherwise`."""
    if not why:
        return {"error_code": NO_ERROR, "error_message": None}
    name, _, words = why.partition(": ")
    if name in _CODES:
        return {"error_code": _CODES[name], "error_message": words}
    return {"error_code": otherwise.errno, "error_message": why}


def by_topic(values: Iterable[tuple[TopicPartition, Value]]) -> dict[str, list[tuple[int, Value]]]:
    """Return number and value of each partition by topic, as answers name them."""
    found: defaultdict[str, list[tuple[int, Value]]] = defaultdict(list)
    for name, value in values:
        found[name.topic].append((name.partition, value))
    return found


def names_of(topics: Iterable[tuple[str, Iterable[int]]]) -> list[TopicPartition]:
    """Return partitions that a request names by topic."""
    return [TopicPartition(topic, number) for topic, numbers in topics for number in numbers]
