from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from guardian.errors import InvalidInput
from guardian.lake.model.window import Window
from guardian.lake.model.windows import BROKER, DISK, LOG_DIR, REPLICA
from guardian.model.directory import Directory
from guardian.model.federation import Exclusion, IdcPolicy, Machine, Tenant, Topic
from guardian.model.links import Line, LinkSettings
from guardian.model.plan import ReplicaPlacement
from guardian.model.topology import Broker, BrokerState, Cluster
from spark_analytics.lake.hosts import Hosts, hosts_of
from spark_analytics.lake.measured import APART
from spark_analytics.lake.window import model_of
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.model.load import load_now
from spark_analytics.model.resources import Resource

WINDOW = Window(1_766_000_000_000, 1_766_000_060_000)
LAST = WINDOW.to_ms - 5_000
CPU, IN, OUT, SIZE = Resource.CPU, Resource.NW_IN, Resource.NW_OUT, Resource.DISK


def broker(number: int, **other: Any) -> dict[str, Any]:
    row = {"kind": BROKER, "broker": number, "rack": f"r{number}", "idc": "shanghai", "samples": 6, "failed": 0}
    return row | {"pairs": 5, "interval_ms": 10_000.0, "covered_ms": 50_000, "last_at_ms": LAST} | other


def log_dir(number: int, path: str = "/d1", at_ms: int = LAST, usable: int = 50, **other: Any) -> dict[str, Any]:
    row = {"kind": LOG_DIR, "broker": number, "log_dir": path, "at_ms": at_ms, "disk": "sda", "offline": False}
    return row | {"total_bytes": 100, "usable_bytes": usable} | other


def replica(number: int, partition: int, **other: Any) -> dict[str, Any]:
    row = {"kind": REPLICA, "broker": number, "topic": "t", "partition": partition, "log_dir": "/d1", "at_ms": LAST}
    return row | {"is_leader": False, "size_bytes": 7, "rate_pairs": 0, "led_ms": 0} | other


def leader(number: int, partition: int, write: float = 3.0, read: float = 2.0, **other: Any) -> dict[str, Any]:
    rates = {"write_rate": write, "read_rate": read, "write_p95": 2 * write, "read_p95": 2 * read}
    return replica(number, partition, is_leader=True, rate_pairs=5, led_ms=50_000) | rates | other


def disk(number: int, name: str = "sda", **other: Any) -> dict[str, Any]:
    row = {"kind": DISK, "broker": number, "disk": name, "io_rate": 50.0, "io_p95": 60.0, "busy": 0.5, "await_ms": 5.0}
    return row | other


def model(*rows: dict[str, Any], directory: Directory | None = None, hosts: Hosts | None = None) -> ClusterModel:
    """The reader gives all columns of all kinds; here, those that matter to a test."""
    columns = {name for row in rows for name in row} | {"kind", "topic", "partition", "log_dir", "at_ms", "is_leader"}
    arrays = {name: pa.array([row.get(name) for row in rows]) for name in sorted(columns)}
    table = pa.table({name: each.cast(TYPES.get(name, each.type)) for name, each in arrays.items()})
    return model_of("live", table, WINDOW, directory, hosts)


TYPES = {"topic": pa.string(), "log_dir": pa.string(), "partition": pa.int32(), "is_leader": pa.bool_()}
TWO = (broker(1), broker(2), log_dir(1), log_dir(2))


def test_a_model_is_put_together() -> None:
    found = model(*TWO, leader(2, 0), replica(1, 0, size_bytes=9))
    assert found.replicas(0) == (ReplicaPlacement(2, "/d1"), ReplicaPlacement(1, "/d1"))
    assert found.slot_load[:, [IN, OUT, SIZE]].tolist() == [[3, 0, 7], [3, 0, 9]]
    assert found.leader_load[0, [IN, OUT]].tolist() == [0, 2 + 3]  # consumers, and one follower
    assert (found.peak[0], bool(found.movable[0])) == (2, True)
    assert found.at_ms == WINDOW.to_ms
    assert found.input == (
        "12 samples of 2 brokers between 2025-12-17T19:33:20Z and 2025-12-17T19:34:20Z, 100% complete "
        "(least: broker 1 with 100%; failed collections: 0)"
    )


def test_rows_may_come_in_any_order() -> None:
    rows = [*TWO, leader(2, 0), replica(1, 0), leader(1, 1), replica(2, 1)]
    one, other = model(*rows), model(*rows[::-1])
    for name in one.__slots__:
        np.testing.assert_equal(getattr(one, name), getattr(other, name), name)


def test_the_input_says_how_complete_it_is() -> None:
    found = model(broker(1), broker(2, covered_ms=20_000, samples=3, failed=3), log_dir(1), log_dir(2))
    assert "9 samples of 2 brokers" in found.input
    assert "75% complete (least: broker 2 with 50%; failed collections: 3)" in found.input


@pytest.mark.parametrize(
    "claims",
    [
        (leader(1, 0, at_ms=LAST - 100), leader(2, 0)),
        (leader(2, 0), leader(1, 0, at_ms=LAST - 100)),
    ],
)
def test_of_two_that_say_they_lead_the_later_one_is_right(claims: tuple[dict[str, Any], ...]) -> None:
    assert model(*TWO, *claims).replicas(0)[0].broker == 2


def test_a_rate_is_the_mean_over_those_that_led_by_how_long_they_did() -> None:
    earlier = leader(1, 0, write=10, read=4, is_leader=False, led_ms=10_000, rate_pairs=1)
    found = model(*TWO, earlier, leader(2, 0, write=4, read=1, led_ms=20_000, rate_pairs=2))
    assert found.slot_load[:, IN].tolist() == [6, 6]
    assert found.leader_load[0, OUT] == 2 + 6
    assert found.slot_load[:, OUT].tolist() == [0, 0]
    assert found.movable[0]


def test_what_a_follower_serves_stays_its_own() -> None:
    found = model(*TWO, leader(2, 0), replica(1, 0, read_rate=8.0))
    assert found.slot_load[:, OUT].tolist() == [0, 8]
    assert load_now(found).broker[:, OUT].tolist() == [8, 5]


def test_a_partition_without_a_leader_or_a_rate_or_a_replica_stays_where_it_is() -> None:
    found = model(
        *TWO,
        replica(1, 0),
        leader(2, 1, rate_pairs=2),
        leader(1, 2),
        leader(1, 3, replicas=2),
        leader(1, 4, replicas=1),
    )
    assert found.movable.tolist() == [False, False, True, False, True]


def test_a_partition_without_a_rate_counts_as_idle_or_as_announced() -> None:
    rateless = {"write_rate": None, "read_rate": None, "rate_pairs": None, "led_ms": None}
    rows = (*TWO, leader(1, 0) | rateless, leader(1, 1) | rateless)
    idle = model(*rows)
    assert (idle.slot_load[:, IN].tolist(), idle.movable.tolist()) == ([0, 0], [False, False])
    told = Directory(topics=(Topic("live", "t", expected_bytes_in_per_s=10, expected_bytes_out_per_s=30),))
    expected = model(*rows, directory=told)
    assert expected.slot_load[:, IN].tolist() == [5, 5]
    assert expected.leader_load[:, OUT].tolist() == [15, 15]
    assert expected.topic_expected.tolist() == [[10, 30]]


def test_a_brokers_cpu_is_what_was_measured_divided_by_traffic() -> None:
    rows = [broker(1, cpu=60.0), broker(2, cpu=30.0), log_dir(1), log_dir(2)]
    found = model(*rows, leader(1, 0, write=10, read=10), replica(2, 0), leader(2, 1, write=10, read=0))
    assert load_now(found).broker[:, CPU].tolist() == pytest.approx([60, 30])
    # Broker 2: as a follower of t-0 3 of its 9 parts, as the leader of t-1 6.
    assert found.slot_load[:, CPU].tolist() == pytest.approx([60 * 3 / 8, 30 * 3 / 9, 30 * 3 / 9])
    assert found.leader_load[:, CPU].tolist() == pytest.approx([60 * 5 / 8, 30 * 3 / 9])
    assert load_now(model(*TWO, leader(1, 0))).broker[:, CPU].tolist() == [0, 0]


def test_a_broker_whose_cpu_is_not_known_costs_what_others_do_for_its_traffic() -> None:
    rows = [broker(1, cpu=80.0), broker(2), log_dir(1), log_dir(2)]
    found = model(*rows, leader(1, 0, 10, 10), replica(2, 0))
    assert load_now(found).broker[:, CPU].tolist() == pytest.approx([80, 30])


def test_what_traffic_does_not_explain_threefold_is_no_replicas_doing() -> None:
    """Broker 3 is as good as idle and yet at 30 percent; broker 4 does much for little."""
    brokers = [broker(1, cpu=60.0), broker(2, cpu=60.0), broker(3, cpu=30.0), broker(4, cpu=1.0)]
    rows = [*brokers, *(log_dir(number) for number in (1, 2, 3, 4))]
    led = [leader(number, number, write=write, read=0) for number, write in ((1, 10), (2, 10), (3, 1), (4, 10))]
    found = load_now(model(*rows, *led)).broker[:, CPU]
    assert found.tolist() == pytest.approx([60, 60, 6 * APART, 60 / APART])


def test_disk_io_beyond_what_is_written_goes_to_those_that_write() -> None:
    disk = {"kind": DISK, "broker": 1, "disk": "sda", "io_rate": 26.0, "await_ms": 4.5}
    found = model(*TWO, disk, leader(1, 0, write=3, read=9), leader(1, 1, write=3, read=1), replica(2, 0))
    assert found.slot_io.tolist() == pytest.approx([3 + 10, 3, 3 + 10])
    assert found.disk_await_ms.tolist() == [4.5, pytest.approx(float("nan"), nan_ok=True)]
    idle = model(*TWO, disk, leader(1, 0, write=0, read=0), leader(1, 1, write=0, read=0))
    assert idle.slot_io.tolist() == [13, 13]


def test_capacities_are_those_of_the_machine() -> None:
    told = Directory(machines=(Machine("h2", nic_bytes_per_s=5, cores=4, cluster="live", broker_id=2),))
    found = model(broker(1, cores=8, nic_bytes_per_s=10.0), *TWO[1:], log_dir(1, "/d2"), directory=told)
    assert found.capacity.tolist() == [[800, 10, 10, 100], [400, 5, 5, 100]]
    assert found.hosts == ("", "h2")
    assert np.isinf(model(*TWO).capacity[:, :3]).all()


def test_brokers_of_one_host_share_its_cpu_and_have_no_limit_of_their_own() -> None:
    brokers = (Broker(1, reporter="h:1"), Broker(2, reporter="h:2"), Broker(3, reporter="i:1"))
    told = Directory(clusters=(Cluster("live", "h:9", brokers=brokers),))
    rows = [broker(number, cpu=60.0, cores=8) for number in (1, 2, 3)]
    dirs = [log_dir(number) for number in (1, 2, 3)]
    found = model(*rows, *dirs, leader(1, 0), leader(2, 1), leader(3, 2), directory=told)
    assert found.capacity[:, CPU].tolist() == [np.inf, np.inf, 800]
    assert load_now(found).broker[:, CPU].tolist() == [30, 30, 60]


def test_what_brokers_of_one_host_did_is_divided_by_their_traffic() -> None:
    brokers = (Broker(1, reporter="h:1"), Broker(2, reporter="h:2"))
    told = Directory(clusters=(Cluster("live", "h:9", brokers=brokers),))
    rows = [broker(1, cpu=60.0), broker(2, cpu=60.0), log_dir(1), log_dir(2)]
    found = model(*rows, leader(1, 0, write=3), leader(2, 1, write=1), replica(1, 1), directory=told)
    loads = load_now(found).broker[:, CPU]
    assert loads.sum() == pytest.approx(60)
    assert loads[0] > 2 * loads[1]


def test_what_disks_of_a_host_moved_is_nobodys_where_brokers_share_it() -> None:
    brokers = (Broker(1, reporter="h:1"), Broker(2, reporter="h:2"), Broker(3, reporter="i:1"))
    told = Directory(clusters=(Cluster("live", "h:9", brokers=brokers),))
    rows = [broker(number) for number in (1, 2, 3)]
    dirs = [log_dir(number, disk="sda") for number in (1, 2, 3)]
    disks = [disk(number, "sda", io_rate=rate) for number, rate in ((1, 500.0), (2, 3.0), (3, 26.0))]
    found = model(*rows, *dirs, *disks, *(leader(n, n, write=3) for n in (1, 2, 3)), directory=told)
    assert found.slot_io.tolist() == [3, 3, 26]


def test_brokers_of_other_clusters_on_the_host_count_though_they_have_the_same_id() -> None:
    mine = Cluster("live", "h:9", brokers=(Broker(1, reporter="h:1"), Broker(2, reporter="i:1")))
    other = Cluster("bulk", "i:9", brokers=(Broker(1, reporter="i:2"), Broker(2, reporter="j:1")))
    told = Directory(
        clusters=(mine, other), machines=(Machine("i", cluster="bulk", broker_id=9), Machine("h", cores=4))
    )
    rows = [broker(1, cpu=60.0, cores=8), broker(2, cpu=60.0, cores=8), log_dir(1), log_dir(2)]
    disks = [disk(1), disk(2)]
    for found in (
        model(*rows, *disks, leader(1, 0), leader(2, 1), directory=told),
        model(
            *rows, *disks, leader(1, 0), leader(2, 1), directory=told.of_cluster("live"), hosts=hosts_of(told)["live"]
        ),
    ):
        assert load_now(found).broker[:, CPU].tolist() == [60, 20]
        assert found.capacity[:, CPU].tolist() == [800, np.inf]
        assert found.disk_io_capacity.tolist() == [100, np.inf]


def test_a_disks_io_capacity_is_what_it_moved_by_the_time_that_it_was_at_it() -> None:
    """Disk 1 of broker 2 is slow; 2 has time to spare, 3 answers at once, 4 is as large as none that tells."""
    rows = [log_dir(1, "/d1", disk="sda"), *(log_dir(2, f"/d{n}", disk=f"sd{n}") for n in (1, 2, 3, 4))]
    rows[-1]["total_bytes"] = 200
    disks = [
        disk(1),
        disk(2, "sd1", io_rate=20.0, io_p95=22.0, busy=0.8),
        disk(2, "sd2", io_rate=1.0, busy=0.4),
        disk(2, "sd3", io_rate=50.0, io_p95=70.0, busy=0.9, await_ms=0.1),
        disk(2, "sd4", busy=0.0, await_ms=None),
    ]
    found = model(broker(1), broker(2), *rows, *disks, leader(1, 0))
    alike = (100 + 25) / 2
    assert found.disk_io_capacity.tolist() == pytest.approx([100, 25, alike, 70, np.inf])


def test_a_few_busy_disks_tell_nothing_of_the_many_that_have_time_to_spare() -> None:
    rows = [log_dir(1, f"/d{n}", disk=f"sd{n}") for n in (1, 2, 3)]
    idle = [disk(1, f"sd{n}", io_rate=1.0, io_p95=2.0, busy=0.3) for n in (2, 3)]
    found = model(broker(1), *rows, disk(1, "sd1", io_rate=1.0, io_p95=1.0), *idle, leader(1, 0))
    assert found.disk_io_capacity.tolist() == [2, np.inf, np.inf]


def test_what_people_have_told_is_in_the_model() -> None:
    brokers = (Broker(1, rack="x", idc="suzhou", label="gold"), Broker(2, state=BrokerState.DRAINING))
    told = Directory(
        clusters=(Cluster("live", "h:1", brokers=brokers), Cluster("bulk", "h:2", brokers=(Broker(2, label="no"),))),
        tenants=(Tenant("pay", labels=("gold",)),),
        topics=(Topic("live", "t", tenant="pay", label="gold", idc_policy="p"), Topic("bulk", "t", label="no")),
        policies=(IdcPolicy("p", (("suzhou", 1),)),),
        exclusions=(Exclusion("live", 1, "me", "why", 5), Exclusion("bulk", 1, "me", "why")),
        links=LinkSettings(lines={("a", "b"): Line(("a", "b"), 1.0, 0.5)}),
    )
    found = model(*TWO, leader(1, 0), directory=told)
    assert [found.idc_names[code] for code in found.idc] == ["suzhou", "shanghai"]
    assert [found.rack_names[code] for code in found.rack] == ["r1", "r2"]
    assert found.label_names == ("gold",)
    assert (found.broker_label.tolist(), found.topic_label.tolist()) == ([0, -1], [0])
    assert (found.tenant_names, found.tenant_labels.tolist()) == (("pay",), [[True]])
    assert found.policies[found.topic_policy[0]].name == "p"
    assert found.excluded.tolist() == [False, True]  # the exclusion of 1 has ended, 2 is being emptied
    assert found.lines == (Line(("a", "b"), 1.0, 0.5),)


def test_a_broker_has_the_label_and_idc_of_its_machine_where_people_have_told_no_other() -> None:
    told = Directory(
        clusters=(Cluster("live", "h:1", brokers=(Broker(1, idc="beijing"), Broker(2, label="gold"))),),
        machines=tuple(
            Machine(f"m{each}", "suzhou", cluster="live", broker_id=each, label="silver") for each in (1, 2)
        ),
    )
    found = model(*TWO, leader(1, 0), directory=told)
    assert [found.idc_names[code] for code in found.idc] == ["beijing", "suzhou"]
    assert [found.label_names[code] for code in found.broker_label] == ["silver", "gold"]


@pytest.mark.parametrize("until_ms", [0, WINDOW.to_ms + 1])
def test_an_exclusion_holds_until_it_ends(until_ms: int) -> None:
    told = Directory(exclusions=(Exclusion("live", 2, "me", "why", until_ms),))
    assert model(*TWO, directory=told).excluded.tolist() == [False, True]


def test_what_left_before_the_last_sample_is_gone() -> None:
    earlier = LAST - 20_000
    gone = (replica(1, 0, at_ms=earlier), log_dir(2, "/d2", at_ms=earlier))
    found = model(*TWO, *gone, leader(2, 0), leader(1, 1))
    assert found.replicas(0) == (ReplicaPlacement(2, "/d1"),)
    assert found.log_dirs == ("/d1", "/d1")


def test_a_broker_whose_partition_samples_end_early_is_refused() -> None:
    with pytest.raises(InvalidInput, match="broker 1 of cluster live has no partition samples at 2025-12-17T19:34:15Z"):
        model(*TWO, replica(1, 0, at_ms=LAST - 20_000), leader(2, 0))


def test_a_new_broker_without_replicas_is_welcome() -> None:
    found = model(*TWO, broker(3), log_dir(3), leader(1, 0), replica(2, 0))
    assert found.broker_ids.tolist() == [1, 2, 3]


def test_replicas_of_an_unknown_broker_are_left_out() -> None:
    assert model(*TWO, leader(1, 0), replica(9, 0)).replicas(0) == (ReplicaPlacement(1, "/d1"),)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((broker(1), broker(2, pairs=2), broker(3, pairs=0)), r"has 1 of 3 brokers .*\(too few of broker 2, 3\)"),
        ((replica(1, 0),), "has 0 of 0 brokers"),
        ((broker(1),), "broker 1 of cluster live has no log dirs"),
        ((*TWO, replica(1, 0, log_dir="/d9")), "t-0 of cluster live is on unknown log dir /d9 of broker 1"),
        ((broker(1), log_dir(1, usable=-1)), "usable_bytes -1"),
        ((*TWO, leader(1, 0, write=-3.0)), "partition t-0 of cluster live has a load below zero"),
    ],
)
def test_too_little_to_plan_from_is_refused_in_one_sentence(rows: tuple[dict[str, Any], ...], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        model(*rows)


# Brokers and disks that are gone.

DIED = LAST - 400_000
DEAD = {"last_at_ms": DIED, "failed_at_ms": LAST, "failed": 3}


def held(broker_id: int, partition: int, **other: Any) -> dict[str, Any]:
    """As it was when the broker died."""
    return replica(broker_id, partition, at_ms=DIED) | other


def lost(broker_id: int = 3, *more: dict[str, Any], **told: Any) -> ClusterModel:
    """Broker 3 led t-0 and followed in t-1."""
    leads = {"is_leader": True, "led_ms": 10_000, "rate_pairs": 1, "write_rate": 3.0, "read_rate": 2.0, "size_bytes": 9}
    rows = [broker(broker_id, **DEAD), held(3, 0, **leads), held(3, 1), log_dir(3, at_ms=DIED), *more]
    return model(*TWO, *rows, leader(1, 0, replicas=2), leader(2, 1, replicas=3), replica(1, 1), **told)


def test_a_broker_whose_partitions_others_lead_since_it_fell_silent_is_dead_and_keeps_what_it_had() -> None:
    found = lost()
    assert found.alive.tolist() == [True, True, False]
    assert [at.broker for at in found.replicas(0)] == [1, 3]
    assert [at.broker for at in found.replicas(1)] == [2, 1, 3]
    assert found.slot_load[1, SIZE] == 9
    assert found.whole.tolist() == [True, True]
    assert found.input.endswith("; broker 3 is dead: no sample since 2025-12-17T19:27:35Z, others lead now")
    assert "of 2 brokers" in found.input


def test_a_dead_broker_needs_no_more_samples_than_one() -> None:
    rows = (*TWO, broker(3, **DEAD, samples=1, pairs=0), log_dir(3, at_ms=DIED))
    found = model(*rows, leader(1, 0, replicas=2), held(3, 0, is_leader=True))
    assert found.alive.tolist() == [True, True, False]


def test_a_broker_is_not_dead_while_it_leads_or_its_last_collection_went_well_or_it_failed_just_now() -> None:
    rows = (*TWO, log_dir(3, at_ms=DIED), held(3, 0, is_leader=True), held(3, 1))
    still_leads = model(*rows, broker(3, **DEAD), replica(1, 0), leader(2, 1, replicas=2))
    assert still_leads.alive.all()
    assert not still_leads.excluded.any()
    taken = (leader(1, 0, replicas=2), leader(2, 1, replicas=2))
    assert model(*rows, broker(3, last_at_ms=DIED, failed_at_ms=DIED - 1), *taken).alive.all()
    recent = LAST - 290_000
    late = (*TWO, log_dir(3, at_ms=recent), held(3, 0, is_leader=True, at_ms=recent))
    assert model(*late, broker(3, last_at_ms=recent, failed_at_ms=LAST), leader(1, 0, replicas=2)).alive.all()


def test_a_broker_that_is_expected_to_be_away_is_not_dead() -> None:
    away = (Broker(3, state=BrokerState.MAINTENANCE),)
    found = lost(directory=Directory(clusters=(Cluster("live", "h:1", brokers=away),)))
    assert found.alive.all()
    assert found.excluded.tolist() == [False, False, True]


def test_a_silent_broker_that_led_nothing_may_be_dead_and_takes_nothing() -> None:
    found = model(*TWO, broker(3, **DEAD), held(3, 0), log_dir(3, at_ms=DIED), leader(1, 0, replicas=2))
    assert found.alive.all()
    assert found.excluded.tolist() == [False, False, True]
    assert "broker 3 takes nothing: no sample since 2025-12-17T19:27:35Z, and whether it lives" in found.input


def test_what_was_made_anew_elsewhere_is_no_longer_on_the_dead_broker() -> None:
    found = lost(3, replica(2, 0))
    assert [at.broker for at in found.replicas(0)] == [1, 2]
    assert [at.broker for at in found.replicas(1)] == [2, 1, 3]


def test_a_broker_that_was_not_sampled_in_the_window_counts_as_dead_and_what_it_may_hold_stays() -> None:
    silent = broker(3, samples=0, pairs=0, failed=5, interval_ms=0.0, covered_ms=0, last_at_ms=0, failed_at_ms=LAST)
    found = model(*TWO, silent, leader(1, 0, replicas=2), leader(1, 1, replicas=1), replica(2, 2))
    assert found.alive.tolist() == [True, True, False]
    assert found.whole.tolist() == [False, True, False]  # nobody leads t-2
    assert "; broker 3 counts as dead: no sample in the window, 5 collections failed" in found.input
    with pytest.raises(InvalidInput, match="too few of broker 3"):
        model(*TWO, silent | {"failed": 1}, leader(1, 0))


def test_what_a_log_dir_held_before_it_went_offline_is_still_there() -> None:
    """t-1 was deleted from it earlier."""
    rows = (broker(1), log_dir(1, offline=True), log_dir(1, "/d2"), broker(2), log_dir(2))
    found = model(*rows, held(1, 0, is_leader=True), held(1, 1, at_ms=DIED - 20_000), leader(2, 0, replicas=2))
    assert found.replicas(0) == (ReplicaPlacement(2, "/d1"), ReplicaPlacement(1, "/d1"))
    assert (found.partitions, found.whole.tolist()) == (1, [True])
    assert found.log_dir_offline.tolist() == [True, False, False]
    moved = model(*rows, held(1, 0), leader(2, 0, replicas=1))
    assert moved.replicas(0) == (ReplicaPlacement(2, "/d1"),)


def test_a_partition_that_only_a_dead_broker_held_is_whole_and_lost() -> None:
    found = lost(3, held(3, 2, is_leader=True))
    assert [at.broker for at in found.replicas(2)] == [3]
    assert found.whole.tolist() == [True, True, True]
