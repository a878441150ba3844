"""Holds the intervals that decide how long a fault is felt, and the ways in which Kafka may keep them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import product

_BROKER = {
    "session_s": "broker.session.timeout.ms",
    "heartbeat_s": "broker.heartbeat.interval.ms",
    "replica_lag_s": "replica.lag.time.max.ms",
    "election_s": "controller.quorum.election.timeout.ms",
    "quorum_fetch_s": "controller.quorum.fetch.timeout.ms",
}
_CLIENT = {
    "request_timeout_s": "request.timeout.ms",
    "metadata_max_age_s": "metadata.max.age.ms",
    "delivery_timeout_s": "delivery.timeout.ms",
}
SETTINGS = frozenset(_BROKER.values())
"""What is asked of brokers, to predict by."""
CLIENT_SETTINGS = frozenset(_CLIENT.values())
"""What producers may have set otherwise than Kafka's clients do."""
MOST_MS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds, with Kafka's defaults. `boot_s` is the least and the most from a start until a broker has
    loaded its logs and registers."""

    session_s: float = 9.0
    heartbeat_s: float = 2.0
    replica_lag_s: float = 30.0
    election_s: float = 1.0
    quorum_fetch_s: float = 2.0
    request_timeout_s: float = 30.0
    metadata_max_age_s: float = 300.0
    delivery_timeout_s: float = 120.0
    boot_s: tuple[float, float] = (3.0, 30.0)

    @staticmethod
    def of_config(brokers: Mapping[str, str], clients: Mapping[str, str] | None = None) -> Times:
        """Return the times by the settings' names, in ms; what is left out has Kafka's default."""
        named = ((_BROKER, brokers), (_CLIENT, clients or {}))
        found = {
            field: int(values[key]) / 1000 for names, values in named for field, key in names.items() if key in values
        }
        usual = Times()
        return Times(**{each.name: found.get(each.name, getattr(usual, each.name)) for each in fields(Times)})


@dataclass(frozen=True, slots=True)
class Pace:
    """One way in which the intervals that Kafka leaves open may come.

    `session_s`: until a silent broker is fenced, from its last heartbeat to the controller's late look. `shrink_s`:
    until a slow follower is dropped; leaders look every half of replica.lag.time.max.ms. `behind_steps`: how far
    followers are behind a leader; `last_shrink_s` and `last_behind_steps` are those of the last replica. `contact_s`:
    from a heal until a broker knows what it missed, `leader_contact_s` until the one does who led when the story began.
    `beats_s`: from there until its heartbeats arrive, which have a connection of their own; `unfence_s`: from there
    until it may lead. `journal_writes`: for how many writes to a slow disk a file system takes no records. `client_s`:
    how long a client takes to find a new leader; `asks_same`: it asks its old leader. `first`: which of the brokers
    that are fenced together, or are back together, comes first, by its place among the replicas; the next ones follow,
    then those before it.
    """

    session_s: float
    shrink_s: float
    last_shrink_s: float
    behind_steps: int
    last_behind_steps: int
    contact_s: float
    leader_contact_s: float
    beats_s: float
    unfence_s: float
    boot_s: float
    client_s: float
    journal_writes: int
    asks_same: bool
    first: int = 0


CONTACT_S = (0.5, 8.0)  # back-off and connection set-up of a broker that lost its controllers; measured up to 8 s
# The followers' contact and the leader's, each fast (0) or slow (1), and how long their heartbeats come after it.
_TOGETHER = ((0, 0, 0.0), (1, 1, 0.0))
_APART = ((0, 1, 0.0), (1, 0, 0.0), (0, 0, CONTACT_S[1] - CONTACT_S[0]))
_JOURNAL_WRITES = (1, 8)  # of a commit of ext4's journal, every 5 s, until it lets go of inodes; measured up to 8
_CLIENT_S = (0.0, 1.0)  # retry.backoff.max.ms
LATEST_SHRINK = 1.5
"""When a slow follower leaves the ISR at the latest, in replica.lag.time.max.ms: leaders look every half of it."""
_FENCES_LATE = 1.5  # the slowest fencing that was measured, in session time-outs
_BEHIND = 4  # steps, a second: replica.fetch.wait.max.ms, and the fetch under way; measured up to 0.98 s
# When followers leave the ISR, and the last of them, in replica.lag.time.max.ms; and how far each was behind. Leaders
# look every half of it: whoever had a record more than the others may leave at the next look, and what only he had is
# acknowledged in between.
_ALIKE = ((1.0, 1.0, 0, 0), (LATEST_SHRINK, LATEST_SHRINK, _BEHIND, _BEHIND))
_IN_TURN = ((1.0, LATEST_SHRINK, _BEHIND, 0),)


def paces(times: Times, *, heals: bool) -> Iterator[Pace]:
    """Yield every mix of fast and slow; `heals`: brokers may find their controllers again one after another."""
    ways = list(product(_ALIKE, _TOGETHER))
    if heals:
        ways += [*product(_ALIKE, _APART), *product(_IN_TURN, _TOGETHER)]
    for session, (isr, contacts), client in product((0, 1), ways, (0, 1)):
        shrink, last_shrink, behind, last_behind = isr
        contact, leaders_contact, beats_s = contacts
        yield Pace(
            session_s=(max(0.0, times.session_s - times.heartbeat_s), times.session_s * _FENCES_LATE)[session],
            shrink_s=times.replica_lag_s * shrink,
            last_shrink_s=times.replica_lag_s * last_shrink,
            behind_steps=behind,
            last_behind_steps=last_behind,
            contact_s=CONTACT_S[contact],
            leader_contact_s=CONTACT_S[leaders_contact],
            beats_s=beats_s,
            unfence_s=(0.0, times.heartbeat_s)[contact],
            boot_s=times.boot_s[contact],
            client_s=_CLIENT_S[client],
            journal_writes=_JOURNAL_WRITES[session],
            asks_same=bool(client),
        )
