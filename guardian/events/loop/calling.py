"""Calls a person about findings: stores which ones call, and events tell those who watch. On the leader only.

findings, healing's verdicts ─▶ rules.calling.step ─▶ PutEvents ─▶ FINDING_RAISED, FINDING_ENDED ─▶ sinks
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from guardian.events.rules import calling
from guardian.healing.loop.healing import Healer
from guardian.health.loop.findings import FindingsWatch
from guardian.model.wire.events import call_to_proto
from guardian.replication.store.store import ReplicatedStore
from protos.guardian.v1 import events_pb2, records_pb2


class PersonCaller:
    """`tick` is for one thread."""

    def __init__(
        self, store: ReplicatedStore, findings: FindingsWatch, healer: Healer, now_ms: Callable[[], int]
    ) -> None:
        self._store = store
        self._findings = findings
        self._healer = healer
        self._now_ms = now_ms
        self._lasting_ms: Mapping[tuple[str, str], int] = {}
        self._leads_since_ms = -1

    def tick(self) -> list[str]:
        """A sentence for each call that begins or ends. Raises Unavailable when it does not lead, or nobody answers."""
        watch, leads_since_ms = self._findings.known()
        healed, _ = self._healer.status()
        views = self._store.read()
        if leads_since_ms != self._leads_since_ms:
            self._lasting_ms, self._leads_since_ms = {}, leads_since_ms
        verdicts = {name: each.decision.verdicts for name, each in healed.items()}
        clusters = {cluster.name for cluster in views.clusters()}
        seen = calling.Seen(watch, verdicts, clusters, leads_since_ms, self._lasting_ms)
        step = calling.step(views.calls(), seen, self._now_ms())
        self._lasting_ms = step.lasting_ms
        if step.raised or step.ended:
            command = events_pb2.PutEvents(raised=map(call_to_proto, step.raised), ended=map(call_to_proto, step.ended))
            self._store.propose(records_pb2.Command(put_events=command))
        return [
            *(f"calls a person: {call.finding} of {call.cluster}: {call.sentence}" for call in step.raised),
            *(f"calls no longer: {call.finding} of {call.cluster}" for call in step.ended),
        ]
