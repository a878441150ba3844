"""Names the faults: each is a story over roles, which the predictor plays and a lab carries out on real brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from guardian.model.faults.event import (
    Act,
    CleanStop,
    ClockJump,
    Cut,
    DiskFree,
    DiskFull,
    ElectPreferred,
    Event,
    FastFollower,
    Heal,
    Kill,
    LogDirFails,
    LogDirWorks,
    Lose,
    Pause,
    PowerLoss,
    Resume,
    SlowFollower,
    SlowWrites,
    Start,
    Story,
)

SETTLES_S = 60.0
"""How long a story goes on after its last act, so that what heals has healed."""

REPAIR_S = 5.0
"""How long a broker is down for the repair of a log dir."""

_BETWEEN_STARTS_S = 12.0
_DOWN_S = 2.0


@dataclass(frozen=True, slots=True)
class Roles:
    """Name who is who when the story begins; the first of `controllers` is the active one."""

    leader: int
    followers: tuple[int, ...]
    controllers: tuple[int, ...]

    @property
    def brokers(self) -> tuple[int, ...]:
        """Return all who hold the partition, its leader first."""
        return (self.leader, *self.followers)


def story(name: str, *acts: tuple[float, Act], settles_s: float = SETTLES_S) -> Story:
    """Return a story of acts at these seconds, which ends once all has settled."""
    events = tuple(sorted((Event(at_s, act) for at_s, act in acts), key=lambda event: event.at_s))
    return Story(name, events, max((event.at_s for event in events), default=0.0) + settles_s)


def between(name: str, one: Iterable[int], other: Iterable[int], seconds: float, *, one_way: bool = False) -> Story:
    """Return a cut that heals."""
    return story(name, (0.0, Cut(frozenset(one), frozenset(other), one_way)), (seconds, Heal()))


def follower_from_leader(roles: Roles, seconds: float, *, one_way: bool = False) -> Story:
    """Tell cut 1: one follower and the leader."""
    return between("follower from leader", roles.followers[:1], [roles.leader], seconds, one_way=one_way)


def leader_from_followers(roles: Roles, seconds: float) -> Story:
    """Tell cut 2: the leader and all its followers."""
    return between("leader from followers", [roles.leader], roles.followers, seconds)


def follower_from_controllers(roles: Roles, seconds: float) -> Story:
    """Tell cut 3: one follower and the controllers."""
    return between("follower from controllers", roles.followers[:1], roles.controllers, seconds)


def leader_from_controllers(roles: Roles, seconds: float) -> Story:
    """Tell cut 4: the leader and the controllers."""
    return between("leader from controllers", [roles.leader], roles.controllers, seconds)


def follower_alone(roles: Roles, seconds: float) -> Story:
    """Tell cut 5: one follower and everybody."""
    others = {*roles.brokers, *roles.controllers} - {roles.followers[0]}
    return between("follower alone", roles.followers[:1], others, seconds)


def leader_alone(roles: Roles, seconds: float) -> Story:
    """Tell cut 6: the leader and everybody but clients."""
    return between("leader alone", [roles.leader], {*roles.followers, *roles.controllers}, seconds)


def controllers_from_brokers(roles: Roles, seconds: float) -> Story:
    """Tell cut 7: the controllers and all brokers."""
    return between("controllers from brokers", roles.controllers, roles.brokers, seconds)


def controller_from_quorum(roles: Roles, seconds: float) -> Story:
    """Tell cut 8: the active controller and the others of its quorum."""
    return between("controller from its quorum", roles.controllers[:1], roles.controllers[1:], seconds)


def cut_then_leader_dies(roles: Roles, seconds: float, back_s: float = 25.0) -> Story:
    """Tell cut 2, at whose end the leader is killed; it comes back after `back_s`, when links work again."""
    cut = Cut(frozenset({roles.leader}), frozenset(roles.followers))
    kill, back = (seconds, Kill(roles.leader)), seconds + back_s
    return story("leader from followers, then killed", (0.0, cut), kill, (back, Heal()), (back, Start(roles.leader)))


def controllers_away_then_leader_dies(roles: Roles, seconds: float) -> Story:
    """Tell cut 7, in which the leader is killed and started again."""
    cut = Cut(frozenset(roles.controllers), frozenset(roles.brokers))
    acts = ((seconds / 2, Kill(roles.leader)), (seconds, Heal()), (seconds, Start(roles.leader)))
    return story("controllers from brokers, leader killed", (0.0, cut), *acts)


def leader_pauses(roles: Roles, seconds: float) -> Story:
    """Stop the leader's process for some time (SIGSTOP)."""
    return story("leader pauses", (0.0, Pause(roles.leader)), (seconds, Resume(roles.leader)))


def leader_dies(roles: Roles, seconds: float) -> Story:
    """Kill the leader (kill -9)."""
    return story("leader killed", (0.0, Kill(roles.leader)), (seconds, Start(roles.leader)))


def leader_dies_and_leads_again(roles: Roles, seconds: float) -> Story:
    """Kill the leader, and elect it again some time after it is back: in sync by then."""
    acts = ((0.0, Kill(roles.leader)), (seconds, Start(roles.leader)), (3 * seconds, ElectPreferred()))
    return story("leader killed, elected again", *acts)


def follower_dies(roles: Roles, seconds: float) -> Story:
    """Kill one follower (kill -9)."""
    return story("follower killed", (0.0, Kill(roles.followers[0])), (seconds, Start(roles.followers[0])))


def all_die(brokers: Iterable[int], order: Iterable[int], every_s: float = _BETWEEN_STARTS_S) -> Story:
    """Kill all, and start them in this order."""
    return story("all killed", *((0.0, Kill(each)) for each in brokers), *_starts(order, every_s))


def leader_stops(roles: Roles, seconds: float) -> Story:
    """Stop the leader as its manual says."""
    return story("leader stopped", (0.0, CleanStop(roles.leader)), (seconds, Start(roles.leader)))


def rolling_restart(brokers: Iterable[int], every_s: float = 90.0) -> Story:
    """Stop and start one broker after another."""
    acts: list[tuple[float, Act]] = []
    for number, broker in enumerate(brokers):
        acts += [(number * every_s, CleanStop(broker)), (number * every_s + 5.0, Start(broker))]
    return story("rolling restart", *acts)


def stale_returns_first(roles: Roles, every_s: float = 15.0) -> Story:
    """Kill the followers, then the leader, and start them in the order in which they died."""
    order = (*reversed(roles.followers), roles.leader)
    kills = tuple((number * every_s, Kill(broker)) for number, broker in enumerate(order))
    starts = tuple((len(order) * every_s + number * every_s, Start(broker)) for number, broker in enumerate(order))
    return story("ISR shrinks, leader dies, stale one returns first", *kills, *starts)


def power_loss(brokers: Iterable[int], order: Iterable[int], every_s: float = 0.0) -> Story:
    """Take the power from brokers, and start them in this order."""
    return story("power loss", *((0.0, PowerLoss(each)) for each in brokers), *_starts(order, every_s))


def disk_fills(roles: Roles, seconds: float) -> Story:
    """Fill the leader's only disk; it is made room on before the broker is started again."""
    leader = roles.leader
    return story("disk full", (0.0, DiskFull(leader)), (seconds, DiskFree(leader)), (seconds, Start(leader)))


def log_dir_fails(roles: Roles, seconds: float) -> Story:
    """Let the leader's log dir fail; after `seconds` it is repaired, for which the broker is stopped."""
    leader, back_s = roles.leader, seconds + REPAIR_S
    stop, works, start = (seconds, CleanStop(leader)), (back_s, LogDirWorks(leader)), (back_s, Start(leader))
    return story("log dir fails", (0.0, LogDirFails(leader)), stop, works, start)


def disk_is_slow(roles: Roles, each_s: float, seconds: float) -> Story:
    """Let each write to the leader's disk take so long."""
    return story("slow disk", (0.0, SlowWrites(roles.leader, each_s)), (seconds, SlowWrites(roles.leader, 0.0)))


def follower_is_slow(roles: Roles, share: float, seconds: float) -> Story:
    """Let the link to one follower carry but a share of what is written."""
    follower = roles.followers[0]
    return story("slow follower", (0.0, SlowFollower(follower, share)), (seconds, FastFollower(follower)))


def clock_jumps(roles: Roles, jump_s: float, seconds: float) -> Story:
    """Set the leader's wall clock, and back."""
    ahead = "ahead" if jump_s > 0 else "back"
    return story(f"clock {ahead}", (0.0, ClockJump(roles.leader, jump_s)), (seconds, ClockJump(roles.leader, 0.0)))


def lost_machines(brokers: Iterable[int], order: Iterable[int] = ()) -> Story:
    """Take machines with their disks away; those of `order` come back with empty disks."""
    return story("lost", *((0.0, Lose(each)) for each in brokers), *_starts(order, _BETWEEN_STARTS_S))


def _starts(order: Iterable[int], every_s: float) -> tuple[tuple[float, Act], ...]:
    return tuple((_DOWN_S + number * every_s, Start(broker)) for number, broker in enumerate(order))


NAMED: Mapping[str, Callable[[Roles], Story]] = {
    "cut1": lambda roles: follower_from_leader(roles, 45.0),
    "cut1-one-way": lambda roles: follower_from_leader(roles, 45.0, one_way=True),
    "cut2": lambda roles: leader_from_followers(roles, 54.0),
    "cut2-kill": lambda roles: cut_then_leader_dies(roles, 54.0),
    "cut3": lambda roles: follower_from_controllers(roles, 40.0),
    "cut4": lambda roles: leader_from_controllers(roles, 45.0),
    "cut5": lambda roles: follower_alone(roles, 45.0),
    "cut6": lambda roles: leader_alone(roles, 45.0),
    "cut7": lambda roles: controllers_from_brokers(roles, 45.0),
    "cut7-kill": lambda roles: controllers_away_then_leader_dies(roles, 45.0),
    "cut8": lambda roles: controller_from_quorum(roles, 45.0),
    "pause-short": lambda roles: leader_pauses(roles, 5.0),
    "pause-long": lambda roles: leader_pauses(roles, 25.0),
    "kill-leader": lambda roles: leader_dies(roles, 25.0),
    "kill-elect": lambda roles: leader_dies_and_leads_again(roles, 25.0),
    "kill-follower": lambda roles: follower_dies(roles, 25.0),
    "kill-all": lambda roles: all_die(roles.brokers, tuple(reversed(roles.brokers))),
    "kill-all-leader-first": lambda roles: all_die(roles.brokers, roles.brokers),
    "stop-leader": lambda roles: leader_stops(roles, 25.0),
    "rolling-restart": lambda roles: rolling_restart(roles.brokers),
    "stale-first": stale_returns_first,
    "power-leader": lambda roles: power_loss([roles.leader], [roles.leader]),
    "power-all": lambda roles: power_loss(roles.brokers, roles.brokers),
    "power-min-isr": lambda roles: power_loss(roles.brokers[:2], roles.brokers[:2]),
    "disk-full": lambda roles: disk_fills(roles, 25.0),
    "log-dir-fails": lambda roles: log_dir_fails(roles, 25.0),
    "slow-disk": lambda roles: disk_is_slow(roles, 2.0, 25.0),
    "slow-follower": lambda roles: follower_is_slow(roles, 0.05, 25.0),
    "clock-ahead": lambda roles: clock_jumps(roles, 7200.0, 20.0),
    "clock-back": lambda roles: clock_jumps(roles, -7200.0, 20.0),
    "lose-leader": lambda roles: lost_machines([roles.leader], [roles.leader]),
    "lose-all": lambda roles: lost_machines(roles.brokers, roles.brokers),
}
"""The matrix: what the predictor says of each is compared with brokers."""
