"""Keep topics with data of payment cards on hosts that are secured for them."""

from __future__ import annotations

import numpy as np

from guardian.model.planner_settings import PlannerSettings
from spark_analytics.extensions.goal import Narrowed, Placement
from spark_analytics.model.cluster_model import ClusterModel


class PciOnSecureHosts:
    name = "acme/pci-on-secure-hosts"
    sentence = "topics named pci-* live on hosts named secure-*"

    def narrow(self, model: ClusterModel, _: PlannerSettings) -> Narrowed:
        """Return one row, for all topics of cards: the secured hosts."""
        row_of_topic = np.array([0 if topic.startswith("pci-") else -1 for topic in model.topics], dtype=np.int64)
        secured = np.array([[host.startswith("secure-") for host in model.hosts]], dtype=np.bool_)
        return Narrowed(row_of_topic, secured)

    def judge(self, placement: Placement) -> str:
        """Return why a replica may not be there, or nothing."""
        host = placement.broker.host
        if not placement.topic.name.startswith("pci-") or host.startswith("secure-"):
            return ""
        return f"host {host or 'without a name'} is not secured"


PCI_ON_SECURE_HOSTS = PciOnSecureHosts()
