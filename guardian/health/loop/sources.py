"""Where a member looks for its answers and its findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from guardian.activity.store.store import ActivityStore
from guardian.kafka.admin import KafkaAdmin
from guardian.links.loop.replica_selectors import AskMappings, nobody_tells
from guardian.model.topology import Cluster
from guardian.replication.store.store import ReplicatedStore


@dataclass(frozen=True, slots=True)
class Sources:
    """`connect` opens an admin connection, which its caller closes. `activity` is None where no client activity is
    kept, `links_file` where nothing is said of the lines between IDCs, `prices_file`
    where nothing has a price. `ask_mappings` asks brokers' reporters how their
    replica selectors map racks to IDCs."""

    store: ReplicatedStore
    connect: Callable[[Cluster], KafkaAdmin]
    lake_url: str
    now_ms: Callable[[], int]
    activity: ActivityStore | None = None
    links_file: Path | None = None
    ask_mappings: AskMappings = nobody_tells
    prices_file: Path | None = None
