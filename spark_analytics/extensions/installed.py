"""Find the goals that other packages add by entry points of the group `guardian.goals`, and hold them to what they say.

    [project.entry-points."guardian.goals"]
    "acme/pci-on-secure-hosts" = "acme_goals:PCI_ON_SECURE_HOSTS"

All that are installed hold, in the order of their names; one that is wrong refuses every plan, with a sentence that
names its package. Which packages there are is read once a process, as imports are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from guardian.errors import InvalidInput
from guardian.model.goals import ADDED
from guardian.model.planner_settings import PlannerSettings
from spark_analytics.extensions.goal import AddedGoal, Narrowed, Placement
from spark_analytics.model.cluster_model import Bools, ClusterModel, Ints

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*")
# A package that ends the process is wrong like one that raises.
_RAISED = (Exception, SystemExit)


@dataclass(frozen=True, slots=True)
class Installed:
    """Ask an added goal, and refuse an answer that is not what it should be. `package` has its version."""

    name: str
    package: str
    sentence: str
    goal: AddedGoal

    def narrow(self, model: ClusterModel, settings: PlannerSettings) -> Narrowed:
        """Return what the goal leaves, in arrays of its own. Raises InvalidInput that names the package."""
        try:
            found = self.goal.narrow(model, settings)
        except _RAISED as error:
            raise _refused(self.name, self.package, f"narrow raised {_words(error)}") from error
        if not isinstance(found, Narrowed):
            raise _refused(self.name, self.package, f"narrow returned {type(found).__name__}, not Narrowed")
        may_hold = self._flags("may_hold", found.may_hold, model)
        may_lead = may_hold if found.may_lead is None else self._flags("may_lead", found.may_lead, model)
        if may_lead.shape != may_hold.shape:
            raise _refused(self.name, self.package, f"may_lead has {len(may_lead)} rows, may_hold {len(may_hold)}")
        return Narrowed(self._rows(found.row_of_topic, model, len(may_hold)), may_hold, may_lead & may_hold)

    def judge(self, placement: Placement) -> str:
        """Return why the replica may not be there, or "". Raises InvalidInput that names the package."""
        try:
            found = self.goal.judge(placement)
        except _RAISED as error:
            raise _refused(self.name, self.package, f"judge raised {_words(error)}") from error
        if not isinstance(found, str):
            raise _refused(self.name, self.package, f"judge returned {type(found).__name__}, not str")
        return found

    def _flags(self, field: str, given: object, model: ClusterModel) -> Bools:
        array = self._array(field, given, "b", f"bool [rows, {model.brokers} brokers]")
        if array.ndim != 2 or array.shape[1] != model.brokers:
            raise _refused(
                self.name, self.package, f"{field} has shape {array.shape}, not [rows, {model.brokers} brokers]"
            )
        return array.copy()

    def _rows(self, given: object, model: ClusterModel, rows: int) -> Ints:
        array = self._array("row_of_topic", given, "iu", f"int [{len(model.topics)} topics]")
        if array.shape != (len(model.topics),):
            raise _refused(
                self.name, self.package, f"row_of_topic has shape {array.shape}, not [{len(model.topics)} topics]"
            )
        found = array.astype(np.int64)
        if len(found) and (found.min() < -1 or found.max() >= rows):
            raise _refused(
                self.name,
                self.package,
                f"row_of_topic has {found.min()} to {found.max()}, may_hold has {rows} rows, and -1 is none",
            )
        return found

    def _array(self, field: str, given: object, kinds: str, wanted: str) -> npt.NDArray[Any]:
        if not isinstance(given, np.ndarray):
            raise _refused(self.name, self.package, f"{field} is {type(given).__name__}, not an array of {wanted}")
        if given.dtype.kind not in kinds:
            raise _refused(self.name, self.package, f"{field} is an array of {given.dtype}, not of {wanted}")
        return given


def known() -> tuple[tuple[str, str], ...]:
    """Return (name, package with its version) of each, by name, and load none. Raises InvalidInput."""
    return tuple((point.name, _package(point)) for point in _points())


@cache
def installed() -> tuple[Installed, ...]:
    """Return the goals, by name: all of them or none. Raises InvalidInput that names the package of a wrong one."""
    return tuple([_loaded(point) for point in _points()])


def require_same(there: Sequence[tuple[str, str]]) -> None:
    """Raises InvalidInput unless the goals that are installed here are those `there`, where a job was started."""
    here = known()
    if here == tuple(there):
        return
    lacking = [f"goal {name} of {package}" for name, package in there if (name, package) not in here]
    beyond = [f"goal {name} of {package}" for name, package in here if (name, package) not in there]
    told = [f"lacks {', '.join(lacking)}"] if lacking else []
    told += [f"has {', '.join(beyond)}, which the job's own Python lacks"] if beyond else []
    raise InvalidInput(
        f"an executor {' and '.join(told)}: plans would differ, install the same packages on all machines"
    )


def _points() -> tuple[EntryPoint, ...]:
    found = sorted(entry_points(group=ADDED), key=lambda point: (point.name, point.value, _package(point)))
    for point in found:
        if not _NAME.fullmatch(point.name):
            raise _refused(
                point.name,
                _package(point),
                "its name is none: use lower-case letters, digits and dashes, as in acme/pci-on-secure-hosts",
            )
    for one, other in pairwise(found):
        if one.name == other.name:
            raise _refused(one.name, _package(one), f"{_package(other)} has one of that name too")
    return tuple(found)


def _loaded(point: EntryPoint) -> Installed:
    name, package = point.name, _package(point)
    try:
        goal = point.load()
        given, sentence, functions = goal.name, goal.sentence, (goal.narrow, goal.judge)
    except _RAISED as error:
        raise _refused(name, package, f"loading {point.value} raised {_words(error)}") from error
    if isinstance(goal, type):
        raise _refused(name, package, f"{point.value} is a class: name an object of it")
    if given != name:
        raise _refused(name, package, f"the object calls itself {given!r}")
    if not isinstance(sentence, str) or not sentence:
        raise _refused(name, package, f"its sentence is {sentence!r}: say what holds")
    if not all(callable(each) for each in functions):
        raise _refused(name, package, "narrow and judge must be functions")
    return Installed(name, package, sentence, goal)


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "a package without a name"


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ").splitlines()[0]


def _refused(name: str, package: str, what: str) -> InvalidInput:
    return InvalidInput(f"goal {name} of {package}: {what}; no plan is made with it: mend the package, or uninstall it")
