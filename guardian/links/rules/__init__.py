"""Decisions: pure functions of data."""
