"""What differs from Kafka's defaults in a topic's configuration, and where it is set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class ConfigOrigin(Enum):
    """Where a value in force is set. Values are Kafka's own codes, and those of our wire."""

    TOPIC = 1
    BROKER = 2  # on the broker that answered, while it runs
    ALL_BROKERS = 3  # likewise, on the resource without a name
    BROKER_FILE = 4  # in the file of the broker that answered
    DEFAULT = 5


ORIGIN_WORDS: Mapping[int, str] = {
    ConfigOrigin.TOPIC.value: "topic",
    ConfigOrigin.BROKER.value: "broker",
    ConfigOrigin.ALL_BROKERS.value: "all brokers",
    ConfigOrigin.BROKER_FILE.value: "broker's file",
    ConfigOrigin.DEFAULT.value: "Kafka's default",
}


@dataclass(frozen=True, slots=True)
class SettingInForce:
    """A key in force that is no default. `value` is None where Kafka hides it. `otherwise` is what would be in force if
    this were not set, as Kafka names it there (log.retention.hours=168); empty: nothing."""

    key: str
    value: str | None
    origin: ConfigOrigin
    otherwise: str = ""
    otherwise_origin: ConfigOrigin | None = None
