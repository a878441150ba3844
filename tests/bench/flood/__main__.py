"""`make bench-flood`: a group of three members that is flooded, beside the same group quiet.

python -m tests.bench.flood [--only FLOOD] [--tickets N] [--seconds S] [--no-kafka] [--out OUT]

Everything is on loopback and bounded: connections by their number, each flood by its seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from deploy.local import members, processes
from deploy.local.kafka_cluster import KafkaCluster
from deploy.local.kafka_config import ClusterSpec
from deploy.local.members import Member
from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.model.topology import Cluster
from tests.bench.flood import stand
from tests.bench.flood.bars import MEASURES
from tests.bench.flood.looking import Look, Looking, p99
from tests.bench.progress import end_on_sigterm, say, teller
from tests.bench.report import BUILD, BenchFailed, Figures, rows, table

_CLIENTS = 4  # processes: each may have so many descriptors and no more
_NICE = 7  # of each: where sessions are weighed, all four count about as much as one member, on whose host they are not
_OWN_ADDRESS = "127.0.0.99"  # of the looks: probes come from elsewhere than floods
_PLANS = "/kafkacruisecontrol/proposals?ignore_proposal_cache=true&json=true"
_MISUNDERSTOOD = ("answered 400", "answered 404")  # the flood asks for nothing then
_MEMBERS = 3
_LOST_BROKER = 3
_HEAL_S = 240.0  # for a plan of healing, whose grace period is part of it
_HEAL = "heal"  # the kind of its tickets


@dataclass(frozen=True, slots=True)
class Attack:
    """One kind of flood, of one address or of ten."""

    name: str
    kind: str
    port: str  # the member's: http or grpc
    count: int
    more: str = ""

    def title(self, addresses: int) -> str:
        return f"{self.name} from {addresses} address{'es' if addresses > 1 else ''}"


ATTACKS = (
    Attack("idle http", "idle", "http", 10_000),
    Attack("idle grpc", "idle", "grpc", 10_000),
    Attack("drip", "drip", "http", 2200),
    Attack("watch", "watch", "grpc", 40),
    Attack("plan", "get", "http", 45, _PLANS),
    Attack("list", "list", "grpc", 40),
)
HEALED = Attack("plan while a broker is lost", "get", "http", 45, _PLANS)
NO_BROKER = "no broker is lost without Kafka: that healing makes a plan meanwhile was not measured"


def main(arguments: Sequence[str]) -> int:
    """0: all bars are met; 1: not; 2: it could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.flood", description=(__doc__ or "").splitlines()[0])
    names = [attack.name for attack in ATTACKS]
    parser.add_argument("--only", action="append", choices=names, help="may be repeated (all)")
    parser.add_argument("--tickets", type=int, default=50_000, help="that are stored before")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each flood, and of the quiet time")
    parser.add_argument("--no-kafka", action="store_true", help="plans are asked for of a cluster that does not answer")
    parser.add_argument("--out", type=Path, default=BUILD / "flood.json", help="the JSON file")
    options = parser.parse_args(arguments)
    end_on_sigterm()
    tell = teller()
    BUILD.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="flood-", dir=BUILD))
    attacks = [attack for attack in ATTACKS if attack.name in (options.only or names)]
    details: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "cpus": os.cpu_count()}
    try:
        with _group(home, options.tickets, with_kafka=not options.no_kafka, tell=tell) as group:
            found, healing = _flooded(group, attacks, options.seconds, tell)
    except (BenchFailed, GuardianError, OSError) as failure:
        say(f"Error: {failure}", sys.stderr)
        return 2
    except KeyboardInterrupt:
        say("interrupted: nothing was written", sys.stderr)
        return 2
    finally:
        shutil.rmtree(home, ignore_errors=True)
    found_rows = rows(MEASURES, judged(found, group.remark, healing))
    details |= {"floods": {name: _told(look, seen) for name, (look, seen) in found.items()}, "tickets": options.tickets}
    details["heal_plan_s"] = healing.plan_s
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"rows": [row.to_json() for row in found_rows], **details}, indent=1) + "\n")
    say("\n" + table(found_rows))
    say(f"\nwritten to {options.out}; how to read it: tests/bench/README.md")
    return 0 if all(row.ok for row in found_rows) else 1


Found = dict[str, tuple[Look, dict[str, int]]]


@dataclass(frozen=True, slots=True)
class Healing:
    """What healing did under a flood: how long after a broker was lost there was its plan, or why there was none."""

    plan_s: float | None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """The members that are flooded, and what their plans are of."""

    leader: Member
    others: list[Member]
    remark: str
    kafka: KafkaCluster | None


@contextmanager
def _group(home: Path, tickets: int, *, with_kafka: bool, tell: Callable[[str], None]) -> Iterator[Group]:
    with ExitStack() as stack:
        kafka = None
        cluster, remark = Cluster(stand.CLUSTER, "127.0.0.1:1", "flood"), "plans of a cluster that does not answer"
        if with_kafka:
            spec = ClusterSpec(stand.CLUSTER, plugin=False, heap_mb=256)
            kafka = stack.enter_context(KafkaCluster.start(spec, home / "kafka"))
            cluster, remark = kafka.to_cluster(sasl=False), "plans of three real brokers"
            stand.lay(cluster)
            tell("a Kafka cluster of three brokers runs")
        planned = members.plan_members(_MEMBERS, home)
        stand.fill(planned, tickets, cluster, tell)
        running = stand.start(planned, home)
        stack.callback(lambda: processes.stop_all([each.process for each in running if each.process], deadline_s=20.0))
        tell("three members serve")
        leader = stand.leading(running)
        yield Group(leader, [each for each in running if each is not leader], remark, kafka)


def _flooded(
    group: Group, attacks: Sequence[Attack], seconds: float, tell: Callable[[str], None]
) -> tuple[Found, Healing]:
    leader = group.leader
    ports = {"http": _port(leader.http), "grpc": _port(leader.grpc)}
    found: Found = {}
    with Looking(
        ports["http"], ports["grpc"], leader.pid or 0, _OWN_ADDRESS, [_port(each.http) for each in group.others]
    ) as looking:
        found["quiet"] = (looking.during(seconds), {})
        tell(_sentence("quiet", *found["quiet"]))
        for attack in attacks:
            for addresses in (1, 10):
                title = attack.title(addresses)
                seen: list[dict[str, int]] = []
                flooding = threading.Thread(
                    target=lambda a=attack, n=addresses, s=seen: s.append(_flood(a, ports[a.port], n, seconds))
                )
                flooding.start()
                found[title] = (looking.during(seconds), {})
                flooding.join()
                _require_alive(leader, title)
                found[title] = (found[title][0], seen[0] if seen else {})
                _require_understood(title, found[title][1])
                tell(_sentence(title, *found[title]))
        if group.kafka is None:
            return found, Healing(None, NO_BROKER)
        title = HEALED.title(10)
        look, healing = _healed(group, group.kafka, looking)
        _require_alive(leader, title)
        found[title] = (look, {})
        tell(f"{_sentence(title, look, {})}; {healing}")
    return found, healing


def _require_alive(member: Member, title: str) -> None:
    if member.pid is None:
        raise BenchFailed(f"the member has ended under the flood: {title}")


def _require_understood(title: str, seen: dict[str, int]) -> None:
    if misunderstood := [each for each in _MISUNDERSTOOD if each in seen]:
        raise BenchFailed(f"the member does not understand what the flood asks for: {title} ({misunderstood})")


def _healed(group: Group, kafka: KafkaCluster, looking: Looking) -> tuple[Look, Healing]:
    """Ask for plans as ten persons, lose a broker meanwhile, and end when healing has made its plan for it."""
    planned, plan_s = threading.Event(), list[float]()

    def watch() -> None:
        kafka.kill_broker(_LOST_BROKER)
        lost_at = time.monotonic()
        endpoints = [each.grpc for each in (group.leader, *group.others)]
        with GuardianClient(endpoints) as client:
            while time.monotonic() - lost_at < _HEAL_S:
                with suppress(GuardianError):  # the flood's: asked again
                    if client.ticket_page(cluster=stand.CLUSTER, kind=_HEAL, size=1).tickets:
                        plan_s.append(time.monotonic() - lost_at)
                        break
                time.sleep(0.5)
        planned.set()

    port = _port(group.leader.http)
    threads = [
        threading.Thread(target=_flood, args=(HEALED, port, 10, 2 * _HEAL_S, planned)),
        threading.Thread(target=watch),
    ]
    for thread in threads:
        thread.start()
    look = looking.during(2 * _HEAL_S, planned)
    for thread in threads:
        thread.join()
    if not plan_s:
        return look, Healing(None, f"healing made no plan within {_HEAL_S:.0f} s of the loss of a broker")
    return look, Healing(plan_s[0])


def _flood(
    attack: Attack, port: int, addresses: int, seconds: float, enough: threading.Event | None = None
) -> dict[str, int]:
    """Return what the clients saw, from all processes; they end by themselves, and are killed where they don't. They
    are ended, and what they saw is not told, when it is `enough`."""
    module = "tests.bench.flood.lister" if attack.kind == "list" else "tests.bench.flood.client"
    share = [attack.count // _CLIENTS + (number < attack.count % _CLIENTS) for number in range(_CLIENTS)]
    commands = [
        [sys.executable, "-m", module, attack.kind, str(port), str(addresses), str(count), str(seconds), attack.more]
        for count in share
    ]
    started = [
        subprocess.Popen(
            [*stand.WITH_US, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        for command in commands
    ]
    for process in started:
        processes.give_way(process.pid, _NICE)
    if enough is not None:
        enough.wait(seconds)
        for process in started:
            process.terminate()
    total: dict[str, int] = {}
    for process in started:
        try:
            output, _ = process.communicate(timeout=3 * seconds + 60)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
        with suppress(ValueError, IndexError):
            for what, count in json.loads(output.splitlines()[-1]).items():
                total[what] = total.get(what, 0) + count
    return total


def judged(found: Found, remark: str, healing: Healing) -> dict[str, Figures]:
    """Return a figure a measure: of all floods the worst counts. What can't be had is a fault."""
    (quiet, _), floods = found["quiet"], {title: look for title, (look, _) in found.items() if title != "quiet"}
    ready = {title: _ms(p99(look.probes_s)) for title, look in floods.items()}
    writes = {title: _ms(p99(look.writes_s)) for title, look in floods.items()}
    base = quiet.rss_mb[-1] if quiet.rss_mb else 0.0
    grown = {title: max(look.rss_mb, default=base) - base for title, look in floods.items()}
    pauses = {title: look.longest_pause_s for title, look in floods.items()}
    terms = [term for look, _ in found.values() for term in look.terms]
    failed = sum(look.probe_failures for look in floods.values())
    lost = sum(look.write_failures for look in floods.values())
    unseen = [title for title, pause in pauses.items() if pause is None]
    return {
        "flood_ready_ms": _worst(ready, _ms(p99(quiet.probes_s)), f"{failed} probes failed" if failed else ""),
        "flood_write_p99": _worst(writes, _ms(p99(quiet.writes_s)), f"{lost} writes failed" if lost else ""),
        "flood_rss_mb": _worst(grown, None, "" if base else "the memory of the quiet member is not known"),
        "flood_elections": Figures(
            float(max(terms) - min(terms)) if terms else 0.0, 0.0, remark, "" if terms else "no term was seen"
        ),
        "flood_tick_s": _worst(
            {title: pause or 0.0 for title, pause in pauses.items()},
            quiet.longest_pause_s,
            f"ticks were not seen under: {', '.join(unseen)}" if unseen else healing.fault,
            "" if healing.plan_s is None else f"; healing made its plan in {healing.plan_s:.0f} s",
        ),
    }


def _worst(
    values: dict[str, float | None] | dict[str, float], peer: float | None, fault: str, remark: str = ""
) -> Figures:
    known = {title: value for title, value in values.items() if value is not None}
    if not known:
        return Figures(0.0, peer, "", "it was not measured")
    title = max(known, key=lambda each: known[each])
    return Figures(known[title], peer, title + remark, fault)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds


def _told(look: Look, seen: dict[str, int]) -> dict[str, Any]:
    return {
        "ready_p99_ms": _ms(p99(look.probes_s)),
        "write_p99_ms": _ms(p99(look.writes_s)),
        "rss_mb": max(look.rss_mb, default=None),
        "terms": sorted(set(look.terms)),
        "longest_pause_s": look.longest_pause_s,
        "failed": {"probes": look.probe_failures, "writes": look.write_failures},
        "clients": seen,
    }


def _sentence(title: str, look: Look, seen: dict[str, int]) -> str:
    told = _told(look, seen)
    return f"{title}: {json.dumps(told)}"


def _port(endpoint: str) -> int:
    return int(endpoint.rsplit(":", 1)[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
