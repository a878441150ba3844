"""A placement under trial: the one mutable thing of a planner. It keeps the loads while replicas and leaders move."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints
from spark_analytics.model.load import Load, load_now


@dataclass(eq=False)
class Placement:
    """Where each slot lies and which slot leads, with the loads that follow from it.

    `incoming_bytes` per disk counts the replicas that lie away from home: Kafka frees the old place only after the
    copy is whole, so nothing is credited to the disk that a replica leaves.
    """

    model: ClusterModel
    slot_log_dir: Ints  # [slots]
    leader_slot: Ints  # [partitions]
    load: Load
    incoming_bytes: Floats  # [disks]

    @classmethod
    def of(cls, model: ClusterModel) -> Placement:
        return cls(
            model=model,
            slot_log_dir=model.slot_log_dir.copy(),
            leader_slot=model.leader_slot.copy(),
            load=load_now(model),
            incoming_bytes=np.zeros(len(model.disk_total_bytes)),
        )

    @cached_property
    def siblings(self) -> Ints:
        """[slots, largest RF - 1] the other slots of the same partition, padded with -1."""
        model = self.model
        width = int(np.diff(model.slot_start).max(initial=1)) - 1
        first, last = model.slot_start[model.slot_partition], model.slot_start[model.slot_partition + 1]
        slot = np.arange(len(model.slot_partition))
        other = first[:, None] + np.arange(width)
        other += other >= slot[:, None]
        return np.where(other < last[:, None], other, -1)

    @property
    def slot_broker(self) -> Ints:
        """[slots] broker index."""
        return self.model.log_dir_broker[self.slot_log_dir]

    def sibling_brokers(self, slots: Ints) -> Ints:
        """[slots, largest RF - 1] the brokers that hold the other replicas now, padded with -1."""
        other = self.siblings[slots]
        return np.where(other < 0, -1, self.model.log_dir_broker[self.slot_log_dir[other]])

    def is_leader(self, slots: Ints) -> Bools:
        return np.asarray(self.leader_slot[self.model.slot_partition[slots]] == slots)

    def broker_traffic(self, slots: Ints) -> Floats:
        """[slots] bytes/s that each replica brings to its broker: what it writes and, if it leads, serves."""
        partition = self.model.slot_partition[slots]
        return self.model.write_rate[partition] + self.model.read_rate[partition] * self.is_leader(slots)

    def move(self, slot: int, log_dir: int) -> None:
        """Put a replica into another log dir, of this broker or another."""
        model, load = self.model, self.load
        partition = model.slot_partition[slot]
        here, home = self.slot_log_dir[slot], model.slot_log_dir[slot]
        traffic = float(self.broker_traffic(np.array([slot]))[0])
        leads = self.leader_slot[partition] == slot
        for place, sign in ((here, -1), (log_dir, 1)):
            broker = model.log_dir_broker[place]
            load.log_dir[place] += sign * model.write_rate[partition]
            load.broker[broker] += sign * traffic
            if leads:
                load.leaders[broker] += sign
                load.leader_bytes_in[broker] += sign * model.write_rate[partition]
            if place != home:
                self.incoming_bytes[model.log_dir_disk[place]] += sign * model.size_bytes[partition]
        self.slot_log_dir[slot] = log_dir

    def lead(self, slot: int) -> None:
        """Let this replica lead its partition."""
        model, load = self.model, self.load
        partition = model.slot_partition[slot]
        for leader, sign in ((self.leader_slot[partition], -1), (slot, 1)):
            broker = model.log_dir_broker[self.slot_log_dir[leader]]
            load.broker[broker] += sign * model.read_rate[partition]
            load.leaders[broker] += sign
            load.leader_bytes_in[broker] += sign * model.write_rate[partition]
        self.leader_slot[partition] = slot
