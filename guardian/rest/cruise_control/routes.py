"""HTTP of Cruise Control's API: which cluster, which endpoint, JSON or text, user tasks and their headers.

    GET|POST /clusters/{cluster}/kafkacruisecontrol/{endpoint}
    GET|POST /kafkacruisecontrol/{endpoint}                       of the default cluster

Handlers are asynchronous and never wait for Kafka or the planner: what waits is in the user tasks' threads, or in the
pool of the web application's; a client whose task lasts is answered 202 and polls.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from guardian import __version__
from guardian.core.routing import VIEW, VIEW_CLUSTER, access
from guardian.errors import GuardianError, InvalidInput, NotFound
from guardian.model.identity import Identity, Role
from guardian.rest.cruise_control.endpoints import BY_NAME, ENDPOINTS, WITHOUT_COUNTERPART, Endpoint
from guardian.rest.cruise_control.operations import Call, Operations
from guardian.rest.cruise_control.parameters import Asked, parse, require_whole
from guardian.rest.cruise_control.state import Concurrency
from guardian.rest.cruise_control.tasks import Answer, UserTask, UserTasks, progress_document, progress_text
from guardian.rest.parts import RestParts, require_role
from guardian.rest.problems import headers_of, status_of

_log = structlog.get_logger(__name__)

ROOT = "kafkacruisecontrol"
# The version of Cruise Control whose API this is: clients look at it to know that 202 means "not yet".
API_VERSION = "2.5.142"
BLOCK_S = 10.0  # as webserver.request.maxBlockTimeMs
_HEADERS = {"Cruise-Control-Version": API_VERSION, "Guardian-Version": __version__}
_TASK = "User-Task-ID"
_SCHEMA = "Cruise-Control-JSON-Schema"
_NAMES = {dict: "object", list: "array", bool: "boolean", int: "number", float: "number", str: "string"}


class _NoEndpoint(GuardianError):
    """Of this name, or of this method: `status` tells."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class _Reply:
    """What is sent back, as JSON or as text."""

    status: int
    document: Mapping[str, Any]
    text: str
    headers: Mapping[str, str]


class CruiseControl:
    """The routes, and the user tasks behind them; `close` ends those. `block_s` is for how long a request waits."""

    def __init__(self, parts: RestParts, concurrency: Concurrency, block_s: float = BLOCK_S) -> None:
        self._parts = parts
        self._block_s = block_s
        self._tasks = UserTasks(parts.now_ms)
        self._operations = Operations(parts, self._tasks, concurrency)
        self.router = APIRouter()
        for before, handler in (("/clusters/{cluster}", self._of_cluster), ("", self._of_default)):
            path = f"{before}/{ROOT}/{{endpoint}}"
            self.router.add_api_route(path, handler, methods=["GET", "POST"], include_in_schema=False)

    def close(self) -> None:
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
        if asked.number("review_id") is None:
            require_whole(asked)
        base = f"/clusters/{asked_cluster}/{ROOT}" if asked_cluster else f"/{ROOT}"
        if not endpoint.lasts:
            answer = await run_in_threadpool(self._operations.at_once, Call(cluster, asked, user, base))
            return _Reply(200, answer.document, answer.text, {})
        task = self._tasks.find_or_start(
            cluster,
            asked,
            _url(request),
            request.client.host if request.client else "",
            user,
            lambda task: self._operations.lasting(task, base),
            request.headers.get(_TASK, ""),
        )
        return await self._polled(task)

    async def _polled(self, task: UserTask) -> _Reply:
        headers = {_TASK: task.id}
        if not await _is_done(task, self._block_s):
            now_ms = self._parts.now_ms()
            return _Reply(202, progress_document(task, now_ms), progress_text(task, now_ms), headers)
        task.is_delivered = True
        error = task.future.exception()
        if error is not None:
            reply = _failed(error, task.endpoint.method, task.endpoint.name)
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


def _endpoint(name: str, method: str) -> Endpoint:
    why = WITHOUT_COUNTERPART.get(name)
    if why:
        raise _NoEndpoint(f"{name} has no counterpart in Guardian: {why}", 501)
    endpoint = BY_NAME.get(name)
    if endpoint is None:
        names = {verb: ", ".join(each.name for each in ENDPOINTS if each.method == verb) for verb in ("GET", "POST")}
        raise _NoEndpoint(
            f"Unrecognized endpoint in request '/{name[:60]}', supported {method} endpoints: {names[method]}", 404
        )
    if endpoint.method != method:
        raise _NoEndpoint(f"{name} is asked for with {endpoint.method}, not with {method}", 405)
    return endpoint


def _role(asked: Asked) -> Role:
    acting = asked.endpoint.acting
    return acting if acting is not None and not asked.is_dry else asked.endpoint.role


def _url(request: Request) -> str:
    query = f"?{request.url.query}" if request.url.query else ""
    return f"{request.method} {request.url.path}{query}"


async def _is_done(task: UserTask, wait_s: float) -> bool:
    """Without a thread, and without ending the task when the client goes away."""
    done, loop = asyncio.Event(), asyncio.get_running_loop()

    def tell(_: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(done.set)

    task.future.add_done_callback(tell)
    try:
        await asyncio.wait_for(done.wait(), wait_s)
    except TimeoutError:
        return task.is_done
    return True


def _failed(error: BaseException, method: str, endpoint: str) -> _Reply:
    if isinstance(error, _NoEndpoint):
        status = error.status
    else:
        status = status_of(error) if isinstance(error, Exception) else 500
    if isinstance(error, GuardianError):
        sentence, headers = str(error), headers_of(error)
    else:
        _log.error("a request failed", path=endpoint, exc_info=error)
        sentence, headers = "Guardian failed over this request: its log says more, report it as a bug", {}
    message = f"Error processing {method} request '/{endpoint[:60]}' due to: '{sentence}'."
    return _Reply(status, {"version": 1, "stackTrace": "", "errorMessage": message}, f"{message}\n", headers)


def _response(reply: _Reply, *, wants_json: bool, wants_schema: bool) -> Response:
    headers = {**_HEADERS, **reply.headers}
    if wants_json and wants_schema:
        headers[_SCHEMA] = json.dumps(schema_of(reply.document))
    body = json.dumps(reply.document) if wants_json else reply.text
    kind = "application/json" if wants_json else "text/plain"
    return Response(body, reply.status, headers, f"{kind}; charset=utf-8")


def schema_of(value: object) -> dict[str, Any]:
    """As Cruise Control tells one: of a list, that of its first."""
    kind = _NAMES.get(type(value), "string")
    if isinstance(value, Mapping):
        return {"type": "object", "properties": {key: schema_of(each) for key, each in value.items()}}
    if isinstance(value, list) and value:
        return {"type": kind, "items": [schema_of(value[0])]}
    return {"type": kind}
