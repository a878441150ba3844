"""What can go wrong with a proposal, split by whether it may have happened."""

from __future__ import annotations


class RaftError(Exception):
    """A proposal was not confirmed."""


class NoLeader(RaftError):
    """There is no leader: the command was not applied and will not be."""


class OutcomeUnknown(RaftError):
    """The command may or may not be applied: only an idempotent retry is safe."""
