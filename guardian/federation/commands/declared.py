"""The edge of `guardian apply` and `guardian import`: what is stored is read, and changes are carried out in order."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from guardian.client import GuardianClient
from guardian.errors import Conflict, GuardianError, InvalidInput, NotFound
from guardian.federation.model import KnownFederation, Stored, key_of
from guardian.federation.rules.declaring import Changes, DropEntry, EntryChange, PutCluster, PutEntry
from guardian.model.federation import Entry, Exclusion, IdcPolicy, Machine, SharedDocument, Tenant, Topic
from guardian.model.topology import Broker
from guardian.model.wire.entries import DIRECTORY_TABLES, asked_entry, entry_from_proto
from protos.guardian.v1 import federation_pb2 as pb

SET = 1000  # changes that the server takes at once
_MAX_BYTES = 64 * 1024 * 1024
_NUMBER = re.compile(r"changes\[(\d+)\]: ")


def text_of(file: Path) -> str:
    """Read the text of a file, or of standard input for "-". Raises InvalidInput."""
    try:
        raw = sys.stdin.buffer.read(_MAX_BYTES + 1) if str(file) == "-" else _start_of(file)
        if len(raw) > _MAX_BYTES:
            raise InvalidInput(f"{file} is larger than {_MAX_BYTES} bytes: split it")
        return raw.decode()
    except OSError as error:
        raise InvalidInput(f"{file} can't be read: {error.strerror}: give a file that exists") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is not text in UTF-8 at byte {error.start}: correct or replace it") from None


def _start_of(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(_MAX_BYTES + 1)


def known(client: GuardianClient) -> KnownFederation:
    """Read what is stored now. Each page is of its own moment: a change is made only at the revision that was read."""
    entries = {}
    for table in (*DIRECTORY_TABLES, pb.DOCUMENTS):
        for message in client.federation(table):
            entry = entry_from_proto(message)
            entries[key_of(entry)] = Stored(entry, message.revision)
    return KnownFederation(client.list_clusters(), entries)


def check(client: GuardianClient, changes: Changes) -> list[str]:
    """Lets the server check the entries, stores nothing; says what could not be checked. Raises as `carry_out`."""
    new = {put.cluster.name for put in changes.clusters if put.before is None}
    checked = [each for each in changes.entries if getattr(each.entry, "cluster", "") not in new]
    said = [
        f"cluster {name} and what names it are checked when it is registered, which asks Kafka" for name in sorted(new)
    ]
    if len(checked) > SET:
        said.append(f"{len(checked)} entries are more than the {SET} that are changed at once: not checked together")
    elif checked:
        _change(client, checked, dry_run=True)
    return said


def carry_out(client: GuardianClient, changes: Changes) -> Iterator[str]:
    """Yield one sentence for each change when it is made.

    Raises GuardianError with the place in the file, where one has, and says how much was made before it.
    """
    made = 0
    try:
        for sentence in _carried_out(client, changes):
            made += 1
            yield sentence
    except GuardianError as error:
        if not made:
            raise
        raise _with_place(
            error,
            f"{error}; {made} of {len([*changes])} changes were made before and stay: correct it, and the same "
            "command makes the rest",
        ) from error


def _carried_out(client: GuardianClient, changes: Changes) -> Iterator[str]:
    for put in changes.clusters:
        yield _register(client, put)
    entries = iter(changes.entries)
    while chunk := list(islice(entries, SET)):
        _change(client, chunk, dry_run=False)
        for change in chunk:
            yield f"{change.name} is {'dropped' if isinstance(change, DropEntry) else 'stored'}"
    for drop in changes.dropped_clusters:
        client.remove_cluster(drop.cluster.name)
        yield f"{drop.name} is forgotten"


def register(client: GuardianClient, put: PutCluster) -> int:
    """Register the cluster and return how many brokers it has. All that are known are named, so that nothing of them is
    lost: the server refuses that while one of them is away.
    """
    cluster = put.cluster
    brokers = tuple(Broker(each.id, idc=each.idc, reporter=each.reporter) for each in cluster.brokers)
    asked = replace(cluster, brokers=brokers, sampling_paused="")
    registered = client.register_cluster(
        asked, put.idc_of_rack, labels=put.labels, states=put.states, expected=put.before
    )
    return len(registered.brokers)


def _register(client: GuardianClient, put: PutCluster) -> str:
    try:
        return f"{put.name} is registered: {register(client, put)} brokers"
    except (InvalidInput, NotFound, Conflict) as error:
        raise _with_place(error, f"{put.where}: {put.name}: {error}") from None


def _change(client: GuardianClient, changes: Sequence[EntryChange], *, dry_run: bool) -> None:
    messages = [
        pb.FederationChange(put=asked_entry(change.entry), expected_revision=change.revision)
        if isinstance(change, PutEntry)
        else pb.FederationChange(drop=_key(change.entry), expected_revision=change.revision)
        for change in changes
    ]
    try:
        client.change_federation(messages, dry_run=dry_run)
    except (InvalidInput, NotFound, Conflict) as error:
        raise _placed(error, changes) from None


def _placed(error: GuardianError, changes: Sequence[EntryChange]) -> GuardianError:
    """Return the error with the place of the entry that it is about: the server tells its number, or its name."""
    message = str(error)
    match = _NUMBER.match(message)
    if match and int(match[1]) < len(changes):
        about, message = changes[int(match[1])], message[match.end() :]
    else:
        named = [change for change in changes if change.name in message]
        if not named:
            return error
        about = max(named, key=lambda change: len(change.name))  # live/orders, not live/order
    return _with_place(error, f"{about.where}: {message}" if isinstance(about, PutEntry) else message)


def _with_place(error: GuardianError, message: str) -> GuardianError:
    return type(error)(message)


def _key(entry: Entry) -> pb.FederationKey:
    match entry:
        case Machine():
            return pb.FederationKey(machine=entry.host)
        case Tenant():
            return pb.FederationKey(tenant=entry.name)
        case Topic():
            return pb.FederationKey(topic=pb.TopicKey(cluster=entry.cluster, name=entry.name))
        case IdcPolicy():
            return pb.FederationKey(idc_policy=entry.name)
        case Exclusion():
            return pb.FederationKey(exclusion=pb.ExclusionKey(cluster=entry.cluster, broker_id=entry.broker_id))
        case SharedDocument():
            return pb.FederationKey(document=entry.name)
