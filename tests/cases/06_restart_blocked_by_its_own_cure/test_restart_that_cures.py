"""A log dir of broker 3 has failed; the disk is back, and only a restart of broker 3 brings its replicas back.

strimzi #2964 and #12649: a roller that waits until all is well before it touches the very broker whose restart is the
cure waits for ever.
"""

from __future__ import annotations

import pytest

from guardian.model.operation import Ask, AskKind
from tests.simulation.operations import OperationsWorld

TICKS = 300


class World(OperationsWorld):
    """Without the harness's own invariants: they are about clusters in which nothing has failed."""

    def check_invariants(self) -> None:
        self.machines.let_pass()


@pytest.mark.slow
def test_a_broker_whose_restart_is_the_cure_is_restarted() -> None:
    world = World(5)
    world.topic("t", {n: [1 + n % 5, 1 + (n + 1) % 5, 1 + (n + 2) % 5] for n in range(10)})
    log_dir = next(each.path for each in world.kafka.describe_log_dirs([3]) if each.replicas)
    world.kafka.fail_log_dir(3, log_dir)
    out_of_sync = [
        n for n, state in world.kafka.peek().partitions.items() if 3 in state.replicas and 3 not in state.isr
    ]
    assert out_of_sync, "no fault was there to be seen"
    world.ask(Ask(AskKind.RESTART, (3,), hook="systemd"))
    for _ in range(TICKS):
        world.tick()
        if not world.store.driven_tickets():
            break
    assert 3 in [node for _, node in world.machines.log], world.said
