"""One member as a process, for tests: requests as JSON lines on stdin, answers on stdout, ended by SIGTERM.

    python raft_member.py NAME LISTEN PEERS DATA_DIR [OPTIONS]

PEERS: {"name": "host:port", ...}, OPTIONS: {"join", "kept_entries", "segment_bytes", "timing"}, both as JSON. A
command is a number, a space and any padding; the state is which numbers were applied, in which order.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
import shutil
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from guardian.security.certificates.folder import CertificateFolder
from raft.errors import RaftError
from raft.network.tls import TlsFiles
from raft.node import maintenance
from raft.protocol import AddLearner, Change, Promote, Remove
from raft.replica import RaftReplica, Timing
from raft.rules import trimming
from raft.storage import journal

EXPLODE = b"explode"
CHANGES: dict[str, type[Promote | Remove]] = {"promote": Promote, "remove": Remove}


class NumbersMachine:
    """Holds the state in memory, and on disk what the last `sync` found."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "state.json"
        directory.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self.applied_index = 0
        self.numbers: list[int] = []
        if self._file.exists():
            self.applied_index, self.numbers = json.loads(self._file.read_text())
        self._sum_up()

    def apply(self, index: int, command: bytes) -> bytes:
        """Fails over one command as a broken disk would."""
        if command == EXPLODE:
            raise OSError("Input/output error")
        if index <= self.applied_index:
            return b""
        with self._lock:
            self.numbers.append(int(command.split()[0]))
            self.applied_index = index
            self._checksums.append((index, _following(self._checksums[-1][1], self.numbers[-1])))
        return b"%d" % len(self.numbers)

    def checksum_at(self, index: int) -> bytes | None:
        return next((checksum for at, checksum in reversed(self._checksums) if at <= index), None)

    def sync(self) -> int:
        return self._store(self._file)

    def save(self, directory: Path) -> int:
        directory.mkdir()
        return self._store(directory / "state.json")

    def reopen(self) -> None:
        """It never lacks room."""

    def install(self, directory: Path) -> None:
        (directory / "state.json").replace(self._file)
        shutil.rmtree(directory)
        with self._lock:
            self.applied_index, self.numbers = json.loads(self._file.read_text())
        self._sum_up()

    def read(self) -> tuple[int, list[int]]:
        with self._lock:
            return self.applied_index, list(self.numbers)

    def close(self) -> None:
        pass

    def _sum_up(self) -> None:
        self._checksums = [(self.applied_index, functools.reduce(_following, self.numbers, b""))]

    def _store(self, path: Path) -> int:
        index, numbers = self.read()
        fresh = path.with_suffix(f".{threading.get_ident()}")
        with fresh.open("w") as file:
            json.dump([index, numbers], file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        return index


def _following(checksum: bytes, number: int) -> bytes:
    return hashlib.sha256(checksum + b"%d" % number).digest()


class Member:
    def __init__(self, name: str, listen: str, peers: str, data_dir: str, options: str = "{}") -> None:
        chosen = json.loads(options)
        if "segment_bytes" in chosen:
            journal.SEGMENT_BYTES = chosen["segment_bytes"]
        if "kept_entries" in chosen:
            short = functools.partial(trimming.trim_limit, kept_entries=chosen["kept_entries"])
            vars(maintenance)["trim_limit"] = short
        self.machine = NumbersMachine(Path(data_dir) / "store")
        self.replica = RaftReplica(
            name,
            listen,
            json.loads(peers),
            self.machine,
            Path(data_dir) / "raft",
            join=chosen.get("join", False),
            tls=_tls(name, chosen["certificates"]) if "certificates" in chosen else None,
            disk_reserve_bytes=0,
            timing=Timing(**chosen.get("timing", {})),
        )
        self.output = threading.Lock()
        self.blocked: frozenset[str] = frozenset()
        self._make_blockable()

    def answer(self, request: dict[str, Any]) -> None:
        try:
            reply = getattr(self, request["op"])(request)
        except RaftError as error:
            reply = {"error": type(error).__name__, "message": str(error)}
        with self.output:
            sys.stdout.write(json.dumps({"id": request["id"], **reply}) + "\n")
            sys.stdout.flush()

    def propose(self, request: dict[str, Any]) -> dict[str, Any]:
        result = self.replica.propose(bytes.fromhex(request["command"]), request["timeout_s"])
        return {"result": result.hex()}

    def read(self, request: dict[str, Any]) -> dict[str, Any]:
        """A linearizable read of how many numbers there are."""
        index = self.replica.read_index(request["timeout_s"])
        return {"index": index, "count": len(self.machine.read()[1])}

    def status(self, _request: dict[str, Any]) -> dict[str, Any]:
        status = self.replica.status()
        return {
            "leader": status.leader,
            "term": status.term,
            "state": status.state,
            "first": status.first_index,
            "last": status.last_index,
            "applied": status.applied_index,
            "live": status.live_members,
            "staleness_s": status.staleness_s,
            "members": {member.name: member.role.value for member in status.members},
            "counters": dict(status.counters),
        }

    def content(self, _request: dict[str, Any]) -> dict[str, Any]:
        index, numbers = self.machine.read()
        digest = hashlib.sha256(repr((index, numbers)).encode()).hexdigest()
        return {"digest": digest, "numbers": numbers}

    def transfer(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"leader": self.replica.transfer_leadership(request["to"], request["timeout_s"])}

    def change(self, request: dict[str, Any]) -> dict[str, Any]:
        kind, name = request["kind"], request["name"]
        change: Change = AddLearner(name, request["address"]) if kind == "add" else CHANGES[kind](name)
        self.replica.change_membership(change, request["timeout_s"])
        return {}

    def block(self, request: dict[str, Any]) -> dict[str, Any]:
        """What comes from these members, and goes to them, is lost from now on."""
        self.blocked = frozenset(request["members"])
        return {}

    def _make_blockable(self) -> None:
        network = self.replica._network
        send, receive = network.send, network._on_message

        def send_unless_blocked(name: str, message: Any) -> bool:
            return name in self.blocked or send(name, message)

        def receive_unless_blocked(name: str, message: dict[str, Any]) -> None:
            if name not in self.blocked:
                receive(name, message)

        network.send = send_unless_blocked  # type: ignore[method-assign]
        network._on_message = receive_unless_blocked


def _tls(name: str, folder: str) -> TlsFiles:
    """Of a folder of `guardian certs`, whose authority signs for others too."""
    files = CertificateFolder(Path(folder))
    certificate, key = files.certificate(name), files.key(name)
    return TlsFiles(certificate, key, files.authority, files.revoked, must_bear_name=lambda: True)


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
