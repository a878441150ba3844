"""`guardian tiering verify`: the metadata of a cluster against what its remote store really holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from guardian.cli.options import EndpointsOption, Output, OutputOption, connect, now_ms
from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import human_time, print_json, print_table
from guardian.errors import InvalidInput
from guardian.model.text import json_escaped, uuid_text
from guardian.model.units import human_bytes, parse_duration_ms
from guardian.tiering.commands.tiering_options import (
    REMOTE,
    BrokerConfigOption,
    ClasspathOption,
    LimitOption,
    OlderThanOption,
    counted,
    partition_json,
    segment_json,
    sized,
    warn_of_the_rest,
)
from guardian.tiering.commands.tiering_seen import Seen, print_strays, strays_json
from guardian.tiering.model import StoredFile
from guardian.tiering.remote_storage.stores import RemoteStore, open_store
from guardian.tiering.rules.comparing import Comparison, Fault, Strays, Waiting, compare

_CLOCK_MARGIN_MS = 60_000  # between this machine's clock and the store's


def verify(
    remote: Annotated[str, REMOTE],
    cluster: Annotated[
        str,
        typer.Option(
            "--cluster",
            metavar="NAME-OR-ID",
            help="Whose store it is: the cluster's name, or Kafka's cluster.id.",
            show_default="the only one with tiered-storage metadata",
        ),
    ] = "",
    older_than: OlderThanOption = "1h",
    classpath: ClasspathOption = "",
    broker_config: BrokerConfigOption = None,
    strays_file: Annotated[
        Path | None, typer.Option("--strays", help="Write each stray file here, one JSON object a line.")
    ] = None,
    limit: LimitOption = 100,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare the metadata with the files in the remote store; exit code 1 when something differs. Changes nothing.

    Finished segments must be there with all their files, in their size;
    every file must be some segment's. Copies and deletions under way count
    only when they are older than --older-than. The metadata is read before
    and after the files are listed, so what brokers do meanwhile is no
    difference.

    Example: guardian tiering verify --remote hdfs://nn:8020/guardian --cluster live
    """
    older_than_ms = parse_duration_ms("--older-than", older_than)
    store = open_store(remote, classpath, broker_config)
    with connect(endpoints) as client:
        seen = Seen(client, cluster)
        compared = _compare(seen, store, older_than_ms)
    if strays_file is not None:
        _write_strays(strays_file, compared.strays)
    if output is Output.JSON:
        print_json(_as_json(compared, seen, store))
    else:
        _print(compared, seen, store, older_than, limit)
    if compared.differs:
        raise typer.Exit(1)


def _compare(seen: Seen, store: RemoteStore, older_than_ms: int) -> Comparison:
    young_since_ms = seen.since_ms - _CLOCK_MARGIN_MS
    before = seen.metadata
    files = list(store.files())
    compared = compare(before, files, before, seen.scope(store.parts, young_since_ms), now_ms(), older_than_ms)
    doubtful = {fault.partition[1:] for fault in compared.faults}
    doubtful |= {(strays.topic_id, strays.partition) for strays in compared.strays}
    doubtful |= {one.partition[1:] for one in (*compared.copies, *compared.deletions) if one.is_old}
    if not doubtful:
        return compared
    after = seen.again(doubtful)
    return compare(before, files, after, seen.scope(store.parts, young_since_ms), now_ms(), older_than_ms)


def _print(compared: Comparison, seen: Seen, store: RemoteStore, older_than: str, limit: int) -> None:
    echo(
        f"Cluster {seen.cluster}: {counted(compared.finished, 'finished segment')} "
        f"({human_bytes(compared.finished_bytes)}) compared with {counted(compared.files, 'file')} "
        f"({human_bytes(compared.file_bytes)}) in {store.url}"
    )
    if compared.finished and not compared.files:
        echo("NOTHING AT ALL lies there: is --remote the store's root folder, and --cluster the store's cluster?")
    if compared.elsewhere_files:
        echo(f"Left out: {counted(compared.elsewhere_files, 'file')} of topics of other clusters")
    if compared.young_files:
        young = f"{counted(compared.young_files, 'file')} ({human_bytes(compared.young_bytes)})"
        echo(f"Too young to tell: {young} that no metadata knows, written within the last minute")
    _print_waiting("Copies under way", compared.copies, older_than)
    _print_waiting("Deletions due", compared.deletions, older_than)
    _print_faults(compared.faults, seen, limit)
    _print_strays(compared.strays, seen, limit)
    if not compared.differs:
        echo("Nothing differs.")


def _print_waiting(what: str, waiting: Sequence[Waiting], older_than: str) -> None:
    if not waiting:
        return
    old = [one.segment for one in waiting if one.is_old]
    and_old = f"; OLDER THAN {older_than}: {sized(old, 'segment')}, see `guardian tiering orphans`" if old else ""
    echo(f"{what}: {sized([one.segment for one in waiting], 'segment')}{and_old}")


def _print_faults(faults: Sequence[Fault], seen: Seen, limit: int) -> None:
    if not faults:
        return
    echo()
    echo(f"CAN'T BE READ: {sized([fault.segment for fault in faults], 'finished segment')}")
    shown = faults[:limit] if limit else faults
    print_table(
        ("PARTITION", "FROM", "TO", "SIZE", "BROKER", "FINISHED", "WHAT IS WRONG", "SEGMENT"),
        [
            (
                f"{seen.name(fault.partition.topic_id)}-{fault.partition.partition}",
                str(fault.segment.start_offset),
                str(fault.segment.end_offset),
                human_bytes(fault.segment.size_bytes),
                str(fault.segment.broker_id),
                human_time(fault.segment.at_ms),
                _what_is_wrong(fault),
                uuid_text(fault.segment.id),
            )
            for fault in shown
        ],
        right=("FROM", "TO", "SIZE", "BROKER"),
        more=more_of(shown, "segment.state", "segment.max_timestamp_ms", "found_bytes"),
    )
    warn_of_the_rest(len(shown), len(faults), "segment", "More: --limit, or -o json")
    echo("Consumers of these offsets get errors. Find out who removed the files before anything else is deleted.")


def _what_is_wrong(fault: Fault) -> str:
    said = []
    if fault.missing:
        said.append(f"missing: {', '.join(kind.value for kind in fault.missing)}")
    if fault.found_bytes is not None:
        said.append(f"log has {fault.found_bytes} bytes instead of {fault.segment.size_bytes}")
    return "; ".join(said)


def _print_strays(strays: Sequence[Strays], seen: Seen, limit: int) -> None:
    if not strays:
        return
    echo()
    files = sum(len(one.files) for one in strays)
    size = human_bytes(sum(one.size_bytes for one in strays))
    echo(f"STRAYS: {counted(files, 'file')} ({size}) that belong to nothing")
    print_strays(strays, seen, limit)
    echo("Kafka never deletes these: see `guardian tiering orphans --sweep`. --strays FILE lists each.")


def _write_strays(path: Path, strays: Iterable[Strays]) -> None:
    try:
        with path.open("w") as file:
            for one in strays:
                for stray in one.files:
                    file.write(f"{json_escaped(json.dumps(_file_json(stray)))}\n")
    except OSError as error:
        raise InvalidInput(f"--strays {path} can't be written: {error.strerror}") from None


def _file_json(file: StoredFile) -> dict[str, Any]:
    return {"path": file.path, "bytes": file.size_bytes, "modified_ms": file.modified_ms}


def _as_json(compared: Comparison, seen: Seen, store: RemoteStore) -> dict[str, Any]:
    def waiting(ones: Sequence[Waiting]) -> list[dict[str, Any]]:
        return [
            {
                **partition_json(seen.cluster, seen.name(one.partition.topic_id), one.partition),
                **segment_json(one.segment),
                "old": one.is_old,
            }
            for one in ones
        ]

    return {
        "cluster": seen.cluster,
        "cluster_id": seen.cluster_id,
        "remote": store.url,
        "differs": compared.differs,
        "finished_segments": compared.finished,
        "finished_bytes": compared.finished_bytes,
        "files": compared.files,
        "file_bytes": compared.file_bytes,
        "files_of_other_clusters": compared.elsewhere_files,
        "files_too_young_to_tell": compared.young_files,
        "unreadable": [
            {
                **partition_json(seen.cluster, seen.name(fault.partition.topic_id), fault.partition),
                **segment_json(fault.segment),
                "missing": [kind.value for kind in fault.missing],
                "found_bytes": fault.found_bytes,
            }
            for fault in compared.faults
        ],
        "strays": [strays_json(one, seen) for one in compared.strays],
        "copying": waiting(compared.copies),
        "deleting": waiting(compared.deletions),
    }
