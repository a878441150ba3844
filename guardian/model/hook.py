"""What stops, starts or restarts one broker, as the members' configuration names it.

    [hooks.by-script]                   # a program of one's own, on the member that leads
    kind    = "command"
    command = ["/usr/local/bin/kafka-node", "{action}", "{cluster}", "{broker}"]
    timeout_s = 300.0                   # it must have ended by then, not the broker be back
    environment = ["KAFKA_HOME"]        # variables of the member's that it gets besides PATH, HOME and the like

    [hooks.by-systemd]                  # systemctl, on the broker's machine where `host` is given
    kind = "systemd"
    unit = "kafka@{broker}.service"
    host = "guardian@{host}"

    [hooks.by-kubernetes]               # kubectl delete pod: its StatefulSet makes it anew. Restarts only
    kind      = "kubernetes"
    namespace = "kafka"
    pod       = "{cluster}-kafka-{broker}"

In braces: action (stop, start, restart), broker (its id), cluster (its name), host (its machine's, or the one that its
clients see). Nothing passes through a shell, and no value may begin with a dash. Of the member's environment a hook
gets what is listed only. It must bear being called twice: a member may die between calling it and writing down that it
ended.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass

from guardian.errors import InvalidInput
from guardian.model.operation import HookAction

_FIELDS = ("action", "broker", "cluster", "host")
_KINDS: Mapping[str, tuple[str, ...]] = {
    "command": ("command",),
    "systemd": ("unit", "host"),
    "kubernetes": ("namespace", "pod"),
}
_ALWAYS = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR")
_OF_KIND: Mapping[str, tuple[str, ...]] = {
    "command": (),
    "systemd": ("SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"),
    "kubernetes": ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"),
}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_MAX_TIMEOUT_S = 24 * 3600.0
_DEFAULT_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class HookTarget:
    """The broker or controller that a hook is run for; `host` is empty where it is not known."""

    cluster: str
    node: int
    host: str = ""


@dataclass(frozen=True, slots=True)
class Hook:
    """`command` is the argument vector, with fields in braces; `actions` are those that it can do,
    `environment` the variables that it gets."""

    name: str
    kind: str
    command: tuple[str, ...]
    actions: frozenset[HookAction] = frozenset(HookAction)
    timeout_s: float = _DEFAULT_TIMEOUT_S
    environment: tuple[str, ...] = _ALWAYS

    @classmethod
    def of(cls, name: str, table: object) -> Hook:
        """From the section [hooks.NAME]. Raises InvalidInput that names the field, the value and the fix."""
        where = f"hooks.{name}"
        if not isinstance(table, Mapping):
            raise InvalidInput(f"{where} is {table!r}: write it as a section, [{where}]")
        kind = table.get("kind")
        if not isinstance(kind, str) or kind not in _KINDS:
            raise InvalidInput(f"{where}.kind is {kind!r}: use one of {', '.join(_KINDS)}")
        known = ("kind", "timeout_s", "environment", *_KINDS[kind])
        for key in table:
            if key not in known:
                raise InvalidInput(f"{where}.{key} is not a setting of kind {kind}: use {', '.join(known)}")
        command = _commands(where, kind, table)
        for word in command:
            _require_known_fields(where, word)
        actions = frozenset({HookAction.RESTART}) if kind == "kubernetes" else frozenset(HookAction)
        environment = (*_ALWAYS, *_OF_KIND[kind], *_variables(where, table))
        return cls(name, kind, command, actions, _timeout(where, table), environment)

    @property
    def must_be_seen(self) -> bool:
        """Its yes alone is no sign of a restart: a pod that was not found is none that was deleted."""
        return self.kind == "kubernetes"

    def require_action(self, action: HookAction) -> None:
        """Raises InvalidInput where it can't do that."""
        if action not in self.actions:
            able = ", ".join(sorted(self.actions))
            raise InvalidInput(
                f"hook is {self.name!r}, of kind {self.kind}, which can {able} a broker and not {action} it: use a "
                f"hook of kind command or systemd, or none, and {action} it by hand"
            )

    def command_for(self, action: HookAction, target: HookTarget) -> tuple[str, ...]:
        """Raises InvalidInput where it can't do that, doesn't know the host that it needs, or would take a value for an
        option."""
        self.require_action(action)
        if not target.host and any("{host}" in word for word in self.command):
            raise InvalidInput(
                f"hook is {self.name!r}, which needs the host of node {target.node}, and that is not known: add its "
                "machine (guardian machine put)"
            )
        values = {"action": action, "broker": target.node, "cluster": target.cluster, "host": target.host}
        for field, value in values.items():
            if str(value).startswith("-"):
                raise InvalidInput(
                    f"hook is {self.name!r}, and {field} of node {target.node} is {str(value)[:128]!r}, which a "
                    "program would take for an option; give one that does not begin with a dash"
                )
        return tuple(word.format_map(values) for word in self.command)

    def environment_of(self, member: Mapping[str, str]) -> dict[str, str]:
        """Of the member's environment what the hook gets."""
        return {name: member[name] for name in self.environment if name in member}


def _commands(where: str, kind: str, table: Mapping[str, object]) -> tuple[str, ...]:
    if kind == "command":
        words = table.get("command")
        if not isinstance(words, list) or not words or not all(isinstance(word, str) and word for word in words):
            raise InvalidInput(
                f'{where}.command is {words!r}: use a list of words, such as ["/usr/bin/kafka-node", "{{action}}", '
                '"{broker}"]'
            )
        return tuple(words)
    if kind == "systemd":
        host = _text(where, table, "host", required=False)
        unit = _text(where, table, "unit")
        return ("systemctl", *((f"--host={host}",) if host else ()), "{action}", "--", unit)
    namespace, pod = _text(where, table, "namespace"), _text(where, table, "pod")
    # Until the old process is gone, be it long in its preStop: who did not wait would take that one for the new one.
    timeout = f"--timeout={math.ceil(_timeout(where, table))}s"
    options = ("--wait=true", timeout, "--ignore-not-found")
    return ("kubectl", f"--namespace={namespace}", "delete", "pod", *options, "--", pod)


def _variables(where: str, table: Mapping[str, object]) -> tuple[str, ...]:
    names = table.get("environment", [])
    if not isinstance(names, list) or not all(isinstance(name, str) and _VARIABLE.fullmatch(name) for name in names):
        raise InvalidInput(f'{where}.environment is {names!r}: list names of variables, such as ["KAFKA_HOME"]')
    return tuple(names)


def _text(where: str, table: Mapping[str, object], key: str, *, required: bool = True) -> str:
    value = table.get(key, "")
    if not isinstance(value, str) or (required and not value):
        raise InvalidInput(f"{where}.{key} is {table.get(key)!r}: give a non-empty string")
    return value


def _timeout(where: str, table: Mapping[str, object]) -> float:
    value = table.get("timeout_s", _DEFAULT_TIMEOUT_S)
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise InvalidInput(f"{where}.timeout_s is {value!r}: give a number")
    if not 0 < value <= _MAX_TIMEOUT_S:
        raise InvalidInput(f"{where}.timeout_s is {value}: use seconds, more than 0 and at most {_MAX_TIMEOUT_S:g}")
    return float(value)


def _require_known_fields(where: str, word: str) -> None:
    try:
        named = [field for _, field, _, _ in string.Formatter().parse(word) if field is not None]
    except ValueError as error:
        raise InvalidInput(f"{where} has {word!r}: {error}; write a brace that is meant as {{{{ or }}}}") from None
    for field in named:
        if field not in _FIELDS:
            raise InvalidInput(f"{where} has {word!r}: in braces use one of {', '.join(_FIELDS)}")
