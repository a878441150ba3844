"""Who may lead, and when somebody should try: decisions only, no clock and no messages.

silence ─▶ pre-vote, which changes nothing anywhere ─ majority ─▶ vote in the next term ─ majority ─▶ leader
leader ─ a majority of the voters is silent ─▶ follower (check-quorum)

Pre-vote (Ongaro's thesis, section 9.6) keeps a member that was cut off from raising everybody's term when it comes
back. Stickiness (section 4.2.3) makes a member deaf to candidates while it hears from a leader; a candidate that the
leader itself asked to run is exempt. Check-quorum (section 6.2) ends a leader that nobody follows. See etcd-io/raft.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from raft.configuration import Configuration
from raft.errors import ChangeRefused


@dataclass(frozen=True, slots=True, order=True)
class LogEnd:
    """Where a log ends; a greater one is more up to date (thesis, section 3.6.1)."""

    term: int
    index: int


@dataclass(frozen=True, slots=True)
class Ballot:
    """Who has voted for a candidate of this term: a set, so nobody counts twice."""

    term: int
    voters: frozenset[str] = frozenset()

    def with_vote(self, voter: str) -> Ballot:
        return replace(self, voters=self.voters | {voter})

    def is_won(self, configuration: Configuration) -> bool:
        """A majority of the voters has voted; all of them, before the group is founded.

        An emptied voter and one that has never been there could otherwise begin the group a second time.
        """
        if not configuration.is_founded:
            return configuration.voters <= self.voters
        return is_majority(self.voters, configuration)


def is_majority(members: Set[str], configuration: Configuration) -> bool:
    """Return whether the voters among these members are a majority of all voters."""
    return len(members & configuration.voters) >= configuration.majority


def may_campaign(name: str, configuration: Configuration | None) -> bool:
    """A learner, a removed member and one that was told no configuration yet never try to lead."""
    return configuration is not None and name in configuration.voters


def is_bound(heard_from_leader_at: float | None, now: float, election_min_s: float) -> bool:
    """Return whether a member heard from a leader so recently that it does not listen to candidates."""
    return heard_from_leader_at is not None and now - heard_from_leader_at < election_min_s


def grants_pre_vote(candidate_term: int, candidate: LogEnd, *, term: int, log: LogEnd, is_bound: bool) -> bool:
    """Return whether a member in `term` with this log would vote for a candidate of `candidate_term`."""
    return not is_bound and candidate_term > term and candidate >= log


def hears_candidate(*, is_bound: bool, is_transfer: bool) -> bool:
    """Return whether a member looks at a candidate's request (and at its term) at all."""
    return is_transfer or not is_bound


def has_quorum(name: str, configuration: Configuration, heard_at: Mapping[str, float], since: float) -> bool:
    """Return whether a leader has heard from a majority of the voters, itself one of them, at or after `since`."""
    return is_majority({name, *(member for member, at in heard_at.items() if at >= since)}, configuration)


@dataclass(frozen=True, slots=True)
class Transfer:
    """A leader's attempt to hand over: it takes no proposals until `deadline`, when it gives up."""

    to: str
    deadline: float
    is_asked: bool = False

    def asked(self) -> Transfer:
        return replace(self, is_asked=True)


def choose_successor(
    name: str, to: str | None, configuration: Configuration, match: Mapping[str, int], least_match: int
) -> str:
    """Choose whom the leader `name` hands over to: `to`, or (None) the connected voter that has most of the log.

    `match` holds connected members only. Raises ChangeRefused when nobody fits who has the log up to `least_match`.
    """
    others = configuration.voters - {name}
    if to is not None and to not in others:
        raise ChangeRefused(f"member {to} is no other voter of the group ({_listed(others)}): choose one of these")
    fit = {member: match[member] for member in others if member in match and match[member] >= least_match}
    if to is not None and to not in fit:
        raise ChangeRefused(f"member {to} is not connected or lags behind: choose another one of {_listed(others)}")
    if not fit:
        raise ChangeRefused(f"no other voter ({_listed(others)}) is connected and has caught up: wait until one has")
    return to if to is not None else max(sorted(fit), key=lambda member: fit[member])


def _listed(members: Set[str]) -> str:
    return ", ".join(sorted(members)) or "there is none"
