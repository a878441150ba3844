"""Whose call is carried out: set while a method runs (guardian.security.service.permissions), read for the audit and by
what tells of several clusters."""

from __future__ import annotations

from contextvars import ContextVar

from guardian.security.model.identity import Identity

asking: ContextVar[Identity | None] = ContextVar("guardian_asking", default=None)


def who_asks() -> Identity | None:
    """None where security is off."""
    return asking.get()


def sees(cluster: str) -> bool:
    """Return whether what is said of the cluster may be shown to whoever asks."""
    identity = asking.get()
    return identity is None or identity.sees(cluster)
