from __future__ import annotations

import pytest

from deploy.local import answering
from guardian.errors import ClusterUnavailable, InvalidInput, Undecided


@pytest.fixture(autouse=True)
def _no_time_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deploy.local.answering.time.sleep", lambda _: None)


def test_brokers_that_are_busy_or_undecided_at_first_are_asked_again() -> None:
    answers = iter([ClusterUnavailable("no answer"), Undecided("no controller answers"), "here"])

    def ask() -> object:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert answering.once_answered(ask) == "here"


def test_it_is_given_up_after_the_deadline_and_at_once_for_another_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def never() -> None:
        asked.append(1)
        raise ClusterUnavailable("no answer")

    def refused() -> None:
        asked.append(1)
        raise InvalidInput("the password is wrong")

    with pytest.raises(InvalidInput):
        answering.once_answered(refused)
    assert len(asked) == 1
    clock = iter(range(0, 10_000, 7))
    monkeypatch.setattr("deploy.local.answering.time.monotonic", lambda: next(clock))
    with pytest.raises(ClusterUnavailable):
        answering.once_answered(never, deadline_s=70)
    assert len(asked) == 12


def test_a_cluster_is_registered_once_it_answers() -> None:
    class Client:
        def __init__(self) -> None:
            self.asked: list[object] = []

        def register_cluster(self, cluster: object, *, labels: object) -> None:
            self.asked.append((cluster, labels))
            if len(self.asked) < 3:
                raise ClusterUnavailable("cluster live can't be reached within 6 s")

    client = Client()
    answering.register(client, "live", {1: "gold"})  # type: ignore[arg-type]
    assert client.asked == [("live", {1: "gold"})] * 3
