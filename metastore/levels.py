"""Feature levels: how members of different versions keep the same state while a group is upgraded, one after another.

    level 0 ── members replaced one by one, may go back ──▶ all know level 1 ── guardian raft finish-upgrade ──▶ level 1

A member that does not know a field of a command would carry it out without it, and its state would no longer be that of
the others. An `expected_...` that one member compares and another one ignores is enough. So what this version added to
commands is not proposed before everybody knows it. The level that is in force is part of the replicated state, and one
command raises it, on all members at the same index. From then on no older version may join: a member that finds a level
above its own ends at once, and says so.

Level 0 is that of the first release: before it, fields come and go without a row. To add a field or a kind of command
later: a row in SINCE, with LEVEL + 1 if LEVEL has been released already. What a command is to do besides, with the
fields that it has, it does only where `stored_level` is at that level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from guardian.errors import Conflict, InvalidInput
from metastore import keys
from metastore.records import Put, Record
from metastore.store import Lookup, ReadView, StoreError
from metastore.tables.proposal import Decision, Proposal
from protos.guardian.v1 import records_pb2

LEVEL = 0
"""The highest that this version knows. Until the first release there is only this one."""

SINCE: Mapping[str, int] = {}
"""By field of a command, or of what it carries (`guardian.v1.Message.field`): the level since which it is proposed."""


def stored_level(view: Lookup) -> int:
    """The level in force."""
    value = view.get(keys.level())
    return int.from_bytes(value, "big") if value is not None else 0


def require_known(view: Lookup) -> None:
    """Raises StoreError when what is stored is of a level that this version does not know."""
    level = stored_level(view)
    if level > LEVEL:
        raise StoreError(
            f"the group is at feature level {level}, and this version of Guardian knows levels up to {LEVEL}: start a "
            "newer version here"
        )


def handle_raise(command: records_pb2.RaiseLevel, view: ReadView, _proposal: Proposal) -> Decision:
    """Repeating it changes nothing. Raises StoreError on a member that does not know the level: it must not go on."""
    stored = stored_level(view)
    if command.level < stored:
        raise InvalidInput(f"level is {command.level}: the group is at {stored} already, and levels never go down")
    if command.level > LEVEL:
        raise StoreError(
            f"the group was raised to feature level {command.level}, and this version of Guardian knows levels up to "
            f"{LEVEL}: start a newer version here"
        )
    records: list[Record] = []
    if command.level > stored:
        records.append(Put(keys.level(), command.level.to_bytes(4, "big")))
    return records, records_pb2.CommandReply()


def require_level(command: Message, level: int, since: Mapping[str, int] = SINCE) -> None:
    """Raises Conflict for a command that members of the level would not all carry out alike."""
    later = {field for field, needed in since.items() if needed > level}
    if not later:
        return
    holders = _holders(_type_of(command), {field.rpartition(".")[0] for field in later})
    found = next((field for field in _set_fields(command, holders) if field in later), None)
    if found is not None:
        raise Conflict(
            f"{found.removeprefix('guardian.v1.')} needs feature level {since[found]}, and the group is at {level}: "
            "bring all members to this version, then run `guardian raft finish-upgrade`"
        )


def fields_of(message: Message) -> Iterator[str]:
    """Every field that a message of its type can carry, at any depth, as `package.Message.field`."""
    for each in _reached(_type_of(message)).values():
        yield from (f"{each.full_name}.{field.name}" for field in each.fields)


def _type_of(message: Message) -> Descriptor:
    return cast("Descriptor", message.DESCRIPTOR)  # its stubs name the implementation too


def _reached(descriptor: Descriptor) -> dict[str, Descriptor]:
    reached: dict[str, Descriptor] = {}
    to_look = [descriptor]
    while to_look:
        each = to_look.pop()
        if each.full_name not in reached:
            reached[each.full_name] = each
            to_look += [field.message_type for field in each.fields if field.message_type is not None]
    return reached


def _holders(descriptor: Descriptor, owners: set[str]) -> set[str]:
    """Types from which one of `owners` is reached: only these need be looked into, and executions are large."""
    return {name for name, each in _reached(descriptor).items() if owners & _reached(each).keys()}


def _set_fields(message: Message, holders: set[str]) -> Iterator[str]:
    if message.DESCRIPTOR.full_name not in holders:
        return
    for field, value in message.ListFields():
        yield f"{message.DESCRIPTOR.full_name}.{field.name}"
        if field.message_type is None:
            continue
        values = value if not isinstance(value, Message) else (value,)
        if field.message_type.GetOptions().map_entry:
            values = [each for each in value.values() if isinstance(each, Message)]
        for each in values:
            yield from _set_fields(each, holders)
