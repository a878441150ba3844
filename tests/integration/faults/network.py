"""Members on a network that tests can break: each in a network namespace of its own, all on one bridge, the test too.

test (10.a.b.254) ── bridge ─┬─ veth ─ [namespace of g1: 10.a.b.1]
                             ├─ veth ─ [namespace of g2: 10.a.b.2]
                             └─ ...

A cut is silent and one-way, as of a broken cable: the sender's table of neighbours names a hardware address that
nobody has. (A blackhole route would tell the sender at once, which a network never does.) The test reaches every member
always.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

_PREFIX = "gf"
_NOBODY = "02:00:00:00:de:ad"
_HOST = 254
_SLOW_CLASS = ("parent", "1:", "classid", "1:1", "htb", "rate")
_NOT_SLOW = "1gbps"
_GONE_DEADLINE_S = 10.0
_numbers = itertools.count()


class NetworkUnavailable(Exception):
    """Namespaces can't be made on this machine."""


class Network:
    """Namespaces for `names`; a context manager that removes all it made. Raises NetworkUnavailable when it can't."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._tag = f"{_PREFIX}{os.getpid()}n{next(_numbers)}"
        self._subnet = ""

    def __enter__(self) -> Network:
        _remove_leftovers()
        try:
            self._make()
        except (OSError, subprocess.CalledProcessError) as error:
            self.__exit__()
            said = error.stderr.strip() if isinstance(error, subprocess.CalledProcessError) else str(error)
            raise NetworkUnavailable(
                f"network namespaces can't be made here: {said}: run these tests as root on a Linux with iproute2, "
                "veth and bridge"
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.names:
            _remove_namespace(self.namespace(name))
        for number in range(1, len(self.names) + 1):
            _ip_quietly("link", "del", f"{self._tag}v{number}")
        _ip_quietly("link", "del", f"{self._tag}b")

    def namespace(self, name: str) -> str:
        return f"{self._tag}-{name}"

    def address(self, name: str) -> str:
        return f"{self._subnet}.{self.names.index(name) + 1}"

    @property
    def host(self) -> str:
        """The test's own address."""
        return f"{self._subnet}.{_HOST}"

    def command(self, name: str, command: Sequence[str]) -> list[str]:
        """The command, run in the member's namespace; its pid is the command's."""
        return ["nsenter", f"--net=/run/netns/{self.namespace(name)}", *command]

    def cut(self, sender: str, receiver: str) -> None:
        """From now on nothing that `sender` sends reaches `receiver`; the other direction stays."""
        neighbour = (self.address(receiver), "lladdr", _NOBODY, "dev", "eth0", "nud", "permanent")
        _ip("-n", self.namespace(sender), "neigh", "replace", *neighbour)
        entries = json.loads(_ip("-json", "-n", self.namespace(sender), "neigh", "show", self.address(receiver)))
        assert [entry.get("lladdr") for entry in entries] == [_NOBODY], f"{sender} still reaches {receiver}: {entries}"

    def slow(self, sender: str, receiver: str, bytes_a_second: int) -> None:
        """Let what `sender` sends to `receiver` pass no faster than that, until `hasten`; other traffic is not held up.
        Only the last receiver that was named is slow."""
        device, namespace = ("dev", "eth0"), self.namespace(sender)
        _tc_quietly(namespace, "qdisc", "del", *device, "root")
        _tc(namespace, "qdisc", "add", *device, "root", "handle", "1:", "htb")
        _tc(namespace, "class", "add", *device, *_SLOW_CLASS, f"{bytes_a_second}bps")
        match = ("u32", "match", "ip", "dst", f"{self.address(receiver)}/32", "flowid", "1:1")
        _tc(namespace, "filter", "add", *device, "parent", "1:", "protocol", "ip", *match)

    def hasten(self, sender: str) -> None:
        """End what `slow` did to a sender; what waits to be sent is not lost."""
        _tc(self.namespace(sender), "class", "change", "dev", "eth0", *_SLOW_CLASS, _NOT_SLOW)

    def isolate(self, name: str, *, sends: bool = False, receives: bool = False) -> None:
        """Cuts the member from all others, in the directions that it may not keep."""
        for other in self.names:
            if other != name and not sends:
                self.cut(name, other)
            if other != name and not receives:
                self.cut(other, name)

    def heal(self) -> None:
        """End all cuts. Raises AssertionError when one stays."""
        for name in self.names:
            _ip_quietly("-n", self.namespace(name), "neigh", "flush", "nud", "permanent", "dev", "eth0")
            left = json.loads(_ip("-json", "-n", self.namespace(name), "neigh", "show", "nud", "permanent"))
            assert not left, f"{name} is still cut off: {left}"

    def _make(self) -> None:
        self._subnet = _free_subnet()
        bridge = f"{self._tag}b"
        _ip("link", "add", bridge, "type", "bridge")
        _ip("addr", "add", f"{self._subnet}.{_HOST}/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        for number, name in enumerate(self.names, 1):
            namespace, outside = self.namespace(name), f"{self._tag}v{number}"
            _ip("netns", "add", namespace)
            _ip("link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", namespace)
            _ip("link", "set", outside, "master", bridge, "up")
            _ip("-n", namespace, "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
            _ip("-n", namespace, "link", "set", "eth0", "up")
            _ip("-n", namespace, "link", "set", "lo", "up")


def _free_subnet() -> str:
    """The first three numbers of a /24 of 10/8 that no interface here is in."""
    links = json.loads(_ip("-json", "-4", "addr"))
    used = {address["local"].rsplit(".", 1)[0] for link in links for address in link["addr_info"]}
    chooser = random.SystemRandom()
    while (subnet := f"10.{chooser.randint(64, 127)}.{chooser.randint(0, 255)}") in used:
        pass
    return subnet


def _remove_leftovers() -> None:
    """What a test process that was killed could not remove; its pid is part of each name."""
    names = _ip("netns", "list").split()
    for namespace in (name for name in names if _is_leftover(name)):
        _remove_namespace(namespace)
    for link in json.loads(_ip("-json", "link")):
        if _is_leftover(link["ifname"]):
            _ip_quietly("link", "del", link["ifname"])


def _is_leftover(name: str) -> bool:
    pid = name.removeprefix(_PREFIX).split("n")[0]
    return name.startswith(_PREFIX) and pid.isdigit() and not Path(f"/proc/{pid}").exists()


def _remove_namespace(namespace: str) -> None:
    """Ends what still runs in it: processes of ours only, since nobody else knows it."""
    if not Path(f"/run/netns/{namespace}").exists():
        return
    deadline = time.monotonic() + _GONE_DEADLINE_S
    while (pids := _ip("netns", "pids", namespace).split()) and time.monotonic() < deadline:
        _kill(int(pid) for pid in pids)
        time.sleep(0.05)
    _ip_quietly("netns", "del", namespace)


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout


def _tc(namespace: str, *arguments: str) -> None:
    subprocess.run(["tc", "-n", namespace, *arguments], check=True, capture_output=True, text=True)


def _tc_quietly(namespace: str, *arguments: str) -> None:
    subprocess.run(["tc", "-n", namespace, *arguments], check=False, capture_output=True)


def _ip_quietly(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=False, capture_output=True)
