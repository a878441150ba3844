"""A broker that gets no new replicas: what Guardian set there, and what it held when that began."""

from __future__ import annotations

from dataclasses import dataclass

from guardian.errors import InvalidInput
from guardian.model.text import Text
from guardian.model.topology import TopicPartition, require_broker_id


@dataclass(frozen=True, slots=True)
class Cordon:
    """`value` is what Guardian set as `cordoned.log.dirs` (empty: nothing so far), `replaced` what stood there before
    (None: the key was not set).

    `held` are the partitions that the broker had when it was excluded and has still: any other one has strayed there.
    With `is_lifted` the exclusion is gone, and what was replaced is being restored. `note` says what is awaited.
    `is_foreign`: by what was last seen, somebody else has set another value, which is left alone.
    """

    cluster: str
    broker_id: int
    value: str = ""
    replaced: str | None = None
    since_ms: int = 0
    held: frozenset[TopicPartition] = frozenset()
    note: Text = ""
    is_lifted: bool = False
    revision: int = 0
    is_foreign: bool = False

    def __post_init__(self) -> None:
        require_broker_id(self.broker_id)
        if not self.cluster:
            raise InvalidInput(f"cluster of the cordon of broker {self.broker_id} is empty: name the cluster")
