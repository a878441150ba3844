"""`guardian tiering verify`: the metadata of a cluster against what its remote store really holds."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from guardian.cli.options import EndpointsOption, Output, OutputOption, connect
from guardian.cli.render import human_time, print_json, print_table
from guardian.cli.tiering_catalogue import Catalogue, live_segments, read_catalogue
from guardian.cli.tiering_options import (
    LimitOption,
    OlderThanOption,
    counted,
    partition_json,
    segment_json,
    sized,
    warn_of_the_rest,
)
from guardian.client import GuardianClient
from guardian.core.comparing import Comparison, Fault, Metadata, Scope, StrayReason, Strays, Waiting, compare
from guardian.errors import InvalidInput, NotFound
from guardian.model.tiering import FileKind, StoredFile, TopicIdPartition, uuid_text
from guardian.model.units import human_bytes, parse_duration_ms
from guardian.remote_storage.stores import RemoteStore, open_store

_CLOCK_MARGIN_MS = 60_000  # between this machine's clock and the store's


def verify(
    remote: Annotated[
        str,
        typer.Option(
            "--remote",
            help="Where the cluster's segments lie: hdfs://host:port/dir (rsm.config.hdfs.uri), or file:///dir of "
            "Kafka's LocalTieredStorage.",
        ),
    ],
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
    classpath: Annotated[
        str,
        typer.Option(
            "--classpath",
            envvar="GUARDIAN_HDFS_CLASSPATH",
            help="For hdfs://: the plugin's jar, Hadoop's client jars and configuration folder, with colons between.",
        ),
    ] = "",
    broker_config: Annotated[
        Path | None,
        typer.Option(
            "--broker-config", help="For hdfs://: a server.properties, for its rsm.config.* (as of Kerberos)."
        ),
    ] = None,
    strays_file: Annotated[
        Path | None, typer.Option("--strays", help="Write each stray file here, one JSON object a line.")
    ] = None,
    limit: LimitOption = 100,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare the metadata with the files in the remote store; exit code 1 when something differs. Changes nothing.

    Finished segments must be there with all their files, in their size; every file must be some segment's. Copies and
    deletions under way count only when they are older than --older-than. The metadata is read before and after the
    files are listed, so what brokers do meanwhile is no difference.

    Example: guardian tiering verify --remote hdfs://nn:8020/guardian --cluster live
    """
    older_than_ms = parse_duration_ms("--older-than", older_than)
    store = open_store(remote, classpath, broker_config)
    with connect(endpoints) as client:
        seen = _Seen(client, cluster)
        compared = _compare(seen, store, older_than_ms)
    if strays_file is not None:
        _write_strays(strays_file, compared.strays)
    if output is Output.JSON:
        print_json(_as_json(compared, seen, store))
    else:
        _print(compared, seen, store, older_than, limit)
    if compared.differs:
        raise typer.Exit(1)


class _Seen:
    """The metadata of one cluster, read as often as it is needed."""

    def __init__(self, client: GuardianClient, cluster: str) -> None:
        self._client = client
        self.since_ms = _now_ms()
        self._all = read_catalogue(client)
        self.cluster_id, self.cluster = self._chosen(cluster)
        self.metadata = self._read(self._all)

    def again(self, doubtful: set[tuple[bytes, int]]) -> Metadata:
        """The metadata as it is now, where it matters: of these partitions, by topic id and number."""
        self._all = read_catalogue(self._client)
        sure = {partition: held for partition, held in self.metadata.items() if partition[1:] not in doubtful}
        return {**sure, **self._read(self._all, doubtful)}

    def scope(self, parts: frozenset[FileKind], young_since_ms: int) -> Scope:
        """As of the last time that the metadata was read."""
        ours = [one for topic in self._all.topics if topic.cluster_id == self.cluster_id for one in topic.partitions]
        return Scope(
            self.cluster_id,
            parts,
            partitions=frozenset(one.partition for one in ours if not one.is_deleted),
            deleted=frozenset(one.partition for one in ours if one.is_deleted),
            elsewhere=frozenset(topic.topic_id for topic in self._all.topics if topic.cluster_id != self.cluster_id),
            young_since_ms=young_since_ms,
        )

    def name(self, topic_id: bytes, fallback: str = "") -> str:
        found = next((topic.name for topic in self._all.topics if topic.topic_id == topic_id), "")
        return found or fallback or uuid_text(topic_id)

    def _chosen(self, cluster: str) -> tuple[str, str]:
        """The cluster's id, and what people call it."""
        known = self._all.clusters()
        if cluster:
            read = {name: id_ for id_, name in known.items()}
            id_ = read.get(cluster, cluster)
            if id_ not in known:
                read_catalogue(self._client, cluster)  # says what is near, when nobody has heard of it
                raise NotFound(f"cluster {cluster} has no tiered-storage metadata: its brokers never wrote any")
            return id_, known[id_]
        if len(known) == 1:
            return next(iter(known.items()))
        if not known:
            raise NotFound("no cluster has tiered-storage metadata: no broker ever wrote any")
        names = ", ".join(sorted(known.values()))
        raise InvalidInput(
            f"--cluster is missing, and several have tiered-storage metadata: say whose store it is, of {names}"
        )

    def _read(self, found: Catalogue, only: set[tuple[bytes, int]] | None = None) -> Metadata:
        wanted = [
            one
            for topic in found.topics
            if topic.cluster_id == self.cluster_id
            for one in topic.existing
            if only is None or one.partition[1:] in only
        ]
        read: dict[TopicIdPartition, Any] = {}
        for summary, segments in live_segments(self._client, wanted):
            read[summary.partition] = segments
        return read


def _compare(seen: _Seen, store: RemoteStore, older_than_ms: int) -> Comparison:
    young_since_ms = seen.since_ms - _CLOCK_MARGIN_MS
    before = seen.metadata
    files = list(store.files())
    compared = compare(before, files, before, seen.scope(store.parts, young_since_ms), _now_ms(), older_than_ms)
    doubtful = {fault.partition[1:] for fault in compared.faults}
    doubtful |= {(strays.topic_id, strays.partition) for strays in compared.strays}
    if not doubtful:
        return compared
    after = seen.again(doubtful)
    return compare(before, files, after, seen.scope(store.parts, young_since_ms), _now_ms(), older_than_ms)


def _print(compared: Comparison, seen: _Seen, store: RemoteStore, older_than: str, limit: int) -> None:
    print(
        f"Cluster {seen.cluster}: {counted(compared.finished, 'finished segment')} "
        f"({human_bytes(compared.finished_bytes)}) compared with {counted(compared.files, 'file')} "
        f"({human_bytes(compared.file_bytes)}) in {store.url}"
    )
    if compared.finished and not compared.files:
        print("NOTHING AT ALL lies there: is --remote the store's root folder, and --cluster the store's cluster?")
    if compared.elsewhere_files:
        print(f"Left out: {counted(compared.elsewhere_files, 'file')} of topics of other clusters")
    if compared.young_files:
        young = f"{counted(compared.young_files, 'file')} ({human_bytes(compared.young_bytes)})"
        print(f"Too young to tell: {young} that no metadata knows, written within the last minute")
    _print_waiting("Copies under way", compared.copies, older_than)
    _print_waiting("Deletions due", compared.deletions, older_than)
    _print_faults(compared.faults, seen, limit)
    _print_strays(compared.strays, seen, limit)
    if not compared.differs:
        print("Nothing differs.")


def _print_waiting(what: str, waiting: Sequence[Waiting], older_than: str) -> None:
    if not waiting:
        return
    old = [one.segment for one in waiting if one.is_old]
    and_old = f"; OLDER THAN {older_than}: {sized(old, 'segment')}, see `guardian tiering orphans`" if old else ""
    print(f"{what}: {sized([one.segment for one in waiting], 'segment')}{and_old}")


def _print_faults(faults: Sequence[Fault], seen: _Seen, limit: int) -> None:
    if not faults:
        return
    print()
    print(f"CAN'T BE READ: {sized([fault.segment for fault in faults], 'finished segment')}")
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
    )
    warn_of_the_rest(len(shown), len(faults), "segment", "More: --limit, or -o json")
    print("Consumers of these offsets get errors. Find out who removed the files before anything else is deleted.")


def _what_is_wrong(fault: Fault) -> str:
    said = []
    if fault.missing:
        said.append(f"missing: {', '.join(kind.value for kind in fault.missing)}")
    if fault.found_bytes is not None:
        said.append(f"log has {fault.found_bytes} bytes instead of {fault.segment.size_bytes}")
    return "; ".join(said)


def _print_strays(strays: Sequence[Strays], seen: _Seen, limit: int) -> None:
    if not strays:
        return
    print()
    files = sum(len(one.files) for one in strays)
    size = human_bytes(sum(one.size_bytes for one in strays))
    print(f"STRAYS: {counted(files, 'file')} ({size}) that belong to nothing")
    shown = strays[:limit] if limit else strays
    print_table(
        ("PARTITION", "FILES", "SIZE", "NEWEST", "WHY", "SUCH AS"),
        [
            (
                _place(one, seen),
                str(len(one.files)),
                human_bytes(one.size_bytes),
                human_time(one.newest_ms),
                one.reason.value,
                one.files[0].path,
            )
            for one in shown
        ],
        right=("FILES", "SIZE"),
    )
    warn_of_the_rest(len(shown), len(strays), "place", "More: --limit, or -o json")
    print("Kafka never deletes these. --strays FILE lists each; compare again before you delete them yourself.")


def _place(strays: Strays, seen: _Seen) -> str:
    if strays.reason is StrayReason.NOT_OURS:
        return "-"
    return f"{seen.name(strays.topic_id, strays.topic)}-{strays.partition}"


def _write_strays(path: Path, strays: Iterable[Strays]) -> None:
    try:
        with path.open("w") as file:
            for one in strays:
                for stray in one.files:
                    print(json.dumps(_file_json(stray)), file=file)
    except OSError as error:
        raise InvalidInput(f"--strays {path} can't be written: {error.strerror}") from None


def _file_json(file: StoredFile) -> dict[str, Any]:
    return {"path": file.path, "bytes": file.size_bytes, "modified_ms": file.modified_ms}


def _as_json(compared: Comparison, seen: _Seen, store: RemoteStore) -> dict[str, Any]:
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
        "strays": [
            {
                "topic": seen.name(one.topic_id, one.topic) if one.topic_id else None,
                "topic_id": uuid_text(one.topic_id) or None,
                "partition": one.partition if one.topic_id else None,
                "reason": one.reason.name,
                "files": len(one.files),
                "bytes": one.size_bytes,
                "newest_ms": one.newest_ms,
                "example": one.files[0].path,
            }
            for one in compared.strays
        ],
        "copying": waiting(compared.copies),
        "deleting": waiting(compared.deletions),
    }


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
