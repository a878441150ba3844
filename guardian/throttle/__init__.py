"""Decide how fast copies may go, and set and remove the throttle."""
