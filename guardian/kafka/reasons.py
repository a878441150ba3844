"""Kafka's error codes in Kafka's words: what a request was refused for, in one sentence."""

from __future__ import annotations

import kafka.errors as kafka_errors

NO_ERROR = 0


def reason(error_code: int, message: str | None = None) -> str:
    """The name of the error and what the broker says of it, or what it means where the broker says nothing."""
    error = kafka_errors.for_code(error_code)
    if error.message == kafka_errors.UnknownError.message:
        return f"error {error_code}: {message or error.description}"
    return f"{error.message}: {message or error.description}"


def is_passing(error: kafka_errors.KafkaError) -> bool:
    """Return whether another broker, or the same one later, may give an answer."""
    return bool(error.retriable) or isinstance(error, kafka_errors.UnknownBrokerIdError)
