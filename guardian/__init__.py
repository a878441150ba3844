"""Guardian: one control service for a federation of Apache Kafka clusters."""

__version__ = "0.1.0"
