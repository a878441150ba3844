"""What a member keeps, opened: the store, its replica, and the reading back of both."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import structlog

from guardian.config import ServerConfig
from guardian.errors import Damaged, InvalidInput
from guardian.replication.service.raft import SCRATCH
from guardian.replication.store.raft_tls import raft_tls
from guardian.replication.store.store import now_ms
from guardian.replication.store.verification import Verification
from metastore.rocksdb import RocksDbStore
from metastore.state_machine import MetastoreStateMachine
from metastore.store import StoreDamaged, StoreError
from raft.errors import CannotStart, DamagedData
from raft.farewell import tell_others
from raft.protocol import LastWords, StopCause
from raft.replica import RaftReplica

_log = structlog.get_logger(__name__)

_VERIFYING = "verifying"
_HOUR_S = 3600.0


def open_replica(
    config: ServerConfig, stack: ExitStack, fail: Callable[[str], None]
) -> tuple[RaftReplica, MetastoreStateMachine]:
    """Raises InvalidInput when a port or folder can't be used, and Damaged, which the other members are told first."""
    tls = raft_tls(config)
    try:
        state_machine = MetastoreStateMachine(RocksDbStore(config.data / "store"))
        stack.callback(state_machine.close)
        replica = RaftReplica(
            config.name,
            config.raft,
            config.peers,
            state_machine,
            config.data / "raft",
            client_address=config.client_address,
            join=config.join,
            tls=tls,
            disk_reserve_bytes=config.disk.reserve_mb << 20,
            on_duplicate=fail,
            on_lapse=fail,
            damage=lambda: state_machine.damage,
        )
    except (DamagedData, StoreDamaged) as error:
        words = LastWords(StopCause.DAMAGED, str(error))
        told = tell_others(config.name, config.raft, config.peers, config.data / "raft", words, tls=tls)
        _log.error("what is stored is damaged", member=config.name, told=sorted(told))
        raise Damaged(str(error)) from None
    except (CannotStart, StoreError) as error:
        raise InvalidInput(str(error)) from None
    stack.callback(replica.close)
    for scratch in (SCRATCH, _VERIFYING):  # of what a crash cut off
        shutil.rmtree(config.data / scratch, ignore_errors=True)
    return replica, state_machine


def start_verification(
    config: ServerConfig, replica: RaftReplica, state_machine: MetastoreStateMachine, stack: ExitStack
) -> Verification:
    """Ends before what it reads is closed."""
    parts = (replica.verify, partial(state_machine.verify, config.data / _VERIFYING))
    verification = Verification(parts, config.disk.verify_h * _HOUR_S, now_ms)
    verification.start()
    stack.callback(verification.stop)
    return verification
