"""Plans that were asked for in the browser, as all members know them: to what is stored of one, and back. Pure.

They are stored beside those that were asked for over REST, and are told apart by their endpoint.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from google.protobuf.message import DecodeError

from guardian.errors import (
    ClusterUnavailable,
    Conflict,
    GuardianError,
    InvalidInput,
    NotAllowed,
    NotFound,
    Overloaded,
    Unavailable,
)
from guardian.model.plan import Plan
from guardian.model.wire.plans import plan_from_proto, plan_to_bytes
from guardian.planning.model import UserTaskAnswer, UserTaskRecord, UserTaskState
from guardian.planning.pages.asked_plan import AskedPlan
from guardian.web.parts import Person
from protos.guardian.v1 import tickets_pb2

_ENDPOINT = "console/"
_OK, _FAILED = 200, 500
_MOST_PLAN_BYTES = 64 << 20
_RETRY_MS = 10_000
_KINDS: Mapping[str, type[GuardianError]] = {
    kind.__name__: kind for kind in (ClusterUnavailable, Conflict, InvalidInput, NotAllowed, NotFound, Unavailable)
}


def is_of_console(record: UserTaskRecord) -> bool:
    """Return whether it was asked for in the browser."""
    return record.endpoint.startswith(_ENDPOINT)


def record_of(asked: AskedPlan) -> UserTaskRecord:
    """Return what is stored of a plan that was asked for, without what it came to."""
    state = UserTaskState.COMPLETED if asked.plan is not None else UserTaskState.FAILED
    return UserTaskRecord(
        asked.id,
        asked.cluster,
        _ENDPOINT + asked.form,
        urlencode(asked.given),
        "",
        asked.person.name,
        asked.began_ms,
        b"",
        state=state if asked.is_over else UserTaskState.ACTIVE,
    )


def answers_of(asked: AskedPlan) -> tuple[UserTaskAnswer, ...]:
    """Return what it came to; of a plan that is too large to be stored, after it, that it was."""
    if asked.plan is not None:
        packed = base64.b64encode(zlib.compress(plan_to_bytes(asked.plan))).decode()
        return _answer(plan=packed), _answer()
    if asked.error is not None:
        return (_answer(_FAILED, kind=type(asked.error).__name__, error=str(asked.error)),)
    return ()


def asked_of(record: UserTaskRecord, answer: UserTaskAnswer | None, person: Person) -> AskedPlan:
    """Return the person's plan that another member was asked for, or this one before it was restarted."""
    asked = AskedPlan(
        record.id,
        person,
        record.cluster,
        record.endpoint.removeprefix(_ENDPOINT),
        dict(parse_qsl(record.url)),
        record.started_ms,
        f"member {record.member} makes it",
    )
    if record.state is UserTaskState.ACTIVE:
        return asked
    if record.state is UserTaskState.LOST:
        return asked.ended(Unavailable(f"member {record.member} ended before the plan was made: ask again"))
    told: dict[str, Any] = json.loads(answer.document) if answer is not None and answer.document else {}
    if "error" in told:
        return asked.ended(_error_of(told))
    plan = _plan_of(told.get("plan", ""))
    if plan is None:
        return asked.ended(
            Unavailable(
                f"member {record.member} made this plan, which is too large to be kept for other members: ask again, "
                "or use guardian plan"
            )
        )
    return asked.made(plan)


def _answer(status: int = _OK, **told: str) -> UserTaskAnswer:
    return UserTaskAnswer(status, json.dumps(told), "")


def _error_of(told: Mapping[str, str]) -> GuardianError:
    kind, sentence = told.get("kind", ""), told["error"]
    return Overloaded(sentence, _RETRY_MS) if kind == Overloaded.__name__ else _KINDS.get(kind, Unavailable)(sentence)


def _plan_of(packed: str) -> Plan | None:
    if not packed:
        return None
    unpacker = zlib.decompressobj()
    try:
        plain = unpacker.decompress(base64.b64decode(packed, validate=True), _MOST_PLAN_BYTES)
        return plan_from_proto(tickets_pb2.Plan.FromString(plain)) if unpacker.eof else None
    except (binascii.Error, zlib.error, DecodeError):
        return None
