"""A federation's directory in memory, which tickets read and change as they do the replicated one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from guardian.errors import Unavailable
from guardian.model.directory import Directory
from guardian.model.execution import DirectoryIntent, Subject
from guardian.model.federation import Exclusion, IdcPolicy, Machine, Topic
from guardian.model.topology import Broker, Cluster


class MemoryDirectory:
    """Implements `guardian.executor.driver.Labels` for one cluster; the first `failures` changes fail."""

    def __init__(
        self,
        brokers: Sequence[Broker] = (),
        topics: Sequence[Topic] = (),
        policies: Sequence[IdcPolicy] = (),
        machines: Sequence[Machine] = (),
        cluster: str = "live",
    ) -> None:
        self.cluster = Cluster(cluster, "h:9092", "fake", brokers=tuple(brokers))
        self.of_topics = {topic.name: topic for topic in topics}
        self.policies = tuple(policies)
        self.machines = {machine.host: machine for machine in machines}
        self.exclusions: tuple[Exclusion, ...] = ()
        self.failures = 0
        self.said: list[Sequence[DirectoryIntent]] = []

    def directory(self, cluster: str) -> Directory:
        found = Directory(
            (self.cluster,), tuple(self.machines.values()), (), self._topics(), self.policies, self.exclusions
        )
        return found.of_cluster(cluster)

    def say(self, cluster: str, intents: Sequence[DirectoryIntent]) -> None:
        assert cluster == self.cluster.name
        if self.failures:
            self.failures -= 1
            raise Unavailable("no leader")
        self.said.append(intents)
        for intent in intents:
            for name in intent.names:
                self._say(intent, name)

    def labels(self) -> dict[int, str]:
        """Of brokers, by id."""
        return {broker.id: broker.label for broker in self.cluster.brokers}

    def put_label(self, broker_id: int, label: str) -> None:
        """Somebody else says so."""
        brokers = tuple(replace(each, label=label) if each.id == broker_id else each for each in self.cluster.brokers)
        self.cluster = replace(self.cluster, brokers=brokers)

    def _say(self, intent: DirectoryIntent, name: str) -> None:
        match intent.subject:
            case Subject.BROKER:
                if self.labels().get(int(name)) == intent.replaced:
                    self.put_label(int(name), intent.value)
            case Subject.MACHINE:
                machine = self.machines.get(name)
                if machine is not None and machine.label == intent.replaced:
                    self.machines[name] = replace(machine, label=intent.value)
            case Subject.TOPIC:
                topic = self.of_topics.get(name, Topic(self.cluster.name, name))
                if getattr(topic, intent.field) == intent.replaced:
                    change: dict[str, Any] = {intent.field: intent.value}
                    self.of_topics[name] = replace(topic, **change)

    def _topics(self) -> tuple[Topic, ...]:
        return tuple(self.of_topics.values())
