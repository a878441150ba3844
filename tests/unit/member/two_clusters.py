"""A member that runs as it always does, with two clusters; every text of one of them bears a marker.

Kafka alone is in memory. What people, brokers and the leader's loops would have stored is stored by the same commands.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from deploy.local import ports
from guardian.activity.store.store import ActivityStore
from guardian.client import GuardianClient
from guardian.client.bearing import bearer
from guardian.config import ServerConfig
from guardian.errors import GuardianError
from guardian.events.model import Sink, SinkKind
from guardian.execution.model import Hook
from guardian.health.loop.findings import FindingsWatch
from guardian.health.model.finding import Detector, FindingKind, Place, Sighting, Subject
from guardian.health.rules.findings import Times, Watch, looked
from guardian.kafka.fake import FakeKafka
from guardian.lake.model.schema import BROKER_SAMPLES, DISK_SAMPLES, LOG_DIR_SAMPLES, PARTITION_SAMPLES
from guardian.lake.store.writer import LakeWriter
from guardian.member import app, endpoints
from guardian.member.connecting import kafka_access
from guardian.model.acl import AclBinding
from guardian.model.links import Crosser, Crossing, Direction
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.quota import QuotaEntity
from guardian.model.tasks import Balance
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import Cluster, TopicPartition
from guardian.planning.service import planning, planning_worker
from guardian.replication.store.store import ReplicatedStore
from guardian.security.model.security_config import OpenMetrics, SecurityConfig
from guardian.security.rules.tokens import make_token, write_tokens
from protos.guardian.v1 import events_pb2, federation_pb2, placement_pb2, protection_pb2, records_pb2, tiering_pb2
from protos.guardian.v1.reporter_pb2 import ActivitySlice, MetricBatch
from tests.patience import PATIENCE_S
from tests.unit.member.lake import table

MARKER = "zqxmarker"
MINE = "mine"
OTHER = f"{MARKER}-cluster"
SHARED_IDC = "east"
HOOK = "by-hand"
OTHER_IDC = f"{MARKER}-idc"
PEOPLE = ("root", "vic", "ada")  # admin; viewer of MINE; admin of MINE
_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one cluster: the marked ones begin with the marker."""

    mark: str

    def __call__(self, what: str) -> str:
        return f"{self.mark}-{what}"

    @property
    def cluster(self) -> str:
        return MINE if self.mark == MINE else f"{self.mark}-cluster"

    @property
    def kafka_id(self) -> str:
        return self("kafka-id")

    def ticket(self, state: TicketState) -> str:
        return self(f"ticket-{state.name.lower().replace('_', '-')}")

    @property
    def topic_id(self) -> bytes:
        return self.mark.encode().ljust(16, b"-")[:16]


@dataclass
class TwoClusters:
    """`texts` are those of MINE, then those of OTHER; `plans` the hashes of their plans, by cluster."""

    config: ServerConfig
    tokens: dict[str, str]
    store: ReplicatedStore
    application: FastAPI
    findings: FindingsWatch
    texts: tuple[Texts, Texts] = (Texts(MINE), Texts(MARKER))
    plans: dict[str, str] = field(default_factory=dict)

    def client(self, name: str) -> GuardianClient:
        return GuardianClient([self.config.grpc], 60.0, bearing=bearer(self.tokens[name]))


class _Access:
    """What reaches the clusters' Kafka, by name."""

    def __init__(self, kafkas: dict[str, FakeKafka]) -> None:
        self._kafkas = kafkas
        self.reporters: Any = None
        self.connector = self

    def connect(self, cluster: Cluster, *_: object, **__: object) -> FakeKafka:
        return self._kafkas[cluster.name]

    for_loop = for_rpc = for_plan = for_claim = connect


class _Worker:
    """Makes the plan in this process: one of its own takes seconds to start, for each of a hundred plans."""

    stdin = stdout = None
    returncode = 0

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def communicate(self, question: bytes, _: float) -> tuple[bytes, None]:
        try:
            asked = pickle.loads(question)  # noqa: S301  # of this process
            return b"P" + planning_worker.plan_to_bytes_of(asked), None
        except GuardianError as error:
            return f"E{type(error).__name__}\n{error}".encode(), None

    def kill(self) -> None:
        pass

    wait = kill


class _Subprocess:
    Popen = _Worker
    PIPE, TimeoutExpired = subprocess.PIPE, subprocess.TimeoutExpired


@contextmanager
def two_clusters(folder: Path, open_metrics: OpenMetrics = OpenMetrics.NO) -> Iterator[TwoClusters]:
    """Start the member, plant everything, wait until its leader has looked around."""
    config, tokens = _configured(folder, open_metrics)
    caught: dict[str, Any] = {}
    kafkas = {texts.cluster: _kafka(texts) for texts in (Texts(MINE), Texts(MARKER))}
    _write_lake(config)
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        _catch(patch, app, "_group", caught)
        _catch(patch, app, "_health", caught)
        _catch(patch, app, "_activity", caught)
        _catch(patch, endpoints, "create_app", caught)
        access = kafka_access

        def in_memory(*asked: Any) -> Any:
            known = _Access(kafkas)
            known.reporters = access(*asked).reporters
            return known

        patch.setattr(app, "kafka_access", in_memory)
        patch.setattr(planning, "subprocess", _Subprocess)
        app.start(config, stack)
        both = TwoClusters(config, tokens, caught["_group"].store, caught["create_app"], caught["_health"].findings)
        with both.client("root") as root:
            root.list_clusters()  # returns when there is a leader
        for texts in both.texts:
            _plant(both, texts)
            _plant_activity(caught["_activity"], texts)
        _see_things(both)
        yield both


def until(is_so: Callable[[], object]) -> None:
    """Wait for it, and fail where it does not come true."""
    until_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < until_s, "it did not come true in time"
        time.sleep(0.05)


def _catch(patch: pytest.MonkeyPatch, module: Any, name: str, caught: dict[str, Any]) -> None:
    """Keep what the function returns when the member starts."""
    original = getattr(module, name)

    def catching(*asked: Any, **named: Any) -> Any:
        caught[name] = original(*asked, **named)
        return caught[name]

    patch.setattr(module, name, catching)


def _configured(folder: Path, open_metrics: OpenMetrics) -> tuple[ServerConfig, dict[str, str]]:
    made = {name: make_token(name, os.urandom(4), os.urandom(32), time.time_ns() // 1_000_000) for name in PEOPLE}
    (folder / "tokens.toml").write_text(write_tokens(token for _, token in made.values()))
    (folder / "roles.toml").write_text(
        '[[grants]]\nwho = ["root"]\nrole = "admin"\n'
        f'[[grants]]\nwho = ["vic"]\nrole = "viewer"\nclusters = ["{MINE}"]\n'
        f'[[grants]]\nwho = ["ada"]\nrole = "admin"\nclusters = ["{MINE}"]\n'
        f'[[grants]]\nwho = ["{MARKER}-operator"]\nrole = "operator"\nclusters = ["{OTHER}"]\n'
    )
    (folder / "members.key").write_text("5" * 64)
    (folder / "members.key").chmod(0o600)
    (folder / "approvals.toml").write_text(
        '[[rules]]\nname = "all"\napprovers = ["root"]\n'
        f'[[rules]]\nname = "of mine"\nclusters = ["{MINE}", "{OTHER}"]\napprovers = ["ada"]\n'
        f'[[rules]]\nname = "{MARKER}-rule"\nclusters = ["{OTHER}"]\napprovers = ["{MARKER}-approver"]\n'
    )
    (folder / "links.toml").write_text(
        f'[[lines]]\nbetween = ["{SHARED_IDC}", "{OTHER_IDC}"]\ngbit_per_s = 10\nprice_gb = 0.02\n'
        f'[[lines]]\nbetween = ["{OTHER_IDC}", "{MARKER}-far"]\ngbit_per_s = 10\nprice_gb = 0.02\n'
        f'[networks]\n{SHARED_IDC} = ["10.1.0.0/16"]\n{OTHER_IDC} = ["10.2.0.0/16"]\n'
    )
    grpc, http, raft = (f"{ports.HOST}:{port}" for port in ports.pick(3))
    nowhere = f"http://{ports.HOST}:{ports.pick(1)[0]}"
    config = ServerConfig(
        "g1",
        folder / "data",
        grpc,
        http,
        raft,
        str(folder / "lake"),
        approvals=folder / "approvals.toml",
        links=folder / "links.toml",
        hooks={HOOK: Hook.of(HOOK, {"kind": "command", "command": ["true"]})},
        security=SecurityConfig(
            folder / "roles.toml",
            folder / "members.key",
            folder / "tokens.toml",
            calls_per_s=1e6,
            burst=1_000_000,
            open_metrics=open_metrics,
        ),
        sinks=(
            Sink("of-mine", SinkKind.WEBHOOK, url=nowhere, clusters=frozenset((MINE,))),
            Sink(f"{MARKER}-sink", SinkKind.WEBHOOK, url=nowhere, clusters=frozenset((OTHER,))),
            Sink(f"{MARKER}-of-all", SinkKind.WEBHOOK, url=nowhere),
        ),
    )
    return config, {name: text for name, (text, _) in made.items()}


def _kafka(texts: Texts) -> FakeKafka:
    racks = {number: texts(f"rack-{number}") for number in (1, 2, 3)}
    kafka = FakeKafka(racks, dict.fromkeys(racks, (f"/{texts('dir')}/a", f"/{texts('dir')}/b")), 1000, texts.kafka_id)
    kafka.create_topic(texts("topic"), {0: [1, 2], 1: [2, 3]}, 10_000_000)
    kafka.create_topic(texts("idle"), {0: [1, 2]}, 10)
    kafka.commit(texts("group"), {TopicPartition(texts("topic"), 0): 1})
    kafka.join(texts("group"), texts("client"))
    kafka.set_quota(QuotaEntity(user=texts("user")), "producer_byte_rate", 1000.0)
    kafka.set_acls(
        AclBinding("TOPIC", "LITERAL", texts("topic"), f"User:{texts('user')}", texts("host"), "READ", "ALLOW")
    )
    return kafka


def _plant(both: TwoClusters, texts: Texts) -> None:
    store, cluster, now_ms = both.store, texts.cluster, both.store.now_ms()
    idc = SHARED_IDC if texts.mark == MINE else OTHER_IDC
    store.put_cluster(
        federation_pb2.Cluster(
            name=cluster,
            cluster_id=texts.kafka_id,
            bootstrap=f"{texts('host')}:9092",
            bootstrap_controllers=f"{texts('controller')}:9093",
            brokers=[
                federation_pb2.Broker(
                    id=number,
                    rack=texts(f"rack-{number}"),
                    idc=idc,
                    reporter=f"{texts('broker')}-{number}:9999",
                    label=texts("label"),
                    metrics_url=f"http://{texts('broker')}-{number}:9998/metrics",
                )
                for number in (1, 2, 3)
            ],
        )
    )
    _plant_directory(store, texts, idc)
    store.propose(
        records_pb2.Command(
            put_cordons=placement_pb2.PutCordons(
                cluster=cluster,
                cordons=[
                    placement_pb2.Cordon(
                        cluster=cluster, broker_id=3, value=texts("dirs"), replaced=texts("before"), note=texts("note")
                    )
                ],
            )
        )
    )
    disk = protection_pb2.ProtectedDisk(broker=1, disk=texts("disk"))
    store.propose(
        records_pb2.Command(
            put_protection=records_pb2.PutProtection(
                protection=protection_pb2.ProtectionState(
                    cluster=cluster,
                    holds=[protection_pb2.ProtectionHold(disk=disk, until_ms=now_ms + 10**9, by=texts("person"))],
                    note=texts("protection"),
                    changed_at_ms=now_ms,
                ),
                did=texts("did"),
            )
        )
    )
    call = events_pb2.Call(cluster=cluster, finding=texts("finding"), sentence=texts("sentence"), since_ms=now_ms)
    store.propose(records_pb2.Command(put_events=events_pb2.PutEvents(raised=[call])))
    _plant_segments(both, texts)
    for state in (TicketState.DRAFT, TicketState.PENDING, TicketState.REJECTED, TicketState.RUNNING):
        plant_ticket(both, texts, state)


def _plant_directory(store: ReplicatedStore, texts: Texts, idc: str) -> None:
    pb, cluster = federation_pb2, texts.cluster
    entries = [
        pb.FederationEntry(
            tenant=pb.Tenant(
                name=texts("tenant"), owner=texts("owner"), labels=[texts("label")], description=texts("description")
            )
        ),
        pb.FederationEntry(idc_policy=pb.IdcPolicy(name=texts("policy"), replicas={idc: 2}, preferred_leader_idc=idc)),
        pb.FederationEntry(
            machine=pb.Machine(host=texts("machine"), idc=idc, rack=texts("rack-1"), cluster=cluster, broker_id=1)
        ),
        pb.FederationEntry(machine=pb.Machine(host=texts("spare"), idc=idc, rack=texts("rack-9"), label=texts("l"))),
        pb.FederationEntry(exclusion=pb.Exclusion(cluster=cluster, broker_id=3, who=texts("person"), why=texts("why"))),
        *(
            pb.FederationEntry(
                topic=pb.Topic(
                    cluster=cluster,
                    name=texts(name),
                    owner=texts("owner"),
                    tenant=texts("tenant"),
                    label=texts("label"),
                    idc_policy=texts("policy"),
                )
            )
            for name in ("topic", "idle")
        ),
    ]
    changes = [pb.FederationChange(put=entry) for entry in entries]
    store.propose(records_pb2.Command(change_federation=pb.ChangeFederationRequest(changes=changes)))


def _plant_segments(both: TwoClusters, texts: Texts) -> None:
    partition = tiering_pb2.TopicIdPartition(cluster_id=texts.kafka_id, topic_id=texts.topic_id, partition=0)
    event = tiering_pb2.SegmentEvent(
        segment_id=texts.topic_id,
        state=tiering_pb2.COPY_SEGMENT_STARTED,
        broker_id=1,
        event_timestamp_ms=1,
        end_offset=9,
        segment_leader_epochs={0: 0},
        custom_metadata=texts("custom").encode(),
    )
    with both.client("root") as root:
        (claim,) = root.claim_partitions([partition], 1, writer=texts("writer"), topics=[texts("topic")])
        (result,) = root.append_segment_events(
            [tiering_pb2.PartitionEvents(partition=partition, events=[event], fencing_token=claim.fencing_token)]
        )
    assert not claim.error + result.error


def plant_ticket(both: TwoClusters, texts: Texts, state: TicketState, more: str = "") -> None:
    """Store a ticket of the cluster in a state; `more` makes it another one than that which is there."""
    store, now_ms = both.store, both.store.now_ms()
    move = PartitionMove(
        TopicPartition(texts("topic"), 0),
        (ReplicaPlacement(1), ReplicaPlacement(2)),
        (ReplicaPlacement(1), ReplicaPlacement(3)),
        10_000_000,
        reason=texts("move"),
    )
    plan = Plan(
        texts.cluster,
        "balance",
        (move,),
        now_ms,
        input=texts("input"),
        unmet=(texts("unmet"),),
        task=Balance(),
    )
    both.plans[texts.cluster] = plan_hash = store.put_plan(plan)
    first = TicketState.DRAFT if state is TicketState.DRAFT else TicketState.PENDING
    made = Ticket(
        texts.ticket(state) + more,
        texts.cluster,
        "balance",
        first,
        texts("author"),
        plan_hash,
        1_000_000,
        now_ms,
        now_ms,
        (TicketTransition(first, now_ms, texts("author"), texts("reason")),),
        idempotency_key=texts(f"key-{state.name}{more}"),
        moves=1,
        bytes_to_copy=10_000_000,
        evidence=texts("evidence"),
        tenants=(texts("tenant"),),
    )
    store.add_ticket(made)
    path = {
        TicketState.RUNNING: (TicketState.APPROVED,),
        TicketState.REJECTED: (TicketState.REJECTED,),
    }.get(state, ())
    before = first
    for after in path:
        store.advance(made.id, before, TicketTransition(after, now_ms, texts("approver"), texts("reason")), None, 0)
        before = after


def _plant_activity(activity: ActivityStore, texts: Texts) -> None:
    now_ms = time.time_ns() // 1_000_000
    user, client = texts("user"), texts("client")
    strings = [f"User:{user}", user, client, "10.2.0.1", "TOPIC", "READ", "WRITE", texts("topic")]
    found = ActivitySlice(
        number=1,
        from_ms=now_ms - 3 * _MINUTE_MS,
        to_ms=now_ms - 2 * _MINUTE_MS,
        strings=strings,
        principals=[0, 0],
        client_ids=[2, 2],
        addresses=[3, 3],
        resource_types=[4, 4],
        resources=[7, 7],
        operations=[5, 6],
        allowed=[5, 5],
        denied=[0, 0],
        byte_users=[1],
        byte_client_ids=[2],
        bytes_produced=[10**9],
        bytes_fetched=[10**9],
    )
    until(lambda: activity.position(texts.cluster, 1) is not None)
    activity.write(
        texts.cluster, MetricBatch(broker_id=1, broker_started_at_ms=5, collected_at_ms=now_ms, activity=[found])
    )
    until(lambda: (position := activity.position(texts.cluster, 1)) is not None and position.number == 1)


def _write_lake(config: ServerConfig) -> None:
    now_ms = time.time_ns() // 1_000_000
    for texts in (Texts(MINE), Texts(MARKER)):
        writer = LakeWriter(config.lake, "m1")
        moments = [
            (minute, {"at_ms": now_ms - (10 - minute) * _MINUTE_MS, "broker": broker, "broker_started_at_ms": 7})
            for minute in range(10)
            for broker in (1, 2, 3)
        ]
        writer.write(
            texts.cluster,
            {
                BROKER_SAMPLES: table(
                    BROKER_SAMPLES, ({**moment, "memory_available_bytes": 10**9} for _, moment in moments)
                ),
                LOG_DIR_SAMPLES: table(
                    LOG_DIR_SAMPLES,
                    (
                        {**moment, "log_dir": f"/{texts('dir')}/a", "disk": texts("disk"), "total_bytes": 10**10}
                        for _, moment in moments
                    ),
                ),
                DISK_SAMPLES: table(
                    DISK_SAMPLES,
                    (
                        {
                            **moment,
                            "disk": texts("disk"),
                            "bytes_read": minute * 10**8,
                            "bytes_written": minute * 10**8,
                            "reads_completed": minute * 600,
                            "writes_completed": minute * 600,
                            "busy_ms": minute * 1000,
                        }
                        for minute, moment in moments
                    ),
                ),
                PARTITION_SAMPLES: table(
                    PARTITION_SAMPLES,
                    (
                        {
                            **moment,
                            "topic": texts("topic"),
                            "partition": 0,
                            "log_dir": f"/{texts('dir')}/a",
                            "is_leader": moment["broker"] == 1,
                            "log_end_offset": minute * 60_000,
                            "topic_bytes_in_total": minute * 10**9 if moment["broker"] == 1 else 0,
                            "topic_bytes_out_total": minute * 10**9 if moment["broker"] == 1 else 0,
                        }
                        for minute, moment in moments
                        if moment["broker"] in (1, 2)
                    ),
                ),
            },
        )
        writer.flush()


def _see_things(both: TwoClusters) -> None:
    """Say what detectors found, of each cluster and of the lines between IDCs, as they say it."""
    at_ms = both.store.now_ms()

    def seen(watch: Watch) -> Watch:
        for texts in both.texts:
            evidence = Sighting(
                Subject(FindingKind.STUCK_REASSIGNMENT, texts.cluster, texts("subject")),
                texts("evidence"),
                f"guardian topic show {texts('topic')} --cluster {texts.cluster}",
                at_ms - 10**6,
            )
            watch = looked(watch, Place(Detector.REPLICAS, texts.cluster), at_ms, [evidence], Times(1, 1, 10**9))
        lines = []
        for direction in (Direction(SHARED_IDC, OTHER_IDC), Direction(OTHER_IDC, f"{MARKER}-far")):
            topic, user = f"{MARKER}-topic", f"{MARKER}-user"
            crosser = Crosser(direction, Crossing.PRODUCE, OTHER, topic, 7, user, f"{MARKER}-client")
            name = " to ".join(direction)
            lines.append(
                Sighting(
                    Subject(FindingKind.LINE_NEAR_LIMIT, "", name),
                    f"{name} carried 9 of 10 Gbit/s, the most by {crosser.principal}",
                    "guardian links --since 30m --limit 10",
                    at_ms - 10**6,
                    line=direction,
                    load="carried 9 of 10 Gbit/s",
                    crossers=(crosser,),
                )
            )
        return looked(watch, Place(Detector.LINKS, ""), at_ms, lines, Times(1, 1, 10**9))

    until(lambda: not _fails(both.findings.known))
    both.findings._change(seen)  # the only way in is a look


def _fails(call: Callable[[], object]) -> bool:
    with suppress(GuardianError):
        call()
        return False
    return True
