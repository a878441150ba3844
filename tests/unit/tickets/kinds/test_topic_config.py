"""Configurations of topics: what is asked for, set, left alone, and restored."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from guardian.errors import InvalidInput
from guardian.model.effects import AlterConfigs, ConfigChange, ConfigKey
from guardian.model.ticket import TicketState
from guardian.settings.rules import SETTLE_MS
from guardian.tickets.kinds.requested import Facts, Moment, RequestStep, TopicForm
from guardian.tickets.kinds.topic_config import KIND, TopicConfig, TopicSetting

RETENTION, BYTES = "retention.ms", "retention.bytes"
TASK = TopicConfig((TopicSetting("orders", RETENTION, "2000", "1000"), TopicSetting("orders", BYTES, None, "9")))


def facts(configs: Mapping[str, str] | None) -> Facts:
    topics = {"orders": TopicForm(b"x" * 16, ((1,),), configs)} if configs is not None else {}
    return Facts(frozenset({1}), topics=topics)


def step(state: TicketState, configs: Mapping[str, str] | None, *refused: str) -> RequestStep:
    return KIND.step(TASK, Moment(state, 1, SETTLE_MS + 1, since_ms=1), facts(configs), refused)


def test_options_become_settings_of_each_topic() -> None:
    given = {"topic": ["a", "b"], "set": [f"{RETENTION}=5"], "unset": [BYTES]}
    assert KIND.read(given, 0) == TopicConfig(
        tuple(TopicSetting(topic, key, value) for topic in "ab" for key, value in ((RETENTION, "5"), (BYTES, None)))
    )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"topic": ["a"]}, "settings are empty: name a topic, and a configuration"),
        ({"set": [f"{RETENTION}=5"]}, "topic is missing"),
        ({"topic": ["a"], "set": [RETENTION]}, "set is 'retention.ms': use key=value"),
        ({"topic": ["a"], "set": ["leader.replication.throttled.replicas=*"]}, "configuration is 'leader.replication"),
        ({"topic": ["a"], "set": [f"{RETENTION}=5"], "unset": [RETENTION]}, "retention.ms of topic a is named twice"),
        ({"topic": ["a\n"], "unset": [RETENTION]}, r"topic is 'a\\n': use the name"),
    ],
)
def test_what_cant_be_asked_for_is_refused(given: dict[str, list[str]], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        KIND.read(given, 0)


def test_a_ticket_has_each_value_before_and_leaves_out_what_is_so_already() -> None:
    asked = TopicConfig((TopicSetting("orders", RETENTION, "2000"), TopicSetting("orders", BYTES, "7")))
    plan = KIND.resolved(KIND.plan("live", asked), facts({BYTES: "7"}), 0)
    assert plan.task == TopicConfig((TopicSetting("orders", RETENTION, "2000", None),))
    assert plan.notes == ("retention.ms of topic orders: not set -> 2000", "1 of what is asked for is so already")
    with pytest.raises(InvalidInput, match="are as asked for already: nothing to do"):
        KIND.resolve(asked, "live", facts({BYTES: "7", RETENTION: "2000"}), 0)
    with pytest.raises(InvalidInput, match="topic 'orders' is not in cluster live"):
        KIND.resolve(asked, "live", facts(None), 0)


def test_values_are_set_by_compare_and_set() -> None:
    decided = step(TicketState.RUNNING, {RETENTION: "1000", BYTES: "9"})
    changes = {
        ConfigKey("TOPIC", "orders", RETENTION): ConfigChange("1000", "2000"),
        ConfigKey("TOPIC", "orders", BYTES): ConfigChange("9", None),
    }
    assert decided == RequestStep(None, (AlterConfigs(changes),), "sets 2 configurations")
    ended = step(TicketState.RUNNING, {RETENTION: "2000"})
    assert ended.transition == (TicketState.SUCCEEDED, "2 of 2 configurations are set")


def test_the_value_of_somebody_else_stays_and_fails_the_ticket() -> None:
    ended = step(TicketState.RUNNING, {RETENTION: "5"})
    assert ended.transition is not None
    assert ended.transition[0] is TicketState.FAILED
    assert "1 of 2 configurations are set; retention.ms of topic orders was set to 5 by somebody else" in ended.sentence


@pytest.mark.parametrize(
    ("state", "end"),
    [(TicketState.CANCELLING, TicketState.CANCELLED), (TicketState.ROLLING_BACK, TicketState.ROLLED_BACK)],
)
def test_the_way_back_restores_what_is_still_ours(state: TicketState, end: TicketState) -> None:
    decided = step(state, {RETENTION: "2000", BYTES: "77"})
    changes = {ConfigKey("TOPIC", "orders", RETENTION): ConfigChange("2000", "1000")}
    assert decided.effects == (AlterConfigs(changes),)
    ended = step(state, {RETENTION: "1000", BYTES: "77"})
    assert ended.transition is not None
    assert ended.transition[0] is end
    assert "1 of 2 configurations are as before; retention.bytes of topic orders was set to 77" in ended.sentence


def test_the_way_back_awaits_a_request_that_may_be_late() -> None:
    at_once = Moment(TicketState.CANCELLING, 1, 10, since_ms=9)
    assert KIND.step(TASK, at_once, facts({RETENTION: "1000", BYTES: "9"}), ()).transition is None


def test_a_topic_that_is_gone_is_named() -> None:
    ended = step(TicketState.RUNNING, None)
    assert ended.transition == (TicketState.FAILED, "0 of 2 configurations are set; topic orders is gone")
    back = step(TicketState.ROLLING_BACK, None)
    assert back.transition is not None
    assert back.transition[0] is TicketState.ROLLED_BACK


def test_what_kafka_refuses_is_said() -> None:
    said = step(TicketState.RUNNING, {RETENTION: "1000", BYTES: "9"}, "topic orders: POLICY_VIOLATION").sentence
    assert said == "sets 2 configurations; Kafka refused topic orders: POLICY_VIOLATION"


@pytest.mark.parametrize(
    ("key", "asked", "shown"),
    [
        ("min.cleanable.dirty.ratio", "1", "1.0"),
        ("cleanup.policy", "compact, delete", "compact,delete"),
        ("unclean.leader.election.enable", "TRUE", "true"),
        (RETENTION, " 0100", "100"),
        (RETENTION, "soon", "soon"),
    ],
)
def test_a_value_is_kept_as_kafka_shows_it(key: str, asked: str, shown: str) -> None:
    task = KIND.resolve(TopicConfig((TopicSetting("orders", key, asked),)), "live", facts({}), 0)
    assert task.settings[0].value == shown
    assert KIND.is_repeated(task, TopicConfig((TopicSetting("orders", key, asked),)))
