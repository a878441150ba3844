"""Cruise Control's endpoints and their parameters, with its defaults; and what some of them can't mean here.

`Parameter.why_ignored`: it may be given, and the answer then says why it changes nothing. `why_refused`: what was asked
for would not be done, so that a value other than the default is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from guardian.security.model.identity import Role


class Kind(Enum):
    """Of a parameter's value."""

    BOOLEAN = "true or false"
    NUMBER = "a whole number"
    SHARE = "a number from 0 to 1"
    NUMBERS = "whole numbers, separated by commas"
    WORDS = "words, separated by commas"
    PATTERN = "a regular expression"
    TEXT = "a text"
    LOG_DIRS = "broker ids and absolute paths, as 1-/disk1,2-/disk2"
    RANGE = "a partition, or first-last"


@dataclass(frozen=True, slots=True)
class Parameter:
    """`minimum` is of numbers; `choices` are what words may be."""

    name: str
    kind: Kind
    default: object = None
    minimum: int = 0
    choices: tuple[str, ...] = ()
    is_required: bool = False
    why_ignored: str = ""
    why_refused: str = ""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`role` is for what only tells, `acting` for what changes something (a `dryrun` that is false, or always where
    there is no such parameter). `lasts`: it becomes a user task."""

    name: str
    method: str
    parameters: tuple[Parameter, ...]
    operation: str
    lasts: bool = False
    role: Role = Role.VIEWER
    acting: Role | None = None

    @property
    def makes_plans(self) -> bool:
        """It takes as long as a plan does; what only looks must not wait behind it."""
        return self.parameter("dryrun") is not None or self.name in ("proposals", "rightsize")

    def parameter(self, name: str) -> Parameter | None:
        return next((each for each in self.parameters if each.name == name), None)


def _ignored(name: str, kind: Kind, why: str, default: object = None) -> Parameter:
    return Parameter(name, kind, default, why_ignored=why)


_HARD = "hard goals hold for every plan, and a checker holds each plan against them"
_SLOTS = "how much moves at once is in each member's [execute]"
_WINDOW = "what Kafka shows now and the newest quarter of an hour of samples are used"
_CAPACITY = "capacities are measured, or given for machines; what is not known is left out"
_DEMOTED = "a demotion moves leaders once, and keeps no broker from leading"
_REMOVED = "brokers with an exclusion get no replicas, whoever asks"

_ANSWER = (
    Parameter("json", Kind.BOOLEAN, False),
    Parameter("get_response_schema", Kind.BOOLEAN, False),
    Parameter("doas", Kind.TEXT, ""),
    Parameter("reason", Kind.TEXT, ""),
)
_ENTRIES = Parameter("entries", Kind.NUMBER, 2**31 - 1, minimum=1)
_TOPIC = Parameter("topic", Kind.PATTERN, "")
_VERBOSE = Parameter("verbose", Kind.BOOLEAN, False)
_REVIEWED = (Parameter("review_id", Kind.NUMBER),)
_CONCURRENCIES = (
    "concurrent_partition_movements_per_broker",
    "max_partition_movements_in_cluster",
    "concurrent_intra_broker_partition_movements",
    "concurrent_leader_movements",
    "broker_concurrent_leader_movements",
)
_PACE = (
    *(_ignored(name, Kind.NUMBER, _SLOTS) for name in _CONCURRENCIES),
    _ignored("execution_progress_check_interval_ms", Kind.NUMBER, "the executor looks every [execute] tick_s at least"),
    _ignored(
        "replica_movement_strategies", Kind.WORDS, "moves start in the order of most relief per byte, round the brokers"
    ),
    Parameter("replication_throttle", Kind.NUMBER, minimum=1),
    Parameter("stop_ongoing_execution", Kind.BOOLEAN, False),
)
_PLANNED = (
    Parameter("goals", Kind.WORDS, ()),
    Parameter("excluded_topics", Kind.PATTERN, ""),
    _VERBOSE,
    Parameter(
        "kafka_assigner",
        Kind.BOOLEAN,
        False,
        why_refused="Guardian has one planner, and it keeps racks even: leave it out",
    ),
    _ignored("allow_capacity_estimation", Kind.BOOLEAN, _CAPACITY),
    _ignored("skip_hard_goal_check", Kind.BOOLEAN, _HARD, False),
    _ignored("use_ready_default_goals", Kind.BOOLEAN, "all goals are always ready", False),
    _ignored("exclude_recently_demoted_brokers", Kind.BOOLEAN, _DEMOTED),
    _ignored("exclude_recently_removed_brokers", Kind.BOOLEAN, _REMOVED),
    _ignored("data_from", Kind.TEXT, _WINDOW, "VALID_WINDOWS"),
    _ignored("fast_mode", Kind.BOOLEAN, "there is one mode", True),
)
_DRYRUN = (Parameter("dryrun", Kind.BOOLEAN, True),)
_CHANGE = (*_DRYRUN, *_PLANNED, *_PACE, *_REVIEWED, *_ANSWER)
_BROKERS = Parameter("brokerid", Kind.NUMBERS, is_required=True)
_LOG_DIRS = Parameter("brokerid_and_logdirs", Kind.LOG_DIRS, (), is_required=True)
_TIMES = (
    _ignored("start", Kind.NUMBER, _WINDOW),
    _ignored("end", Kind.NUMBER, _WINDOW),
    _ignored("time", Kind.TEXT, _WINDOW),
)
_BALANCING = (
    Parameter("destination_broker_ids", Kind.NUMBERS, ()),
    Parameter("rebalance_disk", Kind.BOOLEAN, False),
    _ignored("ignore_proposal_cache", Kind.BOOLEAN, "no plan is kept: each is made anew", False),
)
RESOURCES = ("cpu", "nw_in", "nw_out", "disk")
SUBSTATES = ("analyzer", "monitor", "executor", "anomaly_detector")
ANOMALIES = ("goal_violation", "broker_failure", "disk_failure", "metric_anomaly", "topic_anomaly", "maintenance_event")
_HEALING = "what heals by itself is [healing] mode of each member's configuration: change it there"
_LIMITS = "how much moves at once is [execute] of each member's configuration: change it there"


def _admin() -> tuple[Parameter, ...]:
    numbers = tuple(
        Parameter(name, Kind.NUMBER, why_refused=_LIMITS)
        for name in (*_CONCURRENCIES, "execution_progress_check_interval_ms")
    )
    words = tuple(
        Parameter(f"{verb}_{what}_for", Kind.WORDS, (), choices=choices, why_refused=why)
        for what, choices, why in (
            ("self_healing", ANOMALIES, _HEALING),
            ("concurrency_adjuster", (), "rates follow the load by [throttle] adaptive: change it there"),
        )
        for verb in ("disable", "enable")
    )
    return (
        Parameter("drop_recently_removed_brokers", Kind.NUMBERS, ()),
        _ignored("drop_recently_demoted_brokers", Kind.NUMBERS, _DEMOTED),
        *numbers,
        *words,
        Parameter("min_isr_based_concurrency_adjustment", Kind.BOOLEAN, why_refused=_LIMITS),
        *_REVIEWED,
    )


def _read(name: str, operation: str, *parameters: Parameter, lasts: bool = True) -> Endpoint:
    return Endpoint(name, "GET", (*parameters, *_ANSWER), operation, lasts)


def _task(name: str, operation: str, *parameters: Parameter) -> Endpoint:
    return Endpoint(name, "POST", parameters, operation, lasts=True, acting=Role.OPERATOR)


def _act(name: str, operation: str, role: Role, *parameters: Parameter) -> Endpoint:
    return Endpoint(name, "POST", (*parameters, *_ANSWER), operation, acting=role)


ENDPOINTS: tuple[Endpoint, ...] = (
    _read(
        "state",
        "GetState",
        Parameter("substates", Kind.WORDS, SUBSTATES, choices=SUBSTATES),
        _VERBOSE,
        Parameter("super_verbose", Kind.BOOLEAN, False),
    ),
    _read(
        "load",
        "GetBrokerStats",
        *_TIMES,
        _ignored("allow_capacity_estimation", Kind.BOOLEAN, _CAPACITY),
        Parameter("populate_disk_info", Kind.BOOLEAN, False),
        Parameter("capacity_only", Kind.BOOLEAN, False),
    ),
    _read(
        "partition_load",
        "GetPartitionLoad",
        Parameter("resource", Kind.TEXT, "disk", choices=RESOURCES),
        _ENTRIES,
        _TOPIC,
        Parameter("partition", Kind.RANGE, ""),
        Parameter("brokerid", Kind.NUMBERS, ()),
        *_TIMES,
        _ignored("min_valid_partition_ratio", Kind.SHARE, "each partition is told with what is known of it"),
        _ignored("allow_capacity_estimation", Kind.BOOLEAN, _CAPACITY),
        _ignored("max_load", Kind.BOOLEAN, "rates are the window's medians", False),
        _ignored("avg_load", Kind.BOOLEAN, "rates are the window's medians", False),
    ),
    _read("proposals", "GetOptimizationProposals", *_PLANNED, *_BALANCING),
    _read("kafka_cluster_state", "GetKafkaClusterState", _TOPIC, _VERBOSE),
    _read(
        "user_tasks",
        "GetUserTasks",
        Parameter("user_task_ids", Kind.WORDS, ()),
        Parameter("client_ids", Kind.WORDS, ()),
        Parameter("endpoints", Kind.WORDS, ()),
        Parameter("types", Kind.WORDS, (), choices=("active", "in_execution", "completed", "completed_with_error")),
        _ENTRIES,
        Parameter("fetch_completed_task", Kind.BOOLEAN, False),
        lasts=False,
    ),
    _read("review_board", "GetReviewBoard", Parameter("review_ids", Kind.NUMBERS, ()), lasts=False),
    _read("permissions", "GetPermissions", lasts=False),
    _task("rebalance", "Rebalance", *_CHANGE, *_BALANCING),
    _task(
        "add_broker",
        "AddBrokers",
        _BROKERS,
        *_CHANGE,
        _ignored("throttle_added_broker", Kind.BOOLEAN, "all copies are throttled"),
    ),
    _task(
        "remove_broker",
        "RemoveBrokers",
        _BROKERS,
        *_CHANGE,
        _ignored("throttle_removed_broker", Kind.BOOLEAN, "all copies are throttled"),
        Parameter(
            "destination_broker_ids",
            Kind.NUMBERS,
            (),
            why_refused="replicas go where racks, labels and room allow: keep brokers free by exclusions instead",
        ),
    ),
    _task(
        "demote_broker",
        "DemoteBrokers",
        _BROKERS,
        *_CHANGE,
        _ignored("skip_urp_demotion", Kind.BOOLEAN, "leaders move to in-sync replicas only", True),
        _ignored("exclude_follower_demotion", Kind.BOOLEAN, "the order of replicas changes where leaders do", True),
        Parameter("brokerid_and_logdirs", Kind.LOG_DIRS, (), why_refused="whole brokers are demoted: give brokerid"),
    ),
    _task("fix_offline_replicas", "FixOfflineReplicas", *_CHANGE),
    _task("remove_disks", "RemoveDisks", _LOG_DIRS, *_CHANGE),
    _task(
        "topic_configuration",
        "UpdateTopicConfiguration",
        Parameter("topic", Kind.PATTERN, "", is_required=True),
        Parameter("replication_factor", Kind.NUMBER, minimum=1, is_required=True),
        _ignored("skip_rack_awareness_check", Kind.BOOLEAN, _HARD, False),
        *_CHANGE,
    ),
    _task(
        "rightsize",
        "Rightsize",
        Parameter("num_brokers_to_add", Kind.NUMBER, minimum=1),
        Parameter("partition_count", Kind.NUMBER, minimum=1),
        _TOPIC,
        *_ANSWER,
    ),
    _act(
        "stop_proposal_execution",
        "StopProposalExecution",
        Role.OPERATOR,
        _ignored("force_stop", Kind.BOOLEAN, "a copy that is under way is always taken back in order", False),
        _ignored("stop_external_agent", Kind.BOOLEAN, "what other tools move is theirs: see guardian ticket adopt"),
        *_REVIEWED,
    ),
    _act("pause_sampling", "PauseSampling", Role.ADMIN, *_REVIEWED),
    _act("resume_sampling", "ResumeSampling", Role.ADMIN, *_REVIEWED),
    _act(
        "review",
        "Review",
        Role.APPROVER,
        Parameter("approve", Kind.NUMBERS, ()),
        Parameter("discard", Kind.NUMBERS, ()),
    ),
    _act("admin", "Admin", Role.ADMIN, *_admin()),
)
BY_NAME = {each.name: each for each in ENDPOINTS}

# What Cruise Control has, and Guardian has no use for.
WITHOUT_COUNTERPART = {
    "bootstrap": "the metrics lake keeps what was measured: nothing is to be loaded",
    "train": "CPU is measured, and estimated by no model: nothing is to be trained",
}
