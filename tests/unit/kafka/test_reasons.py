"""Kafka's errors in Kafka's words: those that no waiting mends are final, and no others."""

from __future__ import annotations

import pytest

from guardian.kafka.kafka_python import kafka_errors
from guardian.kafka.reasons import reason
from guardian.model.effects import about, first_final, is_final

FINAL = (
    "INVALID_TOPIC", "INVALID_PARTITIONS", "INVALID_CONFIG", "INVALID_REQUEST",
    "POLICY_VIOLATION", "TOPIC_DELETION_DISABLED", "INVALID_PRINCIPAL_TYPE",
)  # fmt: skip


def test_each_code_is_final_or_not() -> None:
    found = {str(reason(code)).partition(":")[0] for code in range(-1, 140) if is_final(reason(code))}
    assert found == set(FINAL)


def test_what_is_worth_another_attempt_is_never_final() -> None:
    for code in range(-1, 140):
        assert not (kafka_errors.for_code(code).retriable and is_final(reason(code))), code


@pytest.mark.parametrize(("code", "words"), [(42, "INVALID_REQUEST: no"), (9999, "error 9999: no")])
def test_the_brokers_own_words_are_told(code: int, words: str) -> None:
    assert reason(code, "no") == words


def test_what_a_refusal_is_about_stands_before_it_and_it_stays_final() -> None:
    told = about("topic t", reason(42, "no"))
    assert told == "topic t: INVALID_REQUEST: no"
    assert is_final(told)
    assert not is_final(about("topic t", "INVALID_REQUEST: words alone decide nothing"))
    assert first_final([about("a", reason(41, "no")), told]) == told
    assert first_final(["a"]) == ""
