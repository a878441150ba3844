"""What must not leave a machine in a log line or a support bundle: passwords, tokens, keys.

Secrets are in files of their own and so in no configuration of ours; but people paste, URLs carry passwords, and Kafka
answers with its settings. What looks like a secret, by its name or its form, becomes REDACTED; names stay, so that one
sees that something was set. Rather too much than too little.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

REDACTED = "[redacted]"

# A name that says so. `key` alone is a file in our configurations, and `keys` are counted; a private one never is. What
# ends in file, path or url is where a secret is, not the secret.
_NAME = re.compile(
    r"(password|passwd|passphrase|secret|token|credential|authorization|api[_.-]?key|private[_.-]?key|access[_.-]?key"
    r"|jaas|cookie|session[_.-]?id|guardian[_-](session|signing)|csrf)",
    re.IGNORECASE,
)
_PLACE = re.compile(r"([_.-](file|path|url|location|s|ms|days|type|name)|s|ed|ing)$", re.IGNORECASE)

_FORMS: tuple[tuple[re.Pattern[str], str], ...] = (
    # PEM blocks of private keys, also when they were cut off.
    (
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
        REDACTED,
    ),
    # Cookies, of which a header has several
    (re.compile(r"""\b((?:set-)?cookie["']?\s*[=:]\s*["']?)(?!["'\[])[^\r\n"']+""", re.IGNORECASE), rf"\1{REDACTED}"),
    # Authorization: Bearer ..., Basic ...
    (re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE), rf"\1 {REDACTED}"),
    # JSON Web Tokens
    (re.compile(r"\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*"), REDACTED),
    # Guardian's tokens, of which the number stays: it says which one to revoke
    (re.compile(r"\bgdn_([0-9a-f]{8})_[A-Za-z0-9_-]{8,}"), rf"gdn_\1_{REDACTED}"),
    # AWS' access keys
    (re.compile(r"\b(AKIA|ASIA)[A-Z0-9]{16}\b"), REDACTED),
)
_URL = re.compile(r"""(?<![a-zA-Z0-9+.-])(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]{0,30})://(?P<rest>[^\s"'<>\\]+)""")
_URL_PARTS = re.compile(
    r"(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?", re.DOTALL
)
# Webhooks have their secret in the path: those of chats and bots, by host or by path.
_HOOK = re.compile(r"hook|/services/|/bot\d", re.IGNORECASE)
_TOKEN_IN_PATH = re.compile(r"(?<=/)(?=[^/]*\d)(?=[^/]*[A-Za-z])[A-Za-z0-9_~=-]{24,}(?=/|$)")
_HOOK_NAME = re.compile(r"(^|[_.-])url$|hook", re.IGNORECASE)
# `--password x`, also as two words of a list; and `-u name:password`, as curl has it.
_FLAG = re.compile(
    r"""(?<![\w-])(?P<flag>--?[A-Za-z][\w.-]{0,128})(?P<gap>(?P<end>["']?)(?:\s*[=,]\s*|\s+))"""
    r"""(?P<value>(?P<quote>["'])(?:(?!(?P=quote))[^\\]|\\.){0,4096}(?P=quote)|[^\s"']+)""",
    re.DOTALL,
)
_LOGIN_FLAGS = ("u", "U", "user", "proxy-user")
# name = and name: with or without quotes; then the value, up to its closing quote or to the next space. Or a list.
_SIGN = re.compile(r"""["']?(?<![\w.-])(?P<name>[\w.-]+)["']?\s*[=:]\s*""")
_VALUE = re.compile(r"""(?P<quote>["'])(?:(?!(?P=quote))[^\\]|\\.)*(?:(?P=quote)|\Z)|[^\s,;&"'}\]]+""", re.DOTALL)
_WORD = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*')"""
_LIST = re.compile(rf"\[\s*{_WORD}(?:\s*,\s*{_WORD})*\s*,?\s*\]", re.DOTALL)
_SECRET = "secret"  # noqa: S105  the name of what stands in a table of secrets
_EMPTY = ('""', "''", "[redacted", "none", "None", "null", "true", "false")


def is_secret_name(name: str) -> bool:
    """Return whether what is called so is a secret itself."""
    return bool(_NAME.search(name)) and not _PLACE.search(name)


def redact(text: str) -> str:
    """Return the text without what looks like a secret."""
    for form, instead in _FORMS:
        text = form.sub(instead, text)
    return _without_assigned(_FLAG.sub(_flag, _URL.sub(_url, text)))


def redact_tree(value: object, name: str = "") -> object:
    """The same of mappings and lists of JSON, TOML or a log event: values by their names, texts by their form."""
    if isinstance(value, Mapping):
        return {key: redact_tree(inner, _SECRET if _is_of_secrets(name) else str(key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return _redact_list(value, name)
    if name and is_secret_name(name) and value not in ("", None, True, False):
        return REDACTED
    if not isinstance(value, str):
        return value
    if _HOOK_NAME.search(name) and (url := _URL.fullmatch(value)):
        return _url(url, keeps_path=False)
    return redact(value)


def _redact_list(values: Sequence[object], name: str) -> list[object]:
    """Redact each by its own form, and by the word before it: a list may be a command."""
    found: list[object] = []
    for before, value in zip(("", *values), values, strict=False):
        if not isinstance(value, str):
            found.append(redact_tree(value, name))
        elif value and _is_of_secrets(name):
            found.append(REDACTED)
        else:
            words = _FLAG.fullmatch(f"{before} {_quoted(value)}") if isinstance(before, str) else None
            shown = _flag_value(words) if words is not None else value
            found.append(redact_tree(value, name) if shown == value else shown)
    return found


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _is_of_secrets(name: str) -> bool:
    """Return whether what is called so holds secrets, one or several: `password`, `passwords`."""
    return is_secret_name(name) or (name[-1:] in ("s", "S") and is_secret_name(name[:-1]))


def _url(found: re.Match[str], *, keeps_path: bool = True) -> str:
    """Return the URL without what may be a secret: a password, a query's values, a webhook's path."""
    whole = found["rest"]
    rest = whole if whole.endswith(REDACTED) else whole.rstrip(",;:.)]}")
    parts = _URL_PARTS.fullmatch(rest)
    if parts is None:  # the pattern takes any text
        return REDACTED
    is_http = found["scheme"].lower() in ("http", "https")
    authority, path = _authority(parts["authority"], is_http=is_http), parts["path"]
    if is_http and len(path) > 1 and (not keeps_path or _HOOK.search(authority + path)):
        path = f"/{REDACTED}"
    path = _TOKEN_IN_PATH.sub(REDACTED, path)
    query = "" if parts["query"] is None else "?" + "&".join(map(_parameter, parts["query"].split("&")))
    fragment = f"#{REDACTED}" if parts["fragment"] else ""
    return f"{found['scheme']}://{authority}{path}{query}{fragment}{whole[len(rest) :]}"


def _authority(authority: str, *, is_http: bool) -> str:
    """Return user and host; to HTTP a user without a password is often a token."""
    user, at, host = authority.rpartition("@")
    name, colon, _ = user.partition(":")
    if colon:
        return f"{name}:{REDACTED}@{host}"
    return f"{REDACTED}@{host}" if at and is_http else authority


def _parameter(parameter: str) -> str:
    name, sign, value = parameter.partition("=")
    return f"{name}={REDACTED}" if sign and value else name if sign or len(name) < 8 else REDACTED


def _flag(found: re.Match[str]) -> str:
    quote = found["quote"] or ""
    return f"{found['flag']}{found['gap']}{quote}{_flag_value(found)}{quote}"


def _flag_value(found: re.Match[str]) -> str:
    """Return what stands behind an option of a command, without what is secret of it."""
    name, quote = found["flag"].lstrip("-"), found["quote"] or ""
    value = found["value"].removeprefix(quote).removesuffix(quote) if quote else found["value"]
    if name in _LOGIN_FLAGS:
        user, colon, _ = value.partition(":")
        return f"{user}:{REDACTED}" if colon and "://" not in value else value
    is_option = value.startswith("-") and not quote
    return REDACTED if is_secret_name(name) and value and not is_option and REDACTED not in value else value


def _without_assigned(text: str) -> str:
    kept: list[str] = []
    end = 0
    for sign in _SIGN.finditer(text):
        if sign.start() < end:
            continue
        found = _assigned(text, sign)
        if found is not None:
            value, instead = found
            kept += [text[end : value.start()], instead]
            end = value.end()
    return "".join([*kept, text[end:]])


def _assigned(text: str, sign: re.Match[str]) -> tuple[re.Match[str], str] | None:
    """Return the value behind a name and what stands in its place; None where it stays."""
    name = sign["name"]
    several = _LIST.match(text, sign.end()) if _is_of_secrets(name) else None
    if several is not None:
        return (several, f'["{REDACTED}"]') if REDACTED not in several[0] else None
    if not is_secret_name(name) and not _HOOK_NAME.search(name):
        return None
    value = _VALUE.match(text, sign.end())
    if value is None or value[0] in _EMPTY:
        return None
    quote = value["quote"] or ""
    if is_secret_name(name):
        return None if REDACTED in value[0] else (value, f"{quote}{REDACTED}{quote}")
    url = _URL.match(text, value.start() + len(quote))
    return (url, _url(url, keeps_path=False)) if url is not None else None
