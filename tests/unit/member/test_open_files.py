from __future__ import annotations

import resource

import pytest
from structlog.testing import capture_logs

from guardian.member.open_files import EnoughFiles, raise_limit
from guardian.model.topology import Broker, Cluster

pytestmark = pytest.mark.slow


class Limits:
    """Stands for the process's own, which is not to be changed by a test."""

    def __init__(self, soft: int, hard: int) -> None:
        self.now = (soft, hard)

    def get(self, _: int) -> tuple[int, int]:
        return self.now

    def set(self, _: int, now: tuple[int, int]) -> None:
        self.now = now


def limited(monkeypatch: pytest.MonkeyPatch, soft: int, hard: int) -> Limits:
    limits = Limits(soft, hard)
    monkeypatch.setattr(resource, "getrlimit", limits.get)
    monkeypatch.setattr(resource, "setrlimit", limits.set)
    return limits


def brokers(count: int) -> list[Cluster]:
    return [Cluster("a", "h:1", brokers=tuple(Broker(number) for number in range(count)))]


def test_the_soft_limit_becomes_the_hard_one_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = limited(monkeypatch, 1024, 20_000)
    with capture_logs() as logs:
        raise_limit()
        raise_limit()
    assert limits.now == (20_000, 20_000)
    assert [(entry["event"], entry["before"], entry["now"]) for entry in logs] == [
        ("raised the limit of open files", 1024, 20_000)
    ]


def test_a_system_that_refuses_is_told_and_the_member_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, 1024, 20_000)

    def refuse(_: int, __: tuple[int, int]) -> None:
        raise OSError("not permitted")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    with capture_logs() as logs:
        raise_limit()
    assert [(entry["log_level"], entry["error"]) for entry in logs] == [("warning", "not permitted")]


def test_more_brokers_than_files_are_told_once_with_the_fix() -> None:
    files = EnoughFiles(lambda: 4096)
    with capture_logs() as logs:
        for count in (10, 700, 1000, 1001):
            files.check(brokers(count))
    assert [entry["event"] for entry in logs] == [
        "open files are limited to 4096, and 1000 brokers need 5000: raise the hard limit (LimitNOFILE= of a systemd "
        "unit, `ulimit -Hn` of a shell) and start this member again"
    ]


def test_without_a_limit_nothing_is_told() -> None:
    with capture_logs() as logs:
        EnoughFiles(lambda: None).check(brokers(5000))
    assert not logs
