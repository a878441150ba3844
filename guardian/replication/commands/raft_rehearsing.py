"""--dry-run of changes of the Raft group: the leader's own rules (raft.rules.membership), asked here of what it says.

Of what is done in several steps each is taken on what the one before it would leave, as if a learner that is added had
caught up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from guardian.cli.options import Output
from guardian.cli.render import say
from guardian.client import GuardianClient
from guardian.errors import Conflict, NotFound, Unavailable
from guardian.model.topology import require_endpoint
from protos.guardian.v1.raft_pb2 import RaftStatus
from raft.configuration import Configuration, Member, Role
from raft.errors import ChangeRefused
from raft.protocol import AddLearner, Change, Promote, Remove
from raft.rules.membership import LeaderView, is_in_force, must_hand_over, next_configuration


def rehearse_change(client: GuardianClient, changes: Sequence[Change], output: Output) -> None:
    """Says who would be in the group. Raises Conflict where the leader would refuse one of the changes now, and
    Unavailable while nobody leads."""
    view = view_of(_leader(client))
    told = []
    for change in changes:
        if isinstance(change, AddLearner):
            require_endpoint("raft", change.address)
        view, sentence = after(change, view)
        told.append(sentence)
    voters, learners = sorted(view.configuration.voters), sorted(view.configuration.learners)
    group = f"{len(voters)} voters ({', '.join(voters)})"
    group += f" and {len(learners)} learners ({', '.join(learners)})" if learners else ""
    sentence = f"{'; '.join(told)}. The group would have {group}. Nothing was changed."
    say(sentence, {"dry_run": True, "would": told, "voters": voters, "learners": learners}, output)


def rehearse_handover(client: GuardianClient, to: str, output: Output) -> None:
    """Says who would lead. Raises as `rehearse_change`, and NotFound for a name that is nobody's."""
    found = _leader(client)
    heir = heir_of(view_of(found), to)
    sentence = f"{found.leader} leads and would hand over to {heir}. Nothing was changed."
    if heir == found.leader:
        sentence = f"{heir} leads already: there is nothing to hand over. Nothing was changed."
    say(sentence, {"dry_run": True, "leader": found.leader, "would_lead": heir}, output)


def view_of(found: RaftStatus) -> LeaderView:
    """Return what the leader decides by, as it says it. Whether its configuration is committed it does not say: that
    takes moments.
    """
    members = tuple(
        Member(each.name, each.raft, Role.VOTER if each.is_voter else Role.LEARNER) for each in found.members
    )
    match = {each.name: each.match_index for each in found.members if each.is_connected}
    return LeaderView(found.leader, Configuration(found.group_id, members), True, found.last_index, match, _any(match))


def after(change: Change, view: LeaderView) -> tuple[LeaderView, str]:
    """The group once the change is made, and a sentence on it. Raises Conflict."""
    try:
        if is_in_force(change, view.configuration):
            return view, f"{change.name} {_ALREADY[type(change)]}"
        goal = next_configuration(change, view)
    except ChangeRefused as error:
        raise Conflict(str(error)) from None
    sentence = f"{change.name} would {_WOULD[type(change)]}"
    if must_hand_over(change, view):
        sentence = f"{change.name} would hand its leadership over, then {_WOULD[type(change)]}"
    # What a step adds is taken to have caught up by the next one.
    match = {**view.match, **({change.name: view.last_index} if isinstance(change, AddLearner) else {})}
    return LeaderView(view.name, goal, view.is_settled, view.last_index, match, _any(match)), sentence


def _any(members: Iterable[str]) -> dict[str, str]:
    """Give each member some incarnation: the leader knows the real one, a rehearsal needs only that there is one."""
    return dict.fromkeys(members, "unknown")


def heir_of(view: LeaderView, to: str) -> str:
    """Return who would lead: the voter of this name, or, where none is given, the one that has the most. Raises
    NotFound and Conflict.
    """
    voters = view.configuration.voters
    if to and view.configuration.member(to) is None:
        names = ", ".join(member.name for member in view.configuration.members)
        raise NotFound(f"{to!r} is no member: the members are {names}")
    if to and to not in voters:
        raise Conflict(f"{to} is a learner, which can't lead: guardian raft promote {to} first")
    others = {name: match for name, match in view.match.items() if name in voters and name != view.name}
    if to:
        if to != view.name and to not in others:
            raise Conflict(f"{to} is not connected to leader {view.name}: start it, or name another voter")
        return to
    if not others:
        raise Conflict(f"no other voter is connected to leader {view.name}: start one, or add and promote it")
    return max(sorted(others), key=lambda name: others[name])


_ALREADY: dict[type[Change], str] = {
    AddLearner: "is in the group already",
    Promote: "is a voter already",
    Remove: "is no member already",
}
_WOULD: dict[type[Change], str] = {
    AddLearner: "be added as a learner",
    Promote: "become a voter",
    Remove: "leave the group",
}


def _leader(client: GuardianClient) -> RaftStatus:
    found = client.raft_status()
    if found.leader and found.name != found.leader and found.leader_endpoint:
        found = client.raft_status(found.leader_endpoint)
    if not found.leader or found.name != found.leader:
        raise Unavailable("no leader is known, who alone can say what a change would do: see `guardian raft status`")
    return found
