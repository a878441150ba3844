"""One member as a process, for tests: requests as JSON lines on stdin, answers on stdout, ended by SIGTERM.

    python raft_member.py NAME LISTEN PEERS DATA_DIR        PEERS: {"name": "host:port", ...} as JSON

Requests: {"id", "op": "propose", "command": hex, "timeout_s"} | {"id", "op": "status"} | {"id", "op": "content"}
"""

from __future__ import annotations

import hashlib
import json
import logging
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from metastore.rocksdb import RocksDbStore
from metastore.state_machine import MetastoreStateMachine
from raft.errors import NoLeader, OutcomeUnknown
from raft.replica import SyncObjReplica

EXPLODE = b"explode"


class ExplosiveStateMachine(MetastoreStateMachine):
    """Fails over one command as a broken disk would."""

    def apply(self, index: int, command: bytes) -> bytes:
        if command == EXPLODE:
            raise OSError("Input/output error")
        return super().apply(index, command)


class Member:
    def __init__(self, name: str, listen: str, peers: str, data_dir: str) -> None:
        self.store = RocksDbStore(Path(data_dir) / "store")
        self.replica = SyncObjReplica(
            name, listen, json.loads(peers), ExplosiveStateMachine(self.store), Path(data_dir) / "raft"
        )
        self.output = threading.Lock()

    def answer(self, request: dict[str, Any]) -> None:
        reply = {"id": request["id"], **getattr(self, request["op"])(request)}
        with self.output:
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()

    def propose(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"result": self.replica.propose(bytes.fromhex(request["command"]), request["timeout_s"]).hex()}
        except (NoLeader, OutcomeUnknown) as error:
            return {"error": type(error).__name__, "message": str(error)}

    def status(self, _request: dict[str, Any]) -> dict[str, Any]:
        status = self.replica.status()
        return {"leader": status.leader, "applied": status.applied_index, "live": status.live_members}

    def content(self, _request: dict[str, Any]) -> dict[str, Any]:
        """A digest of all that is stored, the applied index included, and the ids of all live segments."""
        stored = self.store.scan(b"")
        digest = hashlib.sha256(repr(stored).encode()).hexdigest()
        return {"digest": digest, "segments": [key[-16:].hex() for key, _ in stored if key[:1] == b"\x09"]}


def main() -> None:
    logging.basicConfig(format="%(message)s")
    is_stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: is_stopping.set())
    member = Member(*sys.argv[1:])
    pool = ThreadPoolExecutor(32)

    def serve() -> None:
        for line in sys.stdin:
            pool.submit(member.answer, json.loads(line))
        is_stopping.set()

    threading.Thread(target=serve, daemon=True).start()
    is_stopping.wait()
    member.replica.close()
    pool.shutdown(wait=False, cancel_futures=True)


if __name__ == "__main__":
    main()
