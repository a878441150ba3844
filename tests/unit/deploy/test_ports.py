import socket
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.local import ports
from guardian.errors import Unavailable


def test_picked_ports_are_free_and_never_picked_twice() -> None:
    first, second = ports.pick(20), ports.pick(20)
    assert len({*first, *second}) == 40
    assert all(ports.is_free(port) for port in first)


def test_picked_ports_lie_below_those_of_outgoing_connections() -> None:
    assert all(1024 < port < 32768 for port in ports.pick(20))


def test_processes_beside_each_other_are_given_different_ports() -> None:
    command = [sys.executable, "-c", "from deploy.local import ports; print(*ports.pick(20))"]
    beside = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    picked = [port for process in beside for port in process.communicate()[0].split()]
    assert len(picked) == len(set(picked)) == 60


def test_a_pair_lies_side_by_side_and_is_nobody_elses() -> None:
    first = ports.pick_pair()
    assert ports.is_free(first)
    assert ports.is_free(first + 1)
    assert not {first, first + 1} & set(ports.pick(20))


def test_what_a_process_left_half_written_is_not_believed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ports, "_LAST_PICKED", tmp_path / "ports")
    for left in ("", "no port", "70000", "31999"):
        (tmp_path / "ports").write_text(left)
        assert len(set(ports.pick(20))) == 20


def test_too_few_free_ports_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ports, "_LAST_PICKED", tmp_path / "ports")
    monkeypatch.setattr(ports, "_END", ports._FIRST + 10)
    with pytest.raises(Unavailable, match="are free, 20 are needed"):
        ports.pick(20)


def test_a_port_is_kept_while_it_is_free_and_replaced_when_taken() -> None:
    (port,) = ports.pick(1)
    assert ports.keep_or_pick(port) == port
    with socket.create_server((ports.HOST, port)):
        assert not ports.is_free(port)
        assert ports.keep_or_pick(port) != port
