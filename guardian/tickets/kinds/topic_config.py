"""topic-config: the configuration of topics, set or restored; each value with the one that it replaces.

    value live = replaced ── set ──▶ value ──▶ SUCCEEDED ── rolled back, while it is still ours ──▶ replaced

Every change is compare and set (settings/rules.py): what somebody else sets meanwhile stays, and the ticket says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from guardian.errors import InvalidInput
from guardian.model.effects import TOPIC, TOPIC_CONFIGS, AlterConfigs, ConfigKey
from guardian.model.owned_setting import OwnedSetting
from guardian.model.tasks import PlanTask
from guardian.settings.rules import Live, entries_of, reconcile
from guardian.tickets.kinds.requested import (
    Facts,
    Moment,
    Option,
    OptionType,
    Query,
    RequestKind,
    RequestStep,
    refusals,
)

MAX_SETTINGS = 1000


@dataclass(frozen=True, slots=True)
class TopicSetting:
    """Change one configuration of a topic: its value to be and the one that this replaces; None: not set on the
    topic."""

    topic: str
    key: str
    value: str | None = None
    replaced: str | None = None

    def __str__(self) -> str:
        """Return the change in words, the value before first."""
        return f"{self.key} of topic {self.topic}: {_word(self.replaced)} -> {_word(self.value)}"


@dataclass(frozen=True, slots=True)
class TopicConfig(PlanTask):
    """Name configurations of topics to be set or, with a value of None, deleted, so that the broker's default holds."""

    kind: ClassVar[str] = "topic-config"
    settings: tuple[TopicSetting, ...]

    def __post_init__(self) -> None:
        if not self.settings:
            raise InvalidInput("settings are empty: name a topic, and a configuration to set or unset")
        if len(self.settings) > MAX_SETTINGS:
            raise InvalidInput(
                f"settings has {len(self.settings)} entries: use up to {MAX_SETTINGS}, in several tickets"
            )
        seen: set[tuple[str, str]] = set()
        for each in self.settings:
            if not each.topic or not each.topic.isprintable():
                raise InvalidInput(f"topic is {each.topic[:60]!r}: use the name of a topic")
            if each.key not in TOPIC_CONFIGS:
                raise InvalidInput(f"configuration is {each.key[:60]!r}: use one of {', '.join(sorted(TOPIC_CONFIGS))}")
            if (each.topic, each.key) in seen:
                raise InvalidInput(f"{each.key} of topic {each.topic} is named twice: keep one value")
            seen.add((each.topic, each.key))


class TopicConfigKind(RequestKind[TopicConfig]):
    name = TopicConfig.kind
    task = TopicConfig
    can_roll_back = True
    command = "topic", "config"
    help = """Ask for other configurations of topics: values are set, or unset, so that the broker's default holds.

    Each line shows the value before. Rolled back, the ticket restores it where nobody has set another one since.

    Example: guardian topic config orders --cluster live --set retention.ms=3600000 --dry-run
    """
    options = (
        Option("topic", OptionType.TEXT, "The topic's name.", is_argument=True, is_many=True),
        Option("set", OptionType.PAIR, "key=value, such as retention.ms=3600000.", default="", is_many=True),
        Option("unset", OptionType.TEXT, "A key that the topic shall not set itself.", default="", is_many=True),
    )
    opening = "sets the configurations"
    idle = "paused: no configuration is changed"

    def ask(self, values: Mapping[str, Any], now_ms: int) -> TopicConfig:
        keys = (*values.get("set", ()), *((key, None) for key in values.get("unset", ())))
        return TopicConfig(tuple(TopicSetting(topic, key, value) for topic in values["topic"] for key, value in keys))

    def topics_changed(self, task: TopicConfig) -> tuple[frozenset[str] | None, frozenset[str]]:
        return frozenset(each.topic for each in task.settings), frozenset()

    def query(self, task: TopicConfig, moment: Moment) -> Query:
        return Query(topics=tuple(sorted({each.topic for each in task.settings})))

    def resolve(self, task: TopicConfig, cluster: str, facts: Facts, now_ms: int) -> TopicConfig:
        """Return the settings that change something, with the values that they replace."""
        _require_topics(task, cluster, facts)
        task = TopicConfig(tuple(replace(each, value=_normal(each.key, each.value)) for each in task.settings))
        now = {each: facts.topics[each.topic].configs.get(each.key) for each in task.settings}
        settings = tuple(replace(each, replaced=now[each]) for each in task.settings if now[each] != each.value)
        if not settings:
            raise InvalidInput(f"all {len(task.settings)} configurations are as asked for already: nothing to do")
        return TopicConfig(settings)

    def count(self, task: TopicConfig) -> int:
        return len(task.settings)

    def trial(self, task: TopicConfig) -> Mapping[str, Mapping[str, str | None]]:
        changes: dict[str, dict[str, str | None]] = {}
        for each in task.settings:
            changes.setdefault(each.topic, {})[each.key] = each.value
        return changes

    def step(self, task: TopicConfig, moment: Moment, facts: Facts, refused: tuple[str, ...]) -> RequestStep:
        owned = [OwnedSetting(TOPIC, each.topic, each.key, (each.value,), each.replaced) for each in task.settings]
        required = {} if moment.is_back else {ConfigKey.of(each): each.values[0] for each in owned}
        lost = [each for each in task.settings if each.topic not in facts.topics]
        live = Live(
            {(TOPIC, name): topic.configs for name, topic in facts.topics.items()},
            deleted=frozenset((TOPIC, each.topic) for each in lost),
        )
        found = reconcile(required, owned, live, pending=())
        if found.changes:
            doing = "restores" if moment.is_back else "sets"
            more = f"{len(found.changes)} configurations{refusals(refused)}"
            return RequestStep(None, (AlterConfigs(found.changes),), f"{doing} {more}")
        left = "".join(f"; {note}" for note in found.notes)
        gone = "".join(f"; topic {name} is gone" for _, name in sorted(live.deleted))
        kept = len(owned) - len(found.foreign) - len(lost)
        reason = f"{kept} of {len(owned)} configurations are {'as before' if moment.is_back else 'set'}{left}{gone}"
        if not moment.is_back and kept < len(owned):
            return moment.given_up(reason)
        return moment.ended(reason)

    def notes(self, task: TopicConfig) -> Iterator[str]:
        return map(str, task.settings)

    def is_repeated(self, made: TopicConfig, asked: TopicConfig) -> bool:
        wanted = {(each.topic, each.key, _normal(each.key, each.value)) for each in asked.settings}
        return all((each.topic, each.key, each.value) in wanted for each in made.settings)


KIND = TopicConfigKind()


def _normal(key: str, value: str | None) -> str | None:
    """Return the value as Kafka shows it; one that it will refuse stays as it is."""
    if value is None:
        return None
    if key == "cleanup.policy":
        return ",".join(entries_of(value))
    if key == "unclean.leader.election.enable":
        return value.strip().lower()
    try:
        return str(float(value)) if key == "min.cleanable.dirty.ratio" else str(int(value))
    except ValueError:
        return value.strip()


def _require_topics(task: TopicConfig, cluster: str, facts: Facts) -> None:
    for each in task.settings:
        if each.topic not in facts.topics:
            raise InvalidInput(f"topic {each.topic!r} is not in cluster {cluster}: use one that exists")


def _word(value: str | None) -> str:
    return "not set" if value is None else value
