"""What must not leave a machine in a log line or a support bundle: passwords, tokens, keys.

Secrets are in files of their own and so in no configuration of ours; but people paste, URLs carry passwords, and Kafka
answers with its settings. What looks like a secret, by its name or its form, becomes REDACTED; names stay, so that one
sees that something was set. Rather too much than too little.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

REDACTED = "[redacted]"

# A name that says so. `key` alone is a file in our configurations, and `keys` are counted; a private one never is. What
# ends in file, path or url is where a secret is, not the secret.
_NAME = re.compile(
    r"(password|passwd|passphrase|secret|token|credential|authorization|api[_.-]?key|private[_.-]?key|access[_.-]?key"
    r"|jaas|cookie|session[_.-]?id)",
    re.IGNORECASE,
)
_PLACE = re.compile(r"([_.-](file|path|url|location|s|ms|days|type|name)|s|ed|ing)$", re.IGNORECASE)

_FORMS: tuple[tuple[re.Pattern[str], str], ...] = (
    # PEM blocks of private keys, also when they were cut off.
    (
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
        REDACTED,
    ),
    # scheme://user:password@host
    (re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*://[^/\s:@]*):[^/\s@]+@"), rf"\1:{REDACTED}@"),
    # Authorization: Bearer ..., Basic ...
    (re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE), rf"\1 {REDACTED}"),
    # JSON Web Tokens
    (re.compile(r"\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*"), REDACTED),
    # Guardian's tokens, of which the number stays: it says which one to revoke
    (re.compile(r"\bgdn_([0-9a-f]{8})_[A-Za-z0-9_-]{8,}"), rf"gdn_\1_{REDACTED}"),
    # AWS' access keys
    (re.compile(r"\b(AKIA|ASIA)[A-Z0-9]{16}\b"), REDACTED),
)
# name = and name: with or without quotes; then the value, up to its closing quote or to the next space.
_SIGN = re.compile(r"""["']?(?P<name>[\w.-]{1,128})["']?\s*[=:]\s*""")
_VALUE = re.compile(r"""(?P<quote>["'])(?:(?!(?P=quote))[^\\]|\\.)*(?:(?P=quote)|\Z)|[^\s,;&"'}\]]+""", re.DOTALL)
_EMPTY = ('""', "''", "[redacted", "none", "None", "null", "true", "false")


def is_secret_name(name: str) -> bool:
    """Whether what is called so is a secret itself."""
    return bool(_NAME.search(name)) and not _PLACE.search(name)


def redact(text: str) -> str:
    """The text without what looks like a secret."""
    for form, instead in _FORMS:
        text = form.sub(instead, text)
    return _without_assigned(text)


def redact_tree(value: object, name: str = "") -> object:
    """The same of mappings and lists of JSON, TOML or a log event: values by their names, texts by their form."""
    if isinstance(value, Mapping):
        return {key: redact_tree(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redact_tree(inner, name) for inner in value]
    if name and is_secret_name(name) and value not in ("", None, True, False):
        return REDACTED
    return redact(value) if isinstance(value, str) else value


def _without_assigned(text: str) -> str:
    kept: list[str] = []
    end = 0
    for sign in _SIGN.finditer(text):
        if sign.start() < end or not is_secret_name(sign["name"]):
            continue
        value = _VALUE.match(text, sign.end())
        if value is None or REDACTED in value[0] or value[0] in _EMPTY:
            continue
        quote = value["quote"] or ""
        kept += [text[end : value.start()], quote, REDACTED, quote]
        end = value.end()
    return "".join([*kept, text[end:]])
