"""What a ticket's copies may take of a broker, in bytes/s."""

from __future__ import annotations

DEFAULT_THROTTLE = 50_000_000
MIN_THROTTLE = 100_000
MAX_THROTTLE = 1_000_000_000_000  # more than a broker can send; Kafka takes no more than an int64
