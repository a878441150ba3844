"""Names the settings that each fault meets: a topic of one partition each, with a producer of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import product

from guardian.model.faults.controller import Settings

ALL, LEADER = "all", "1"
"""Values of acks."""


class Client(Enum):
    """Producers: librdkafka's and Kafka's own, which give records up and find leaders in ways of their own."""

    LIBRDKAFKA = "librdkafka"
    LIBRDKAFKA_IDEMPOTENT = "librdkafka-idempotent"
    JAVA = "plain"
    JAVA_IDEMPOTENT = "idempotent"
    JAVA_TRANSACTIONAL = "transactional"

    @property
    def is_java(self) -> bool:
        return self in {Client.JAVA, Client.JAVA_IDEMPOTENT, Client.JAVA_TRANSACTIONAL}


@dataclass(frozen=True, slots=True)
class Setting:
    """A topic's settings, and who writes into it with which acks."""

    min_isr: int
    acks: str
    unclean: bool = False
    client: Client = Client.LIBRDKAFKA

    @property
    def name(self) -> str:
        clean = "unclean" if self.unclean else "clean"
        return f"min-isr-{self.min_isr}.{clean}.acks-{self.acks}.{self.client.name.lower().replace('_', '-')}"

    @property
    def is_acks_all(self) -> bool:
        return self.acks == ALL

    @property
    def silence_is_foretold(self) -> bool:
        """Tell whether the predictor says how long this producer is silent: of transactions it does not, since their
        coordinator is another partition's leader."""
        return self.client is not Client.JAVA_TRANSACTIONAL

    def topic(self, story: str) -> str:
        """Return the name of the topic for one story: no story meets the records of another."""
        return f"{story.replace(' ', '-').replace(',', '')}.{self.name}"

    def config(self) -> Mapping[str, str]:
        """Return what the topic is created with."""
        return {
            "min.insync.replicas": str(self.min_isr),
            "unclean.leader.election.enable": str(self.unclean).lower(),
        }

    def predicted_by(self, *, elr: bool) -> Settings:
        """Return the same in the predictor's words."""
        return Settings(min_isr=self.min_isr, unclean=self.unclean, elr=elr)


SETTINGS = tuple(
    Setting(min_isr, acks, unclean) for min_isr, unclean, acks in product((1, 2), (False, True), (ALL, LEADER))
)
OF_OTHER_CLIENTS = (
    Setting(2, ALL, client=Client.LIBRDKAFKA_IDEMPOTENT),
    *(Setting(min_isr, acks, client=Client.JAVA) for min_isr, acks in product((1, 2), (ALL, LEADER))),
    Setting(2, ALL, client=Client.JAVA_IDEMPOTENT),
    Setting(2, ALL, client=Client.JAVA_TRANSACTIONAL),
)
