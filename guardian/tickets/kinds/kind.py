"""What may differ between kinds of tickets, with what holds for most of them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from guardian.errors import InvalidInput
from guardian.model.directory import Directory
from guardian.model.effects import NewTopic
from guardian.model.execution import DirectoryIntent
from guardian.model.federation import Topic
from guardian.model.plan import PartitionMove, Plan
from guardian.model.tasks import PlanTask

T = TypeVar("T", bound=PlanTask)


class Kind(Generic[T]):
    """Hold what is particular to one kind of ticket.

    `task` is what its plans are asked for; None: they do not say. Of a kind without `has_size` approval rules can't
    limit the bytes: it moves nothing, or finds out how much only while it runs. `moves_replicas` by its plan;
    `resizes` may change replication factors. `tells_reads`: whether consumers follow is said beside it.
    `must_be_named` by a rule that approves by itself. `limits_rates` of other tickets while it runs;
    `has_directory_intents`: sets something in the directory at its end.
    """

    name: ClassVar[str]
    task: ClassVar[type[PlanTask] | None] = None
    has_size: ClassVar[bool] = True
    moves_replicas: ClassVar[bool] = True
    resizes: ClassVar[bool] = False
    tells_reads: ClassVar[bool] = False
    limits_rates: ClassVar[bool] = False
    must_be_named: ClassVar[bool] = False
    has_directory_intents: ClassVar[bool] = False

    def doubt(self, plan: Plan, *, is_planners: bool) -> str:
        """Return why the plan can't bear the kind, empty where it can. `is_planners`: a trusted planner made it."""
        return "it does not say what it was asked for"

    def renew(self, task: T, cluster: str, directory: Directory) -> T:
        """Return the task to plan again, with what the directory says by now. Raises InvalidInput where none may."""
        raise InvalidInput(f"a plan of kind {self.name} can't be made anew: submit another one")

    def is_repeated(self, made: T, asked: T) -> bool:
        """Tell whether a second request asks for what made the first one's ticket."""
        return made == asked

    def promises(self, task: T) -> Iterator[str]:
        """Say what the plan changes besides replicas, for whoever approves it."""
        return iter(())

    def needs_admin(self, task: T) -> bool:
        """Tell whether only an admin of the cluster may ask for it."""
        return False

    def topics_changed(self, task: T) -> tuple[frozenset[str] | None, frozenset[str]]:
        """Return the topics that change besides their replicas (None: more than it names), and the tenants all of
        whose topics do."""
        return frozenset(), frozenset()

    def topics_restored(self, task: T) -> Mapping[str, NewTopic]:
        """Return the topics that the ticket makes anew when it is rolled back."""
        return {}

    def topic_configs(self, task: T) -> Mapping[str, str]:
        """Return the configuration that topics get which the plan creates."""
        return {}

    def rates(self, task: T) -> Mapping[int, int]:
        """Return by broker the bytes/s that copies of all tickets may take while the ticket runs."""
        return {}

    def labels_gained(
        self, task: T, brokers: Mapping[int, str], moved: Collection[str], topics: Collection[Topic]
    ) -> tuple[Mapping[int, str], Mapping[str, str]]:
        """Return the labels that brokers and topics have once the plan is carried out, where they are others by then.

        `brokers` have a label now, `moved` are the topics that move, `topics` what the directory says of the cluster's.
        """
        return {}, {}

    def emptied(self, task: T, moves: Sequence[PartitionMove]) -> frozenset[int]:
        """Return the brokers that give up their label when `moves` have left them empty."""
        return frozenset()

    def directory_intents(
        self, plan: Plan, task: T, moves: Sequence[PartitionMove], directory: Directory, topics: Mapping[str, int],
        empty: Collection[int],
    ) -> tuple[DirectoryIntent, ...]:  # fmt: skip
        """Return what the ticket sets in the directory once `moves` are done. `topics` are the cluster's with their
        replication factors, `empty` brokers without replicas."""
        return ()

    def remarks(self, task: T, directory: Directory) -> list[str]:
        """Say at the ticket's end what could not be set in the directory."""
        return []


AnyKind = Kind[Any]
