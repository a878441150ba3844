"""Contexts: the federations that an operator works with, by name, in one file.

    current: prod
    contexts:
      prod:
        endpoints: [g1.example.net:9750, g2.example.net:9750]
        ca: /etc/guardian/ca.pem              # these three: TLS, and who the operator is
        certificate: ~/.config/guardian/alice.pem
        key: ~/.config/guardian/alice.key
        token_file: ~/.config/guardian/token  # or a token in a file; the token itself is never in this one
        http: https://g1.example.net:9751     # of a member: for `guardian support-bundle`
        timeout: 60s                          # where the line is slow
        cluster: live                         # of commands that need one and are given none

The file is $GUARDIAN_CONFIG, else guardian/config.yaml in $XDG_CONFIG_HOME or ~/.config. Whom a command talks to:

    1. --endpoints, or --context on the command line
    2. $GUARDIAN_ENDPOINTS, then $GUARDIAN_CONTEXT
    3. the file's current context
    4. the federation that `guardian local up` started in this folder: as a context it is called `local`
    5. the embedded server, 127.0.0.1:9750

What a context says besides endpoints counts only with its own endpoints: nobody's token goes to members given by hand.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from guardian.cli.local_home import STATE, default_home
from guardian.errors import GuardianError, InvalidInput, NotFound
from guardian.model.settings import refuse_unknown
from guardian.model.topology import DEFAULT_ENDPOINT, require_endpoint
from guardian.model.units import parse_duration_ms

LOCAL = "local"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True)
class Context:
    """A federation as the CLI reaches it. Paths are as they are written, with ~ for the home folder; `timeout` is a
    duration such as 60s; what is empty is not said."""

    name: str
    endpoints: tuple[str, ...]
    ca: str = ""
    certificate: str = ""
    key: str = ""
    token_file: str = ""
    http: str = ""
    timeout: str = ""
    cluster: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidInput(
                f"context has the name {self.name!r}: use up to 63 letters, digits, '.', '_' and '-', "
                "starting with a letter or digit"
            )
        where = f"context {self.name}: endpoints"
        if not self.endpoints:
            raise InvalidInput(f"{where} is empty: give host:port of one or more members")
        for endpoint in self.endpoints:
            require_endpoint(where, endpoint)
        if bool(self.certificate) != bool(self.key):
            given, missing = ("certificate", "key") if self.certificate else ("key", "certificate")
            raise InvalidInput(f"context {self.name}: {given} is given without {missing}: give both, or neither")
        if self.http and (urlsplit(self.http).scheme not in ("http", "https") or not urlsplit(self.http).netloc):
            raise InvalidInput(f"context {self.name}: http is {self.http!r}: use http://host:port or https://host:port")
        if self.timeout:
            parse_duration_ms(f"context {self.name}: timeout", self.timeout)

    @property
    def timeout_s(self) -> float | None:
        """None where it says nothing."""
        return parse_duration_ms("timeout", self.timeout) / 1000 if self.timeout else None

    def path(self, field_name: str) -> Path | None:
        """Return the path of `ca`, `certificate`, `key` or `token_file`; None where the context says nothing."""
        value = str(getattr(self, field_name))
        return Path(value).expanduser() if value else None


@dataclass(frozen=True, slots=True)
class Contexts:
    """The file's content. `current` is empty or one of them, or `local`."""

    current: str = ""
    contexts: Mapping[str, Context] = field(default_factory=dict)

    def get(self, name: str) -> Context:
        """Raises NotFound with the names that there are; `local` is there where `guardian local` has a federation."""
        if name in self.contexts:
            return self.contexts[name]
        here = local() if name == LOCAL else None
        if here is not None:
            return here
        known = ", ".join(sorted(self.contexts)) or "none"
        raise NotFound(f"context {name!r} is not known (there is: {known}): see `guardian context list`, or add it")

    def with_one(self, context: Context) -> Contexts:
        """The first one becomes the current one."""
        if context.name == LOCAL:
            raise InvalidInput(f"context has the name {LOCAL!r}, which stands for `guardian local`: use another name")
        return Contexts(self.current or context.name, {**self.contexts, context.name: context})

    def without(self, name: str) -> Contexts:
        """Raises NotFound. Without the current one none is current."""
        if name not in self.contexts:
            self.get(name)
            raise InvalidInput(f"context {LOCAL!r} is not in the file: end it with `guardian local wipe`")
        rest = {each: context for each, context in self.contexts.items() if each != name}
        return Contexts("" if self.current == name else self.current, rest)

    def using(self, name: str) -> Contexts:
        """Raises NotFound."""
        self.get(name)
        return replace(self, current=name)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Whom a command talks to, and why. `context` is None where endpoints were given by hand or found."""

    endpoints: tuple[str, ...]
    why: str
    context: Context | None = None


def config_file() -> Path:
    """Return where contexts are kept, whether or not the file is there."""
    given = os.environ.get("GUARDIAN_CONFIG")
    if given:
        return Path(given)
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "guardian" / "config.yaml"


def load(file: Path | None = None) -> Contexts:
    """Load what the file says; nothing where there is none. Raises InvalidInput with file, field and fix."""
    file = file or config_file()
    try:
        content = yaml.safe_load(file.read_text())
    except FileNotFoundError:
        return Contexts()
    except OSError as error:
        raise InvalidInput(f"{file} can't be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        sentence = " ".join(str(error).split())
        raise InvalidInput(f"{file} is not valid YAML: {sentence}") from None
    try:
        return _read(content)
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from None


def save(contexts: Contexts, file: Path | None = None) -> None:
    """Written whole and then renamed, for its owner only. Raises InvalidInput."""
    file = file or config_file()
    content = {
        "current": contexts.current,
        "contexts": {name: as_dict(context) for name, context in sorted(contexts.contexts.items())},
    }
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, prefix=".config-", delete=False) as written:
            yaml.safe_dump(content, written, sort_keys=False)
        Path(written.name).replace(file)
    except OSError as error:
        raise InvalidInput(f"{file} can't be written: {error.strerror}") from None


def as_dict(context: Context) -> dict[str, object]:
    """Its fields but for the name, without empty ones."""
    shown = {each.name: getattr(context, each.name) for each in fields(context) if each.name != "name"}
    shown["endpoints"] = list(context.endpoints)
    return {name: value for name, value in shown.items() if value}


def choose(endpoints: str = "", context: str = "", file: Path | None = None) -> Chosen:
    """Choose whom to talk to; see above. Raises InvalidInput and NotFound.

    `endpoints` and `context` are what was typed. Of the first the environment's value may come as well, as typer reads
    it: it gives way to a context that was typed.
    """
    from_environment = os.environ.get("GUARDIAN_ENDPOINTS", "")
    if context:
        if endpoints and endpoints != from_environment:
            raise InvalidInput("--endpoints and --context are both given: give one of them")
        found = load(file).get(context)
        return Chosen(found.endpoints, "--context", found)
    given = endpoints or from_environment
    if given:
        members = tuple(each.strip() for each in given.split(","))
        return Chosen(members, "$GUARDIAN_ENDPOINTS" if given == from_environment else "--endpoints")
    named = os.environ.get("GUARDIAN_CONTEXT", "")
    contexts = load(file)
    if named or contexts.current:
        found = contexts.get(named or contexts.current)
        return Chosen(found.endpoints, "$GUARDIAN_CONTEXT" if named else "the current context", found)
    here = local()
    if here is not None:
        return Chosen(here.endpoints, "the federation of `guardian local` in this folder", here)
    return Chosen((DEFAULT_ENDPOINT,), "the embedded server's default")


def local() -> Context | None:
    """The federation that `guardian local up` started in this folder; None where there is none."""
    try:
        members = json.loads((default_home() / STATE).read_text())["members"]
        http, certs = members[0].get("http", ""), members[0].get("certificates") or ""
        files = {"ca": f"{certs}/ca.pem", "certificate": f"{certs}/operator.pem", "key": f"{certs}/operator.key"}
        return Context(
            LOCAL,
            tuple(str(each["grpc"]) for each in members),
            http=f"http{'s' if certs else ''}://{http}" if http else "",
            **(files if certs else {}),
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, GuardianError):
        return None


def _read(content: object) -> Contexts:
    if content is None:
        return Contexts()
    top = _mapping("the file", content)
    refuse_unknown("", top, ("current", "contexts"))
    current = top.get("current") or ""
    if not isinstance(current, str):
        raise InvalidInput(f"current is {current!r}: give the name of a context")
    contexts = {}
    for name, section in _mapping("contexts", top.get("contexts") or {}).items():
        contexts[str(name)] = _context(str(name), _mapping(f"contexts.{name}", section))
    if current and current != LOCAL and current not in contexts:
        raise InvalidInput(f"current is {current!r}, which is not one of contexts: use {', '.join(contexts) or 'none'}")
    return Contexts(current, contexts)


def _context(name: str, section: Mapping[object, object]) -> Context:
    known = {each.name for each in fields(Context)} - {"name"}
    refuse_unknown(f"contexts.{name}.", section, known)
    endpoints = section.get("endpoints")
    if not isinstance(endpoints, list) or not all(isinstance(each, str) for each in endpoints):
        raise InvalidInput(f"contexts.{name}.endpoints is {endpoints!r}: give a list, such as [g1:9750, g2:9750]")
    texts: dict[str, str] = {}
    for key in known - {"endpoints"}:
        value = section.get(key, "")
        if not isinstance(value, str):
            raise InvalidInput(
                f"contexts.{name}.{key} is {value!r}: give a text, in quotes where it looks like another"
            )
        texts[key] = value
    return Context(name, tuple(endpoints), **texts)


def _mapping(where: str, value: object) -> Mapping[object, object]:
    if not isinstance(value, dict):
        raise InvalidInput(f"{where} is {value!r}: write it as `name: value` lines")
    return value
