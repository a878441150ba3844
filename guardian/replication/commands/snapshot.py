"""`guardian raft snapshot`: Guardian's whole state in one file, taken while it runs and restored while it does not."""

from __future__ import annotations

import fcntl
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from guardian import config
from guardian.cli.options import DryRunOption, EndpointsOption, Output, OutputOption, connect
from guardian.cli.printing import echo
from guardian.cli.render import print_json
from guardian.errors import GuardianError, InvalidInput
from guardian.model.topology import require_endpoint
from guardian.model.units import human_bytes

if TYPE_CHECKING:
    from raft.snapshotting.snapshots import Manifest

_PROGRESS_BYTES = 64 << 20

app = typer.Typer(help="Save, verify and restore snapshots of Guardian's state.", no_args_is_help=True)

ArchiveArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The snapshot's tar file.")]


@app.command("save")
def save(
    archive: ArchiveArgument,
    member: Annotated[str, typer.Option("--member", help="host:port of the member to ask; default: any.")] = "",
    endpoints: EndpointsOption = "",
) -> None:
    """Save a member's state to a file; Guardian goes on meanwhile.

    Example: guardian raft snapshot save /backup/guardian.tar
    """
    if archive.exists():
        raise InvalidInput(f"{archive} is there already: choose another name, or remove it")
    if member:
        require_endpoint("--member", member)
    told = 0

    def progress(size: int) -> None:
        nonlocal told
        if size >= told + _PROGRESS_BYTES:
            told = size
            echo(f"{human_bytes(size)} so far")

    with connect(endpoints) as client:
        saved = client.save_snapshot(archive, member, progress)
    echo(f"{archive} has the state as of index {saved.index}, term {saved.term} ({human_bytes(saved.size_bytes)})")


@app.command("verify")
def verify(archive: ArchiveArgument, output: OutputOption = Output.TABLE) -> None:
    """Check every byte of a snapshot against its manifest; needs no member.

    Example: guardian raft snapshot verify /backup/guardian.tar
    """
    manifest = _verified(archive)
    members = [member.name for member in manifest.configuration.members]
    if output is Output.JSON:
        print_json(
            {
                "index": manifest.index,
                "term": manifest.term,
                "group_id": manifest.configuration.group_id,
                "members": members,
                "files": len(manifest.files),
                "size_bytes": manifest.total_bytes,
            }
        )
        return
    echo(
        f"{archive} is whole: the state as of index {manifest.index}, term {manifest.term}, of members "
        f"{', '.join(members)} ({len(manifest.files)} files, {human_bytes(manifest.total_bytes)})"
    )


@app.command("salvage")
def salvage(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The data folder of a member that is stopped.")],
    archive: ArchiveArgument,
) -> None:
    """Save a stopped member's folder as a snapshot: its state, and all of its log. The folder stays as it is.

    For a group that lost its majority: the log of the last member may have what was acknowledged and not applied yet.

    Example: guardian raft snapshot salvage /var/lib/guardian /backup/last.tar
    """
    from metastore.rocksdb import RocksDbStore
    from metastore.state_machine import MetastoreStateMachine
    from metastore.store import StoreError
    from raft.errors import RaftError
    from raft.salvaging import salvage as salvage_folder

    if archive.exists():
        raise InvalidInput(f"{archive} is there already: choose another name, or remove it")
    try:
        _require_stopped(data)
        manifest, found = salvage_folder(
            data.absolute(), archive.absolute(), lambda path: MetastoreStateMachine(RocksDbStore(path))
        )
    except (RaftError, StoreError, OSError) as error:
        raise _refused(data, error) from None
    echo(
        f"{archive} has the state as of index {manifest.index}, term {manifest.term}; {found} commands of it are from "
        f"the log alone ({human_bytes(manifest.total_bytes)})"
    )


@app.command("restore")
def restore(
    archive: ArchiveArgument,
    config_file: Annotated[
        Path | None, typer.Option("--config", help="The TOML file of the member to be: its name, data and raft.")
    ] = None,
    name: Annotated[str, typer.Option("--name", help="Instead of --config: the member's name.")] = "",
    data: Annotated[Path | None, typer.Option("--data", help="Instead of --config: its data folder.")] = None,
    raft: Annotated[str, typer.Option("--raft", help="Instead of --config: host:port of its Raft port.")] = "",
    dry_run: DryRunOption = False,
) -> None:
    """Make the data folder of a new group's first member from a snapshot. The folder must be new or empty.

    The new group has an id of its own, so members of the old one stay out. Start the member, then add others.

    Example: guardian raft snapshot restore /backup/guardian.tar --config /etc/guardian/g1.toml
    """
    if config_file is not None:
        if name or data or raft:
            raise InvalidInput("--config has the name, data and raft already: leave --name, --data and --raft out")
        settings = config.load(config_file)
        name, data, raft = settings.name, settings.data, settings.raft
    if not name or data is None or not raft:
        raise InvalidInput("who shall be restored is not said: give --config, or --name, --data and --raft")
    require_endpoint("--raft", raft)
    if dry_run:
        _rehearse(archive, data, name)
        return
    try:
        index = _restore(archive, data, name, raft)
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"restoring needs the package {error.name}, which is not installed: pip install 'kafka-guardian[server]'"
        ) from None
    echo(f"{data} has the state as of index {index}: {name} is the only member of a new group")
    echo("Next: start it with `guardian server`, then `guardian raft add` the others with empty data folders")


def _rehearse(archive: Path, data: Path, name: str) -> None:
    """Every byte of the archive is checked, and whether the folder may be used."""
    manifest = _verified(archive)
    if data.exists() and (not data.is_dir() or any(data.iterdir())):
        raise InvalidInput(f"{data} is not an empty folder: move what is there away, or choose another one")
    size = human_bytes(manifest.total_bytes)
    echo(
        f"{archive} is whole: {data} would get the state as of index {manifest.index} ({size}), and {name} would be "
        "the only member of a new group. Nothing was written."
    )


def _require_stopped(data: Path) -> None:
    """Raises InvalidInput while a member uses the folder, which a copy would tear then."""
    lock = data / "LOCK"
    if not lock.exists():
        return
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidInput(
                f"{data} is used by a member that runs: stop it, or use `guardian raft snapshot save`"
            ) from None


def _verified(archive: Path) -> Manifest:
    from raft.errors import RaftError
    from raft.snapshotting.archive import verify_archive

    try:
        return verify_archive(archive)
    except (RaftError, OSError) as error:
        raise _refused(archive, error) from None


def _restore(archive: Path, data: Path, name: str, raft: str) -> int:
    from metastore.rocksdb import RocksDbStore
    from metastore.state_machine import MetastoreStateMachine
    from metastore.store import StoreError
    from raft.errors import RaftError
    from raft.restoring import restore_snapshot

    try:
        return restore_snapshot(
            archive,
            data.absolute(),
            name=name,
            address=raft,
            group_id=secrets.token_hex(8),
            open_state_machine=lambda path: MetastoreStateMachine(RocksDbStore(path)),
        ).index
    except (RaftError, StoreError, OSError) as error:
        raise _refused(archive, error) from None


def _refused(archive: Path, error: Exception) -> GuardianError:
    if isinstance(error, OSError) and error.strerror:
        return InvalidInput(f"{error.filename or archive} can't be used: {error.strerror}")
    return InvalidInput(f"{archive}: {error}")
