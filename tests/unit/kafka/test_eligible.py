"""Answers that come in pages, and brokers that keep no ELR; the rest is in tests/contract/test_kafka_membership.py."""

from __future__ import annotations

import asyncio
import time
from typing import Any, cast

from kafka.errors import IncompatibleBrokerVersion
from kafka.protocol.admin import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse
from kafka.protocol.metadata import ApiVersionsResponse

from guardian.kafka import eligible
from guardian.kafka.session import BrokerSession
from guardian.kafka.witness import ClusterMemory
from guardian.model.cluster_state import Eligible, EligibleLeaders
from guardian.model.topology import TopicPartition

_TOPIC = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
_PARTITION = _TOPIC.DescribeTopicPartitionsResponsePartition
_WITNESS = 7


class Session:
    """Answers as the witness: its features, then a page for each request, or an error."""

    attempt_s = 1.0

    def __init__(self, level: int, *pages: Any) -> None:
        self._level, self._pages = level, list(pages)
        self.asked: list[Any] = []

    async def ask_broker(self, broker: int, request: Any, _limit_s: float) -> Any:
        assert broker == _WITNESS
        if not isinstance(request, DescribeTopicPartitionsRequest):
            feature = ApiVersionsResponse.FinalizedFeatureKey(
                name="eligible.leader.replicas.version", max_version_level=self._level, min_version_level=1
            )
            return ApiVersionsResponse(finalized_features=[feature] if self._level else [])
        self.asked.append(request)
        page = self._pages.pop(0)
        if isinstance(page, Exception):
            raise page
        return page


def page(*partitions: tuple[int, list[int] | None, list[int] | None], following: int | None = None) -> Any:
    """Return one page of the answer about topic a."""
    topic = _TOPIC(
        error_code=0,
        name="a",
        partitions=[
            _PARTITION(error_code=0, partition_index=number, eligible_leader_replicas=elr, last_known_elr=last)
            for number, elr, last in partitions
        ],
    )
    cursor = DescribeTopicPartitionsResponse.Cursor(topic_name="a", partition_index=following) if following else None
    gone = _TOPIC(error_code=3, name="gone", partitions=[])
    return DescribeTopicPartitionsResponse(topics=[topic, gone], next_cursor=cursor)


def asked(session: Session, *topics: str) -> EligibleLeaders:
    """Ask with a witness that is known already."""
    memory = ClusterMemory()
    memory.proven = (_WITNESS, time.monotonic())
    return asyncio.run(eligible.eligible_leaders(cast("BrokerSession", session), memory, topics))


def test_pages_are_put_together() -> None:
    session = Session(1, page((0, [2, 3], None), (1, None, None), following=2), page((2, [], [1])))
    assert asked(session, "a", "gone") == EligibleLeaders(
        is_kept=True,
        partitions={TopicPartition("a", 0): Eligible((2, 3)), TopicPartition("a", 2): Eligible((), (1,))},
    )
    assert [each.name for each in session.asked[0].topics] == ["a", "gone"]
    assert (session.asked[1].cursor.topic_name, session.asked[1].cursor.partition_index) == ("a", 2)


def test_clusters_that_keep_none_are_asked_no_more() -> None:
    session = Session(0)
    assert asked(session, "a") == EligibleLeaders(is_kept=False)
    assert session.asked == []
    assert asked(Session(1, IncompatibleBrokerVersion("old")), "a") == EligibleLeaders(is_kept=False)
