"""The process that makes one plan at once: `python -m guardian.planning.service.planning_worker < question > answer`.

A plan is seconds of arithmetic that holds the interpreter, and a member has heartbeats to send meanwhile. So it is made
in a process of its own, which yields to the member and is what the kernel takes first when there is no memory left. It
lives for one plan; numba's cache on disk makes the next one start at once. It knows no Spark.

    question   what Kafka shows, what people said, the lake's address, the task    (pickled by the member that asks)
    answer     b"P" and the plan, or b"E", the kind of error, a line break, and the sentence
"""

from __future__ import annotations

import os
import pickle
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from guardian.errors import ClusterUnavailable, GuardianError, InvalidInput, Unavailable
from guardian.giving_way import give_way
from guardian.model.cluster_state import LiveFacts
from guardian.model.directory import Directory
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Task
from guardian.model.wire.plans import plan_to_bytes

_KILL_ME_FIRST = "500"
_LAKE_S = 20.0


@dataclass(frozen=True, slots=True)
class Question:
    """`lake_url` is empty where there is none to read. `complete_metrics` and `window_ms` as in LivePlanner.plan."""

    facts: LiveFacts
    directory: Directory
    lake_url: str
    task: Task
    settings: PlannerSettings
    complete_metrics: bool = False
    window_ms: int = 0


def main() -> int:
    """0: the answer is whole, be it an error."""
    answer_to = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nobody else writes into the answer
    give_way()
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_KILL_ME_FIRST)
    question: Question = pickle.load(sys.stdin.buffer)  # noqa: S301  # from the member that started this process
    try:
        answer = b"P" + plan_to_bytes_of(question)
    except ModuleNotFoundError as error:
        answer = _error(InvalidInput(f"plans can't be made here, as {error.name} is missing: pip install guardian"))
    except GuardianError as error:
        answer = _error(error)
    with answer_to:
        answer_to.write(answer)
    return 0


def plan_to_bytes_of(question: Question) -> bytes:
    """The checked plan. Raises GuardianError."""
    # What is below takes a second to import, and only this process needs it.
    from guardian.lake.model.window import recent_window  # noqa: PLC0415
    from guardian.lake.model.windows import Windows  # noqa: PLC0415
    from guardian.lake.store.reader import LakeReader, ReadLimits  # noqa: PLC0415
    from guardian.lake.store.windows import windows_of  # noqa: PLC0415
    from spark_analytics.checker import check  # noqa: PLC0415
    from spark_analytics.checker.checked import checked  # noqa: PLC0415
    from spark_analytics.planners.planning import make  # noqa: PLC0415
    from spark_analytics.readers.live import live_model  # noqa: PLC0415

    facts, task, settings = question.facts, question.task, question.settings
    windows, why_none = Windows(), ""
    if question.lake_url:
        reader = LakeReader(question.lake_url, ReadLimits(seconds=_LAKE_S))
        try:
            windows = windows_of(reader, facts.cluster, recent_window(facts.at_ms, question.window_ms))
        except (InvalidInput, Unavailable) as error:
            why_none = str(error)
    elif question.window_ms:
        why_none = "this member has no lake"
    if question.window_ms and why_none:
        raise InvalidInput(f"window: {why_none}; leave it out, or plan with Spark (guardian plan ... --spark)")
    if question.complete_metrics:
        require_complete(facts, frozenset(windows.sampled))
    model = live_model(facts, question.directory, windows, why_none)
    plan = make(model, task, settings)
    return plan_to_bytes(checked(plan, check(model, plan, settings, task)))


def require_complete(facts: LiveFacts, sampled: frozenset[int]) -> None:
    """A cluster of which nothing is collected at all is planned by bytes alone, as its plan says."""
    lacking = sorted(facts.brokers.keys() - sampled)
    if sampled and lacking:
        names = ", ".join(map(str, lacking))
        raise InvalidInput(
            f"metrics of broker {names} of cluster {facts.cluster} are missing, there are some of "
            f"{len(facts.brokers) - len(lacking)} of {len(facts.brokers)} brokers: what the others can carry can't be "
            "told, so wait until they are collected (guardian collection), then ask again"
        )


def _error(error: GuardianError) -> bytes:
    return f"E{type(error).__name__}\n{error}".encode()


_KINDS: dict[str, type[GuardianError]] = {kind.__name__: kind for kind in (ClusterUnavailable, InvalidInput)}


def error_of(answer: bytes) -> GuardianError:
    """The error of an answer that begins with b"E"."""
    kind, _, sentence = answer[1:].decode().partition("\n")
    return _KINDS.get(kind, GuardianError)(sentence)


if __name__ == "__main__":
    sys.exit(main())
