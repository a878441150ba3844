"""What was refused to whom goes into the replicated audit, where no member can lose it and nobody can take it back.

    refused ──▶ the member's log, at once
            └─▶ gathered: alike ones are counted ──▶ every few seconds one command, of a few records

An attacker must not be able to fill the log by being refused: what does not fit is counted, and told as one record.
While the group has no leader, or does not know the command yet, what is gathered waits.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import structlog

from guardian.errors import GuardianError
from guardian.replication.store.state import StoreError
from guardian.replication.store.store import ReplicatedStore
from guardian.security.rules.redacting import redact
from protos.guardian.v1 import records_pb2

_log = structlog.get_logger(__name__)

_EVERY_S = 10.0
_MOST_KEPT = 1000
_MOST_A_TIME = 20
_LOOK_S = 0.2
_PROPOSE_S = 5.0
_OTHERS = ("", "several", "more was refused than is told one by one")
_MAX_CHARS = 400


class Why(StrEnum):
    """The kinds of refusals, for the metrics: sentences would be too many there."""

    NOT_SIGNED_IN = "not_signed_in"
    NOT_ALLOWED = "not_allowed"
    TOO_OFTEN = "too_often"
    HELD_UP = "held_up"
    OTHER_SITE = "other_site"
    CERTIFICATE = "certificate"


@dataclass(slots=True)
class _Gathered:
    at_ms: int
    times: int
    address: str


class Refusals:
    """Any thread may note. `start`, then `stop`, which sends what is left if the group takes it."""

    def __init__(self, store: ReplicatedStore, now_ms: Callable[[], int], every_s: float = _EVERY_S) -> None:
        self._store = store
        self._now_ms = now_ms
        self._every_s = every_s
        self._lock = threading.Lock()
        self._gathered: dict[tuple[str, str, str], _Gathered] = {}
        self._totals = Counter(dict.fromkeys(Why, 0))
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="refusals", daemon=True)

    def totals(self) -> dict[Why, int]:
        """Since the member started, for its metrics: those that were only counted too."""
        with self._lock:
            return dict(self._totals)

    def count(self, kind: Why) -> None:
        """Counts a refusal, and records it nowhere: there may be any number of them."""
        with self._lock:
            self._totals[kind] += 1

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def note(self, kind: Why, who: str, what: str, why: str, address: str) -> None:
        """Note a refusal for the audit. `who` is empty where nothing was proven. What is noted holds no secret."""
        why = redact(why)[:_MAX_CHARS]
        _log.warning("refused", who=who or "nobody", what=what, why=why, address=address)
        key = (who, what[:_MAX_CHARS], why)
        with self._lock:
            self._totals[kind] += 1
            if key not in self._gathered and len(self._gathered) >= _MOST_KEPT:
                key = _OTHERS
            known = self._gathered.setdefault(key, _Gathered(self._now_ms(), 0, ""))
            known.times += 1
            known.address = address

    def flush(self) -> None:
        """Sends what is gathered as one command; what could not be sent waits."""
        with self._lock:
            taken, self._gathered = self._gathered, {}
        if not taken:
            return
        each_told = [(key, each) for key, each in taken.items() if key != _OTHERS]
        told = dict(each_told[:_MOST_A_TIME])
        rest = [each for _, each in each_told[_MOST_A_TIME:]] + ([taken[_OTHERS]] if _OTHERS in taken else [])
        if rest:
            told[_OTHERS] = _Gathered(rest[0].at_ms, sum(each.times for each in rest), rest[-1].address)
        command = records_pb2.RecordRefusals(
            refusals=[
                records_pb2.Refusal(
                    at_ms=each.at_ms, who=who, what=what, why=why, times=min(each.times, 1 << 31), address=each.address
                )
                for (who, what, why), each in told.items()
            ]
        )
        try:
            self._store.propose(records_pb2.Command(record_refusals=command), _PROPOSE_S)
        except (GuardianError, StoreError) as error:
            _log.info("refusals wait for the audit", count=len(taken), why=str(error))
            self._put_back(taken)

    def _put_back(self, taken: dict[tuple[str, str, str], _Gathered]) -> None:
        with self._lock:
            newer, self._gathered = self._gathered, taken
            for key, each in newer.items():
                known = self._gathered.get(key)
                if known is not None:
                    known.times += each.times
                    known.address = each.address
                elif len(self._gathered) < _MOST_KEPT:
                    self._gathered[key] = each

    def _run(self) -> None:
        sent_s = 0.0
        while not self._stopping.wait(_LOOK_S):
            if self._gathered and time.monotonic() - sent_s >= self._every_s:
                sent_s = time.monotonic()
                self.flush()
        self.flush()
