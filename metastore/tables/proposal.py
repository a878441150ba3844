"""What a handler knows of a command besides its content. All of it is part of the log: alike on every member."""

from __future__ import annotations

from dataclasses import dataclass

from metastore.records import Record
from protos.guardian.v1 import records_pb2

Decision = tuple[list[Record], records_pb2.CommandReply]
"""Of a handler: what a command changes, and its reply."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """`index` is the command's index in the log, `at_ms` the proposer's clock within a step of
    the group's (it may go back), `actor` who asked;
    empty: Guardian itself. `agent` and `proof` are numbers of the protocol: which of Guardian's own actors that is, or
    how it was proven."""

    index: int
    at_ms: int
    actor: str = ""
    agent: int = 0
    proof: int = 0
