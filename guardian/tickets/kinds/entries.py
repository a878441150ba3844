"""What plans set in the federation's directory of topics, and what that replaces. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from guardian.model.execution import DirectoryIntent, Subject
from guardian.model.federation import Topic
from guardian.model.planner_settings import is_named
from guardian.model.text import some

LABEL, IDC_POLICY = "label", "idc_policy"  # of an entry
NAMED = 5


class Entry(NamedTuple):
    """Change a field of one broker, machine or topic, its value to be and the one that this replaces; empty text:
    none."""

    subject: Subject
    field: str
    name: str
    value: str
    replaced: str


def grouped(entries: Iterator[Entry]) -> tuple[DirectoryIntent, ...]:
    """Return one intent for all that changes alike; what stays as it is, is left out."""
    names: dict[tuple[Subject, str, str, str], list[str]] = {}
    for each in entries:
        if each.value != each.replaced:
            names.setdefault((each.subject, each.field, each.value, each.replaced), []).append(each.name)
    return tuple(
        DirectoryIntent(subject, field, tuple(of_these), value, replaced)
        for (subject, field, value, replaced), of_these in names.items()
    )


def of_topics(field: str, values: Mapping[str, str], topics: Collection[Topic]) -> Iterator[Entry]:
    """Yield the entries that give topics these values; a topic that the directory does not have has none."""
    now = {topic.name: topic for topic in topics}
    for name, value in values.items():
        yield Entry(Subject.TOPIC, field, name, value, getattr(now[name], field) if name in now else "")


def meant(names: Sequence[str], tenant: str, existing: Collection[str], topics: Collection[Topic]) -> set[str]:
    """Return the topics that are named, stars allowed, among the existing ones, and those of the tenant."""
    named = {topic for topic in existing for name in names if is_named(topic, name)}
    return named | {topic.name for topic in topics if tenant and topic.tenant == tenant}


def changed(topics: Sequence[str], tenant: str, *, is_all: bool) -> tuple[frozenset[str] | None, frozenset[str]]:
    """Return what `Kind.topics_changed` does, for topics that are named and those of a tenant."""
    has_more = is_all or any(name.endswith("*") for name in topics)
    return None if has_more else frozenset(topics), frozenset({tenant} - {""})


def describe(topics: Sequence[str], tenant: str) -> str:
    """Say which topics, for people."""
    named = [f"topics {some(topics, NAMED)}"] if topics else []
    named += [f"all topics of tenant {tenant}"] if tenant else []
    return " and ".join(named) or "all topics of the cluster"
