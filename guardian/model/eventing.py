"""What happened, told from what was stored before and after. Pure.

    ticket before ──┐                       no ticket before       TICKET_CREATED
    ticket after  ──┴──▶ an event           another state          TICKET_MOVED
                                            another line of history, or other content   TICKET_AMENDED
    what calls a person ──▶ an event when it begins and one when it ends     FINDING_RAISED, FINDING_ENDED
    throttles, rates before ──┐
    throttles, rates after  ──┴──▶ events with each value that changed     THROTTLE_CHANGED

An event is stored by the very command that changes the ticket: none is lost, and none is told of what did not happen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from guardian.model.effects import ConfigKey
from guardian.model.event import Call, Event, EventKind, ThrottleChange
from guardian.model.execution import AdaptedRate, Execution
from guardian.model.owned_setting import OwnedSetting
from guardian.model.protection import Lever, LeverKind, Protection
from guardian.model.throttle import LISTS
from guardian.model.ticket import Ticket
from guardian.model.units import rate_text, rates_text

RATE = "rate"
MAX_CHANGES = 100  # of one event
MAX_EVENTS = 100  # of the throttles that one command changes
_MAX_VALUE_CHARS = 200


def of_ticket(event_id: int, before: Ticket | None, after: Ticket) -> Event | None:
    """Tell what happened to the ticket; None when nothing did."""
    if before == after:
        return None
    last = after.history[-1] if after.history else None
    kind = EventKind.TICKET_AMENDED
    if before is None:
        kind = EventKind.TICKET_CREATED
    elif before.state is not after.state:
        kind = EventKind.TICKET_MOVED
    return Event(
        event_id,
        last.at_ms if last is not None else after.updated_at_ms,
        kind,
        after.cluster,
        _summary(kind, before, after),
        ticket_id=after.id,
        ticket_kind=after.kind,
        author=after.author,
        actor=last.actor if last is not None else after.author,
        reason=last.reason if last is not None else "",
        from_state=before.state if before is not None else None,
        to_state=after.state,
        moves=after.moves,
        bytes_to_copy=after.bytes_to_copy,
    )


def of_throttles(
    event_id: int,
    at_ms: int,
    ticket: Ticket,
    before: Execution | None,
    after: Execution,
    *,
    was_over: bool = False,
) -> list[Event]:
    """Tell what changed of the throttles that the ticket set, and of the rates that it may take; none when nothing did.

    `ticket` is the one after the change. A ticket that is over takes nothing any more, whatever its last rates were;
    `was_over`: it was so before the change. Ids count up from `event_id`; what MAX_EVENTS have no room for, the last
    one counts as left out.
    """
    rates_before = before.rates if before is not None and not was_over else ()
    rates_after = () if ticket.state.is_over else after.rates
    changes = [
        *_rate_changes(rates_before, rates_after),
        *changes_of(before.throttles if before is not None else (), after.throttles),
    ]
    told = Event(
        event_id,
        at_ms,
        EventKind.THROTTLE_CHANGED,
        ticket.cluster,
        f"ticket {ticket.id} ({ticket.kind} of cluster {ticket.cluster})",
        ticket_id=ticket.id,
        ticket_kind=ticket.kind,
        author=ticket.author,
        actor="executor",
        to_state=ticket.state,
        from_state=ticket.state,
        moves=ticket.moves,
        bytes_to_copy=ticket.bytes_to_copy,
    )
    return _with_changes(told, changes)


def of_protection(event_id: int, at_ms: int, before: Protection, after: Protection) -> list[Event]:
    """Tell what changed of the throttles and quotas that protect a cluster's disks; ids and bounds as of
    `of_throttles`.
    """
    cluster = after.cluster
    changes = [*_lever_changes(before.levers, after.levers), *changes_of(before.intents, after.intents)]
    subject = f"protection of cluster {cluster}"
    told = Event(event_id, at_ms, EventKind.THROTTLE_CHANGED, cluster, subject, actor="protection")
    return _with_changes(told, changes)


def _with_changes(told: Event, changes: list[ThrottleChange]) -> list[Event]:
    """`told` as many times as the changes need; its summary names their subject."""
    events: list[Event] = []
    while changes and len(events) < MAX_EVENTS:
        is_last = len(events) + 1 == MAX_EVENTS
        of_this = changes if is_last else changes[:MAX_CHANGES]
        events.append(
            replace(
                told,
                id=told.id + len(events),
                summary=f"{told.summary}: {_told(of_this)}",
                changes=tuple(of_this[:MAX_CHANGES]),
                left_out=max(0, len(of_this) - MAX_CHANGES),
            )
        )
        changes = changes[len(of_this) :]
    return events


def of_call(event_id: int, at_ms: int, call: Call, *, is_over: bool) -> Event:
    """A finding calls a person, or does so no longer."""
    title = f"{call.finding} of cluster {call.cluster}" if call.cluster else call.finding
    return Event(
        event_id,
        at_ms,
        EventKind.FINDING_ENDED if is_over else EventKind.FINDING_RAISED,
        call.cluster,
        f"{title} is over" if is_over else f"{title} calls a person: {call.sentence}",
        actor="findings",
        reason=call.sentence,
        finding=call.finding,
    )


def standing(ticket: Ticket) -> Event | None:
    """The state that the ticket is in, as it was entered; None where its history does not say."""
    entered = None
    for past in reversed(ticket.history):  # what was amended since has left lines of the same state
        if past.state is not ticket.state:
            break
        entered = past
    event = of_ticket(0, None, ticket)
    if entered is None or event is None:
        return None
    reason = f": {entered.reason}" if entered.reason else ""
    summary = f"ticket {ticket.id} ({ticket.kind} of cluster {ticket.cluster}) is {ticket.state.name}{reason}"
    return replace(event, kind=EventKind.TICKET_MOVED, at_ms=entered.at_ms, summary=summary)


def changes_of(before: Iterable[OwnedSetting], after: Iterable[OwnedSetting]) -> Iterator[ThrottleChange]:
    """Yield the changes by key. Of several values that may stand there, the last one is the one that is wanted."""
    was, now = _values(before), _values(after)
    for key in sorted(was.keys() | now.keys()):
        (kind, name, setting) = key
        old, new = was.get(key, ""), now.get(key, "")
        if old != new:
            why = "" if new else "restored to what stood there before"
            yield ThrottleChange(f"{kind.lower()} {name}", setting, _short(old), _short(new), why)


def _values(settings: Iterable[OwnedSetting]) -> dict[ConfigKey, str]:
    """Return the present values, and of lists all entries."""
    return {
        ConfigKey.of(each): ",".join(map(str, each.values)) if each.key in LISTS else str(each.value)
        for each in settings
        if each.values
    }


def _rate_changes(before: Iterable[AdaptedRate], after: Iterable[AdaptedRate]) -> Iterator[ThrottleChange]:
    was, now = ({_scope(rate): rate for rate in rates} for rates in (before, after))
    for scope in sorted(was.keys() | now.keys()):
        old, new = was.get(scope), now.get(scope)
        if old is None or new is None or old.rate != new.rate:
            yield ThrottleChange(
                scope,
                RATE,
                str(old.rate) if old is not None else "",
                str(new.rate) if new is not None else "",
                new.why if new is not None else "nothing is copied there any more",
            )


def _lever_changes(before: Iterable[Lever], after: Iterable[Lever]) -> Iterator[ThrottleChange]:
    was, now = ({lever.identity: lever for lever in levers} for levers in (before, after))
    for identity in sorted(was.keys() | now.keys()):
        old, new = was.get(identity), now.get(identity)
        if old is not None and new is not None and old.value == new.value:
            continue
        disk, kind, subject, quota = identity
        scope = f"client {subject}" if kind is LeverKind.CLIENT_QUOTA else f"broker {disk.broker}"
        yield ThrottleChange(
            scope,
            quota or kind.name.lower(),
            str(old.value) if old is not None else "",
            str(new.value) if new is not None else "",
            new.why if new is not None else f"{disk} has recovered, or was released",
        )


def _scope(rate: AdaptedRate) -> str:
    return f"line {rate.line[0]} to {rate.line[1]}" if rate.line is not None else f"broker {rate.broker}"


def _summary(kind: EventKind, before: Ticket | None, after: Ticket) -> str:
    last = after.history[-1] if after.history else None
    who = f" by {last.actor}" if last is not None else ""
    reason = f": {last.reason}" if last is not None and last.reason else ""
    name = f"ticket {after.id} ({after.kind} of cluster {after.cluster})"
    if kind is EventKind.TICKET_CREATED:
        return f"{name} was created as {after.state.name}{who}{reason}"
    if kind is EventKind.TICKET_MOVED and before is not None:
        return f"{name} went from {before.state.name} to {after.state.name}{who}{reason}"
    return f"{name}, {after.state.name}, was amended{who}{reason}"


def _told(changes: list[ThrottleChange]) -> str:
    """The first change, and how many more there are."""
    first = changes[0]
    before, after = _in_words(first)
    if not after:
        told = f"{first.key} of {first.scope} is no longer {before}"
    elif not before:
        told = f"{first.key} of {first.scope} is {after}"
    else:
        told = f"{first.key} of {first.scope} went from {before} to {after}"
    why = f" ({first.why})" if first.why else ""
    more = f", and {len(changes) - 1} more" if len(changes) > 1 else ""
    return f"{told}{why}{more}"


def _in_words(change: ThrottleChange) -> tuple[str, str]:
    """Return both values; all that Guardian throttles by is bytes/s, but for lists of replicas."""
    texts = change.before, change.after
    if change.key in LISTS or not all(text.isdecimal() for text in texts if text):
        return texts
    if all(texts):
        return rates_text(int(change.before), int(change.after))
    before, after = (rate_text(int(text)) if text else "" for text in texts)
    return before, after


def _short(value: str) -> str:
    return value if len(value) <= _MAX_VALUE_CHARS else f"{value[: _MAX_VALUE_CHARS - 3]}..."
