"""Lets a story happen to topics of all settings while numbered records are written and read, and tells what became of
them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from guardian.kafka import data
from guardian.model.faults.event import Story
from tests.integration.cut_brokers.writers import numbers_in
from tests.integration.predictions.lab import FaultLab
from tests.integration.predictions.reading import Reading
from tests.integration.predictions.settings import Setting
from tests.integration.predictions.watching import State, Watch
from tests.integration.predictions.writing import Writing
from tests.patience import PATIENCE_S, wait_for

_BEFORE = 40  # records of each topic before the story begins


@dataclass(frozen=True, slots=True)
class Readers:
    """What a reader of one topic met: how many records it has read that are gone, and the longest time in which it read
    nothing new, in seconds."""

    lost: int
    silent_s: float


@dataclass(frozen=True, slots=True)
class Happened:
    """What brokers did to one topic: how many records were acknowledged, the numbers of those that are gone, and the
    longest time without an acknowledgement, in seconds. `readers` is None where nobody read. `elrs` are all that were
    seen, and `states` what was seen one after another, the last one at the end; empty where it is not known."""

    acked: int
    lost: frozenset[int]
    silent_s: float
    readers: Readers | None = None
    elrs: frozenset[tuple[int, ...]] = frozenset()
    states: tuple[State, ...] = ()


def happen(lab: FaultLab, story: Story, settings: Sequence[Setting], which: str = "") -> Mapping[Setting, Happened]:
    """Return what the story does to a new topic of each setting, which is deleted afterwards; `which` tells its repeats
    apart. Raises AssertionError when the cluster does not serve all of them again at its end."""
    topics = {setting: setting.topic(f"{story.name}{which}") for setting in settings}
    create(lab, topics)
    with (
        Writing(lab.cluster, topics, lab.home / "writers.log") as writing,
        Reading(lab.cluster, topics) as reading,
        Watch([lab.listener(broker) for broker in lab.brokers], topics.values()) as watch,
    ):
        wait_for(
            "that all topics are written to", lambda: all(len(each) >= _BEFORE for each in writing.acked().values())
        )
        wait_for("that all topics are read", lambda: all(reading.read().values()))
        began_s = lab.carry_out(story)
        lab.wait_in_sync(list(topics.values()))
        healed_s = time.monotonic()
        wait_for(
            "that each writer is acknowledged again",
            lambda: all(max(each.values()) > healed_s for each in writing.acked().values()),
        )
        ended_s = time.monotonic()
    acked, read = writing.acked(), reading.read()
    happened = {
        setting: _seen(
            acked[setting],
            read[setting],
            numbers_in(lab.cluster, topic),
            (began_s, ended_s),
            watch.states[topic],
        )
        for setting, topic in topics.items()
    }
    data.delete_topics(lab.cluster, topics.values(), PATIENCE_S)  # or brokers take longer to start after each story
    return happened


def create(lab: FaultLab, topics: Mapping[Setting, str]) -> None:
    """Create a topic of each setting, and return once all its replicas are in sync; its first broker leads it."""
    lab.place(topics.values())
    for setting, topic in topics.items():
        data.create_topics(lab.cluster, {topic: {0: lab.roles.brokers}}, dict(setting.config()), PATIENCE_S)
    lab.wait_in_sync(list(topics.values()))


def _seen(
    acked: Mapping[int, float],
    read: Mapping[int, float],
    there: set[int],
    span: tuple[float, float],
    states: Sequence[State],
) -> Happened:
    return Happened(
        acked=len(acked),
        lost=frozenset(acked) - there,
        silent_s=_longest_gap(acked.values(), *span),
        readers=Readers(len(read.keys() - there), _longest_gap(read.values(), *span)),
        elrs=frozenset(state.elr for state in states),
        states=tuple(states),
    )


def _longest_gap(moments: Iterable[float], began_s: float, ended_s: float) -> float:
    times = sorted([began_s, *(at for at in moments if began_s <= at <= ended_s), ended_s])
    return max(later - earlier for earlier, later in pairwise(times))


def describe(rows: Iterable[tuple[Setting, Happened]], more: Callable[[Setting], str] = lambda _: "") -> str:
    """Return what happened to each setting, for whoever reads a failure: a line, and one for each state."""
    return "\n".join(
        f"{setting.name:50} acked {each.acked:5} lost {len(each.lost):5} silent {each.silent_s:5.1f} s "
        f"{describe_readers(each.readers)} {more(setting)}" + "".join(f"\n    {state}" for state in each.states)
        for setting, each in rows
    )


def describe_readers(readers: Readers | None) -> str:
    """Return what readers met, in words; empty where nobody read."""
    return f"readers lost {readers.lost}, silent {readers.silent_s:.1f} s" if readers else ""
