"""Guardian itself: the members of its Raft group, and the audit of every change."""

from __future__ import annotations

from itertools import islice

from fastapi import Request
from fastapi.responses import Response

from guardian.console.sections import get
from guardian.console.urls import url
from guardian.console.views import Views
from guardian.errors import InvalidInput
from guardian.security.rules.routing import VIEW, VIEW_ALL
from guardian.web.parts import WebParts
from protos.guardian.v1 import federation_pb2, identity_pb2, raft_pb2

AUDIT_ROWS = 100
_MOST_MS = 1 << 62


class MemberPages:
    def __init__(self, web: WebParts, views: Views) -> None:
        self._web = web
        self._views = views

    @get("/members", VIEW)
    def members(self, request: Request) -> Response:
        seen = self._views.looks.members(request)
        answers = [each for each in seen.values() if each is not None]
        best = group_of(answers)
        return self._views.of(request, "members").shown(
            "members.html",
            "Members",
            members=list(seen.items()),
            group=best,
            lag={each.name: best.commit_index - each.applied_index for each in answers} if best else {},
            voters=sum(1 for each in best.members if each.is_voter) if best else 0,
            counters=sorted(best.counters.items()) if best else [],
        )

    @get("/audit", VIEW_ALL)
    def audit(self, request: Request, actor: str = "", until: int = 0, below: int = 0) -> Response:
        """Show the audit from the newest record on; `until` and `below` are where the page before ended."""
        if not 0 <= until <= _MOST_MS or not 0 <= below <= _MOST_MS:
            raise InvalidInput(f"until is {until}, below is {below}: go to the first page of the audit")
        rows = audit_rows(self._web, request, actor.strip(), until, below)
        shown = rows[:AUDIT_ROWS]
        return self._views.of(request, "audit").shown(
            "audit.html",
            "Audit",
            rows=shown,
            claimed=identity_pb2.PROOF_CLAIMED,
            actor=actor,
            older=_older(actor, shown[-1]) if len(rows) > len(shown) else "",
            is_first=not until,
        )


def _older(actor: str, last: federation_pb2.AuditRecord) -> str:
    return url("audit", actor=actor, until=last.at_ms + 1, below=last.index)


def audit_rows(web: WebParts, request: Request, actor: str, until: int, below: int) -> list[federation_pb2.AuditRecord]:
    """One more than a page has: so it is known whether there is another one. Several may be of one moment, which the
    index tells apart."""
    records = web.client(request).audit(until_ms=until, actor=actor)
    wanted = (each for each in records if not below or (each.at_ms, each.index) < (until - 1, below))
    return list(islice(wanted, AUDIT_ROWS + 1))


def group_of(answers: list[raft_pb2.RaftStatus]) -> raft_pb2.RaftStatus | None:
    """Return the group as the leader sees it; else as whoever has the most does."""
    leading = [each for each in answers if each.state == "leader"]
    return max(leading or answers, key=lambda each: (each.term, each.last_index), default=None)
