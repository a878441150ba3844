"""What a broker has to give, and in which units. The columns of every [.., RESOURCES] array, in this order."""

from __future__ import annotations

from enum import IntEnum


class Resource(IntEnum):
    """CPU in percent of one core, NW_IN and NW_OUT in bytes/s, DISK in bytes; REPLICAS and LEADERS are counts.

    The counts have no capacity: they are there to be spread, as Kafka's own tools and Cruise Control do.
    """

    CPU = 0
    NW_IN = 1
    NW_OUT = 2
    DISK = 3
    REPLICAS = 4
    LEADERS = 5


RESOURCES = len(Resource)
WITH_CAPACITY = (Resource.CPU, Resource.NW_IN, Resource.NW_OUT, Resource.DISK)
