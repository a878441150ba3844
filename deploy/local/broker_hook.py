"""Stops, starts or restarts one broker or controller of a local cluster, as a hook of Guardian does it with machines.

    python -m deploy.local.broker_hook FOLDER restart 2

FOLDER holds cluster.json (KafkaCluster.to_state), and node-<id>.json of each node that a hook has started since. Hooks
of several nodes run at the same time, so each writes a file of its own. Those of one node wait for each other: a member
that takes over may begin again what the hook of a killed one has not ended.
"""

from __future__ import annotations

import fcntl
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.local import processes
from deploy.local.kafka_cluster import KafkaCluster
from deploy.local.processes import LocalProcess
from deploy.local.state import from_state, to_state
from guardian.errors import GuardianError

_CLUSTER = "cluster.json"
_STARTED_WITHIN_S = 200.0  # of the 240 s that `config_section` gives a hook


def save(cluster: KafkaCluster, folder: Path) -> None:
    """Before the first hook."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _CLUSTER).write_text(json.dumps(cluster.to_state()))


def load(folder: Path) -> KafkaCluster:
    """The cluster as hooks have left it."""
    cluster = KafkaCluster.from_state(json.loads((folder / _CLUSTER).read_text()))
    for node in cluster.nodes:
        path = folder / f"node-{node.id}.json"
        if path.exists():
            state = json.loads(path.read_text())
            node.process = from_state(LocalProcess, state) if state else None
    return cluster


def command(folder: Path, action: str = "{action}", broker: str = "{broker}") -> list[str]:
    """Build the command that a member, or anybody, runs: as the template of a hook, or filled in."""
    return [sys.executable, "-m", "deploy.local.broker_hook", str(folder), action, broker]


def config_section(folder: Path, name: str = "local", timeout_s: float = 240) -> str:
    """Render the section `[hooks.local]` of a member's configuration."""
    return f'[hooks.{name}]\nkind = "command"\ncommand = {json.dumps(command(folder))}\ntimeout_s = {timeout_s:g}\n'


def act(folder: Path, action: str, node_id: int) -> None:
    """Repeating it does no harm: a node that is to be started and runs is left alone. Raises GuardianError."""
    with _alone_with(folder, node_id):
        _act(folder, action, node_id)


@contextmanager
def _alone_with(folder: Path, node_id: int) -> Iterator[None]:
    """Until its end, and no longer than this process lives."""
    with (folder / f"node-{node_id}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _act(folder: Path, action: str, node_id: int) -> None:
    cluster = load(folder)
    node = cluster.node(node_id)
    if action in ("stop", "restart") and node.process is not None:
        processes.stop_all([node.process])
        node.process = None
    if action in ("start", "restart"):
        cluster.start_node(node_id, _STARTED_WITHIN_S)
    draft = folder / f".node-{node_id}.draft"
    draft.write_text(json.dumps(to_state(node.process)))
    draft.replace(folder / f"node-{node_id}.json")


def main(arguments: list[str]) -> int:
    """0 when it is done, 1 with one sentence where it failed."""
    folder, action, node_id = arguments
    try:
        act(Path(folder), action, int(node_id))
    except GuardianError as error:
        print(error)
        return 1
    print(f"node {node_id}: {action} done")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
