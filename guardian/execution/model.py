"""What stops, starts or restarts one broker, as the members' configuration names it.

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
from guardian.model import settings
from guardian.model.operation import HookAction
from guardian.model.settings import Section, setting

_FIELDS = ("action", "broker", "cluster", "host")
_ALWAYS = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR")
_OF_KIND: Mapping[str, tuple[str, ...]] = {
    "command": (),
    "systemd": ("SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"),
    "kubernetes": ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"),
}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def _variables(path: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) and _VARIABLE.fullmatch(name) for name in value):
        raise InvalidInput(f'{path} is {settings.shown(value)}: list names of variables, such as ["KAFKA_HOME"]')
    return tuple(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _AnyHook(Section):
    kind: str = setting(...)
    timeout_s: float = setting(300.0, "It must have ended by then, not the broker be back.", above=0, most=24 * 3600)
    environment: tuple[str, ...] = setting(
        (),
        "Variables of the member's that it gets besides PATH, HOME and the like.",
        example=["KAFKA_HOME"],
        read=_variables,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandHook(_AnyHook):
    """Run a program of one's own on the member that leads."""

    kind: str = setting("command", "Which of the three kinds it is.")
    command: tuple[str, ...] = setting(
        ...,
        "The words of the command, with fields in braces.",
        least=1,
        example=["/usr/local/bin/kafka-node", "{action}", "{cluster}", "{broker}"],
    )

    @property
    def words(self) -> tuple[str, ...]:
        return self.command


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemdHook(_AnyHook):
    """Call systemctl, on the broker's machine where `host` is given."""

    kind: str = setting("systemd", "Which of the three kinds it is.")
    unit: str = setting(..., "The unit of the broker.", example="kafka@{broker}.service")
    host: str = setting("", "The machine, reached by SSH.", example="guardian@{host}")

    @property
    def words(self) -> tuple[str, ...]:
        host = (f"--host={self.host}",) if self.host else ()
        return ("systemctl", *host, "{action}", "--", self.unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesHook(_AnyHook):
    """Delete the broker's pod, which its StatefulSet makes anew; restarts only."""

    kind: str = setting("kubernetes", "Which of the three kinds it is.")
    namespace: str = setting(..., "The namespace of the pod.", example="kafka")
    pod: str = setting(..., "The name of the pod.", example="{cluster}-kafka-{broker}")

    @property
    def words(self) -> tuple[str, ...]:
        # Until the old process is gone, be it long in its preStop: else that one would pass for the new one.
        options = ("--wait=true", f"--timeout={math.ceil(self.timeout_s)}s", "--ignore-not-found")
        return ("kubectl", f"--namespace={self.namespace}", "delete", "pod", *options, "--", self.pod)


_KINDS: Mapping[str, type[CommandHook | SystemdHook | KubernetesHook]] = {
    "command": CommandHook,
    "systemd": SystemdHook,
    "kubernetes": KubernetesHook,
}
HOOK_SECTIONS = tuple(_KINDS.values())


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
    actions: frozenset[HookAction]
    timeout_s: float
    environment: tuple[str, ...]

    @classmethod
    def of(cls, name: str, table: object) -> Hook:
        """Return what a section [hooks.NAME] says. Raises InvalidInput that names the field, the value and the fix."""
        where = f"hooks.{name}"
        kind = settings.section(where, table).get("kind")
        if not isinstance(kind, str) or kind not in _KINDS:
            raise InvalidInput(f"{where}.kind is {settings.shown(kind)}: use {settings.one_of(_KINDS)}")
        told = settings.read(_KINDS[kind], table, where)
        for word in told.words:
            _require_known_fields(where, word)
        actions = frozenset({HookAction.RESTART}) if kind == "kubernetes" else frozenset(HookAction)
        environment = (*_ALWAYS, *_OF_KIND[kind], *told.environment)
        return cls(name, kind, told.words, actions, told.timeout_s, environment)

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
        """Return what the hook gets of the member's environment."""
        return {name: member[name] for name in self.environment if name in member}


def _require_known_fields(where: str, word: str) -> None:
    try:
        named = [field for _, field, _, _ in string.Formatter().parse(word) if field is not None]
    except ValueError as error:
        raise InvalidInput(f"{where} has {word!r}: {error}; write a brace that is meant as {{{{ or }}}}") from None
    for field in named:
        if field not in _FIELDS:
            raise InvalidInput(f"{where} has {word!r}: in braces use one of {', '.join(_FIELDS)}")


def hooks_of(path: str, value: object) -> dict[str, Hook]:
    """Return what all sections [hooks.NAME] say. Raises InvalidInput."""
    return {name: Hook.of(name, table) for name, table in settings.section(path, value).items()}
