"""The asynchronous store: what a Replica answers on its own thread arrives on the loop, in bounds."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from guardian.errors import GuardianError, InvalidInput, NotFound, OutcomeUnknown, Overloaded, Unavailable
from guardian.replication.store.async_store import AsyncStore, StoreLimits
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import records_pb2, tiering_pb2
from raft.errors import LowDisk, NoLeader, RaftError
from raft.errors import OutcomeUnknown as RaftOutcomeUnknown
from raft.errors import Overloaded as RaftOverloaded
from raft.inmem import InMemoryReplica
from raft.protocol import Outcome

DROP = records_pb2.Command(drop_cluster=records_pb2.DropCluster(name="x")).SerializeToString()
IDS = records_pb2.Command()
IDS.allocate_ids.cluster_id, IDS.allocate_ids.count = "c", 1
IDS.allocate_ids.kind = tiering_pb2.TOPIC_ID
ALLOCATE = IDS.SerializeToString()


class Replica(InMemoryReplica):
    """Answers on a thread of its own, when it is told to."""

    def __init__(self) -> None:
        self.machine = MetastoreStateMachine(MemoryStore())
        super().__init__("g1", self.machine)
        self.outcome: RaftError | None = None
        self.at_once: Exception | None = None
        self.held: list[Callable[[], None]] | None = None
        self.age_s: float | None = None

    def propose_async(self, command: bytes, timeout_s: float, done: Callable[[Outcome], None]) -> None:
        if self.at_once is not None:
            raise self.at_once
        outcome: Outcome = self.outcome or self.propose(command, timeout_s)
        self._later(lambda: done(outcome))

    def read_index_async(self, timeout_s: float, done: Callable[[int | RaftError], None]) -> None:  # noqa: ARG002
        if self.at_once is not None:
            raise self.at_once
        outcome = self.outcome or self.machine.applied_index
        self._later(lambda: done(outcome))

    def staleness_s(self) -> float | None:
        return self.age_s

    def release(self) -> None:
        held, self.held = self.held or [], None
        for answer in held:
            self._later(answer)

    def _later(self, answer: Callable[[], None]) -> None:
        if self.held is not None:
            self.held.append(answer)
            return
        thread = threading.Thread(target=answer)
        thread.start()
        thread.join()


def run(work: Callable[[AsyncStore], Coroutine[Any, Any, object]], replica: Replica, **limits: int) -> object:
    async def with_store() -> object:
        async with asyncio.timeout(30):
            return await work(AsyncStore(replica, replica.machine, StoreLimits(**limits)))

    return asyncio.run(with_store())


def test_a_reply_comes_back() -> None:
    result = run(lambda store: store.propose(ALLOCATE), Replica())
    assert isinstance(result, bytes)
    assert records_pb2.CommandReply.FromString(result).ids.first == 1


def test_a_reply_without_fields_is_a_success() -> None:
    put = records_pb2.Command(delete_partitions=tiering_pb2.DeletePartitionsRequest()).SerializeToString()
    assert run(lambda store: store.propose(put), Replica()) == b""


def test_a_refusal_is_raised() -> None:
    with pytest.raises(NotFound, match="cluster 'x' is not registered"):
        run(lambda store: store.propose(DROP), Replica())


@pytest.mark.parametrize(
    ("outcome", "raised"),
    [
        (NoLeader("n"), Unavailable),
        (RaftOutcomeUnknown("n"), OutcomeUnknown),
        (RaftOverloaded("n"), Overloaded),
        (LowDisk("n"), Overloaded),
    ],
)
@pytest.mark.parametrize("is_at_once", [True, False])
def test_what_raft_says_is_raised_and_frees_its_place(
    outcome: RaftError, raised: type[GuardianError], is_at_once: bool
) -> None:
    replica = Replica()

    async def work(store: AsyncStore) -> None:
        for _ in range(3):
            for call in (store.propose(ALLOCATE), store.read()):
                replica.at_once, replica.outcome = (outcome, None) if is_at_once else (None, outcome)
                with pytest.raises(raised):
                    await call
        replica.at_once = replica.outcome = None
        await store.propose(ALLOCATE)
        await store.read()

    run(work, replica, proposals=1, reads=1)


def test_a_command_that_is_too_large_is_the_callers_mistake() -> None:
    replica = Replica()
    replica.at_once = ValueError("command has 9 bytes")
    with pytest.raises(InvalidInput, match="too large to be stored: command has 9 bytes"):
        run(lambda store: store.propose(ALLOCATE), replica)


def test_what_is_under_way_is_bounded_until_it_is_answered() -> None:
    replica = Replica()
    replica.held = []

    async def work(store: AsyncStore) -> None:
        first = asyncio.create_task(store.propose(ALLOCATE))
        given_up = asyncio.create_task(store.propose(ALLOCATE))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.sleep(0)
        for _ in range(2):
            with pytest.raises(Overloaded, match="2 changes of") as refused:
                await store.propose(ALLOCATE)
            assert refused.value.retry_after_ms > 0
        replica.release()
        assert records_pb2.CommandReply.FromString(await first).ids.first == 1
        await store.propose(ALLOCATE)

    run(work, replica, proposals=2)


def test_bytes_and_reads_under_way_are_bounded() -> None:
    replica = Replica()
    replica.held = []

    async def work(store: AsyncStore) -> None:
        tasks = [asyncio.create_task(store.propose(ALLOCATE)), asyncio.create_task(store.read())]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded, match=f"1 changes of {len(ALLOCATE)} bytes"):
            await store.propose(ALLOCATE)
        with pytest.raises(Overloaded, match="1 reads are under way"):
            await store.read()
        replica.release()
        await asyncio.gather(*tasks)

    run(work, replica, proposal_bytes=len(ALLOCATE) * 2 - 1, reads=1)


def test_many_answers_are_one_wake_up_of_the_loop() -> None:
    replica = Replica()
    replica.held = []

    async def work(store: AsyncStore) -> int:
        tasks = [asyncio.create_task(store.propose(ALLOCATE)) for _ in range(50)]
        await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        wake_ups = 0
        wake = loop.call_soon_threadsafe

        def counted(*arguments: Any, **named: Any) -> Any:
            nonlocal wake_ups
            wake_ups += 1
            return wake(*arguments, **named)

        loop.call_soon_threadsafe = counted  # type: ignore[method-assign,assignment]
        replica.release()
        replies = [records_pb2.CommandReply.FromString(reply).ids.first for reply in await asyncio.gather(*tasks)]
        assert replies == list(range(1, 51))
        return wake_ups

    assert run(work, replica) == 1


@pytest.mark.parametrize(("age_s", "allowed_s", "staleness_s"), [(0.5, 1.0, 0.5), (2.0, 1.0, 0.0), (None, 1.0, 0.0)])
def test_a_read_may_be_as_old_as_is_allowed(age_s: float | None, allowed_s: float, staleness_s: float) -> None:
    replica = Replica()
    replica.age_s = age_s
    replica.propose(ALLOCATE, 1)

    async def work(store: AsyncStore) -> float:
        look = await store.look(1.0, allowed_s)
        assert look.views.applied_index == store.read_local().applied_index == 1
        return look.staleness_s

    assert run(work, replica) == staleness_s


def test_answers_after_the_loop_has_ended_are_no_error() -> None:
    replica = Replica()
    replica.held = []

    async def work(store: AsyncStore) -> None:
        task = asyncio.create_task(store.propose(ALLOCATE))
        await asyncio.sleep(0)
        task.cancel()

    run(work, replica)
    replica.release()
