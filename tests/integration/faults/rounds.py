"""Rounds of disasters under load: each breaks the folder or the clock of members, mends it, and counts what is left.

    break ─▶ the group answers for it ─▶ mend ─▶ all serve ─▶ [lost], [diverged]

A member that is broken may stop, or serve; what it must never do is to acknowledge what it will not keep, or to serve
something else than the others do.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from guardian.cli.exits import DAMAGED, WRONG
from guardian.client import GuardianClient
from protos.guardian.v1 import federation_pb2, federation_pb2_grpc
from raft.errors import REJOIN
from tests.integration.faults import probes
from tests.integration.faults.damage import flip, tables
from tests.integration.faults.event_load import EventLoad
from tests.integration.faults.group import Group
from tests.integration.faults.progress import tell
from tests.integration.faults.shims import JumpingClock
from tests.patience import CALL_S, PATIENCE_S, wait_for

_ALONE_S = 8.0
"""Long enough for an election of two members, had they a majority: it takes one to two seconds."""
_ALIKE_S = 10.0
_LOOKS = 5
_EVENTS = 100
_HOUR_S = 3600.0
_ACTOR = "rounds"
_FOR_EVER_MS = 1 << 50


@dataclass
class Tally:
    """What was lost of acknowledged writes, and who served what nobody else did, over all rounds."""

    lost: int = 0
    diverged: int = 0
    rounds: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Served:
    """What one member serves: how many acknowledged writes it lacks, how many events are not what was written there,
    its registers, and the audit of their changes."""

    missing: int
    strange: int
    registers: tuple[str | None, ...]
    audited: tuple[str, ...]


class Stand:
    """A group under load, its members' clocks, and what each round does to them, by a choice from a seed."""

    def __init__(self, group: Group, load: EventLoad, clocks: dict[str, JumpingClock], seed: int) -> None:
        self.group = group
        self.load = load
        self.clocks = clocks
        self.random = random.Random(seed)  # noqa: S311  faults, not secrets
        self.tally = Tally()
        self._registers: dict[str, str] = {}

    def play(self, kind: str) -> None:
        """One round, and what it leaves behind."""
        self._put(f"before {kind}")
        self.load.wait_more(_EVENTS)
        ROUNDS[kind](self)
        self.group.wait_serving()
        self._put(f"after {kind}")
        self.load.wait_more(_EVENTS)
        self.tally.rounds.append(kind)
        lost, diverged = self._count()
        self.tally.lost += lost
        self.tally.diverged += diverged
        tell(f"{kind}: lost {lost}, diverged {diverged}, {self.load.total} events acknowledged")

    def choose_victim(self) -> str:
        """The leader as often as a follower."""
        leader = self.group.leader()
        return leader if self.random.random() < 0.5 else self.random.choice(self.group.followers())

    def others(self, *names: str) -> list[str]:
        return [name for name in self.group.names if name not in names]

    def go_on(self) -> None:
        """Returns once the others have acknowledged more without the members that are broken."""
        self.load.wait_more(_EVENTS)

    @contextmanager
    def replaced_folder(self, name: str, by: Path | None = None) -> Iterator[None]:
        """Of a stopped member: until the end of the block another one, or an empty one, lies in its place."""
        data = self.group.data(name)
        aside = data.with_name("data.aside")
        data.rename(aside)
        if by is None:
            data.mkdir()
        else:
            shutil.copytree(by, data)
        yield
        self.group.kill([name])
        shutil.rmtree(data)
        aside.rename(data)
        self.group.start([name])

    def require_refused(self, name: str, sentence: str, code: int | None = None) -> None:
        """The member ends by itself, and says why."""
        ended = self.group.wait_exit(name)
        said = self.group.log(name)
        assert sentence in said, f"{name} ended with {ended} and did not say {sentence!r}; it says:\n{said}"
        assert code is None or ended == code, f"{name} ended with {ended}, not {code}; it says:\n{said}"

    def _put(self, value: str) -> None:
        """A register of its own, whose change is audited."""
        name = f"round-{len(self._registers)}"
        tenant = federation_pb2.Tenant(name=name, owner="faults", description=value)
        entry = federation_pb2.FederationEntry(tenant=tenant)
        with GuardianClient(self.group.endpoints, timeout_s=CALL_S, actor=_ACTOR) as client:
            client.change_federation([federation_pb2.FederationChange(put=entry)])
        self._registers[name] = value

    def _count(self) -> tuple[int, int]:
        """How many acknowledged writes some member does not serve, and how many members serve something else than the
        others, ten seconds after all serve again: a machine that is slow takes longer for each look, too."""
        served: dict[str, Served] = {}

        def are_alike() -> bool:
            served.update({name: self._served(name) for name in self.group.names})
            return len(set(served.values())) == 1

        for _ in range(_LOOKS):
            if are_alike():
                break
            time.sleep(_ALIKE_S / _LOOKS)
        answers = list(served.values())
        most = max(answers, key=answers.count)
        lost = max(each.missing for each in answers)
        return lost, sum(each != most or each.strange > 0 for each in answers)

    def _served(self, name: str) -> Served:
        """As the member itself answers, linearizably."""
        channel = self.group.channel(name)
        missing, strange = self.load.compare(channel)
        registers = tuple(probes.get(channel, register) for register in self._registers)
        audited = _audited(channel)
        missing += sum(found != put for found, put in zip(registers, self._registers.values(), strict=True))
        missing += max(0, len(self._registers) - len(audited))
        return Served(missing, strange, registers, tuple(audited))


def _audited(channel: grpc.Channel) -> list[str]:
    """What this test has changed, as the member's audit has it. (A client would ask the others too.)"""
    request = federation_pb2.ListAuditRequest(until_ms=_FOR_EVER_MS, actor=_ACTOR)
    subjects: list[str] = []
    while True:
        page = federation_pb2_grpc.FederationStub(channel).ListAudit(request, timeout=PATIENCE_S)
        subjects += [record.subject for record in page.records]
        if not page.next_page_token:
            return subjects
        request.page_token = page.next_page_token


def _emptied_voter(stand: Stand) -> None:
    """Two acknowledge without a third one; one of the two is emptied, and meets the third one alone."""
    group = stand.group
    keeper = group.leader()
    emptied, behind = stand.random.sample(group.followers(), 2)
    group.kill([behind])
    stand.go_on()
    group.kill([keeper, emptied])
    with stand.replaced_folder(emptied):
        before = stand.load.total
        group.start([emptied, behind])
        with suppress(AssertionError):
            wait_for("two without it go on", lambda: stand.load.total > before, deadline_s=_ALONE_S)
        assert stand.load.total == before, f"{emptied}, emptied, and {behind} acknowledged writes without {keeper}"
        group.start([keeper])
        stand.go_on()
        stand.require_refused(emptied, REJOIN)


def _older_copy(stand: Stand) -> None:
    """As a snapshot of a virtual machine that is rolled back."""
    group = stand.group
    victim = stand.choose_victim()
    group.stop([victim])
    older = group.home / "older"
    shutil.copytree(group.data(victim), older)
    group.start([victim])
    group.wait_serving([victim])
    stand.go_on()
    wait_for(f"{victim} has what the others have", lambda: _has_all(group, victim))
    group.stop([victim])
    with stand.replaced_folder(victim, older):
        group.start([victim])
        stand.go_on()
        stand.require_refused(victim, REJOIN)
    shutil.rmtree(older)


def _has_all(group: Group, name: str) -> bool:
    status, leader = group.status(name), group.status(group.leader())
    return status is not None and leader is not None and status.last_index + _EVENTS >= leader.commit_index


def _anothers_copy(stand: Stand) -> None:
    """As an rsync from a member that is well."""
    group = stand.group
    victim = stand.choose_victim()
    source = stand.random.choice(stand.others(victim))
    group.stop([victim, source])
    copy = group.home / "copy"
    shutil.copytree(group.data(source), copy)
    group.start([source])
    with stand.replaced_folder(victim, copy):
        group.start([victim])
        stand.go_on()
        stand.require_refused(victim, f"it is member {source!r}'s", WRONG)
    shutil.rmtree(copy)


def _swapped_folders(stand: Stand) -> None:
    group = stand.group
    one, two = stand.random.sample(group.names, 2)
    group.stop([one, two])
    _swap(group, one, two)
    group.start([one, two])
    stand.require_refused(one, f"it is member {two!r}'s", WRONG)
    stand.require_refused(two, f"it is member {one!r}'s", WRONG)
    _swap(group, one, two)
    group.start([one, two])


def _swap(group: Group, one: str, two: str) -> None:
    aside = group.home / "swapping"
    group.data(one).rename(aside)
    group.data(two).rename(group.data(one))
    aside.rename(group.data(two))


def _flipped(file_of: Callable[[Path], Path], *, is_read: bool = True) -> Callable[[Stand], None]:
    """The member is stopped, the file is changed, and it starts: it ends, unless nobody reads that file."""

    def play(stand: Stand) -> None:
        group = stand.group
        victim = stand.choose_victim()
        wait_for(f"{victim} has a table", lambda: bool(tables(group.data(victim))))
        group.stop([victim])
        path = file_of(group.data(victim))
        flip(path)
        group.start([victim])
        stand.go_on()
        if is_read:
            ended = group.wait_exit(victim)
            assert ended == DAMAGED, f"{victim}, {path.name} damaged, ended with {ended}:\n{group.log(victim)}"
            flip(path)
            group.start([victim])
        else:
            group.wait_serving([victim])

    return play


def _clocks(seconds: float, whose: str) -> Callable[[Stand], None]:
    def play(stand: Stand) -> None:
        chosen = {"the leader's": stand.group.leader, "one": stand.choose_victim}
        names = [chosen[whose]()] if whose in chosen else list(stand.group.names)
        for name in names:
            stand.clocks[name].set(seconds)
        stand.go_on()
        stand.group.wait_serving()
        for name in names:
            stand.clocks[name].set(0.0)

    return play


def _newest(folder: Path, pattern: str) -> Path:
    return max(folder.glob(pattern), key=os.path.getmtime)


FILES: dict[str, Callable[[Path], Path]] = {
    "table": lambda data: tables(data)[0],
    "newest table": lambda data: tables(data)[-1],
    "manifest": lambda data: _newest(data, "store/gen-*/MANIFEST-*"),
    "RocksDB's CURRENT": lambda data: _newest(data, "store/gen-*/CURRENT"),
    "store's CURRENT": lambda data: data / "store" / "CURRENT",
    "Raft log": lambda data: _newest(data, "raft/log-*"),
    "vote": lambda data: data / "raft" / "vote.json",
    "identity": lambda data: data / "raft" / "identity.json",
    "confirmed indexes": lambda data: data / "raft" / "confirmed.json",
}

ROUNDS: dict[str, Callable[[Stand], None]] = {
    "emptied voter": _emptied_voter,
    "older copy of a folder": _older_copy,
    "copy of another's folder": _anothers_copy,
    "swapped folders": _swapped_folders,
    **{f"flipped bytes in the {name}": _flipped(file_of) for name, file_of in FILES.items()},
    "flipped bytes in the options": _flipped(lambda data: _newest(data, "store/gen-*/OPTIONS-*"), is_read=False),
    "the leader's clock 2 h ahead": _clocks(2 * _HOUR_S, "the leader's"),
    "a clock 2 h behind": _clocks(-2 * _HOUR_S, "one"),
    "the leader's clock 100 days ahead": _clocks(2400 * _HOUR_S, "the leader's"),
    "all clocks 100 days ahead": _clocks(2400 * _HOUR_S, "all"),
}
