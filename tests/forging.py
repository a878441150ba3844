"""Messages that members could send each other, with random terms, indexes and contents: all kinds, from a seed."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from typing import Any

from raft.configuration import Configuration, Member, Role
from raft.entries import NO_OP, command_entry, configuration_entry
from raft.network import frames
from raft.protocol import StopCause
from raft.snapshotting.snapshots import Manifest, SnapshotFile

Message = dict[str, Any]

NOT_MESSAGES = (frames.HELLO, frames.HELLO_REFUSED)


class Forger:
    """`term` and `last_index` are about where the group is: what is near them does most harm."""

    def __init__(self, seed: int, term: int, last_index: int, names: str = "abcd") -> None:
        self.random = random.Random(seed)  # noqa: S311  no secret
        self.term, self.last_index, self.names = term, last_index, names
        self._makers: dict[str, Callable[[], Message]] = {
            frames.REQUEST_VOTE: lambda: {**self._log_end(), "is_transfer": self._flag()},
            frames.RESPONSE_VOTE: lambda: {"term": self._term()},
            frames.APPEND_ENTRIES: self._entries,
            frames.NEXT_NODE_IDX: lambda: {
                "term": self._term(),
                "next_node_idx": self._index(),
                "reset": self._flag(),
                "success": self._flag(),
                "has_space": self._flag(),
            },
            frames.APPLY_COMMAND: lambda: {"command": self._command(), "request_id": self._request()},
            frames.APPLY_COMMAND_RESPONSE: lambda: self._reply({"log_idx": self._index(), "log_term": self._term()}),
            frames.PRE_VOTE: self._log_end,
            frames.PRE_VOTE_REPLY: lambda: {"term": self._term(), "is_granted": self._flag()},
            frames.STALE_TERM: lambda: {"term": self._term()},
            frames.TIMEOUT_NOW: lambda: {"term": self._term()},
            frames.READ_ROUND: lambda: {"term": self._term(), "round": self._request()},
            frames.READ_ROUND_REPLY: lambda: {"term": self._term(), "round": self._request()},
            frames.READ_REQUEST: lambda: {"request_id": self._request()},
            frames.READ_REPLY: lambda: self._reply({"index": self._index()}),
            frames.CHANGE_REQUEST: lambda: {
                "request_id": self._request(),
                "kind": self.random.choice(frames.CHANGE_KINDS),
                "name": self._name(),
                "address": self.random.choice(("", "no-port", "127.0.0.1:1", "h:99999", "\N{SNOWMAN}:1")),
            },
            frames.CHANGE_REPLY: lambda: {"request_id": self._request(), "error": "x", "code": self._request()},
            frames.SNAPSHOT_OFFER: self._offer,
            frames.SNAPSHOT_PULL: lambda: {"snapshot_id": "s", "file": self._file(), "offset": self._index()},
            frames.SNAPSHOT_CHUNK: lambda: {
                "snapshot_id": "s",
                "file": self._file(),
                "offset": self._index(),
                "data": self.random.randbytes(self.random.randrange(64)),
            },
            frames.SNAPSHOT_INSTALLED: lambda: {"term": self._term(), "index": self._index()},
            frames.VITALS: lambda: {
                "term": self._term(),
                "index": self._index(),
                "checksum": self.random.randbytes(32),
                "clock_ms": self._index(),
                "confirmed": [(self._name()[:255] or "x", self._index()) for _ in range(self.random.randrange(3))],
            },
            frames.DIVERGED: lambda: {"index": self._index(), "checksum": self.random.randbytes(32)},
            frames.LAST_WORDS: lambda: {"cause": self.random.choice(list(StopCause)).value, "reason": "x"},
            frames.SNAPSHOT_REFUSED: lambda: {"snapshot_id": "s", "reason": "x"},
            frames.INTRODUCTION_REQUEST: dict,
            frames.INTRODUCTION: lambda: {
                "members": [(self._name() or "x")[:255] for _ in range(self.random.randrange(5))]
            },
        }
        assert self._makers.keys() | set(NOT_MESSAGES) == frames._FIELDS.keys(), "every kind of message is forged"

    @property
    def kinds(self) -> list[str]:
        return list(self._makers)

    def message(self) -> Message:
        kind = self.random.choice(self.kinds)
        return {"type": kind, **self._makers[kind]()}

    def _flag(self) -> bool:
        return self.random.random() < 0.5

    def _term(self) -> int:
        near = self.term + self.random.choice((-2, -1, 0, 0, 1, 1, 2, 5))
        far = self.random.choice((0, 1 << 31, 1 << 32, 1 << 61, frames.MAX_TERM))
        return max(0, near) if self.random.random() < 0.8 else far

    def _index(self) -> int:
        near = self.last_index + self.random.choice((-5, -2, -1, 0, 0, 1, 2, 50))
        far = self.random.choice((0, 1, 1 << 32, 1 << 40, (1 << 63) - 1))
        return max(0, near) if self.random.random() < 0.8 else far

    def _request(self) -> int:
        return self.random.choice((0, 1, 2, 3, 7, (1 << 63) - 1))

    def _name(self) -> str:
        name: str = self.random.choice([*self.names, "stranger", "", "x" * 300])
        return name

    def _file(self) -> str:
        return self.random.choice(("", "state", "../../x", "/etc/passwd", "a/b"))

    def _command(self) -> bytes:
        return command_entry(b"%d forged" % (self.random.randrange(1 << 20) + (1 << 30)))

    def _reply(self, answer: Message) -> Message:
        failure = {"error": self.random.choice((1, 4, 100, 101))}
        return {"request_id": self._request(), **(failure if self._flag() else answer)}

    def _log_end(self) -> Message:
        return {"term": self._term(), "last_log_index": self._index(), "last_log_term": self._term()}

    def _configuration(self) -> Configuration:
        names = self.random.sample([*self.names, "stranger"], self.random.randrange(1, 4))
        roles = (Role.VOTER, Role.VOTER, Role.LEARNER)
        members = (Member(name, "127.0.0.1:1", self.random.choice(roles)) for name in sorted(names))
        return Configuration(self.random.choice(("g", "another")), tuple(members))

    def _entries(self) -> Message:
        term, after = self._term(), self._index()
        count = 0 if after > 1 << 62 else self.random.randrange(4)
        previous = min(term, self._term())
        bodies = (NO_OP, self._command(), self._command(), configuration_entry(self._configuration()))
        entries = [(self.random.choice(bodies), after + number + 1, term) for number in range(count)]
        return {
            "term": term,
            "commit_index": self._index(),
            "prevLogIdx": after,
            "prevLogTerm": previous,
            "entries": entries,
        }

    def _offer(self) -> Message:
        content = hashlib.sha256(b"").hexdigest()
        files = tuple(
            SnapshotFile(name, size, content) for name, size in (("b", self.random.randrange(9)), ("state", 0))
        )
        index, term = min(max(1, self._index()), 1 << 62), self._term()
        manifest = Manifest(index, term, self._configuration(), files)
        data = manifest.to_bytes()
        if self.random.random() < 0.3:
            data = json.dumps({**json.loads(data), "index": 1 << 70}).encode()
        return {"term": self._term(), "snapshot_id": manifest.snapshot_id, "index": index, "manifest": data}
