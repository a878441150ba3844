"""Who leads is decided by what other brokers say; asking them goes on until they all know, or the time is up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Iterator, Mapping

import pytest

from guardian.errors import ClusterUnavailable, InvalidInput, NotFound
from guardian.kafka.fake import FakeKafka
from guardian.model.cluster_state import BrokerView, Leadership
from guardian.model.topology import Broker, Cluster, TopicPartition
from guardian.tiering.service.verifying import LeaderFinder, judge, whom_to_ask

TOPIC = b"T" * 16
P0, P1 = (TOPIC, 0), (TOPIC, 1)
LONG_S = 30.0
SHORT_S = 1.0  # after so long a claim that can't be verified is refused
ALL = (1, 2, 3, 4, 5, 6)


def says(leader: int, epoch: int, alive: Collection[int] = ALL) -> BrokerView:
    return BrokerView(frozenset(alive), {P0: Leadership(leader, epoch)})


KNOWS_NOTHING = BrokerView(frozenset(ALL), {})


@pytest.mark.parametrize(
    ("seen", "epoch"),
    [
        ({2: says(1, 5), 3: says(1, 5)}, 5),
        ({2: says(1, 0), 3: says(1, 0)}, 0),  # Kafka's epochs begin with it
        ({2: says(1, 5), 3: says(1, 5), 4: says(9, 4)}, 5),  # one is behind
        ({2: says(1, 5), 3: says(1, 5), 4: says(1, 4)}, 5),
        ({2: says(1, 5), 3: says(1, 5), 4: KNOWS_NOTHING}, 5),
        ({2: says(1, 5), 3: says(1, 5), 4: says(9, 6)}, -1),  # one knows better
        ({2: says(1, 5), 3: says(1, 5), 4: says(-1, 6)}, -1),
        ({2: says(1, 5), 3: says(1, 5), 4: says(1, 6)}, -1),  # one alone is not enough for the newer epoch
        ({2: says(1, 6), 3: says(1, 6), 4: says(9, 5), 5: says(9, 5), 6: says(9, 5)}, 6),  # not the majority: the newer
        ({2: says(9, 5), 3: says(9, 5)}, -1),
        ({2: says(1, 5)}, -1),
        ({2: says(1, 5), 1: says(1, 5)}, -1),  # the claimant's own word counts for nothing
        ({2: says(1, 5), 3: says(1, 5), 1: says(9, 7)}, 5),
        ({2: KNOWS_NOTHING, 3: KNOWS_NOTHING}, -1),
        ({}, -1),
        ({2: says(1, 6, (1, 2))}, 6),  # there is nobody else who could say so
        ({2: says(1, 6, (1, 2)), 3: says(3, 5)}, 6),  # but an old leader that is cut off
        ({2: says(1, 6, (2,))}, 6),
        ({2: says(1, 6, (1, 2)), 3: says(3, 7)}, -1),
        ({2: says(3, 6, (1, 2))}, -1),
        ({2: says(1, 6, (1, 2, 3))}, -1),
        ({1: says(1, 6, (1,))}, -1),
    ],
)
def test_the_highest_epoch_wins_and_two_others_must_name_the_claimant_in_it(
    seen: Mapping[int, BrokerView], epoch: int
) -> None:
    assert judge(seen, 1, [P0]) == [epoch]


def test_partitions_are_judged_one_by_one_in_their_order() -> None:
    view = BrokerView(frozenset(ALL), {P0: Leadership(1, 3), P1: Leadership(2, 8)})
    seen = {2: view, 3: view}
    assert judge(seen, 1, [P1, P0, (TOPIC, 7), P0]) == [-1, 3, -1, 3]


def test_other_brokers_are_asked_each_turn_and_silent_ones_last() -> None:
    others = range(1, 11)
    assert [whom_to_ask(others, (), turn) for turn in range(3)] == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 1, 2]]
    assert {broker for turn in range(30) for broker in whom_to_ask(others, (), turn)} == set(others)
    assert whom_to_ask([2, 3, 4, 5, 6], {2, 3}, 0) == [4, 5, 6, 2]
    assert whom_to_ask([3, 2], (), 1) == [2, 3]
    assert whom_to_ask([], (), 3) == []


class Kafka(FakeKafka):
    """Brokers 1 to `brokers`. Topic t has partition 0 on 1, 2 and partition 1 on 2, 1."""

    def __init__(self, brokers: int = 3) -> None:
        numbers = range(1, brokers + 1)
        super().__init__(dict.fromkeys(numbers, "r"), dict.fromkeys(numbers, ("/d",)))
        self.create_topic("t", {0: (1, 2), 1: (2, 1)})
        [self.topic] = self.topic_ids(["t"]).values()
        self.opened = self.closed = 0
        self.asked: list[list[int]] = []
        self.threads: set[str] = set()
        self.before_answer: Callable[[], None] = lambda: None

    def seen_by(self, brokers: Collection[int], topic_ids: Collection[bytes]) -> dict[int, BrokerView]:
        self.asked.append(sorted(brokers))
        self.threads.add(threading.current_thread().name)
        self.before_answer()
        return super().seen_by(brokers, topic_ids)

    def elect(self, broker: int) -> None:
        self.alter_reassignments({TopicPartition("t", 0): (broker, 3 - broker)})
        self.elect_preferred_leaders([TopicPartition("t", 0)])

    def close(self) -> None:
        self.closed += 1


class Bench:
    """A finder over a fake cluster, and the event loop that it lives on."""

    def __init__(self, kafka: Kafka | None = None) -> None:
        self.kafka = kafka or Kafka()
        self.registered: Cluster | None = Cluster("live", "h:9092", "fake")
        self.finder = LeaderFinder(lambda cluster_id, _: self._find(cluster_id), self._connect)

    def _find(self, cluster_id: str) -> Cluster | None:
        return self.registered if self.registered and self.registered.cluster_id == cluster_id else None

    def _connect(self, _cluster: Cluster) -> Kafka:
        self.kafka.opened += 1
        return self.kafka

    async def epochs(self, broker: int, *partitions: int, timeout_s: float = SHORT_S) -> list[int]:
        names = [(self.kafka.topic, partition) for partition in partitions or (0,)]
        return await self.finder.verified("fake", broker, names, timeout_s)


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.finder.close()


@pytest.mark.slow
def test_the_leader_gets_its_epoch_and_another_broker_nothing(bench: Bench) -> None:
    assert asyncio.run(bench.epochs(1, 0, 1)) == [0, -1]
    assert asyncio.run(bench.epochs(2, 1, timeout_s=LONG_S)) == [0]
    bench.kafka.elect(2)
    assert asyncio.run(bench.epochs(2, timeout_s=LONG_S)) == [1]
    assert asyncio.run(bench.epochs(1)) == [-1]


@pytest.mark.slow
def test_the_claimant_itself_is_never_asked(bench: Bench) -> None:
    asyncio.run(bench.epochs(1, timeout_s=LONG_S))
    asyncio.run(bench.epochs(3))
    assert bench.kafka.asked[0] == [2, 3]
    assert bench.kafka.asked[1:]
    assert all(asked == [1, 2] for asked in bench.kafka.asked[1:])


def test_a_claim_waits_until_other_brokers_have_heard_of_the_change(bench: Bench) -> None:
    bench.kafka.cut_off(3)
    bench.kafka.elect(2)

    async def claim() -> list[int]:
        claiming = asyncio.create_task(bench.epochs(2, timeout_s=LONG_S))
        while len(bench.kafka.asked) < 3:
            await asyncio.sleep(0.01)
        assert not claiming.done()
        bench.kafka.reconnect(3)
        return await claiming

    assert asyncio.run(claim()) == [1]


@pytest.mark.slow
def test_one_broker_that_is_behind_among_enough_others_does_no_harm() -> None:
    bench = Bench(Kafka(brokers=5))
    bench.kafka.cut_off(3)
    bench.kafka.elect(2)
    assert asyncio.run(bench.epochs(2, timeout_s=LONG_S)) == [1]
    assert asyncio.run(bench.epochs(1)) == [-1]
    bench.finder.close()


def test_when_one_of_three_brokers_is_down_the_other_ones_word_is_enough(bench: Bench) -> None:
    bench.registered = Cluster("live", "h:9092", "fake", brokers=(Broker(1), Broker(2), Broker(3)))
    bench.kafka.kill_broker(1)
    bench.kafka.cut_off(3)  # it has heard of that much
    assert asyncio.run(bench.epochs(2, timeout_s=LONG_S)) == [1]


@pytest.mark.slow
def test_one_other_broker_that_has_not_heard_that_the_third_is_down_is_not_enough(bench: Bench) -> None:
    bench.registered = Cluster("live", "h:9092", "fake", brokers=(Broker(1), Broker(2), Broker(3)))
    bench.kafka.cut_off(2)
    bench.kafka.kill_broker(3)
    assert asyncio.run(bench.epochs(1)) == [-1]
    bench.kafka.reconnect(2)
    assert asyncio.run(bench.epochs(1, timeout_s=LONG_S)) == [0]


def test_a_cluster_of_two_is_told_to_claim_in_order() -> None:
    bench = Bench(Kafka(brokers=2))
    with pytest.raises(
        InvalidInput, match=r"cluster live has 1: use CLAIM_ORDER .in its brokers: guardian\.fence=claim"
    ):
        asyncio.run(bench.epochs(1, timeout_s=LONG_S))
    bench.finder.close()


def test_a_cluster_that_is_not_registered_is_told_how_to_be(bench: Bench) -> None:
    bench.registered = None
    with pytest.raises(NotFound, match=r"cluster\.id fake is registered.*`guardian cluster add`.*guardian.fence=claim"):
        asyncio.run(bench.epochs(1))


def test_the_connection_to_a_cluster_that_is_removed_ends(bench: Bench) -> None:
    assert asyncio.run(bench.epochs(1, timeout_s=LONG_S)) == [0]
    bench.registered = None
    with pytest.raises(NotFound):
        asyncio.run(bench.epochs(1))
    assert (bench.kafka.opened, bench.kafka.closed) == (1, 1)


@pytest.mark.slow
def test_another_cluster_at_the_registered_address_is_not_believed(bench: Bench) -> None:
    bench.kafka.cluster_id = "another"
    with pytest.raises(ClusterUnavailable, match=r"registered with cluster\.id fake, but h:9092 answers with another"):
        asyncio.run(bench.epochs(1))


@pytest.mark.slow
def test_a_cluster_that_does_not_answer_is_asked_again_and_then_said_to_be_away(bench: Bench) -> None:
    bench.kafka.reachable = False
    with pytest.raises(ClusterUnavailable, match="did not answer"):
        asyncio.run(bench.epochs(1))

    async def claim() -> list[int]:
        claiming = asyncio.create_task(bench.epochs(1, timeout_s=LONG_S))
        await asyncio.sleep(0.1)
        bench.kafka.reachable = True
        return await claiming

    assert asyncio.run(claim()) == [0]


@pytest.mark.slow
def test_a_broker_that_hangs_holds_up_neither_the_loop_nor_the_claimant_for_longer_than_it_waits(bench: Bench) -> None:
    may_answer = threading.Event()
    bench.kafka.before_answer = lambda: may_answer.wait(LONG_S)  # type: ignore[assignment]

    async def claim() -> int:
        turns = 0
        claiming = asyncio.create_task(bench.epochs(1))
        while not claiming.done():
            await asyncio.sleep(0.01)
            turns += 1
        with pytest.raises(ClusterUnavailable, match="no broker of cluster live but broker 1 itself said"):
            await claiming
        return turns

    try:
        assert asyncio.run(claim()) > 5
    finally:
        may_answer.set()


def test_claims_of_a_cluster_share_a_connection_and_a_thread_that_ends_with_the_finder(bench: Bench) -> None:
    async def claims() -> list[list[int]]:
        return await asyncio.gather(*(bench.epochs(1 + n % 2, n % 2, timeout_s=LONG_S) for n in range(20)))

    assert asyncio.run(claims()) == [[0]] * 20
    assert (bench.kafka.opened, bench.kafka.closed, len(bench.kafka.threads)) == (1, 0, 1)
    bench.finder.close()
    assert bench.kafka.closed == 1
    assert not [thread for thread in threading.enumerate() if thread.name in bench.kafka.threads]


def test_a_cluster_that_is_registered_anew_gets_a_new_connection(bench: Bench) -> None:
    assert asyncio.run(bench.epochs(1, timeout_s=LONG_S)) == [0]
    bench.registered = Cluster("live", "elsewhere:9092", "fake")
    assert asyncio.run(bench.epochs(1, timeout_s=LONG_S)) == [0]
    assert (bench.kafka.opened, bench.kafka.closed) == (2, 1)


def test_a_claim_under_way_goes_on_over_the_connection_of_the_new_registration(bench: Bench) -> None:
    bench.kafka.cut_off(3)
    bench.kafka.elect(2)

    async def claims() -> tuple[list[int], list[int]]:
        under_way = asyncio.create_task(bench.epochs(2, timeout_s=LONG_S))
        while not bench.kafka.asked:
            await asyncio.sleep(0.01)
        bench.registered = Cluster("live", "elsewhere:9092", "fake")
        later = await bench.epochs(2, 1, timeout_s=LONG_S)
        assert not under_way.done()
        bench.kafka.reconnect(3)
        return await under_way, later

    assert asyncio.run(claims()) == ([1], [0])
    assert (bench.kafka.opened, bench.kafka.closed) == (2, 1)


def test_a_claim_that_is_given_up_leaves_the_connection_to_others(bench: Bench) -> None:
    may_answer = threading.Event()
    bench.kafka.before_answer = lambda: may_answer.wait(LONG_S)  # type: ignore[assignment]

    async def claims() -> list[int]:
        given_up = asyncio.create_task(bench.epochs(1, timeout_s=LONG_S))
        while not bench.kafka.asked:
            await asyncio.sleep(0.01)
        given_up.cancel()
        waiting = asyncio.create_task(bench.epochs(1, timeout_s=LONG_S))
        await asyncio.sleep(0.05)
        assert len(bench.kafka.asked) == 1, "a KafkaAdmin serves one thread at a time"
        may_answer.set()
        return await waiting

    assert asyncio.run(claims()) == [0]


@pytest.mark.slow
def test_only_topics_that_are_not_verified_yet_are_asked_for_again(bench: Bench) -> None:
    bench.kafka.create_topic("u", {0: (1,)})
    [other] = bench.kafka.topic_ids(["u"]).values()
    topics: list[set[bytes]] = []
    answer = bench.kafka.seen_by

    def noted(brokers: Collection[int], ids: Collection[bytes]) -> dict[int, BrokerView]:
        topics.append(set(ids))
        return answer(brokers, ids)

    bench.kafka.seen_by = noted  # type: ignore[method-assign,assignment]
    claims = bench.finder.verified("fake", 1, [(bench.kafka.topic, 1), (other, 0)], SHORT_S)
    assert asyncio.run(claims) == [-1, 0]
    assert topics[0] == {bench.kafka.topic, other}
    assert topics[1:]
    assert all(each == {bench.kafka.topic} for each in topics[1:])
