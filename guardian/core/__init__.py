"""Decisions: pure functions of what is stored, what Kafka says and the time that the caller passes in. No IO."""
