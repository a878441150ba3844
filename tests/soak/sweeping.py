"""A ticket is carried out while the leader of three members is killed (-9) at every moment that it goes through.

    look at the ticket ──▶ a moment that nobody was killed at yet? ──▶ kill -9 of the leader, and start it again;
         ▲                                                                     │   or SIGSTOP, and wake it later
         └── whichever member answers ◀────────────────────────────────────────┘

A moment is what the store says of the ticket: its state, and while it is driven the phase of its operation and how far
its moves are. Looks are linearizable reads, so a moment that is seen is the newest one, on the disks of a majority. It
has had its kill when the first look after the kill shows it still, or only what was stored later than the kill.
A member that starts is not waited for: the next kill may leave the group without a majority for some seconds, in which
nothing is stored (only Kafka copies on), so that hardly a moment passes unseen because of that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path

from deploy.local import broker_hook, leftovers, processes
from deploy.local.answering import register
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from deploy.local.members import Member, plan_members, start_member, wait_ready
from deploy.local.progress import say
from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.model.execution import Execution
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import Cluster
from guardian.replication.store.store import now_ms
from tests.freezing import freeze, thaw
from tests.moments import moment

MEMBERS = 3
DEADLINE_S = 420.0
# So long a call may take before the next look: a longer one would sleep through what a new leader does first.
LOOK_S = 1.0
_ANY_AGE_S = 60.0  # of what a member has stored
HANDS_S = 120.0
_ASLEEP_S = 3.0
HOOK = "local"

Act = Callable[[GuardianClient, str], object]
Shows = Callable[[GuardianClient], str]
Look = tuple[Ticket, Execution | None]


@dataclass
class Stage:
    """A cluster whose brokers a hook starts and stops, and the members."""

    kafka: KafkaCluster
    hooks: Path
    members: list[Member]
    start: Callable[[Member], Member]
    struck_at_ms: int = 0  # when the last leader was dead or stopped
    shown_after: frozenset[str] = frozenset()  # what the others showed then

    @property
    def now(self) -> KafkaCluster:
        """As hooks have left it."""
        return broker_hook.load(self.hooks)

    @property
    def cluster(self) -> Cluster:
        return self.now.to_cluster()

    @property
    def endpoints(self) -> list[str]:
        return [member.grpc for member in self.members]

    def kill_leader(self, client: GuardianClient, moment_now: str, shows: Shows) -> str:
        """Kills whoever says that it leads, if the moment is shown just before, and starts it again without waiting.
        Its name; empty: nobody says so, or the moment is over."""
        for number, member in enumerate(self.members):
            if member.process is None or not _leads(client, member) or shows(client) != moment_now:
                continue
            processes.kill(member.process)
            self._note_strike(member, shows)
            self.members[number] = self.start(replace(member, process=None))
            return f"{member.name} killed"
        return ""

    def freeze_leader(self, client: GuardianClient, moment_now: str, shows: Shows) -> str:
        """Stops whoever says that it leads (SIGSTOP) until another one has led for some ticks, then wakes it: what it
        was about to send when it stopped it would send now. What it did; empty: nobody says that it leads, or the
        moment is over."""
        for member in self.members:
            if member.process is None or not _leads(client, member) or shows(client) != moment_now:
                continue
            freeze(member.process.pid)
            try:
                self._note_strike(member, shows)
                others = self._others(member)
                deadline = time.monotonic() + DEADLINE_S
                while not any(_leads(client, other) for other in others):
                    assert time.monotonic() < deadline, f"nobody leads in place of {member.name}, which is stopped"
                # Not a condition: how long it sleeps on while another one carries its tickets on.
                time.sleep(_ASLEEP_S)
            finally:
                thaw(member.process.pid)
            return f"{member.name} stopped and woken"
        return ""

    def _note_strike(self, victim: Member, shows: Shows) -> None:
        """Nobody leads yet: what others have stored is what the victim left, or a step less, which they have not heard
        to be committed."""
        self.struck_at_ms = now_ms()
        shown = set()
        for other in self._others(victim):
            with GuardianClient([other.grpc], timeout_s=LOOK_S) as witness, witness.allow_stale(_ANY_AGE_S):
                shown.add(shows(witness))
        self.shown_after = frozenset(shown)

    def _others(self, member: Member) -> list[Member]:
        return [other for other in self.members if other.name != member.name]

    def wait_whole(self) -> None:
        wait_ready(self.members)


Interrupt = Callable[[Stage, GuardianClient, str, Shows], str]


@contextmanager
def staged(spec: ClusterSpec, home: Path) -> Iterator[Stage]:
    """The cluster and its members; when it ends, nothing of them runs any more."""
    hooks = home / "hooks"
    # One after the other, so that some have not begun when a leader dies while others copy.
    more = f"[execute]\nper_broker_in = 1\nslot_mb = 0\n\n{broker_hook.config_section(hooks, HOOK)}"
    with KafkaCluster.start(spec, home / "kafka") as kafka:
        broker_hook.save(kafka, hooks)
        planned = plan_members(MEMBERS, home)

        def start(member: Member) -> Member:
            return start_member(member, planned, home / "lake", home / f"{member.name}.log", more=more)

        stage = Stage(kafka, hooks, [], start)
        try:
            stage.members += [start(member) for member in planned]
            stage.wait_whole()
            with GuardianClient(stage.endpoints) as client:
                register(client, kafka.to_cluster())
            yield stage
        finally:
            processes.stop_all([member.process for member in stage.members if member.process])
            for broker, known in zip(kafka.brokers, stage.now.brokers, strict=True):
                broker.process = known.process
    assert leftovers.of_processes(home, []) == []


@dataclass(frozen=True)
class Story:
    """What a ticket goes through. At each of `moments` a leader must have been killed in the end, at `spared` ones none
    is; `acts` are done when a moment is seen first, after the kill. It ends with `end`. `interrupt` may do something
    else than to kill."""

    name: str
    moments: frozenset[str]
    end: TicketState = TicketState.SUCCEEDED
    spared: frozenset[str] = frozenset()
    acts: Mapping[str, Act] = field(default_factory=dict)
    interrupt: Interrupt = Stage.kill_leader


def carried_out(stage: Stage, ticket_id: str, story: Story, killed: set[str]) -> Ticket:
    """The ticket at its end, with all members running again. `killed` gets the moments at which a leader died."""
    acts = dict(story.acts)
    seen: list[str] = []
    kills = 0
    began = since = time.monotonic()

    def shown(client: GuardianClient) -> str:
        with suppress(GuardianError):
            return moment(*client.ticket(ticket_id))
        return ""

    with (
        GuardianClient(stage.endpoints, timeout_s=LOOK_S) as eyes,
        GuardianClient(stage.endpoints, timeout_s=HANDS_S) as hands,
    ):
        while True:
            ticket, execution = _look(eyes, ticket_id, since + DEADLINE_S)
            now = moment(ticket, execution)
            if now not in seen:
                seen.append(now)
            if now not in killed | story.spared:
                before = (ticket, execution)
                victim = story.interrupt(stage, eyes, now, shown)
                if not victim:
                    continue
                kills += 1
                # What takes long are kills: a ticket has its time from the last one on.
                since = time.monotonic()
                after = _look(eyes, ticket_id, since + DEADLINE_S)
                then = moment(*after)
                fits = {now, *(seen[-2:-1] if now == seen[-1] else ())}
                if then == now or stage.shown_after <= fits or went_on_later(before, after, stage.struck_at_ms):
                    say(f"{story.name}: {victim} at {now}")
                    killed.add(now)
                else:
                    others = ", ".join(sorted(stage.shown_after))
                    say(f"{story.name}: {victim} after {now}, at {then} perhaps; the others showed {others}")
                    continue
            if now in acts:
                acts.pop(now)(hands, ticket_id)
                continue
            if ticket.state is story.end:
                break
            is_stuck = ticket.state.is_over or ticket.state is TicketState.PAUSED
            assert not is_stuck, f"{story.name}: {now}, {ticket.history[-1].reason}; it was {seen}; {execution}"
        stage.wait_whole()
        say(f"{story.name}: {kills} leaders interrupted, {time.monotonic() - began:.0f} s; {', '.join(seen)}")
        return hands.ticket(ticket_id)[0]


def went_on_later(before: Look, after: Look, at_ms: int) -> bool:
    """Whether all that is stored with a time since the look before is from later than that: the ticket stood where it
    was then."""
    new = _times(after) - _times(before) - {0}
    return bool(new) and min(new) >= at_ms


def _times(value: object) -> set[int]:
    """All times in it, ms since the epoch."""
    if isinstance(value, tuple):
        return set().union(*map(_times, value))
    if not is_dataclass(value):
        return set()
    found = {getattr(value, each.name) for each in fields(value) if each.name.endswith(("at_ms", "since_ms"))}
    return found.union(*(_times(getattr(value, each.name)) for each in fields(value)))


def _look(eyes: GuardianClient, ticket_id: str, deadline: float) -> tuple[Ticket, Execution | None]:
    """As soon as a majority answers."""
    while True:
        with suppress(GuardianError):
            found = eyes.ticket(ticket_id)
            assert time.monotonic() < deadline, f"ticket {ticket_id} did not get on in {DEADLINE_S:g} s: {found}"
            return found
        assert time.monotonic() < deadline, f"no member answered for {DEADLINE_S:g} s"


def _leads(client: GuardianClient, member: Member) -> bool:
    with suppress(GuardianError):
        return client.member_at(member.grpc, LOOK_S).leader == member.name
    return False
