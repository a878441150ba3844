"""`guardian certs`: an authority of one's own for trying TLS out, and what certificates say.

It needs the package `cryptography`, which comes with the extra `server`, so it is imported when a command runs.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guardian.cli.options import DryRunOption, Output, OutputOption, YesOption, confirm, now_ms
from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import print_json, print_table
from guardian.errors import InvalidInput
from guardian.model.actor import require_name
from guardian.model.units import parse_duration_ms
from guardian.security.model.identity import BrokerId

if TYPE_CHECKING:
    from guardian.security.certificates.facts import CertificateFacts
    from guardian.security.certificates.folder import CertificateFolder

app = typer.Typer(
    help="Certificates: a development authority, and when those in use expire (docs/tls.md).", no_args_is_help=True
)

_DAY_MS = 86_400_000

FolderOption = Annotated[Path, typer.Option("--folder", help="Where the authority and its certificates are.")]
ExpiresOption = Annotated[str, typer.Option("--expires", help="After how long it no longer counts, such as 365d.")]
NamesArgument = Annotated[list[str] | None, typer.Argument(help="Names of certificates in the folder.")]
_FOLDER = Path("certs")


@app.command("init")
def init(
    folder: FolderOption = _FOLDER,
    name: Annotated[str, typer.Option("--name", help="What it is called.")] = "Guardian development authority",
    expires: ExpiresOption = "3650d",
    dry_run: DryRunOption = False,
) -> None:
    """Make an authority: ca.pem, ca.key and an empty crl.pem.

    Example: guardian certs init --folder certs
    """
    made = _folder(folder)
    if dry_run:
        made.require_none()
        echo(f"would make {made.authority}, its key and {made.revoked}. Nothing was written.")
        return
    made.init(name, _days("--expires", expires), now_ms())
    echo(f"made {made.authority}, its key and {made.revoked}; who reads the key can be anybody: keep it apart")


@app.command("issue")
def issue(
    name: Annotated[str, typer.Argument(help="Whose it is: a member's name, a broker's, or a person's.")],
    host: Annotated[
        list[str] | None, typer.Option("--host", help="A DNS name or IP address under which it is reached; repeatable.")
    ] = None,
    broker: Annotated[
        list[str] | None,
        typer.Option(
            "--broker",
            metavar="CLUSTER/ID",
            help="The broker whose plugin comes with it, such as live/1; repeatable.",
        ),
    ] = None,
    person: Annotated[bool, typer.Option("--person", help="For who calls only: nobody can serve with it.")] = False,
    member: Annotated[
        bool, typer.Option("--member", help="For a member's [tls]: it bears its name raft:NAME.")
    ] = False,
    expires: ExpiresOption = "365d",
    folder: FolderOption = _FOLDER,
    dry_run: DryRunOption = False,
) -> None:
    """Make a key and a certificate, NAME.key and NAME.pem.

    Example: guardian certs issue g1 --member --host g1.example.net --host 10.0.0.1
    """
    issued = _folder(folder)
    require_name("NAME", name)
    uris = tuple(BrokerId.parse("--broker", each).uri for each in broker or ())
    wanted = _load("authority").Wanted(name, tuple(host or ()), _days("--expires", expires), person, uris, member)
    if dry_run:
        issued.require_new(name)
        echo(f"would make {issued.certificate(name)} and {issued.key(name)}. Nothing was written.")
        return
    facts = issued.issue(wanted, now_ms())
    echo(f"made {issued.certificate(name)} and {issued.key(name)}: {_days_left(facts)} days")


@app.command("renew")
def renew(
    names: NamesArgument = None,
    all_: Annotated[bool, typer.Option("--all", help="All in the folder.")] = False,
    within: Annotated[str, typer.Option("--within", help="Only those that expire within so long, such as 30d.")] = "",
    expires: ExpiresOption = "365d",
    folder: FolderOption = _FOLDER,
    dry_run: DryRunOption = False,
) -> None:
    """Make them anew, for the same names with new keys. Members take the new files up without a restart.

    Example: guardian certs renew --all --within 30d
    """
    known = _folder(folder)
    if all_ == bool(names):
        raise InvalidInput("give the names to renew, or --all")
    lifetime = _days("--expires", expires)
    soon_ms = parse_duration_ms("--within", within) if within else None
    for name in names or known.names():
        facts = known.facts(name)
        if soon_ms is not None and facts.not_after_ms - now_ms() > soon_ms:
            echo(f"{name}: left as it is, {_days_left(facts)} days")
            continue
        if dry_run:
            echo(f"{name}: would be renewed, {_days_left(facts)} days are left")
            continue
        echo(f"{name}: renewed, {_days_left(known.renew(name, lifetime, now_ms()))} days")


@app.command("revoke")
def revoke(
    names: Annotated[list[str], typer.Argument(help="Names of certificates in the folder.")],
    folder: FolderOption = _FOLDER,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Take back all certificates of names, renewed ones too: crl.pem has them, and members refuse them within seconds.

    Example: guardian certs revoke ann --yes
    """
    known = _folder(folder)
    counts = [f"{name} ({len(known.serials(name))})" for name in names]  # all are known, or nothing is done
    if dry_run:
        echo(f"would revoke the certificates of {', '.join(counts)}. Nothing was written.")
        return
    confirm(f"Revoke the certificates of {', '.join(counts)}?", yes)
    for name in names:
        for serial in known.revoke(name, now_ms()):
            echo(f"{name}: serial {serial:x} is in {known.revoked}")


@app.command("show")
def show(
    files: Annotated[
        list[Path] | None, typer.Argument(help="PEM files; none: all that are in the folder.", show_default=False)
    ] = None,
    folder: FolderOption = _FOLDER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show whose certificates are, who made them and when they expire.

    Example: guardian certs show /etc/guardian/g1.pem -o json
    """
    facts_of_all = _load("facts").all_facts_of
    if not files:
        known = _folder(folder)
        files = [path for path in sorted(known.path.glob("*.pem")) if path != known.revoked]
        if not files:
            raise InvalidInput(f"{known.path} has no certificates: give files, or another --folder")
    found = [(path, facts) for path in files for facts in _read(path, facts_of_all)]
    if output is Output.JSON:
        print_json([_as_dict(path, facts) for path, facts in found])
        return
    print_table(
        ("FILE", "NAMES", "ISSUER", "DAYS LEFT", "SERIAL"),
        [
            (
                path.name,
                ", ".join((*facts.names, *facts.addresses, *facts.uris)),
                facts.issuer,
                _days_left(facts),
                f"{facts.serial:x}"[:16],
            )
            for path, facts in found
        ],
        right=("DAYS LEFT",),
        more=more_of(
            [facts for _, facts in found], "not_before_ms", "not_after_ms", "common_name", "is_authority", "fingerprint"
        ),
    )


def _as_dict(path: Path, facts: CertificateFacts) -> dict[str, Any]:
    return {
        "file": str(path),
        "names": list(facts.names),
        "addresses": list(facts.addresses),
        "uris": list(facts.uris),
        "issuer": facts.issuer,
        "serial": f"{facts.serial:x}",
        "fingerprint": facts.fingerprint,
        "not_before_ms": facts.not_before_ms,
        "not_after_ms": facts.not_after_ms,
        "is_authority": facts.is_authority,
    }


def _read(path: Path, facts_of_all: Any) -> tuple[CertificateFacts, ...]:
    try:
        found: tuple[CertificateFacts, ...] = facts_of_all(path.read_bytes())
    except OSError as error:
        raise InvalidInput(f"{path} can't be read: {error.strerror}") from None
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    return found


def _folder(path: Path) -> CertificateFolder:
    made: CertificateFolder = _load("folder").CertificateFolder(path)
    return made


def _load(module: str) -> Any:
    try:
        return import_module(f"guardian.security.certificates.{module}")
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"`guardian certs` needs {error.name}, which is not installed: pip install 'kafka-guardian[server]'"
        ) from None


def _days(option: str, text: str) -> float:
    return parse_duration_ms(option, text) / _DAY_MS


def _days_left(facts: CertificateFacts) -> str:
    """Days and tenths; an expired one has less than none."""
    return f"{(facts.not_after_ms - now_ms()) / _DAY_MS:.1f}"
