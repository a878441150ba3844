"""Kinds that send a few requests to Kafka and move nothing: their options, what they read, what they do next. Pure.

    options ──▶ task ──▶ plan ──▶ resolve (query, facts) ──▶ ticket ── approved ──▶ begin ──▶ step, step, ... ──▶ over

A step compares the cluster with what was asked for and asks for what is missing, so repeating one does no harm.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, ClassVar, TypeVar

from guardian.errors import InvalidInput
from guardian.model.acl import AclBinding
from guardian.model.effects import RequestEffect, first_final
from guardian.model.plan import Plan
from guardian.model.tasks import PlanTask
from guardian.model.ticket import TicketState
from guardian.model.units import parse_duration_ms, parse_rate
from guardian.settings.rules import SETTLE_MS
from guardian.tickets.kinds.kind import Kind

T = TypeVar("T", bound=PlanTask)
End = tuple[TicketState, str]


class OptionType(Enum):
    """Name how the text of an option is read."""

    TEXT = "text"
    INTEGER = "integer"
    RATE = "rate"  # bytes/s
    DURATION = "duration"  # ms
    FILE = "file"  # its text
    PAIR = "key=value"


@dataclass(frozen=True, slots=True)
class Option:
    """Describe one parameter of a request, for the command line and the HTTP API.

    `is_argument`: the command line takes it by place. `is_many`: it may be given several times. `default` None: it has
    to be given.
    """

    name: str
    type: OptionType
    help: str
    default: str | None = None
    is_argument: bool = False
    is_many: bool = False

    def read(self, text: str) -> Any:
        """Return the value. Raises InvalidInput."""
        match self.type:
            case OptionType.INTEGER:
                try:
                    return int(text)
                except ValueError:
                    raise InvalidInput(f"{self.name} is {text[:60]!r}: use a whole number") from None
            case OptionType.RATE:
                return parse_rate(self.name, text)
            case OptionType.DURATION:
                return parse_duration_ms(self.name, text)
            case OptionType.PAIR:
                key, separator, value = text.partition("=")
                if not key or not separator:
                    raise InvalidInput(f"{self.name} is {text[:60]!r}: use key=value, such as retention.ms=3600000")
                return key, value
            case _:
                return text


@dataclass(frozen=True, slots=True)
class Query:
    """Name what a kind has to know of the cluster: live brokers, access rules (`acls_if_any`: none where it has no
    authorizer), these topics with their configuration, and, if `used_since_ms` is not 0, who used them since then."""

    brokers: bool = False
    acls: bool = False
    acls_if_any: bool = False
    topics: tuple[str, ...] = ()
    used_since_ms: int = 0


@dataclass(frozen=True, slots=True)
class TopicForm:
    """Hold a topic as it is: its id, the brokers of each partition, and the configuration that is set on it."""

    id: bytes
    replicas: tuple[tuple[int, ...], ...]
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicUse:
    """Record when clients last read and wrote a topic, in ms; 0: not since the time of the query. `groups` are consumer
    groups that have it assigned now."""

    read_ms: int = 0
    written_ms: int = 0
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """Answer a query about the cluster. A topic that does not exist is not in `topics`. `is_use_known`: `uses` miss
    nothing from the time of the query to `used_until_ms`; `use_gap` says for people what they miss."""

    brokers: frozenset[int]
    acls: tuple[AclBinding, ...] = ()
    topics: Mapping[str, TopicForm] = field(default_factory=dict)
    uses: Mapping[str, TopicUse] = field(default_factory=dict)
    is_use_known: bool = False
    used_until_ms: int = 0
    use_gap: str = ""


PATIENCE_MS = 300_000  # with what Kafka refuses again and again


@dataclass(frozen=True, slots=True)
class Moment:
    """Say where a ticket stands: its state and since when, when it first ran (0: not yet), and the time now, in ms.

    `deleted` are the topics that it deleted, or was about to. Since `refused_since_ms` Kafka refuses its requests; 0:
    it does not.
    """

    state: TicketState
    began_ms: int
    now_ms: int
    since_ms: int = 0
    deleted: frozenset[str] = frozenset()
    refused_since_ms: int = 0

    @property
    def is_back(self) -> bool:
        """Tell whether what was done is taken back."""
        return self.state in (TicketState.CANCELLING, TicketState.ROLLING_BACK)

    def ended(self, reason: str, *, settles: bool = True) -> RequestStep:
        """Return the ticket's last step: done, or all of it taken back.

        Before it is said that all is as before, a request from before the way back may still arrive: where the kind
        sends any (`settles`), it is awaited.
        """
        if settles and self.is_back and self.now_ms - self.since_ms < SETTLE_MS:
            return RequestStep(None, (), "waits for requests that may be on their way")
        return self._over(TicketState.SUCCEEDED, reason)

    def given_up(self, reason: str) -> RequestStep:
        """Return the ticket's last step where something could not be done, or not be taken back."""
        return self._over(TicketState.FAILED, reason)

    def _over(self, forward: TicketState, reason: str) -> RequestStep:
        ends = {TicketState.CANCELLING: TicketState.CANCELLED, TicketState.ROLLING_BACK: TicketState.ROLLED_BACK}
        return RequestStep((ends.get(self.state, forward), reason), (), reason)


@dataclass(frozen=True, slots=True)
class RequestStep:
    """Decide what comes next: how the ticket ends, if it does, what to send, and a sentence about it.

    `deleted` topics are stored as such before anything is sent. For `rests_ms` nothing has to be read again.
    """

    transition: End | None
    effects: tuple[RequestEffect, ...]
    sentence: str
    deleted: tuple[str, ...] = ()
    rests_ms: int = 0


class RequestKind(Kind[T]):
    """Define a kind that sends requests. `command` is where it stands in the command line, such as ("acl",
    "repair")."""

    has_size = False
    moves_replicas = False
    can_roll_back: ClassVar[bool] = False
    command: ClassVar[tuple[str, str]]
    help: ClassVar[str]  # of the command: the first line, then more, with an example
    options: ClassVar[tuple[Option, ...]]
    opening: ClassVar[str]  # what is said when the ticket begins
    idle: ClassVar[str]  # what is said while it is paused

    def read(self, given: Mapping[str, Sequence[str]], now_ms: int) -> T:
        """Return the task that the options ask for, by name and as text. Raises InvalidInput."""
        values: dict[str, Any] = {}
        for option in self.options:
            texts = given.get(option.name) or ([option.default] if option.default else [])
            if not texts and option.default is None:
                raise InvalidInput(f"{option.name} is missing: {option.help}")
            found = tuple(map(option.read, texts))
            if option.is_many or found:
                values[option.name] = found if option.is_many else found[-1]
        return self.ask(values, now_ms)

    @abstractmethod
    def ask(self, values: Mapping[str, Any], now_ms: int) -> T:
        """Return the task that the options ask for, by name; those not given are absent. Raises InvalidInput."""

    @abstractmethod
    def query(self, task: T, moment: Moment) -> Query:
        """Return what to read before a plan is resolved, or a step taken."""

    @abstractmethod
    def resolve(self, task: T, cluster: str, facts: Facts, now_ms: int) -> T:
        """Return the task as it can be carried out here. Raises InvalidInput where it can't, or changes nothing."""

    @abstractmethod
    def step(self, task: T, moment: Moment, facts: Facts, refused: tuple[str, ...]) -> RequestStep:
        """Return what to do next about a ticket that runs or is taken back. `refused` are Kafka's last refusals."""

    def count(self, task: T) -> int:
        """Return how many changes are asked for, where some may be left out as they are so already."""
        return 0

    def trial(self, task: T) -> Mapping[str, Mapping[str, str | None]]:
        """Return changes of topics' configurations that Kafka shall check before there is a ticket."""
        return {}

    def doubt(self, plan: Plan, *, is_planners: bool) -> str:
        return ""

    def next_step(self, task: T, moment: Moment, facts: Facts, refused: tuple[str, ...]) -> RequestStep:
        """Return the step, or the end where Kafka has refused it for good, or for too long."""
        decided = self.step(task, moment, facts, refused)
        refusal = first_final(refused) if decided.effects else ""
        if refusal:
            return moment.given_up(f"Kafka refuses it for good: {refusal}")
        is_refused = decided.effects and refused and moment.refused_since_ms
        if not is_refused or moment.now_ms - moment.refused_since_ms < PATIENCE_MS:
            return decided
        return moment.given_up(f"gave up: {decided.sentence}")

    def notes(self, task: T) -> Iterator[str]:
        """Say what the request changes, a line each, for who makes or approves it."""
        return iter(())

    def promises(self, task: T) -> Iterator[str]:
        return self.notes(task)

    def plan(self, cluster: str, task: T) -> Plan:
        """Return the plan that carries the request."""
        return Plan(cluster, self.name, (), input="as its author asked", notes=tuple(self.notes(task)), task=task)

    def resolved(self, plan: Plan, facts: Facts, now_ms: int) -> Plan:
        """Return the plan as it can be carried out on the cluster. Raises InvalidInput."""
        if plan.moves:
            raise InvalidInput(f"moves of the plan has {len(plan.moves)}: a plan of kind {self.name} moves nothing")
        asked = self.task_of(plan)
        task = self.resolve(asked, plan.cluster, facts, now_ms)
        made, left_out = self.plan(plan.cluster, task), self.count(asked) - self.count(task)
        notes = (*made.notes, f"{left_out} of what is asked for is so already") if left_out else made.notes
        return replace(made, notes=notes, made_at_ms=plan.made_at_ms)

    def task_of(self, plan: Plan) -> T:
        """Return what the plan asks for. Raises InvalidInput where that is of another kind."""
        if self.task is None or not isinstance(plan.task, self.task):
            names = ", ".join(option.name for option in self.options)
            raise InvalidInput(f"task of the plan is no {self.name}: give {names}")
        return plan.task  # type: ignore[return-value]  # of the class that the kind names


def refusals(refused: tuple[str, ...]) -> str:
    """Say the first of what Kafka refused, to be put behind a sentence."""
    return "".join(f"; Kafka refused {each}" for each in refused[:3])
