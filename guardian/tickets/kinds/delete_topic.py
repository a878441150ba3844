"""delete-topic: topics that nobody has read or written for a set time, after a hold, and a way back to their form.

    PENDING ── proof: nobody used it since `idle_ms` ago ──▶ approved ──▶ RUNNING, held for `hold_ms`, watched
        used meanwhile, or not proven unused
        within a day of the hold's end     ──▶ FAILED, nothing is deleted
        the hold is over, and still unused ──▶ DeleteTopics by topic id ──▶ SUCCEEDED
        rolled back                        ──▶ made anew, empty: partitions, replicas, configuration

Data do not come back: only the form of the topic is saved, in the ticket. Access rules that name it are saved for
people, and stay as they are. Proof comes from the audit of clients on all brokers, and from consumer groups that have
the topic assigned.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from guardian.errors import InvalidInput
from guardian.model.acl import LITERAL, AclBinding
from guardian.model.effects import CreateTopics, DeleteTopics, NewTopic
from guardian.model.tasks import PlanTask
from guardian.model.text import some
from guardian.model.throttle import LISTS as THROTTLED_LISTS
from guardian.model.ticket import TicketState
from guardian.model.units import human_duration
from guardian.tickets.kinds.requested import (
    Facts,
    Moment,
    Option,
    OptionType,
    Query,
    RequestKind,
    RequestStep,
    TopicForm,
    refusals,
)

MAX_TOPICS = 100
MIN_IDLE_MS = 1_000
MAX_MS = 3650 * 86_400_000
_INTERNAL = "__"
_LOOK_MS, _RETRY_MS = 15_000, 2_000  # between two looks at who uses the topics: in the hold, at its end
_PROOF_PATIENCE_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Replicas:
    """List the brokers of one partition, the preferred leader first."""

    brokers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SavedTopic:
    """Save a topic to be deleted, and what it takes to make it anew: its id (hexadecimal), partitions from 0 on,
    configuration, and the access rules that name it."""

    name: str
    id: str = ""
    partitions: tuple[Replicas, ...] = ()
    configs: tuple[tuple[str, str], ...] = ()
    acls: tuple[AclBinding, ...] = ()


@dataclass(frozen=True, slots=True)
class DeleteTopic(PlanTask):
    """Name topics that nobody may have used for `idle_ms` before they are deleted, which is `hold_ms` after the
    start."""

    kind: ClassVar[str] = "delete-topic"
    topics: tuple[SavedTopic, ...]
    idle_ms: int
    hold_ms: int

    def __post_init__(self) -> None:
        if not 1 <= len(self.topics) <= MAX_TOPICS:
            raise InvalidInput(f"topics has {len(self.topics)} names: use 1 to {MAX_TOPICS}")
        if not MIN_IDLE_MS <= self.idle_ms <= MAX_MS:
            raise InvalidInput(f"idle is {self.idle_ms} ms: use {MIN_IDLE_MS} to {MAX_MS}, such as 30d")
        if not 0 <= self.hold_ms <= MAX_MS:
            raise InvalidInput(f"hold is {self.hold_ms} ms: use 0 to {MAX_MS}, such as 7d")
        names = [each.name for each in self.topics]
        for name in names:
            if not name or not name.isprintable() or name.startswith(_INTERNAL):
                raise InvalidInput(
                    f"topic is {name[:60]!r}: use the name of a topic that is not internal ({_INTERNAL})"
                )
            if names.count(name) > 1:
                raise InvalidInput(f"topic {name} is named twice: keep one")


class DeleteTopicKind(RequestKind[DeleteTopic]):
    name = DeleteTopic.kind
    task = DeleteTopic
    can_roll_back = True
    must_be_named = True
    command = "topic", "delete"
    help = """Ask for topics to be deleted that nobody has read or written for a set time.

    After the approval they are held, and watched: a client that uses one ends the ticket, and nothing is deleted.
    Rolled back, the ticket makes the topics anew, empty, with their partitions, replicas and configurations.

    Example: guardian topic delete orders-old --cluster live --idle 30d --hold 7d --dry-run
    """
    options = (
        Option("topic", OptionType.TEXT, "The topic's name.", is_argument=True, is_many=True),
        Option("idle", OptionType.DURATION, "For so long nobody may have read or written it.", default="30d"),
        Option("hold", OptionType.DURATION, "So long after the start it is deleted, if nobody uses it.", default="7d"),
    )
    opening = "holds the topics, and watches whether somebody uses them"
    idle = "paused: nothing is deleted"

    def ask(self, values: Mapping[str, Any], now_ms: int) -> DeleteTopic:
        return DeleteTopic(tuple(map(SavedTopic, values["topic"])), values["idle"], values["hold"])

    def topics_changed(self, task: DeleteTopic) -> tuple[frozenset[str] | None, frozenset[str]]:
        return frozenset(each.name for each in task.topics), frozenset()

    def query(self, task: DeleteTopic, moment: Moment) -> Query:
        names = tuple(sorted(each.name for each in task.topics))
        if moment.is_back:
            return Query(brokers=True, topics=names)
        since_ms = min(moment.now_ms - task.idle_ms, moment.began_ms or moment.now_ms)
        is_new = not moment.began_ms
        return Query(brokers=True, acls_if_any=is_new, topics=names, used_since_ms=max(since_ms, 1))

    def resolve(self, task: DeleteTopic, cluster: str, facts: Facts, now_ms: int) -> DeleteTopic:
        """Return the topics with what is saved of them."""
        for each in task.topics:
            if each.name not in facts.topics:
                raise InvalidInput(f"topic {each.name!r} is not in cluster {cluster}: nothing to delete")
        found = _use(task, facts) or _unknown(facts)
        if found:
            raise InvalidInput(f"{found}: delete only what nobody uses, or ask with a shorter --idle")
        if facts.used_until_ms <= now_ms - task.idle_ms:
            idle = human_duration(task.idle_ms)
            raise InvalidInput(f"idle is {idle}, of which brokers have told nothing yet: ask with a longer --idle")
        return replace(task, topics=tuple(_saved(each.name, facts) for each in task.topics))

    def step(self, task: DeleteTopic, moment: Moment, facts: Facts, refused: tuple[str, ...]) -> RequestStep:
        if moment.is_back:
            return _restored(task, moment, facts, refused)
        there = {each.name: facts.topics[each.name].id for each in task.topics if _is_there(each, facts)}
        renewed = [each.name for each in task.topics if each.name in facts.topics and each.name not in there]
        more = f"; {', '.join(renewed)} was made anew by somebody else and stays" if renewed else ""
        if not there:
            return moment.ended(f"{len(task.topics) - len(renewed)} of {len(task.topics)} topics were deleted{more}")
        found = _use(task, facts)
        if found:
            return moment.given_up(f"{found}, so nothing more is deleted: {', '.join(sorted(there))} stay")
        return _deleted(task, moment, facts, there, refused)

    def topics_restored(self, task: DeleteTopic) -> Mapping[str, NewTopic]:
        return {each.name: _new(each) for each in task.topics}

    def notes(self, task: DeleteTopic) -> Iterator[str]:
        for each in task.topics:
            saved = f"{len(each.configs)} configurations and {len(each.acls)} access rules are saved"
            yield f"deletes topic {each.name} with {len(each.partitions)} partitions and all data; {saved}"
        yield f"only if nobody has read or written it for {human_duration(task.idle_ms)}, by the audit of clients"
        yield f"{human_duration(task.hold_ms)} after the start, if nobody uses it meanwhile"

    def is_repeated(self, made: DeleteTopic, asked: DeleteTopic) -> bool:
        bare = tuple(SavedTopic(each.name) for each in made.topics)
        return replace(made, topics=bare) == replace(
            asked, topics=tuple(SavedTopic(each.name) for each in asked.topics)
        )


KIND = DeleteTopicKind()


def _deleted(
    task: DeleteTopic, moment: Moment, facts: Facts, there: Mapping[str, bytes], refused: tuple[str, ...]
) -> RequestStep:
    """Return the step of topics that nobody was seen to use: they are held, then proven unused, then deleted."""
    end_ms = moment.began_ms + task.hold_ms
    if moment.now_ms < end_ms:
        left_ms = end_ms - moment.now_ms
        left = human_duration(_rounded(left_ms))
        return RequestStep(None, (), f"holds for {left} more; nobody uses the topics", rests_ms=min(left_ms, _LOOK_MS))
    unknown = _unknown(facts)
    if not unknown and facts.used_until_ms < end_ms:
        unknown = "not all brokers have told who used the topics in the hold"
    if unknown and moment.now_ms - end_ms > _PROOF_PATIENCE_MS:
        return moment.given_up(f"{unknown}, so nothing more is deleted: {', '.join(sorted(there))} stay")
    if unknown:
        return RequestStep(None, (), f"waits for the proof: {unknown}", rests_ms=_RETRY_MS)
    sentence = f"deletes {', '.join(sorted(there))}{refusals(refused)}"
    return RequestStep(None, (DeleteTopics(there),), sentence, deleted=tuple(sorted(there)))


def _restored(task: DeleteTopic, moment: Moment, facts: Facts, refused: tuple[str, ...]) -> RequestStep:
    """Return the step that makes anew what this ticket deleted, and nothing else."""
    gone = [each for each in task.topics if each.name in moment.deleted and each.name not in facts.topics]
    if gone and moment.state is TicketState.ROLLING_BACK:
        made = {each.name: _new(each, facts.brokers) for each in gone}
        return RequestStep(
            None, (CreateTopics(made),), f"makes {', '.join(sorted(made))} anew, empty{refusals(refused)}"
        )
    names = ", ".join(each.name for each in gone)
    return moment.ended(f"{names} stay deleted" if gone else "all topics are there; what was deleted is empty now")


def _new(topic: SavedTopic, alive: Collection[int] = ()) -> NewTopic:
    """Return the topic on the brokers of before; where `alive` ones are given, others take the place of those gone."""
    assignments = {number: _replaced(each.brokers, sorted(alive)) for number, each in enumerate(topic.partitions)}
    return NewTopic(assignments, dict(topic.configs))


def _replaced(brokers: tuple[int, ...], alive: Sequence[int]) -> tuple[int, ...]:
    spare = (each for each in alive if each not in brokers)
    found = (each if each in alive or not alive else next(spare, None) for each in brokers)
    return tuple(each for each in found if each is not None)


def _saved(name: str, facts: Facts) -> SavedTopic:
    topic: TopicForm = facts.topics[name]
    acls = tuple(
        rule
        for rule in facts.acls
        if (rule.resource_type, rule.pattern_type, rule.resource_name) == ("TOPIC", LITERAL, name)
    )
    configs = tuple(sorted(each for each in topic.configs.items() if each[0] not in THROTTLED_LISTS))
    return SavedTopic(name, topic.id.hex(), tuple(map(Replicas, topic.replicas)), configs, acls)


def _use(task: DeleteTopic, facts: Facts) -> str:
    """Return who uses one of the topics, as far as it is known; empty: nobody."""
    for each in task.topics:
        use = facts.uses.get(each.name)
        if use is not None and use.groups:
            return f"topic {each.name} is read by consumer group {some(use.groups, 3)}"
        if use is not None and (use.read_ms or use.written_ms):
            did = "written" if use.written_ms else "read"
            return f"topic {each.name} was {did} in the last {human_duration(task.idle_ms)}"
    return ""


def _unknown(facts: Facts) -> str:
    return "" if facts.is_use_known else f"who used the topics is not known: {facts.use_gap}"


def _is_there(topic: SavedTopic, facts: Facts) -> bool:
    return topic.name in facts.topics and facts.topics[topic.name].id.hex() == topic.id


def _rounded(ms: int) -> int:
    """Return whole minutes, at least one: a sentence that changes each second would be stored each second."""
    return max(1, -(-ms // 60_000)) * 60_000
