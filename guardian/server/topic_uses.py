"""Who used topics, from the store of client activity: with every gap that keeps it from being proof."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from guardian.activity import questions
from guardian.activity.questions import HOUR_MS, Span
from guardian.activity.store import ActivityStore
from guardian.core.kinds.requested import TopicUse
from guardian.executor.looking import Uses

SLACK_MS = 5 * 60_000  # from a use to the row that tells of it: a slice, its collection, its insert


class ActivityTopicUses:
    """Answer from a store of client activity; None: this member keeps none."""

    def __init__(self, activity: ActivityStore | None, now_ms: Callable[[], int]) -> None:
        self._activity = activity
        self._now_ms = now_ms

    def last_uses(self, cluster: str, topics: Collection[str], brokers: Collection[int], since_ms: int) -> Uses:
        """Return the uses of topics since then, and what is missing of them. Raises GuardianError.

        A use counts with the whole slice that it is in, so one that began before `since_ms` counts too.
        """
        if self._activity is None:
            return Uses({}, "audit.url is not set, so that no client activity is kept")
        span = Span(since_ms, max(self._now_ms(), since_ms + 1))
        earlier = Span(max(1, since_ms - SLACK_MS), span.to_ms)  # what is short may be all later than the last row
        covered = {row["broker"]: row for row in self._activity.ask(questions.covered_by_broker(cluster, earlier))}
        gaps = (_gap(broker, covered.get(broker), span) for broker in sorted(brokers))
        gap = next((each for each in gaps if each), "")
        rows = {row["resource"]: row for row in self._activity.ask(questions.topic_uses(cluster, sorted(topics), span))}
        until_ms = min((row["to_ms"] for row in covered.values()), default=0)
        return Uses({topic: _use(rows.get(topic)) for topic in topics}, gap, until_ms)


def _use(row: Mapping[str, Any] | None) -> TopicUse:
    return TopicUse(row["read_ms"], row["written_ms"]) if row is not None else TopicUse()


def _gap(broker: int, row: Mapping[str, Any] | None, span: Span) -> str:
    """Return what is missing of a broker's slices, hour by hour; empty: nothing."""
    if row is None:
        return f"broker {broker} has told nothing of its clients"
    if row["sum_lost"] or row["sum_dropped"]:
        return f"broker {broker} has lost {row['lost']} slices and {row['dropped']} events"
    if row["from_ms"] > span.from_ms:
        return f"broker {broker} tells of its clients only since {(row['from_ms'] - span.from_ms) // 1000} s later"
    if row["to_ms"] < span.to_ms - SLACK_MS:
        return f"broker {broker} has told nothing of its clients for {(span.to_ms - row['to_ms']) // 1000} s"
    hours = row["to_ms"] // HOUR_MS - span.from_ms // HOUR_MS
    if row["hours"] < hours:
        return f"broker {broker} has told nothing of its clients in {hours - row['hours']} of {hours} hours"
    return ""
