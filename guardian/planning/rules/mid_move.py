"""Tell what a plan meets that expands a topic in mid-move. Pure."""

from __future__ import annotations

from collections.abc import Collection

from guardian.model.tasks import ExpandTopic, Task
from guardian.model.text import some
from guardian.model.topology import TopicPartition


def notes_on_moves(task: Task, reassigned: Collection[TopicPartition]) -> tuple[str, ...]:
    """Return what to know of the partitions that are `reassigned` now, where their topic is to be expanded."""
    moved = sorted(each for each in reassigned if isinstance(task, ExpandTopic) and each.topic == task.topic)
    if not moved:
        return ()
    are = "are" if len(moved) > 1 else "is"
    return (
        f"{some(moved)} {are} being moved: Guardian's own moves of topic {moved[0].topic} are cancelled, and made "
        "again after it has grown; those of other tools have to end first",
    )
