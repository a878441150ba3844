"""Whose call is carried out: set while a method runs (guardian.server.permissions), read where it is recorded."""

from __future__ import annotations

from contextvars import ContextVar

from guardian.model.identity import Identity

asking: ContextVar[Identity | None] = ContextVar("guardian_asking", default=None)


def who_asks() -> Identity | None:
    """None where security is off."""
    return asking.get()
