"""A federation's directory in memory, which tickets read and change as they do the replicated one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from guardian.errors import Unavailable
from guardian.model.directory import Directory
from guardian.model.effects import ConfigChange, ConfigKey
from guardian.model.execution import Subject
from guardian.model.federation import Exclusion, IdcPolicy, Machine, Topic
from guardian.model.topology import Broker, Cluster


class MemoryDirectory:
    """Implements `guardian.execution.loop.ports.Labels` for one cluster; the first `failures` changes fail."""

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
        self.said: list[Mapping[ConfigKey, ConfigChange]] = []

    def directory(self, cluster: str) -> Directory:
        found = Directory(
            (self.cluster,), tuple(self.machines.values()), (), self._topics(), self.policies, self.exclusions
        )
        return found.of_cluster(cluster)

    def say(self, cluster: str, changes: Mapping[ConfigKey, ConfigChange]) -> None:
        assert cluster == self.cluster.name
        if self.failures:
            self.failures -= 1
            raise Unavailable("no leader")
        self.said.append(changes)
        for key, change in changes.items():
            self._say(Subject(key.resource_type), key.resource_name, key.key, change)

    def labels(self) -> dict[int, str]:
        """Of brokers, by id."""
        return {broker.id: broker.label for broker in self.cluster.brokers}

    def put_label(self, broker_id: int, label: str) -> None:
        """Somebody else says so."""
        brokers = tuple(replace(each, label=label) if each.id == broker_id else each for each in self.cluster.brokers)
        self.cluster = replace(self.cluster, brokers=brokers)

    def _say(self, subject: Subject, name: str, field: str, change: ConfigChange) -> None:
        match subject:
            case Subject.BROKER:
                if self.labels().get(int(name)) == change.expected:
                    self.put_label(int(name), change.value or "")
            case Subject.MACHINE:
                machine = self.machines.get(name)
                if machine is not None and machine.label == change.expected:
                    self.machines[name] = replace(machine, label=change.value or "")
            case Subject.TOPIC:
                topic = self.of_topics.get(name, Topic(self.cluster.name, name))
                if getattr(topic, field) == change.expected:
                    value: dict[str, Any] = {field: change.value}
                    self.of_topics[name] = replace(topic, **value)

    def _topics(self) -> tuple[Topic, ...]:
        return tuple(self.of_topics.values())
