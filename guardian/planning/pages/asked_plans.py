"""Plans that people ask for in the browser, from the form until they have become tickets, or nobody looks any more.

The member that was asked makes it; all others hear of it by the group (asked_kept), so that whichever a load balancer
leads to shows it, makes its ticket or gives it up. Who waits holds a thread of a pool of its own; whose turn it is says
the member's desk, as for every plan.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import structlog

from guardian.errors import GuardianError, NotFound, Overloaded, Unavailable
from guardian.model.plan import Plan
from guardian.planning.pages.asked_kept import answers_of, asked_of, is_of_console, record_of
from guardian.planning.pages.asked_plan import AskedPlan
from guardian.web.parts import AskedStore, Person

_log = structlog.get_logger(__name__)
_MOST = 200
_MOST_OF_ONE = 10  # under way: the desk takes fewer
_THREADS = 24
_RETRY_MS = 10_000

Told = Callable[[str], None]
Make = Callable[[Told], Plan]


class AskedPlans:
    """Thread-safe. Keeps the newest 200; those under way are never forgotten. `store` is what the group knows."""

    def __init__(self, now_ms: Callable[[], int], store: AskedStore) -> None:
        self._now_ms = now_ms
        self._store = store
        self._lock = threading.Lock()
        self._asked: OrderedDict[str, AskedPlan] = OrderedDict()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="asked-plan")

    def start(self, person: Person, cluster: str, form: str, given: Mapping[str, str], make: Make) -> AskedPlan:
        """Begin to make a plan, and return at once. `make` is given what to tell of its progress.

        Raises Overloaded where too many of the person's, or of all, are under way.
        """
        asked = AskedPlan(uuid.uuid4().hex, person, cluster, form, dict(given), self._now_ms(), "it begins")
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
        self._keep(asked)
        self._pool.submit(self._run, asked.id, make)
        return asked

    def of(self, person: Person, asked_id: str) -> AskedPlan:
        """Return one of the person's, whichever member was asked. Raises NotFound, and GuardianError where the group
        can't say."""
        with self._lock:
            asked = self._asked.get(asked_id)
        if asked is None:
            record = self._store.find(asked_id)
            if record is not None and is_of_console(record) and record.person == person.name:
                return asked_of(record, self._store.answer(record.cluster, record.id), person)
        if asked is None or asked.person != person:
            raise NotFound(f"plan {asked_id[:40]!r}: no member knows it, or it is somebody else's; ask again")
        return asked

    def give_up(self, person: Person, asked_id: str) -> AskedPlan:
        """End what is done for a plan; one that is over stays as it is. Raises NotFound."""
        asked, given_up = self.of(person, asked_id), Unavailable("it was given up")
        with self._lock:
            is_own = asked_id in self._asked
        if is_own:
            asked = self._change(asked_id, lambda asked: asked.ended(given_up))
        elif not asked.is_over:
            asked = asked.ended(given_up)
        self._keep(asked)  # who makes it looks there before each step
        return asked

    def close(self) -> None:
        """Give up all."""
        with self._lock:
            waiting = [each.id for each in self._asked.values() if not each.is_over]
        for asked_id in waiting:
            self._change(asked_id, lambda asked: asked.ended(Unavailable("this member ends: ask again")))
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, asked_id: str, make: Make) -> None:
        def tell(doing: str) -> None:
            asked = self._change(asked_id, lambda asked: replace(asked, doing=doing))
            if self._store.is_over(asked.cluster, asked_id):
                asked = self._change(asked_id, lambda asked: asked.ended(Unavailable("it was given up")))
            if asked.error is not None:
                raise asked.error  # whoever makes it gives it up

        try:
            plan = make(tell)
        except GuardianError as error:
            failed = error
            over = self._change(asked_id, lambda asked: asked.ended(failed))
        except Exception:  # noqa: BLE001  whoever waits for it is told
            _log.exception("a plan that was asked for in the browser failed", plan=asked_id)
            over = self._change(asked_id, lambda asked: asked.ended(Unavailable("it failed: see the member's log")))
        else:
            over = self._change(asked_id, lambda asked: asked.made(plan))
        self._keep(over)

    def _keep(self, asked: AskedPlan) -> None:
        """Tell the group. Where it can't hear, the plan is this member's alone, and nothing is lost but the time."""
        try:
            self._store.put(record_of(asked), answers_of(asked))
        except GuardianError as error:
            _log.debug("a plan is not known to other members", plan=asked.id, reason=str(error))

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
