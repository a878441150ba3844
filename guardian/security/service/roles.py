"""The roles in force: the member's file and what is stored, each as it is at this moment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from guardian.replication.store.documents import Stored
from guardian.security.model.roles import Roles, RolesInForce, parse_roles
from guardian.security.service.watched_file import WatchedFile


class MemberRoles:
    """Any thread may ask. `path` is that of the file, `stored` tells what this member has applied."""

    def __init__(self, path: Path, stored: Callable[[], Stored[Roles]]) -> None:
        """Raises InvalidInput when the file can't be used now."""
        self.path = path
        self._file = WatchedFile("roles file", path, parse_roles)
        self._stored = stored

    def current(self) -> RolesInForce:
        """Raises NotSignedIn when the file can't be used."""
        file, stored = self._file.current(), self._stored()
        return RolesInForce(file, stored.content, stored.revision, stored.damage)
