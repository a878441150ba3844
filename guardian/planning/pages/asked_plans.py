"""Plans that people ask for in the browser, from the form until they have become tickets, or nobody looks any more.

They are this member's: another one, or this one after a restart, does not know them, and nothing is lost but the time.
Who waits holds a thread of a pool of its own; whose turn it is says the member's desk, as for every plan.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import structlog

from guardian.errors import GuardianError, NotFound, Overloaded, Unavailable
from guardian.model.plan import Plan
from guardian.web.parts import Person

_log = structlog.get_logger(__name__)
_MOST = 200
_MOST_OF_ONE = 10  # under way: the desk takes fewer
_THREADS = 24
_RETRY_MS = 10_000

Told = Callable[[str], None]
Make = Callable[[Told], Plan]


@dataclass(frozen=True, slots=True)
class AskedPlan:
    """`given` is what was typed into the form `form` for `cluster`; `doing` what is done for it now. Once it is over
    it has a plan, or an error."""

    id: str
    person: Person
    cluster: str
    form: str
    given: Mapping[str, str] = field(default_factory=dict)
    began_ms: int = 0
    doing: str = ""
    plan: Plan | None = None
    error: GuardianError | None = None

    @property
    def is_over(self) -> bool:
        """Return whether nothing is done for it any more."""
        return self.plan is not None or self.error is not None


class AskedPlans:
    """Thread-safe. Keeps the newest 200; those under way are never forgotten."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self._asked: OrderedDict[str, AskedPlan] = OrderedDict()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="asked-plan")

    def start(self, person: Person, cluster: str, form: str, given: Mapping[str, str], make: Make) -> AskedPlan:
        """Begin to make a plan, and return at once. `make` is given what to tell of its progress.

        Raises Overloaded where too many of the person's, or of all, are under way.
        """
        asked = AskedPlan(uuid.uuid4().hex, person, cluster, form, dict(given), self._now_ms(), "it is asked for")
        with self._lock:
            under_way = [each for each in self._asked.values() if not each.is_over]
            own = sum(each.person == person for each in under_way)
            if own >= _MOST_OF_ONE or len(under_way) >= _MOST:
                raise Overloaded(
                    f"plans: too many are under way (got {own} of {person.name}'s, {len(under_way)} in all); "
                    "wait for one, or give one up",
                    _RETRY_MS,
                )
            self._asked[asked.id] = asked
            self._make_room()
        self._pool.submit(self._run, asked.id, make)
        return asked

    def of(self, person: Person, asked_id: str) -> AskedPlan:
        """Return one of the person's. Raises NotFound."""
        with self._lock:
            asked = self._asked.get(asked_id)
        if asked is None or asked.person != person:
            raise NotFound(
                f"plan {asked_id[:40]!r}: this member does not know it; another one was asked, or it is long ago: ask "
                "again"
            )
        return asked

    def give_up(self, person: Person, asked_id: str) -> AskedPlan:
        """End what is done for a plan; one that is over stays as it is. Raises NotFound."""
        self.of(person, asked_id)
        return self._change(asked_id, lambda asked: replace(asked, error=Unavailable("it was given up")))

    def close(self) -> None:
        """Give up all."""
        with self._lock:
            waiting = [each.id for each in self._asked.values() if not each.is_over]
        for asked_id in waiting:
            self._change(asked_id, lambda asked: replace(asked, error=Unavailable("this member ends: ask again")))
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, asked_id: str, make: Make) -> None:
        def tell(doing: str) -> None:
            asked = self._change(asked_id, lambda asked: replace(asked, doing=doing))
            if asked.error is not None:
                raise asked.error  # whoever makes it gives it up

        try:
            plan = make(tell)
        except GuardianError as error:
            failed = error
            self._change(asked_id, lambda asked: replace(asked, error=failed))
        except Exception:  # noqa: BLE001  whoever waits for it is told
            _log.exception("a plan that was asked for in the browser failed", plan=asked_id)
            self._change(asked_id, lambda asked: replace(asked, error=Unavailable("it failed: see the member's log")))
        else:
            self._change(asked_id, lambda asked: replace(asked, plan=plan))

    def _change(self, asked_id: str, change: Callable[[AskedPlan], AskedPlan]) -> AskedPlan:
        """Change one that is not over; return it as it is then."""
        with self._lock:
            asked = self._asked[asked_id]
            if not asked.is_over:
                asked = self._asked[asked_id] = change(asked)
            return asked

    def _make_room(self) -> None:
        for each in list(self._asked.values()):
            if len(self._asked) <= _MOST:
                return
            if each.is_over:
                del self._asked[each.id]
