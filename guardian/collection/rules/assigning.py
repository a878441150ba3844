"""Who collects which broker: sticky, cooperative, with static membership and a delay before anything moves. Pure.

- Static: a member's seat bears its name. A restart finds its brokers as they were; a second process of that name fences
  the first, since a seat has one incarnation.
- Delay: the brokers of a member that is gone stay its own for `delay_ms`, so a restart costs no more than its own
  pause. Afterwards they, and no others, are shared out. A member that has heard nothing from the group for as long
  stops by itself (guardian.collection.loop.membership). So does one that hears that it is missed, until the leader has
  seen it again: nobody reads for two.
- Sticky: only what is needed to have shares that differ by one at most is moved.
- Cooperative: the owner lets go first, and says so; meanwhile all others go on.

As in Kafka's consumer groups: KIP-345, KIP-429, and Connect's scheduled rebalance delay, KIP-415.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from guardian.model.collection import NOBODY, BrokerKey, BrokerMove, CollectionAssignment, CollectorSeat


def assign(
    now: CollectionAssignment, brokers: Collection[BrokerKey], live: Collection[str], now_ms: int, delay_ms: int
) -> CollectionAssignment:
    """The assignment after what has happened; the same object when nothing is to be done.

    `brokers` are all that are to be collected, `live` the members that the leader hears from.
    """
    seats = _seats(now.seats, live, now_ms, delay_ms)
    owners = {key: owner for key, owner in now.owners.items() if owner in seats}
    moves = {}
    for key, move in _wanted_moves(now, brokers, owners).items():
        if move.to != NOBODY and not _is_here(seats.get(move.to)):
            continue
        if seats[owners[key]].acked < move.since:
            moves[key] = move
        elif move.to == NOBODY:
            del owners[key]
        else:
            owners[key] = move.to
    here = sorted(member for member, seat in seats.items() if _is_here(seat))
    if here:
        _share_out(sorted(key for key in brokers if key not in owners), here, owners, moves)
        _level(here, owners, moves, now.generation + 1)
    if (seats, owners, moves) == (dict(now.seats), dict(now.owners), dict(now.moves)):
        return now
    return now.changed(seats=seats, owners=owners, moves=moves)


def _seats(
    seats: Mapping[str, CollectorSeat], live: Collection[str], now_ms: int, delay_ms: int
) -> dict[str, CollectorSeat]:
    """Decide who is missed from now on, who is back, and who has been gone for too long."""
    kept = {}
    for member, seat in seats.items():
        if member in live:
            kept[member] = replace(seat, gone_since_ms=0)
        elif not 0 < seat.gone_since_ms <= now_ms:  # of a leader whose clock is ahead: the delay begins anew
            kept[member] = replace(seat, gone_since_ms=max(1, now_ms))
        elif now_ms - seat.gone_since_ms < delay_ms:
            kept[member] = seat
    return kept


def _wanted_moves(
    now: CollectionAssignment, brokers: Collection[BrokerKey], owners: Mapping[BrokerKey, str]
) -> dict[BrokerKey, BrokerMove]:
    """Those under way, and for brokers that are not to be collected any more: they may come back before their owner has
    heard of it."""
    moves = {key: move for key, move in now.moves.items() if key in owners}
    for key in owners:
        if key not in brokers and (key not in moves or moves[key].to != NOBODY):
            moves[key] = BrokerMove(NOBODY, now.generation + 1)
    return moves


def _is_here(seat: CollectorSeat | None) -> bool:
    return seat is not None and not seat.gone_since_ms


def _share_out(
    free: Iterable[BrokerKey],
    here: Collection[str],
    owners: dict[BrokerKey, str],
    moves: Mapping[BrokerKey, BrokerMove],
) -> None:
    """Each to whoever has the fewest."""
    loads = _loads(here, owners, moves)
    for key in free:
        fewest = min(here, key=lambda member: (len(loads[member]), member))
        owners[key] = fewest
        loads[fewest].append(key)


def _level(
    here: Collection[str], owners: Mapping[BrokerKey, str], moves: dict[BrokerKey, BrokerMove], generation: int
) -> None:
    """Begins as few moves as it takes. What is moving already counts where it goes."""
    loads = _loads(here, owners, moves)
    while True:
        most = max(here, key=lambda member: (len(loads[member]), member))
        fewest = min(here, key=lambda member: (len(loads[member]), member))
        movable = [key for key in loads[most] if key not in moves]
        if len(loads[most]) - len(loads[fewest]) < 2 or not movable:
            return
        moves[movable[-1]] = BrokerMove(fewest, generation)
        loads[most].remove(movable[-1])
        loads[fewest].append(movable[-1])


def _loads(
    here: Iterable[str], owners: Mapping[BrokerKey, str], moves: Mapping[BrokerKey, BrokerMove]
) -> dict[str, list[BrokerKey]]:
    """Return by member that is here its brokers, in their order."""
    loads: dict[str, list[BrokerKey]] = {member: [] for member in here}
    for key in sorted(owners):
        member = moves[key].to if key in moves else owners[key]
        if member in loads:
            loads[member].append(key)
    return loads
