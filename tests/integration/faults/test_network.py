"""The harness itself: a cut loses packets in one direction only, silently, and nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.faults.network import Network, NetworkUnavailable
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.integration

_RECEIVER = """
import socket, sys
socket_ = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
socket_.bind((sys.argv[1], 7000))
print("ready", flush=True)
while True:
    print(socket_.recv(100).decode(), flush=True)
"""
_SENDER = """
import socket, sys
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(sys.argv[1].encode(), (sys.argv[2], 7000))
"""


class Mailbox:
    def __init__(self, network: Network, name: str) -> None:
        self.network, self.name = network, name
        command = network.command(name, [sys.executable, "-c", _RECEIVER, network.address(name)])
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"ready\n"
        os.set_blocking(self.process.stdout.fileno(), False)
        self.received: list[str] = []

    def send(self, text: str, to: str) -> None:
        address = self.network.address(to)
        subprocess.run(self.network.command(self.name, [sys.executable, "-c", _SENDER, text, address]), check=True)

    def has(self, text: str, wait_s: float = PATIENCE_S) -> bool:
        assert self.process.stdout is not None
        deadline = time.monotonic() + wait_s
        while text not in self.received and time.monotonic() < deadline:
            self.received += [line.decode().strip() for line in self.process.stdout]
            time.sleep(0.01)
        return text in self.received


def test_a_slow_link_holds_up_what_goes_to_one_receiver_until_it_is_hastened() -> None:
    with Network(["a", "b", "c"]) as network:
        a, b, c = (Mailbox(network, name) for name in network.names)
        network.slow("a", "b", 100)  # bytes a second
        for number in range(5):
            a.send(f"{number}{'.' * 1000}", "b")
        last = f"4{'.' * 99}"  # as much of it as the receiver takes
        a.send("beside", "c")
        assert c.has("beside")
        assert not b.has(last, wait_s=0.5)
        network.hasten("a")
        assert b.has(last)
        network.slow("a", "c", 100)
        a.send("after", "b")
        assert b.has("after")


def test_a_cut_is_silent_and_one_way_until_it_is_healed() -> None:
    with Network(["a", "b", "c"]) as network:
        a, b, c = (Mailbox(network, name) for name in network.names)
        a.send("before", "b")
        assert b.has("before")

        network.cut("a", "b")
        a.send("lost", "b")
        b.send("the other way", "a")
        a.send("to the third", "c")
        assert a.has("the other way")
        assert c.has("to the third")

        network.heal()
        a.send("after", "b")
        assert b.has("after")
        assert "lost" not in b.received

        network.isolate("a", receives=True)
        for other in (b, c):
            other.send(f"{other.name} is heard", "a")
            a.send("nobody hears", other.name)
        b.send("the others talk", "c")
        assert a.has("b is heard")
        assert a.has("c is heard")
        assert c.has("the others talk")
        network.heal()
        a.send("again", "c")
        assert c.has("again")
        assert "nobody hears" not in [*b.received, *c.received]


def test_namespaces_links_and_processes_are_removed_also_after_a_failure() -> None:
    network = Network(["a", "b"])
    namespaces = [network.namespace(name) for name in network.names]

    def fail_in_the_middle() -> None:
        with network:
            mailboxes.append(Mailbox(network, "a"))
            assert all(Path(f"/run/netns/{namespace}").exists() for namespace in namespaces)
            raise ZeroDivisionError

    mailboxes: list[Mailbox] = []
    with pytest.raises(ZeroDivisionError):
        fail_in_the_middle()
    [mailbox] = mailboxes
    assert mailbox.process.wait(PATIENCE_S) != 0
    assert not any(Path(f"/run/netns/{namespace}").exists() for namespace in namespaces)
    tag = namespaces[0].removesuffix("-a")
    assert tag not in subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout


def test_a_machine_without_namespaces_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "ip"
    fake.write_text(
        '#!/bin/sh\ncase "$*" in *json*) echo "[]";; *"link add"*) echo "not permitted" >&2; exit 2;; esac\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(NetworkUnavailable, match="not permitted: run these tests as root"), Network(["a"]):
        pass
