"""Three members of Guardian behind Kafka's tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.metadata import groups


@contextmanager
def three_members(home: Path) -> Iterator[dict[str, str]]:
    """The system properties by which the plugin finds the members, which run until the context ends.

    The clusters of Kafka's tests are none that Guardian knows or could ask, so that claims count in their order.
    """
    group = groups.GuardianGroup(home)
    try:
        groups.start_all(group)
        yield {
            "guardian.rlmm.config.guardian.endpoints": ",".join(group.endpoints),
            "guardian.rlmm.config.guardian.fence": "claim-order",
        }
    finally:
        groups.stop_all(group)
