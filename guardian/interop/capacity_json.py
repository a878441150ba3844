"""Cruise Control's capacity.json: what each broker has to give.

    {"brokerCapacities": [
        {"brokerId": "-1", "capacity": {"DISK": "100000", "CPU": "100", "NW_IN": "10000", "NW_OUT": "10000"}},
        {"brokerId": "0", "capacity": {"DISK": {"/d1": "250000", "/d2": "250000"}, "CPU": {"num.cores": "16"}, ...}}]}

Broker -1 stands for every broker that is not named. DISK is MB, of the broker or of each log dir; NW_IN and NW_OUT are
KB/s; K and M are 1024 and 1024 * 1024, as Cruise Control counts. CPU is percent of the machine, or its cores.

Here capacities are those of the machines that brokers run on. What brokers tell of themselves wins over them, so that
they matter where brokers tell nothing, and where nothing runs yet.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from guardian.errors import InvalidInput
from guardian.interop.json_file import JsonObject, number, objects, part, whole
from guardian.model.federation import Machine
from guardian.model.topology import Cluster

DEFAULT = -1
KB, MB = 1024.0, 1024.0 * 1024.0
_MAX_CORES = 100_000
_MAX_BYTES = float(1 << 63)
_SHOWN_BROKERS = 10


@dataclass(frozen=True, slots=True)
class Capacity:
    """One of `cores` and `cpu_percent` (of the machine) is 0; `disks` is empty where only the sum is given."""

    disk_bytes: float
    nw_in: float
    nw_out: float
    cores: float = 0.0
    cpu_percent: float = 0.0
    disks: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Machines:
    """`remarks` are sentences: what of the file could not be taken over."""

    machines: tuple[Machine, ...]
    remarks: tuple[str, ...]


def capacities_of(document: JsonObject) -> dict[int, Capacity]:
    """Capacities by broker id, DEFAULT for the others. Raises InvalidInput: field, value, fix."""
    found: dict[int, Capacity] = {}
    for where, item in objects(document, "brokerCapacities"):
        broker = whole(where, item, "brokerId", least=DEFAULT)
        if broker in found:
            raise InvalidInput(f"{where}.brokerId is {broker}, which was given before: keep one")
        found[broker] = _capacity(f"{where}.capacity", part(where, item, "capacity"))
    return found


def machines_of(
    capacities: Mapping[int, Capacity], cluster: Cluster, known: Iterable[Machine], host_pattern: str = ""
) -> Machines:
    """The cluster's machines with these capacities; those that are `known` keep what the file does not say.

    A machine has the name of its host. That is the one of its entry, else of the pattern (`{broker}`, `{cluster}`),
    else that of the broker's reporter where no other broker has the same. Raises InvalidInput where there is none of
    them, or no entry is of a broker of the cluster. Entries of other brokers are left out: clusters share files, and a
    file may be written before the brokers join.
    """
    strange = strangers(capacities, (broker.id for broker in cluster.brokers))
    if strange and len(strange) == len(capacities):
        raise InvalidInput(
            f"capacity file has no broker of cluster {cluster.name} (got {listed(strange)}): give the cluster's own "
            f"file, or an entry of brokerId {DEFAULT}, or register the cluster again (guardian cluster add)"
        )
    by_broker = {machine.broker_id: machine for machine in known if machine.cluster == cluster.name}
    found, left, percent = [], [], []
    rounded: dict[float, list[int]] = {}
    for broker in cluster.brokers:
        given = capacities.get(broker.id) or capacities.get(DEFAULT)
        if given is None:
            left.append(broker.id)
            continue
        if not given.cores:
            percent.append(broker.id)
        elif given.cores % 1:
            rounded.setdefault(given.cores, []).append(broker.id)
        machine = by_broker.get(broker.id) or Machine(
            _host_of(broker.id, cluster, host_pattern), broker.idc, broker.rack, cluster=cluster.name,
            broker_id=broker.id,
        )  # fmt: skip
        found.append(_sized(machine, given))
    remarks = (*_remarks(capacities, left, percent), *_roundings(rounded), *left_out(strange, cluster.name))
    return Machines(tuple(found), remarks)


def strangers(capacities: Mapping[int, Capacity], brokers: Iterable[int]) -> list[int]:
    """Return the ids that the file names and that are none of these brokers, in order."""
    return sorted(capacities.keys() - {DEFAULT} - set(brokers))


def left_out(strange: list[int], cluster: str) -> Iterator[str]:
    """Say of `strangers`, in a sentence, that their entries do not count."""
    if strange:
        yield (
            f"broker {listed(strange)}: not in cluster {cluster}; left out. Bring the file again once it has joined "
            "(guardian cluster add)"
        )


def write(machines: Iterable[Machine]) -> str:
    """The file with those machines of which all that it must say is known. Raises InvalidInput if there is none."""
    entries = [
        {
            "brokerId": str(machine.broker_id),
            "capacity": {
                "DISK": _text(machine.disk_bytes / MB),
                "CPU": {"num.cores": str(machine.cores)},
                "NW_IN": _text(machine.nic_bytes_per_s / KB),
                "NW_OUT": _text(machine.nic_bytes_per_s / KB),
            },
        }
        for machine in sorted(machines, key=lambda each: each.broker_id)
        if is_sized(machine)
    ]
    if not entries:
        raise InvalidInput(
            "no machine of the cluster has disk, nic and cores: add them (guardian machine put), since the file must "
            "say them of each broker"
        )
    return json.dumps({"brokerCapacities": entries}, indent=2) + "\n"


def is_sized(machine: Machine) -> bool:
    """Return whether all is known of it that the file must say."""
    return bool(machine.disk_bytes and machine.nic_bytes_per_s and machine.cores)


def _capacity(where: str, item: JsonObject) -> Capacity:
    disks: dict[str, float] = {}
    if isinstance(item.get("DISK"), dict):
        by_path = part(where, item, "DISK")
        disks = {path: _positive(f"{where}.DISK", by_path, path) * MB for path in sorted(by_path)}
    cores = cpu_percent = 0.0
    if isinstance(item.get("CPU"), dict):
        cores = _positive(f"{where}.CPU", part(where, item, "CPU"), "num.cores")
    else:
        cpu_percent = _positive(where, item, "CPU")
    return Capacity(
        disk_bytes=sum(disks.values()) if disks else _positive(where, item, "DISK") * MB,
        nw_in=_positive(where, item, "NW_IN") * KB,
        nw_out=_positive(where, item, "NW_OUT") * KB,
        cores=cores,
        cpu_percent=cpu_percent,
        disks=disks,
    )


def _positive(where: str, item: JsonObject, name: str) -> float:
    value = number(where, item, name)
    if value <= 0:
        raise InvalidInput(f"{where}.{name} is {value:g}: use a number above 0")
    return value


def _host_of(broker: int, cluster: Cluster, pattern: str) -> str:
    if pattern:
        if "{broker}" not in pattern:
            raise InvalidInput(
                f"host pattern is {pattern!r}: it needs {{broker}}, such as kafka-{{broker}}.example.net"
            )
        return pattern.replace("{broker}", str(broker)).replace("{cluster}", cluster.name)
    hosts = {each.id: each.reporter_endpoint.rpartition(":")[0] for each in cluster.brokers}
    host = hosts.get(broker, "")
    if not host or sum(other == host for other in hosts.values()) > 1:
        why = f"is {host}, as is that of another broker" if host else "is not known"
        raise InvalidInput(
            f"host of broker {broker} of cluster {cluster.name} {why}: say what machines are called "
            "(--host-pattern 'kafka-{broker}'), or add them (guardian machine put)"
        )
    return host


def _sized(machine: Machine, given: Capacity) -> Machine:
    """Size the machine as the file says. Of the network the smaller way counts: a machine has one number for both.
    Raises InvalidInput.
    """
    if max(given.disk_bytes, given.nw_in, given.nw_out) >= _MAX_BYTES or given.cores > _MAX_CORES:
        raise InvalidInput(
            f"capacity of broker {machine.broker_id} is more than a machine can have: DISK is MB, NW_IN and NW_OUT KB/s"
        )
    return replace(
        machine,
        disk_bytes=int(given.disk_bytes),
        disks=len(given.disks) or machine.disks,
        nic_bytes_per_s=int(min(given.nw_in, given.nw_out)),
        cores=_whole_cores(given.cores) if given.cores else machine.cores,
    )


def _whole_cores(cores: float) -> int:
    """Return no more cores than there are, so that no broker is given work for a part that it lacks; at least one."""
    return max(1, int(cores))


def _remarks(capacities: Mapping[int, Capacity], left: list[int], percent: list[int]) -> Iterable[str]:
    if left:
        yield f"broker {listed(left)}: not in the file, which has no brokerId {DEFAULT}; left as it is"
    if percent:
        yield f"broker {listed(percent)}: CPU is in percent, which is no number of cores; left as it is"
    if any(each.nw_in != each.nw_out for each in capacities.values()):
        yield "NW_IN and NW_OUT differ: the smaller one is the machine's network"


def _roundings(brokers_of_cores: Mapping[float, list[int]]) -> Iterator[str]:
    for cores, brokers in sorted(brokers_of_cores.items()):
        whole_cores = _whole_cores(cores)
        yield f"broker {listed(brokers)}: {cores:g} cores count as {whole_cores}, since a machine has whole cores"


def listed(brokers: list[int]) -> str:
    shown = ", ".join(map(str, brokers[:_SHOWN_BROKERS]))
    return shown if len(brokers) <= _SHOWN_BROKERS else f"{shown} and {len(brokers) - _SHOWN_BROKERS} more"


def _text(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
