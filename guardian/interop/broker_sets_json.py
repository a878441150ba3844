"""Cruise Control's brokerSets.json: brokers that stay among themselves; here they are brokers under one label.

{"brokerSets": [{"brokerSetId": "blue", "brokerIds": [0, 1, 2]}, ...]}
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping

from guardian.errors import InvalidInput
from guardian.interop.capacity_json import left_out, listed
from guardian.interop.json_file import JsonObject, objects, text
from guardian.model.topology import require_broker_id, require_label


def sets_of(document: JsonObject) -> dict[int, str]:
    """The set of each broker id. Raises InvalidInput: field, value, fix."""
    found: dict[int, str] = {}
    for where, item in objects(document, "brokerSets"):
        require_label(name := text(where, item, "brokerSetId"))
        ids = item.get("brokerIds")
        if not name or not isinstance(ids, list) or not all(type(broker) is int and broker >= 0 for broker in ids):
            raise InvalidInput(f"{where} is {name!r} with brokerIds {_shown(ids)}: use a name and a list of broker ids")
        for broker in ids:
            require_broker_id(broker)
            if found.setdefault(broker, name) != name:
                raise InvalidInput(f"{where}.brokerIds has {broker}, which is in {found[broker]} too: keep it in one")
    return found


def strangers(sets: Mapping[int, str], brokers: Iterable[int]) -> list[int]:
    """Return the ids that the file names and that are none of these brokers, in order."""
    return sorted(sets.keys() - set(brokers))


def of_cluster(
    sets: Mapping[int, str], brokers: Collection[int], cluster: str
) -> tuple[dict[int, str], tuple[str, ...]]:
    """Return the sets of the cluster's brokers, and what of the file does not count, a sentence each.

    Brokers to come may stand in the file before they join, and clusters share files, as with a capacity.json. Raises
    InvalidInput where no entry is of a broker of the cluster.
    """
    strange = strangers(sets, brokers)
    if strange and len(strange) == len(sets):
        raise InvalidInput(
            f"broker sets file has no broker of cluster {cluster} (got {listed(strange)}): give the cluster's own "
            "file, or register the cluster again (guardian cluster add)"
        )
    known = {broker: name for broker, name in sets.items() if broker in brokers}
    return known, tuple(left_out(strange, cluster))


def write(labels: Mapping[int, str]) -> str:
    """The file with the labels of brokers. Raises InvalidInput where a broker has none: Cruise Control wants one."""
    without = sorted(broker for broker, label in labels.items() if not label)
    if without or not labels:
        named = f"broker {without[0]} has no label" if without else "there are no brokers"
        raise InvalidInput(f"{named}: Cruise Control needs each broker in a set, so label it (guardian cluster add)")
    sets: dict[str, list[int]] = {}
    for broker in sorted(labels):
        sets.setdefault(labels[broker], []).append(broker)
    entries = [{"brokerSetId": name, "brokerIds": ids} for name, ids in sorted(sets.items())]
    return json.dumps({"brokerSets": entries}, indent=2) + "\n"


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:80]}..."
