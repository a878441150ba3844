"""(model, question) -> answer: what would happen to the data and to the load, in sentences and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from guardian.errors import InvalidInput
from guardian.model.planner_settings import PlannerSettings
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats
from spark_analytics.model.edits import scaled
from spark_analytics.model.load import load_now
from spark_analytics.model.resources import WITH_CAPACITY, Resource
from spark_analytics.planners.room import Needs, shortage
from spark_analytics.planners.rules import Scope, compiled
from spark_analytics.whatif.capacity import Use, full_disks, head_room, limits_of, over_limits, together
from spark_analytics.whatif.questions import Carry, Grow, Question, Shrink, Upgrade
from spark_analytics.whatif.shrinking import Shrinking, shrinking
from spark_analytics.whatif.taking_over import after_loss, moved_leaders

_NAMED = 5
_BYTES = 0  # of a log dir's load
_AS_DURABLE = "durability is as it is now: no replica moves"


@dataclass(frozen=True, slots=True)
class Answer:
    """`over` are brokers, `full` disks, that would be over a limit and were not before, or were less; worst first.

    `is_safe`: nobody is overloaded by it. `leaders`: partitions that get another leader.
    """

    cluster: str
    question: str
    is_safe: bool
    sentences: tuple[str, ...]
    leaders: int = 0
    over: tuple[Use, ...] = ()
    full: tuple[Use, ...] = ()
    shrinking: Shrinking | None = None


def answer(model: ClusterModel, question: Question, settings: PlannerSettings | None = None) -> Answer:
    """Return the answer. Raises InvalidInput when the question names what the cluster does not have."""
    settings = settings or PlannerSettings()
    match question:
        case Carry():
            return _carry(model, question, settings)
        case Grow():
            return _grow(model, question, settings)
        case Upgrade():
            return _upgrade(model, question, settings)
        case Shrink():
            return _shrink(model, question, settings)


def _carry(model: ClusterModel, question: Carry, settings: PlannerSettings) -> Answer:
    inside = (
        _brokers(model, question.brokers) | _named(model, "rack", question.racks) | _named(model, "idc", question.idcs)
    )
    leaders = moved_leaders(model, inside)
    before = load_now(model).broker
    over = _worse(over_limits(model, before, after_loss(model, inside), limits_of(settings)))
    told = f"{leaders} of {model.partitions} partitions get another leader"
    sentences = (told, *_load(over), _rebuilt(model, inside, settings))
    return Answer(model.cluster, str(question), not over, sentences, leaders, over)


def _load(over: Sequence[Use]) -> Iterator[str]:
    if not over:
        yield "no broker comes above a limit that it was below, or higher above it"
        return
    brokers = len({use.broker for use in over})
    worst = over[0]
    yield (
        f"{brokers} {'broker is' if brokers == 1 else 'brokers are'} over a limit, the worst: broker {worst.broker} "
        f"{worst.resource} at {worst.after:.0%} of its capacity (limit {worst.limit:.0%}, now {worst.before:.0%})"
    )


def _rebuilt(model: ClusterModel, inside: Bools, settings: PlannerSettings) -> str:
    """Could the others take over what was lost?"""
    rules, _ = compiled(model, settings, Scope(leaving=inside))
    why = shortage(model, Needs.of(model, rules), model.alive & ~inside)
    if why is None:
        return "the brokers left have room to rebuild what was lost"
    return f"the brokers left have no room to rebuild what was lost: {why}"


def _grow(model: ClusterModel, question: Grow, settings: PlannerSettings) -> Answer:
    grows = _topics(model, question.topics)[model.partition_topic]
    factor = np.where(grows, question.times, 1.0)
    grown = scaled(model, factor, factor if question.stored else 1.0)
    now, then, limits = load_now(model), load_now(grown), limits_of(settings)
    over = _worse(over_limits(model, now.broker, then.broker, limits))
    full = _worse(full_disks(model, now.log_dir[:, _BYTES], then.log_dir[:, _BYTES], limits)) if question.stored else ()
    sentences = [*_load(over)]
    if full:
        sentences.append(_full(full))
    if not question.topics:
        times, broker, resource = head_room(model, now.broker, limits)
        if np.isfinite(times):
            sentences.append(
                f"as it is placed, the cluster carries {times:.2f}x today's load: then broker "
                f"{model.broker_ids[broker]} {resource.name.lower()} is at its limit"
            )
    even = together(model, then.broker, limits)
    if np.isfinite(even):
        sentences.append(
            "perfectly balanced, its brokers would carry it"
            if even >= 1
            else f"no placement carries it: all brokers together have {even:.0%} of what is needed"
        )
    sentences.append(_AS_DURABLE)
    return Answer(model.cluster, str(question), not (over or full), tuple(sentences), over=over, full=full)


def _full(full: Sequence[Use]) -> str:
    worst = full[0]
    count = f"{len(full)} {'disk is' if len(full) == 1 else 'disks are'}"
    where = f"{worst.log_dir} of broker {worst.broker}" if worst.log_dir else f"broker {worst.broker}'s"
    return (
        f"{count} over the limit, the worst: {where} at {worst.after:.0%} "
        f"(limit {worst.limit:.0%}, now {worst.before:.0%})"
    )


def _upgrade(model: ClusterModel, question: Upgrade, settings: PlannerSettings) -> Answer:
    chosen = _brokers(model, question.brokers) if question.brokers else np.ones(model.brokers, dtype=np.bool_)
    factors = np.array([question.cpu, question.network, question.network, question.disk])
    capacity = np.where(chosen[:, None], model.capacity * factors, model.capacity)
    loads, limits = load_now(model).broker, limits_of(settings)
    before, after = over_limits(model, loads, loads, limits), over_limits(model, loads, loads, limits, capacity)
    columns = list(WITH_CAPACITY)
    gained = _peak(loads[:, columns] / model.capacity, model.alive), _peak(loads[:, columns] / capacity, model.alive)
    sentences = [f"{len(before)} uses are over a limit now, {len(after)} then"]
    for column, (was, will) in enumerate(zip(*gained, strict=True)):
        if was > 0 and np.isfinite(was):
            sentences.append(f"fullest broker's {Resource(column).name.lower()}: {was:.0%} now, {will:.0%} then")
    sentences.append(_AS_DURABLE)
    return Answer(model.cluster, str(question), not after, tuple(sentences), over=after)


def _peak(use: Floats, alive: Bools) -> list[float]:
    return [float(each) for each in use[alive].max(axis=0, initial=0.0)]


def _shrink(model: ClusterModel, question: Shrink, settings: PlannerSettings) -> Answer:
    may_go = model.alive.copy()
    if question.label:
        if question.label not in model.label_names:
            raise InvalidInput(f"label is {question.label!r}: use one of {', '.join(model.label_names) or 'none'}")
        may_go &= model.broker_label == model.label_names.index(question.label)
    found = shrinking(model, settings, may_go)
    count = len(found.could_go)
    ids = ", ".join(map(str, found.could_go[:_NAMED])) + (", ..." if count > _NAMED else "")
    sentences = [f"{count} of {int(model.alive.sum())} brokers could go{f': {ids}' if count else ''}"]
    if count:
        sentences.append("their removal was planned: all that they hold has a place elsewhere")
    if found.why:
        sentences.append(f"one more can't: {found.why}")
    bound = "no more than that" if found.at_most == count else f"no more than {found.at_most}"
    sentences.append(f"{bound} whatever is tried: {found.proof}")
    return Answer(model.cluster, str(question), True, tuple(sentences), shrinking=found)


def _worse(uses: Sequence[Use]) -> tuple[Use, ...]:
    """Return the uses that the question makes worse: what was as much over its limit before is not the question's
    doing.
    """
    return tuple(use for use in uses if use.after > use.before * (1 + 1e-9))


def _brokers(model: ClusterModel, ids: Sequence[int]) -> Bools:
    flags = np.zeros(model.brokers, dtype=np.bool_)
    flags[[model.broker_index(each) for each in ids]] = True
    return flags


def _named(model: ClusterModel, what: str, names: Sequence[str]) -> Bools:
    known, code = (model.rack_names, model.rack) if what == "rack" else (model.idc_names, model.idc)
    flags = np.zeros(model.brokers, dtype=np.bool_)
    for name in names:
        if name not in known:
            raise InvalidInput(f"{what} is {name!r}: use one of {', '.join(known) or 'none'}")
        flags |= code == known.index(name)
    return flags


def _topics(model: ClusterModel, names: Sequence[str]) -> Bools:
    if not names:
        return np.ones(len(model.topics), dtype=np.bool_)
    flags = np.zeros(len(model.topics), dtype=np.bool_)
    flags[[model.topic_index(name) for name in names]] = True
    return flags
