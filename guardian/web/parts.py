"""The member as its pages see it: a client of the member's own gRPC API, and who the person is.

Pages speak to the member through the same API as everybody, so that validation, forwarding to the leader, the audit and
permissions are the same. Handlers are synchronous (`def`): they run in a pool of threads, and no event loop waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from fastapi import Request
from prometheus_client import CollectorRegistry

from guardian.client import GuardianClient
from guardian.planning.model import UserTaskAnswer, UserTaskRecord
from guardian.web.observed import NothingObserved, Observed


class Person(Protocol):
    """Who asks; guardian.security.model.identity.Identity is one."""

    @property
    def name(self) -> str: ...

    def sees(self, cluster: str) -> bool:
        """Return whether what is said of the cluster may be shown to him."""


class AskedStore(Protocol):
    """What the group knows of plans that people asked for, as guardian.planning.store.ReplicatedUserTasks; each call
    raises GuardianError."""

    def put(self, record: UserTaskRecord, answers: tuple[UserTaskAnswer, ...] = ()) -> None:
        """Keep one, with the first of the answers that is small enough."""

    def find(self, task_id: str) -> UserTaskRecord | None:
        """The one of that id."""

    def is_over(self, cluster: str, task_id: str) -> bool:
        """Return whether this member has heard that one is over."""

    def answer(self, cluster: str, task_id: str) -> UserTaskAnswer | None:
        """Return what one came to; None: nothing is kept."""


class _NothingAsked:
    """A group that is told of nothing: a member knows its own plans alone."""

    def put(self, record: UserTaskRecord, answers: tuple[UserTaskAnswer, ...] = ()) -> None:
        """Keep nothing."""

    def find(self, task_id: str) -> UserTaskRecord | None:  # noqa: ARG002
        return None

    def is_over(self, cluster: str, task_id: str) -> bool:  # noqa: ARG002
        return False

    def answer(self, cluster: str, task_id: str) -> UserTaskAnswer | None:  # noqa: ARG002
        return None


@dataclass(frozen=True, slots=True)
class Local:
    """Everybody who reaches a loopback port while security is off."""

    name: str = "local"

    def sees(self, cluster: str) -> bool:  # noqa: ARG002
        return True


def _local(_: Request) -> Person:
    return Local()


def _no_token(_: Request) -> str:
    return ""


def _any_form() -> None:
    """While security is off."""


@dataclass(frozen=True, slots=True)
class WebParts:
    """`client_for` gives the client that speaks for a person: it is shared, nobody closes it. `user_of` says who asks,
    or raises. `csrf_token` is what forms send back in the field `csrf`, and `form_guard` the dependency of routes that
    change something, which checks it. `observed` reads the metrics lake; what is dear to read, as that is in a large
    federation, a page awaits for `dear_wait_s`, then is shown without it. `signs_in`: people sign in and out.

    `not_ready` returns at once why the member can't serve, or None; `targets` the answer for Prometheus' service
    discovery, of the clusters that fit, or raises a GuardianError; `metrics` are the pages by path, `scraper_of` says
    for whom, and `sinks` of which clusters a sink gets events (none: of all); `cautions` are sentences on how the
    member was configured. The whole body of a request has `body_s`; a person may have `live_pages` open that show what
    changes as it does. `asked` is what the group knows of plans that people asked for."""

    member: str
    client_for: Callable[[Person], GuardianClient]
    now_ms: Callable[[], int]
    user_of: Callable[[Request], Person] = _local
    csrf_token: Callable[[Request], str] = _no_token
    form_guard: Callable[..., object] = _any_form
    observed: Observed = field(default_factory=NothingObserved)
    dear_wait_s: float = 0.2
    not_ready: Callable[[], str | None] = lambda: None
    targets: Callable[[Callable[[str], bool]], bytes] = lambda _: b"[]"
    metrics: Mapping[str, CollectorRegistry] = field(default_factory=dict)
    scraper_of: Callable[[Request], Person] = _local
    sinks: Mapping[str, frozenset[str]] = field(default_factory=dict)
    signs_in: bool = False
    cautions: tuple[str, ...] = ()
    body_s: float = 60.0
    live_pages: int = 20
    asked: AskedStore = field(default_factory=_NothingAsked)

    def client(self, request: Request) -> GuardianClient:
        """Return the client for whoever asks."""
        return self.client_for(self.user_of(request))
