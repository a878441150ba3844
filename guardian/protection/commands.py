"""`guardian disk queue` and `guardian disk release`: what an unhealthy disk suffers from, and what is held back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from guardian.cli.options import ClusterOption, DryRunOption, EndpointsOption, Output, OutputOption, actor, connect
from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, human_time, print_json, print_table
from guardian.errors import InvalidInput, NotFound
from guardian.model.protection import DiskKey
from guardian.model.quota import QuotaEntity
from guardian.model.topology import broker_names
from guardian.model.units import human_bytes, parse_duration_ms
from guardian.model.wire.protection import lever_to_proto, protection_from_proto
from guardian.protection.rules.protecting import LATE_MS, released, remembers_alone
from protos.guardian.v1 import protection_pb2 as pb

_STATES: Mapping[int, str] = {
    pb.DISK_OVER: "OVER",
    pb.DISK_BETWEEN: "between",
    pb.DISK_UNDER: "under",
    pb.DISK_UNSEEN: "unknown",
}
_BEHAVIOURS: Mapping[int, str] = {
    pb.USER_WRITE: "user write",
    pb.USER_READ: "user read",
    pb.REPLICATION_WRITE: "replication write",
    pb.REPLICATION_READ: "replication read",
    pb.MOVE_WRITE: "move write",
    pb.MOVE_READ: "move read",
}
_KINDS: Mapping[int, str] = {
    pb.CLIENT_QUOTA: "client quota",
    pb.FOLLOWER_RATE: "follower rate",
    pb.LEADER_RATE: "leader rate",
    pb.LOG_DIR_RATE: "log dir rate",
}


def queue(
    cluster: ClusterOption = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show so many doings, the largest.")] = 20,
    everything: Annotated[bool, typer.Option("--all", help="Also what is normal.")] = False,
    fail: Annotated[bool, typer.Option("--fail", help="Exit with 1 when a disk is over its limits.")] = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show disks over their limits of utilisation and await, what partitions do to them, and what is held back.

    Of each partition six behaviours are told: user write and read, replication write and read, move write and read.

    Abnormal are writes above what is expected, and any read from disk.

    Example: guardian disk queue --cluster live

    Example: guardian disk queue --cluster live --all -o json
    """
    with connect(endpoints) as client:
        report = client.protection(cluster, 0 if output is Output.JSON else limit)
    if output is Output.JSON:
        print_json(as_dict(report))
    else:
        show_protection(report, everything=everything)
    if fail and any(disk.state == pb.DISK_OVER for disk in report.disks):
        raise typer.Exit(1)


def release(
    cluster: ClusterOption = "",
    broker: Annotated[int | None, typer.Option("--broker", min=0, help="Only of this broker's disks.")] = None,
    disk: Annotated[str, typer.Option("--disk", help="Only of this disk of the broker, such as sdb.")] = "",
    hold: Annotated[str, typer.Option("--for", help="Hold nothing back for so long.")] = "1h",
    dry_run: DryRunOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Take back at once what is held for unhealthy disks, and hold nothing back for a while.

    What stood there before is restored, unless somebody else has changed it since.

    Example: guardian disk release --cluster live --broker 2 --disk sdb --for 2h
    """
    hold_ms = parse_duration_ms("--for", hold)
    if disk and broker is None:
        raise InvalidInput(f"--disk is {disk!r}, and --broker is missing: say which broker's disk")
    with connect(endpoints) as client:
        if dry_run:
            gone = _would_release(client.protection(cluster), broker, disk)
        else:
            gone = client.release_protection(cluster, actor(), broker, disk, hold_ms)
    if output is Output.JSON:
        print_json([as_dict(lever) for lever in gone])
        return
    what = "would be released" if dry_run else "released"
    for lever in gone:
        echo(f"{what}: {_lever_name(lever)}, {human_bytes(lever.value)}/s, for {_disk_name(lever.disk)}")
    if dry_run:
        echo(f"nothing would be held back there for {hold}; nothing was changed")
    else:
        echo(f"nothing is held back there for {hold}: `guardian disk queue --cluster {cluster}` shows what stands")


def _would_release(report: pb.ProtectionReport, broker: int | None, disk: str) -> Sequence[pb.ProtectionLever]:
    """Decide as the leader does what a release would let go, on what it holds and sees now. Raises NotFound where that
    is nothing.
    """
    held = protection_from_proto(report.held)
    unhealthy = sorted(DiskKey(each.disk.broker, each.disk.disk) for each in report.disks)
    after, gone = released(held, broker, disk, 0, "", unhealthy)
    if after.holds == held.holds and not gone:
        raise NotFound(
            f"nothing is held in cluster {report.cluster!r} there: guardian disk queue --cluster {report.cluster}"
        )
    return [lever_to_proto(lever) for lever in gone]


def show_protection(report: pb.ProtectionReport, *, everything: bool = False) -> None:
    """The report, for people."""
    _show_state(report)
    if report.disks:
        print_table(
            ("BROKER", "DISK", "LIMITS", "BUSY", "AWAIT", "READ/S", "WRITTEN/S", "WHY"),
            [_disk_row(disk) for disk in report.disks],
            right=("BROKER", "BUSY", "AWAIT", "READ/S", "WRITTEN/S"),
            more=more_of(report.disks, "log_dirs"),
        )
    shown = [*report.queue, *(report.normal if everything else ())]
    if shown:
        echo()
        print_table(
            ("BROKER", "DISK", "PARTITION", "BEHAVIOUR", "BYTES/S ~", "FROM DISK", "WHO", "WHY"),
            [_doing_row(doing) for doing in shown],
            right=("BROKER", "BYTES/S ~"),
            more=more_of(shown, "expected_bytes_per_s", "abnormal"),
        )
    if report.held.levers:
        echo()
        print_table(
            ("HELD BACK", "AT", "WAS", "FOR", "SINCE", "WHY", "HITS"),
            [_lever_row(lever) for lever in report.held.levers],
            right=("AT", "WAS"),
            more=more_of(report.held.levers, "changed_at_ms", "least", "entries"),
        )
    for hold in report.held.holds:
        echo(f"note: nothing is held for {_disk_name(hold.disk)} until {human_time(hold.until_ms)}: {hold.by} said so")
    for remark in report.remarks:
        echo(f"note: {remark}")


def _show_state(report: pb.ProtectionReport) -> None:
    modes = {
        "off": "protection is off ([protection] mode)",
        "observe": "protection observes and changes nothing ([protection] mode)",
        "act": "protection acts",
    }
    looked = f", looked at {human_time(report.looked_at_ms)}" if report.looked_at_ms else ""
    echo(f"cluster {report.cluster}: {modes.get(report.mode, report.mode)}{looked}")
    if not report.disks:
        echo(_why_no_disk(report))
    if report.held.note:
        echo(f"last: {report.held.note}")
    if not report.held.levers and report.held.intents:
        echo(_what_is_left(report))


def _what_is_left(report: pb.ProtectionReport) -> str:
    held = protection_from_proto(report.held)
    if not remembers_alone(held, report.looked_at_ms):
        return f"{len(held.intents)} settings are being taken back"
    names = ", ".join(sorted({str(QuotaEntity.of_name(each.resource_name)) for each in held.intents}))
    until = human_time(held.changed_at_ms + LATE_MS)
    return f"put back, and until {until} taken back again if a late request sets it: the quota of {names}"


def _why_no_disk(report: pb.ProtectionReport) -> str:
    """That nothing is said of any disk is not yet good news."""
    if report.mode == "off":
        return "disks are not looked at"
    if not report.asked_at_ms:
        return "whether a disk is over its limits is not known"
    if not report.unseen_brokers:
        return "no disk is over its limits"
    return f"no disk is known to be over its limits; nothing is known of those of {broker_names(report.unseen_brokers)}"


def _disk_name(disk: pb.ProtectedDisk) -> str:
    return f"broker {disk.broker}, disk {disk.disk}"


def _disk_row(health: pb.DiskLimitHealth) -> tuple[str, ...]:
    return (
        str(health.disk.broker),
        health.disk.disk,
        _STATES.get(health.state, "?"),
        f"{health.utilisation:.0%}",
        f"{health.await_ms:.1f} ms",
        human_bytes(health.read_bytes_per_s),
        human_bytes(health.write_bytes_per_s),
        health.why or "-",
    )


def _doing_row(doing: pb.DiskDoing) -> tuple[str, ...]:
    who = dict.fromkeys(_client_name(client) for client in doing.clients)
    return (
        str(doing.disk.broker),
        doing.disk.disk,
        f"{doing.topic}-{doing.partition}",
        _BEHAVIOURS.get(doing.behaviour, "?"),
        human_bytes(doing.bytes_per_s),
        "yes" if doing.from_disk else "-",
        ", ".join(who) or "-",
        doing.why or "-",
    )


def _client_name(client: pb.DiskClientUse) -> str:
    user = f" ({client.user})" if client.HasField("user") else ""
    return f"{client.client_id}{user}"


def _lever_name(lever: pb.ProtectionLever) -> str:
    kind = _KINDS.get(lever.kind, "?")
    return f"{kind}: {lever.quota_key} of {lever.subject}" if lever.subject else f"{kind} of broker {lever.disk.broker}"


def _lever_row(lever: pb.ProtectionLever) -> tuple[str, ...]:
    return (
        _lever_name(lever),
        f"{human_bytes(lever.value)}/s",
        f"{human_bytes(lever.before)}/s",
        _disk_name(lever.disk),
        human_time(lever.set_at_ms),
        lever.why,
        lever.hit,
    )
