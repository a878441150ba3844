"""HTTP of Cruise Control's API: which cluster, which endpoint, JSON or text, user tasks and their headers.

    GET|POST /clusters/{cluster}/kafkacruisecontrol/{endpoint}
    GET|POST /kafkacruisecontrol/{endpoint}                       of the default cluster

Handlers are asynchronous and never wait for Kafka or the planner: what waits is a job of the desk, or in the pool of
the web application's. A client whose task lasts is answered 202 and polls.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from guardian import __version__
from guardian.errors import GuardianError, InvalidInput, NotFound, Unavailable
from guardian.model.text import escaped, json_escaped
from guardian.planning.model import UserTaskAnswer, UserTaskRecord, UserTaskState
from guardian.rest.cruise_control.calls import Call
from guardian.rest.cruise_control.endpoints import BY_NAME, ENDPOINTS, WITHOUT_COUNTERPART, Endpoint
from guardian.rest.cruise_control.failures import NoEndpoint, document_of, status_of
from guardian.rest.cruise_control.kept import failure_of, progress_of
from guardian.rest.cruise_control.operations import Operations
from guardian.rest.cruise_control.parameters import Asked, parse, require_whole
from guardian.rest.cruise_control.state import Concurrency
from guardian.rest.cruise_control.tasks import Answer, UserTask, UserTasks, progress_document, progress_text
from guardian.rest.cruise_control.topic_body import MAX_BYTES, with_body
from guardian.rest.parts import RestParts, host_of, require_role, settled
from guardian.rest.problems import headers_of
from guardian.security.model.identity import Identity, Role
from guardian.security.rules.routing import VIEW, VIEW_CLUSTER, access

_log = structlog.get_logger(__name__)

ROOT = "kafkacruisecontrol"
# The version of Cruise Control whose API this is: clients look at it to know that 202 means "not yet".
API_VERSION = "2.5.142"
BLOCK_S = 10.0  # as webserver.request.maxBlockTimeMs
# Strimzi's Topic Operator, which alone sends a body, takes 202 for a failure, and waits for a minute.
_BODY_BLOCK_S = 50.0
_HEADERS = {"Cruise-Control-Version": API_VERSION, "Guardian-Version": __version__}
_TASK = "User-Task-ID"
_SCHEMA = "Cruise-Control-JSON-Schema"
_NAMES = {dict: "object", list: "array", bool: "boolean", int: "number", float: "number", str: "string"}


@dataclass(frozen=True, slots=True)
class _Reply:
    """What is sent back, as JSON or as text."""

    status: int
    document: Mapping[str, Any]
    text: str
    headers: Mapping[str, str]


class CruiseControl:
    """The routes, and the user tasks behind them. `block_s` is for how long a request waits."""

    def __init__(self, parts: RestParts, concurrency: Concurrency, block_s: float = BLOCK_S) -> None:
        self._parts = parts
        self._block_s = block_s
        self._tasks = UserTasks(parts)
        self._operations = Operations(parts, self._tasks, concurrency)
        self.router = APIRouter()
        for before, handler in (("/clusters/{cluster}", self._of_cluster), ("", self._of_default)):
            path = f"{before}/{ROOT}/{{endpoint}}"
            self.router.add_api_route(path, handler, methods=["GET", "POST"], include_in_schema=False)

    def close(self) -> None:
        """End what is told of user tasks; the desk ends their work."""
        self._tasks.close()

    # What an endpoint's acting needs is checked where its parameters are known.
    @access(VIEW_CLUSTER)
    async def _of_cluster(self, request: Request, endpoint: str, cluster: str) -> Response:
        return await self._handle(request, endpoint, cluster)

    @access(VIEW)
    async def _of_default(self, request: Request, endpoint: str) -> Response:
        return await self._handle(request, endpoint, "")

    async def _handle(self, request: Request, endpoint: str, cluster: str) -> Response:
        wants_json = request.query_params.get("json", "").lower() == "true"
        wants_schema = request.query_params.get("get_response_schema", "").lower() == "true"
        try:
            reply = await self._replied(request, endpoint.lower(), cluster)
        except Exception as error:  # noqa: BLE001  a client of Cruise Control expects its errors' shape, whatever failed
            reply = _failed(error, request.method, endpoint)
        return _response(reply, wants_json=wants_json, wants_schema=wants_schema)

    async def _replied(self, request: Request, name: str, asked_cluster: str) -> _Reply:
        endpoint = _endpoint(name, request.method)
        asked = parse(endpoint, request.query_params.multi_items())
        user = self._parts.user_of(request)
        cluster = await run_in_threadpool(self._cluster, user, asked_cluster)
        require_role(user, _role(asked), cluster)
        asked = with_body(asked, await _body(request))
        if asked.number("review_id") is None:
            require_whole(asked)
        base = f"/clusters/{asked_cluster}/{ROOT}" if asked_cluster else f"/{ROOT}"
        if not endpoint.lasts:
            return await self._answered(Call(cluster, asked, user, base))
        task_id = request.headers.get(_TASK, "")
        if endpoint.makes_plans and task_id:
            known = await run_in_threadpool(self._tasks.elsewhere, cluster, asked, host_of(request), user, task_id)
            if known is not None:
                return _of_elsewhere(*known)
        task = await run_in_threadpool(
            self._tasks.find_or_start,
            cluster,
            asked,
            _url(request),
            host_of(request),
            user,
            lambda task: self._operations.lasting(task, base),
            task_id,
        )
        return await self._polled(task)

    async def _answered(self, call: Call) -> _Reply:
        try:
            answer = await run_in_threadpool(self._operations.at_once, call)
        except GuardianError as error:
            return _failed(error, call.asked.endpoint.method, call.asked.endpoint.name, has_begun=True)
        return _Reply(200, answer.document, answer.text, {})

    async def _polled(self, task: UserTask) -> _Reply:
        headers = {_TASK: task.id}
        if not await settled(task.job, max(self._block_s, _BODY_BLOCK_S) if task.asked.factors else self._block_s):
            now_ms = self._parts.now_ms()
            before = self._tasks.before(task)
            return _Reply(202, progress_document(task, before, now_ms), progress_text(task, before, now_ms), headers)
        task.is_delivered = True
        error = task.future.exception()
        if error is not None:
            reply = _failed(error, task.endpoint.method, task.endpoint.name, has_begun=True)
            return _Reply(reply.status, reply.document, reply.text, {**reply.headers, **headers})
        answer: Answer = task.future.result()
        if answer.ticket_id:
            headers["Guardian-Ticket"] = answer.ticket_id
        return _Reply(200, answer.document, answer.text, headers)

    def _cluster(self, user: Identity, asked: str) -> str:
        """Raises NotFound, and InvalidInput where the bare path could mean several."""
        names = [cluster.name for cluster in self._parts.client_for(user).list_clusters()]
        wanted = asked or self._parts.default_cluster
        if wanted:
            if wanted not in names:
                raise NotFound(f"cluster {wanted!r} is not registered: see `guardian cluster list`")
            return wanted
        if len(names) != 1:
            known = ", ".join(names) or "none is registered"
            raise InvalidInput(
                f"the path names no cluster, and there are {len(names)} ({known}): use /clusters/NAME/{ROOT}, or give "
                "[rest] default_cluster in the members' configuration"
            )
        return names[0]


def _of_elsewhere(record: UserTaskRecord, answer: UserTaskAnswer | None) -> _Reply:
    """Return what is told of a task that this member was not asked for, or before it was restarted."""
    headers = {_TASK: record.id}
    if record.state is UserTaskState.ACTIVE:
        document, text = progress_of(record)
        return _Reply(202, document, text, headers)
    if record.ticket_ids:
        headers["Guardian-Ticket"] = record.ticket_ids[0]
    if answer is None:
        gone = Unavailable(f"task {record.id} is over, and its answer is not kept: ask again without User-Task-ID")
        answer = failure_of(gone, BY_NAME[record.endpoint])
    document = json.loads(answer.document)
    return _Reply(answer.status, document, answer.text or f"{answer.document}\n", headers)


def _endpoint(name: str, method: str) -> Endpoint:
    why = WITHOUT_COUNTERPART.get(name)
    if why:
        raise NoEndpoint(f"{name} has no counterpart in Guardian: {why}", HTTPStatus.NOT_IMPLEMENTED)
    endpoint = BY_NAME.get(name)
    if endpoint is None:
        names = {verb: ", ".join(each.name for each in ENDPOINTS if each.method == verb) for verb in ("GET", "POST")}
        raise NoEndpoint(
            f"Unrecognized endpoint in request '/{name[:60]}', supported {method} endpoints: {names[method]}",
            HTTPStatus.NOT_FOUND,
        )
    if endpoint.method != method:
        raise NoEndpoint(
            f"{name} is asked for with {endpoint.method}, not with {method}", HTTPStatus.METHOD_NOT_ALLOWED
        )
    return endpoint


def _role(asked: Asked) -> Role:
    acting = asked.endpoint.acting
    return acting if acting is not None and not asked.is_dry else asked.endpoint.role


def _url(request: Request) -> str:
    query = f"?{request.url.query}" if request.url.query else ""
    return f"{request.method} {request.url.path}{query}"


async def _body(request: Request) -> bytes:
    """Read the body, or as much of it as is needed to see that it is too large."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BYTES:
            break
    return body


def _failed(error: BaseException, method: str, endpoint: str, *, has_begun: bool = False) -> _Reply:
    if not isinstance(error, GuardianError):
        _log.error("a request failed", path=endpoint, exc_info=error)
    document = document_of(error, method, endpoint)
    headers = headers_of(error) if isinstance(error, GuardianError) else {}
    return _Reply(status_of(error, has_begun=has_begun), document, f"{document['errorMessage']}\n", headers)


def _response(reply: _Reply, *, wants_json: bool, wants_schema: bool) -> Response:
    headers = {**_HEADERS, **reply.headers}
    if wants_json and wants_schema:
        headers[_SCHEMA] = json.dumps(schema_of(reply.document))
    body = json_escaped(json.dumps(reply.document)) if wants_json else escaped(reply.text, "\n\t")
    kind = "application/json" if wants_json else "text/plain"
    return Response(body, reply.status, headers, f"{kind}; charset=utf-8")


def schema_of(value: object) -> dict[str, Any]:
    """Return the schema of a value as Cruise Control tells one: of a list, that of its first."""
    kind = _NAMES.get(type(value), "string")
    if isinstance(value, Mapping):
        return {"type": "object", "properties": {key: schema_of(each) for key, each in value.items()}}
    if isinstance(value, list) and value:
        return {"type": kind, "items": [schema_of(value[0])]}
    return {"type": kind}
