"""A document of the replicated store (roles, approval policy) as this member uses it: read again once it was changed.

Nothing is polled and nobody is told: who asks compares the applied index, which costs nothing while nothing is written,
then the document's revision. So a decision after a linearizable read knows what was stored before it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import structlog

from guardian.errors import InvalidInput
from metastore.state_machine import MetastoreStateMachine
from metastore.views import Views

_log = structlog.get_logger(__name__)
_Content = TypeVar("_Content")


@dataclass(frozen=True, slots=True)
class Stored(Generic[_Content]):
    """Hold what is stored: None where nothing is (`revision` 0), or where it can't be used, as `damage` says."""

    content: _Content | None = None
    revision: int = 0
    damage: str = ""


class StoredDocument(Generic[_Content]):
    """`parse` makes the content of the document's settings, and raises InvalidInput. Any thread may ask."""

    def __init__(
        self, state_machine: MetastoreStateMachine, name: str, parse: Callable[[Mapping[str, Any]], _Content]
    ) -> None:
        self._state_machine = state_machine
        self._name = name
        self._parse = parse
        self._lock = threading.Lock()
        self._index = -1
        self._stored: Stored[_Content] = Stored()

    def current(self) -> Stored[_Content]:
        """Return what this member has applied. Raises StoreError when its store is closed or broken."""
        with self._lock:
            if self._state_machine.applied_index != self._index:
                views = self._state_machine.read()
                revision = views.document_revision(self._name)
                if revision != self._stored.revision:
                    self._stored = self._read(views, revision)
                self._index = views.applied_index
            return self._stored

    def _read(self, views: Views, revision: int) -> Stored[_Content]:
        try:
            table = views.document(self._name)
            if table is None:
                return Stored()
            found = Stored(self._parse(table), revision)
        except InvalidInput as error:
            damage = f"the stored {self._name} (revision {revision}) can't be used by this member: {error}"
            _log.error("a stored document can't be used", what=self._name, revision=revision, error=str(error))
            return Stored(None, revision, damage)
        _log.info("read again", what=f"stored {self._name}", revision=revision)
        return found
