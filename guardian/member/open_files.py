"""How many files a member may have open: a thousand brokers hold more connections than a shell allows by default.

The soft limit is raised to the hard one, which needs no privilege. The ports get a part of it, the rest is kept for
what the member opens itself (guardian.serving.rules.shares). Too many brokers for the limit are told, but are no reason
to stop: a member that lacks files refuses connections, and one that has ended serves nobody.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterable

import structlog

from guardian.model.topology import Cluster

_LOG = structlog.get_logger(__name__)
# Its plugin's connections, one to collect it, and the Kafka connection of a claim or a ticket.
_FILES_A_BROKER = 4
# The store's and the lake's files, members, people.
_OTHER_FILES = 1000


def raise_limit() -> None:
    """Raise the limit of open files for this process, and those that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError) as error:  # a system that knows no such number
        _LOG.warning("the limit of open files can't be raised", soft=soft, hard=hard, error=str(error))
        return
    _LOG.info("raised the limit of open files", before=soft, now=hard)


def open_file_limit() -> int | None:
    """Return how many files this process may have open now; None: as many as it likes."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if limit == resource.RLIM_INFINITY else limit


class EnoughFiles:
    """Tells when the brokers have become too many for the limit; once, until they are fewer again or many more."""

    def __init__(self, limit: Callable[[], int | None] = open_file_limit) -> None:
        self._limit = limit
        self._told = 0

    def check(self, clusters: Iterable[Cluster]) -> None:
        limit = self._limit()
        brokers = sum(len(cluster.brokers) for cluster in clusters)
        needed = brokers * _FILES_A_BROKER + _OTHER_FILES
        if limit is None or needed <= limit:
            self._told = 0
        elif needed >= 2 * self._told:
            self._told = needed
            _LOG.error(
                f"open files are limited to {limit}, and {brokers} brokers need {needed}: raise the hard limit "
                "(LimitNOFILE= of a systemd unit, `ulimit -Hn` of a shell) and start this member again"
            )
