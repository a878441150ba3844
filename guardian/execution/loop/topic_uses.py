"""Who used topics, from the store of client activity: with every gap that keeps it from being proof."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from guardian.activity.rules import questions
from guardian.activity.rules.questions import Span
from guardian.activity.store.store import ActivityStore
from guardian.execution.loop.request_facts import Uses
from guardian.model.units import human_duration
from guardian.tickets.kinds.requested import TopicUse

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
        gone = covered.keys() - set(brokers)  # they left the cluster: what they told then is looked at
        gaps = [gap_of(broker, covered.get(broker), span) for broker in sorted(brokers)]
        gaps += [loss_of(broker, covered[broker]) for broker in sorted(gone)]
        gap = next((each for each in gaps if each), "")
        rows = {row["resource"]: row for row in self._activity.ask(questions.topic_uses(cluster, sorted(topics), span))}
        until_ms = min((covered[broker]["to_ms"] for broker in brokers if broker in covered), default=0)
        return Uses({topic: _use(rows.get(topic)) for topic in topics}, gap, min(until_ms, span.to_ms))


def _use(row: Mapping[str, Any] | None) -> TopicUse:
    return TopicUse(row["read_ms"], row["written_ms"]) if row is not None else TopicUse()


def gap_of(broker: int, row: Mapping[str, Any] | None, span: Span) -> str:
    """Return what is missing of what a broker has to tell of the span; empty: nothing."""
    if row is None:
        return f"broker {broker} has told nothing of its clients"
    if row["from_ms"] > span.from_ms:
        later = human_duration(row["from_ms"] - span.from_ms)
        return f"broker {broker} tells of its clients only since {later} after the time asked for"
    if row["to_ms"] < span.to_ms - SLACK_MS:
        return f"broker {broker} has told nothing of its clients for {human_duration(span.to_ms - row['to_ms'])}"
    return loss_of(broker, row)


def loss_of(broker: int, row: Mapping[str, Any]) -> str:
    """Return what a broker has lost of what it counted, or was silent about in between; empty: nothing."""
    if row["sum_lost"] or row["sum_dropped"]:
        return f"broker {broker} has lost {row['sum_lost']} slices and {row['sum_dropped']} events"
    if row["gap_ms"] > SLACK_MS:
        return f"broker {broker} has told nothing of its clients for {human_duration(row['gap_ms'])} in between"
    return ""
