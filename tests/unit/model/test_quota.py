"""Which of several quotas holds for a client (KIP-55)."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.model.quota import (
    CONSUMER_BYTE_RATE,
    EVERY,
    PRODUCER_BYTE_RATE,
    EffectiveQuota,
    QuotaClient,
    QuotaEntity,
    effective_quota,
    may_be_outranked,
    own_entity,
    require_writable_quotas,
)

ALICE = QuotaClient("etl", "alice")
RANKS = [
    QuotaEntity("alice", "etl"),
    QuotaEntity("alice", EVERY),
    QuotaEntity("alice"),
    QuotaEntity(EVERY, "etl"),
    QuotaEntity(EVERY, EVERY),
    QuotaEntity(EVERY),
    QuotaEntity(None, "etl"),
    QuotaEntity(None, EVERY),
]


@pytest.mark.parametrize("rank", range(len(RANKS)))
def test_the_most_specific_entity_holds_and_those_below_it_are_ignored(rank: int) -> None:
    quotas = {entity: {CONSUMER_BYTE_RATE: float(number)} for number, entity in enumerate(RANKS) if number >= rank}
    assert effective_quota(quotas, CONSUMER_BYTE_RATE, ALICE) == EffectiveQuota(RANKS[rank], float(rank))


def test_an_entity_without_the_key_does_not_hold() -> None:
    quotas = {RANKS[0]: {PRODUCER_BYTE_RATE: 1.0}, RANKS[6]: {CONSUMER_BYTE_RATE: 2.0}}
    assert effective_quota(quotas, CONSUMER_BYTE_RATE, ALICE) == EffectiveQuota(RANKS[6], 2.0)
    assert effective_quota({}, CONSUMER_BYTE_RATE, ALICE) is None


def test_quotas_of_others_do_not_hold() -> None:
    others = [QuotaEntity("bob"), QuotaEntity("bob", "etl"), QuotaEntity(None, "other"), QuotaEntity("alice", "other")]
    assert effective_quota({each: {CONSUMER_BYTE_RATE: 1.0} for each in others}, CONSUMER_BYTE_RATE, ALICE) is None


def test_a_client_whose_user_is_known_has_an_entity_that_nothing_outranks() -> None:
    entity = own_entity(ALICE)
    assert entity == RANKS[0]
    quotas = {each: {CONSUMER_BYTE_RATE: 1.0} for each in RANKS}
    assert may_be_outranked(quotas, CONSUMER_BYTE_RATE, entity) is None


@pytest.mark.parametrize("outranking", [QuotaEntity("bob"), QuotaEntity(EVERY), QuotaEntity("bob", "etl"), RANKS[4]])
def test_one_whose_user_is_not_known_may_be_outranked_by_any_quota_that_names_users(outranking: QuotaEntity) -> None:
    entity = own_entity(QuotaClient("etl"))
    assert entity == QuotaEntity(None, "etl")
    assert may_be_outranked({outranking: {CONSUMER_BYTE_RATE: 1.0}}, CONSUMER_BYTE_RATE, entity) == outranking
    assert may_be_outranked({outranking: {PRODUCER_BYTE_RATE: 1.0}}, CONSUMER_BYTE_RATE, entity) is None
    assert may_be_outranked({QuotaEntity("bob", "x"): {CONSUMER_BYTE_RATE: 1.0}}, CONSUMER_BYTE_RATE, entity) is None


@pytest.mark.parametrize(
    "entity", [*RANKS, QuotaEntity("a,client-id=b"), QuotaEntity("a", "%2C=,"), QuotaEntity("é", "")]
)
def test_a_name_tells_every_entity_from_every_other(entity: QuotaEntity) -> None:
    assert QuotaEntity.of_name(entity.name) == entity
    assert sum(other.name == entity.name for other in RANKS) == (entity in RANKS)


@pytest.mark.parametrize("name", ["", "user", "ip=1", "user=a,user=b"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="use user=U, client-id=C, or both"):
        QuotaEntity.of_name(name)


def test_an_entity_of_nobody_is_refused() -> None:
    with pytest.raises(InvalidInput, match="give one of them"):
        QuotaEntity()


@pytest.mark.parametrize("value", [0.0, -1.0, 0.5, 1.5, float("nan")])
def test_a_rate_that_kafka_would_refuse_is_refused(value: float) -> None:
    with pytest.raises(InvalidInput, match="use whole bytes/s"):
        require_writable_quotas({RANKS[0]: {CONSUMER_BYTE_RATE: value}})
