"""`guardian token create|list|revoke`: the members' tokens file (guardian/security/rules/tokens.py).

Works on the file itself, which members read again when it changes: whoever may write it may let anybody in, so that no
RPC does it."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from guardian.cli.options import DryRunOption, Output, OutputOption, YesOption, confirm, now_ms
from guardian.cli.printing import echo
from guardian.cli.render import human_time, print_json, print_table
from guardian.errors import InvalidInput, NotFound
from guardian.model.units import parse_duration_ms
from guardian.security.rules.tokens import ID_BYTES, SECRET_BYTES, Token, make_token, parse_tokens, write_tokens

app = typer.Typer(help="Tokens by which programs, and people, say who they are.", no_args_is_help=True)

FileOption = Annotated[
    Path, typer.Option("--file", envvar="GUARDIAN_TOKENS", help="The tokens file of the members, \\[security] tokens.")
]
_NEVER = "never"


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Who comes with it, as the roles file and the audit name him.")],
    file: FileOption,
    expires: Annotated[str, typer.Option(help="After how long it is good no more, such as 90d, or never.")] = "90d",
    out: Annotated[Path | None, typer.Option("--out", help="Write the token to this new file, mode 600.")] = None,
    dry_run: DryRunOption = False,
) -> None:
    """Make a token and show it once: the file keeps its hash only.

    Example: guardian token create ci --file /etc/guardian/tokens.toml --expires 90d --out ci.token
    """
    lifetime_ms = 0 if expires == _NEVER else parse_duration_ms("--expires", expires)
    known = _read(file)
    secret = secrets.token_bytes(SECRET_BYTES)
    text, token = make_token(name, secrets.token_bytes(ID_BYTES), secret, now_ms(), lifetime_ms)
    if dry_run:
        ends = human_time(token.expires_at_ms) if token.expires_at_ms else _NEVER
        echo(f"{file} would get a token of {name}, beside {len(known)}; it would expire: {ends}. Nothing was written.")
        return
    if out is not None:
        _write_new(out, text)  # before the file: a token that nobody has is no use
    _write(file, (*known, token))
    if out is None:
        echo(text)
    else:
        echo(f"token {token.id} of {name} is in {out}")


@app.command("list")
def list_tokens(file: FileOption, output: OutputOption = Output.TABLE) -> None:
    """List tokens, by their number: the tokens themselves are nowhere.

    Example: guardian token list --file /etc/guardian/tokens.toml
    """
    tokens = _read(file)
    if output is Output.JSON:
        rows = [
            {"id": each.id, "name": each.name, "created_ms": each.created_at_ms, "expires_ms": each.expires_at_ms}
            for each in tokens
        ]
        print_json(rows)
        return
    at_ms = now_ms()
    print_table(
        ("ID", "NAME", "CREATED", "EXPIRES", "STATE"),
        [
            (each.id, each.name, human_time(each.created_at_ms), human_time(each.expires_at_ms), _state(each, at_ms))
            for each in tokens
        ],
    )


@app.command()
def revoke(
    which: Annotated[str, typer.Argument(help="The token's ID, or the name of whose tokens all go.")],
    file: FileOption,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Take a token back: members refuse it at once, and what it has open ends in seconds.

    Example: guardian token revoke 3f9a01c2 --file /etc/guardian/tokens.toml --yes
    """
    known = _read(file)
    kept = tuple(token for token in known if which not in (token.id, token.name))
    if len(kept) == len(known):
        raise NotFound(f"no token in {file} has the ID or name {which!r}: see guardian token list")
    gone = [token for token in known if token not in kept]
    named = ", ".join(f"{token.id} of {token.name}" for token in gone)
    if dry_run:
        echo(f"would revoke {named}. Nothing was written.")
        return
    confirm(f"Revoke {named}?", yes)
    _write(file, kept)
    echo(f"{len(known) - len(kept)} tokens are revoked")


def _state(token: Token, now_ms: int) -> str:
    return "expired" if token.expires_at_ms and now_ms >= token.expires_at_ms else "good"


def _read(file: Path) -> tuple[Token, ...]:
    try:
        return parse_tokens(file.read_text())
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"tokens file {file} can't be read: {error}") from None
    except InvalidInput as error:
        raise InvalidInput(f"tokens file {file}: {error}") from None


def _write(file: Path, tokens: tuple[Token, ...]) -> None:
    """Whole or not at all: members may read it at any moment."""
    try:
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        with os.fdopen(descriptor, "w") as new:
            new.write(write_tokens(tokens))
            new.flush()
            os.fsync(new.fileno())
        if file.exists():
            Path(name).chmod(file.stat().st_mode & 0o777)
        Path(name).replace(file)
    except OSError as error:
        raise InvalidInput(f"tokens file {file} can't be written: {error.strerror}") from None


def _write_new(file: Path, text: str) -> None:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as new:
            new.write(f"{text}\n")
    except OSError as error:
        raise InvalidInput(f"--out {file} can't be written: {error.strerror}") from None
