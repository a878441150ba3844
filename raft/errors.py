"""What can go wrong, split by what the caller may conclude.

RaftError
├── NoLeader           the command was not applied and will not be: retry when there is a leader
├── OutcomeUnknown     the command may or may not be applied: only an idempotent retry is safe
├── Overloaded         not applied: too much is waiting; retry later
├── LowDisk            not applied: a majority has too little disk left; retry when there is space
├── ChangeRefused      the change of membership, or transfer, does not fit the group as it is now
├── DamagedSnapshot    a snapshot's files are not what its manifest says
├── Diverged           this member's history is not the majority's: it must stop, and never start on this folder again
└── CannotStart        this member's address or its folder is unusable: a person has to look
    └── DamagedData    what it stored is not what it wrote: replace the member
"""

from __future__ import annotations

REJOIN = (
    "let it join anew, with an empty data folder: `guardian raft remove`, `add` and `promote` it, or `guardian raft "
    "replace` it by one of another name (docs/runbook.md#a-member-has-to-join-anew)"
)
"""What to do with a member whose folder can't be trusted. Never a copy of another folder, nor an older one."""


class RaftError(Exception):
    """A member can't do what it was asked, in one sentence."""


class NoLeader(RaftError):
    """There is no leader: the command was not applied and will not be."""


class OutcomeUnknown(RaftError):
    """The command may or may not be applied: only an idempotent retry is safe."""


class Overloaded(RaftError):
    """Not applied: too much is waiting on this member."""


class LowDisk(RaftError):
    """Not applied: too little disk is left."""


class ChangeRefused(RaftError):
    """The change does not fit the group as it is now."""


class DamagedSnapshot(RaftError):
    """A snapshot's files are not what its manifest says."""


class Diverged(RaftError):
    """This member has another history than the majority of the group."""


class CannotStart(RaftError):
    """The member did not start: its address is taken, or its folder can't be used."""


class DamagedData(CannotStart):
    """What the member stored is damaged, incomplete or inconsistent: it must not take part any more."""
