"""What must not stay behind after a job: asked of Kafka itself, and of the operating system."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import psutil

from guardian.kafka.admin import BROKER, TOPIC, WRITABLE_CONFIGS, KafkaAdmin

# (resource type, name) -> the dynamic configuration set there
Configs = Mapping[tuple[str, str], Mapping[str, str]]


def dynamic_configs(admin: KafkaAdmin) -> Configs:
    """Every dynamic configuration of the cluster's brokers and topics."""
    brokers = [(BROKER, str(broker)) for broker in admin.describe_cluster().brokers]
    topics = [(TOPIC, topic) for topic in sorted({partition.topic for partition in admin.describe_partitions()})]
    return admin.describe_configs([*brokers, *topics])


def of_cluster(admin: KafkaAdmin, before: Configs) -> list[str]:
    """One sentence for each throttle, changed configuration, reassignment or inter-disk move that is left."""
    left = []
    now = dynamic_configs(admin)
    for resource in sorted({*before, *now}):
        for key in sorted({*before.get(resource, {}), *now.get(resource, {})}):
            old, new = before.get(resource, {}).get(key), now.get(resource, {}).get(key)
            if new is not None and key in WRITABLE_CONFIGS:
                left.append(f"throttle {key}={new} on {resource[0].lower()} {resource[1]}")
            elif old != new:
                left.append(f"{key} of {resource[0].lower()} {resource[1]} was {old} and is {new}")
    left += [f"reassignment of {partition}" for partition in sorted(admin.list_reassignments())]
    for log_dir in admin.describe_log_dirs(sorted(admin.describe_cluster().brokers)):
        left += [f"{partition} is still moving into {log_dir.path}" for partition in sorted(log_dir.future_replicas)]
    return left


def of_processes(home: Path, pids: Collection[int]) -> list[str]:
    """One sentence for each process that still runs: of the given pids, or with `home` in its command line."""
    left = []
    for process in psutil.process_iter(["pid", "cmdline", "status"]):
        if process.pid == psutil.Process().pid or process.info["status"] == psutil.STATUS_ZOMBIE:
            continue
        command = " ".join(process.info["cmdline"] or [])
        if process.pid in pids or str(home.resolve()) in command:
            left.append(f"process {process.pid}: {command[:100]}")
    return left
