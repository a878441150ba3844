"""How long tests wait where only a machine that is too busy makes them wait."""

from __future__ import annotations

CONTROL_S = 30.0
"""For KafkaControl: a connection alone has taken ten seconds, two of these suites side by side on two cores."""
