"""Decisions without clock or IO."""
