"""What a ticket's copies may take of a broker, in bytes/s."""

from __future__ import annotations

DEFAULT_THROTTLE = 50_000_000
MIN_THROTTLE = 100_000
MAX_THROTTLE = 1_000_000_000_000  # more than a broker can send; Kafka takes no more than an int64

# Kafka's keys of its replication throttle.
LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
LISTS = frozenset({LEADER_REPLICAS, FOLLOWER_REPLICAS})
THROTTLES = LISTS | {LEADER_RATE, FOLLOWER_RATE, LOG_DIR_RATE}
