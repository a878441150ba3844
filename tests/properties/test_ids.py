"""No id is given out twice, whatever else is done meanwhile, refused or replayed."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from metastore.state_machine import MetastoreStateMachine
from metastore.tables import ids
from protos.guardian.v1 import records_pb2 as pb
from protos.guardian.v1.tiering_pb2 import AllocateIdsRequest
from tests.unit.metastore.proposing import Group

allocations = st.builds(
    AllocateIdsRequest,
    cluster_id=st.sampled_from(["a", "b", ""]),
    kind=st.integers(0, 3),
    count=st.integers(0, 4) | st.just(10_001),
)


@settings(max_examples=200)
@given(st.lists(allocations | st.binary(max_size=4) | st.none(), max_size=40))
def test_ids_never_repeat_and_increase(log: list[AllocateIdsRequest | bytes | None]) -> None:
    group = Group()
    given_out: list[bytes] = []
    highest: dict[tuple[str, int], int] = {}
    for step in log:
        if step is None:  # a restart: what was applied is applied again
            group.machine = MetastoreStateMachine(group.store)
            group.machine.apply(group.machine.applied_index, pb.Command().SerializeToString())
        elif isinstance(step, bytes):
            group.apply(step)
        else:
            reply = group.propose(allocate_ids=step)
            assert bool(reply.error) == (
                not step.cluster_id or step.kind not in (1, 2) or not 1 <= step.count <= 10_000
            )
            if not reply.error:
                made = ids.expand(step, reply.ids).ids
                assert len(made) == step.count
                of_kind = [each for each in given_out if each[4:6] == made[0][4:6]]
                assert all(each > earlier for each in made for earlier in of_kind[-1:])
                given_out += made
                highest[step.cluster_id, step.kind] = reply.ids.first + step.count - 1
    assert len(given_out) == len(set(given_out))
    for (cluster, kind), number in highest.items():
        assert group.machine.read().highest_id(cluster, kind) == number
