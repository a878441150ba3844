"""How the CLI speaks TLS: --ca, --certificate and --key, else $GUARDIAN_CA, $GUARDIAN_CERTIFICATE and $GUARDIAN_KEY,
else what the context says (guardian.cli.contexts), `local` with `guardian local up --tls` included. With none of these
it speaks plain text.

They are taken as one: who types one of them, or sets one of the variables, gets nothing of the next place.
"""

from __future__ import annotations

import os
from pathlib import Path

from guardian.cli.contexts import Context
from guardian.client import ClientTls
from guardian.errors import InvalidInput

_FIELDS = ("ca", "certificate", "key")


def tls_of(typed: tuple[str, str, str], context: Context | None) -> ClientTls | None:
    """`typed` are --ca, --certificate and --key; None: in plain text. Raises InvalidInput."""
    variables = tuple(f"GUARDIAN_{name.upper()}" for name in _FIELDS)
    for names, values in (
        (tuple(f"--{name}" for name in _FIELDS), typed),
        (tuple(f"${name}" for name in variables), tuple(os.environ.get(name, "") for name in variables)),
        (
            tuple(f"{name} of context {context.name}" for name in _FIELDS) if context else _FIELDS,
            tuple(str(context.path(name) or "") for name in _FIELDS) if context else ("", "", ""),
        ),
    ):
        if any(values):
            return _tls(names, values)
    return None


def _tls(names: tuple[str, ...], values: tuple[str, ...]) -> ClientTls:
    ca, certificate, key = (Path(value).expanduser() if value else None for value in values)
    if ca is None:
        raise InvalidInput(f"{names[0]} is not given, but {names[1 if certificate else 2]} is: say whom to trust")
    if (certificate is None) != (key is None):
        given, missing = (names[1], names[2]) if certificate else (names[2], names[1])
        raise InvalidInput(f"{missing} is not given, but {given} is: give both, or neither")
    return ClientTls(ca, certificate, key)
