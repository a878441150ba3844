"""Carry tickets out on real brokers: decide each tick, commit the intent, then send it."""
