"""What must not stay behind after a job: asked of Kafka itself, and of the operating system."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import psutil

from deploy.local import processes
from deploy.local.processes import LocalProcess
from guardian.kafka.admin import BROKER, TOPIC, WRITABLE_CONFIGS, KafkaAdmin

QUOTA = "QUOTA"  # of the client that the name is
# (resource type, name) -> the dynamic configuration set there; the broker without a name is the default of all brokers
Configs = Mapping[tuple[str, str], Mapping[str, str]]


def dynamic_configs(admin: KafkaAdmin) -> Configs:
    """Every dynamic configuration of the cluster's brokers, of all of them together, of topics, and clients' quotas."""
    brokers = [(BROKER, ""), *((BROKER, str(broker)) for broker in admin.describe_cluster().brokers)]
    topics = [(TOPIC, topic) for topic in sorted({partition.topic for partition in admin.describe_partitions()})]
    quotas = admin.describe_client_quotas().items()
    return {
        **admin.describe_configs([*brokers, *topics]),
        **{(QUOTA, entity.name): {key: f"{value:g}" for key, value in values.items()} for entity, values in quotas},
    }


def of_cluster(admin: KafkaAdmin, before: Configs) -> list[str]:
    """One sentence for each throttle, changed configuration or quota, reassignment or inter-disk move that is left.

    A broker that does not answer is left too: nobody knows what it still has.
    """
    now = dynamic_configs(admin)
    left = [f"broker {name} does not answer" for kind, name in before if kind == BROKER and (kind, name) not in now]
    for resource in sorted({*before, *now}):
        for key in sorted({*before.get(resource, {}), *now.get(resource, {})}):
            old, new = before.get(resource, {}).get(key), now.get(resource, {}).get(key)
            if old == new:
                continue
            where = f"{resource[0].lower()} {resource[1]}" if resource[1] else "all brokers"
            if new is not None and key in WRITABLE_CONFIGS:
                left.append(f"throttle {key}={new} on {where}")
            else:
                left.append(f"{key} of {where} was {old} and is {new}")
    left += [f"reassignment of {partition}" for partition in sorted(admin.list_reassignments())]
    brokers = sorted(admin.describe_cluster().brokers)
    log_dirs = admin.describe_log_dirs(brokers)
    left += [f"broker {broker} does not tell its log dirs" for broker in {*brokers} - {d.broker for d in log_dirs}]
    for log_dir in log_dirs:
        left += [f"{partition} is still moving into {log_dir.path}" for partition in sorted(log_dir.future_replicas)]
    return left


def of_processes(home: Path, started: Collection[LocalProcess]) -> list[str]:
    """One sentence for each process that still runs: of those started, or with a path below `home` in its command."""
    left = [f"process {process.pid} still runs" for process in started if processes.is_alive(process)]
    for process in psutil.process_iter(["pid", "cmdline", "status"]):
        command = " ".join(process.info["cmdline"] or [])
        if process.info["status"] != psutil.STATUS_ZOMBIE and f"{home.resolve()}/" in command:
            left.append(f"process {process.pid}: {command[:100]}")
    return left
