"""Topics are deleted only after proof that nobody uses them, and made anew when the ticket is rolled back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.errors import InvalidInput
from guardian.model.acl import AclBinding
from guardian.model.effects import CreateTopics, DeleteTopics, NewTopic
from guardian.model.ticket import TicketState
from guardian.settings.rules import SETTLE_MS
from guardian.tickets.kinds.delete_topic import KIND, DeleteTopic, Replicas, SavedTopic
from guardian.tickets.kinds.requested import PATIENCE_MS, Facts, Moment, TopicForm, TopicUse

DAY_MS = 86_400_000
NOW_MS = 100 * DAY_MS
BEGAN_MS = NOW_MS - 8 * DAY_MS
RULE = AclBinding("TOPIC", "LITERAL", "old", "User:ann", "*", "READ", "ALLOW")
PREFIX = replace(RULE, pattern_type="PREFIXED")
TOPIC = TopicForm(b"i" * 16, ((1, 2), (2, 1)), {"retention.ms": "5"})
SAVED = SavedTopic("old", TOPIC.id.hex(), (Replicas((1, 2)), Replicas((2, 1))), (("retention.ms", "5"),), (RULE,))
TASK = DeleteTopic((SAVED,), 30 * DAY_MS, 7 * DAY_MS)
SIGHT = Facts(frozenset({1, 2}), (RULE, PREFIX), {"old": TOPIC}, {"old": TopicUse()}, True, NOW_MS)
GONE = replace(SIGHT, topics={})
RUNNING = Moment(TicketState.RUNNING, BEGAN_MS, NOW_MS, BEGAN_MS)
BACK = Moment(TicketState.ROLLING_BACK, BEGAN_MS, NOW_MS, NOW_MS - SETTLE_MS, frozenset({"old"}))


def test_a_ticket_saves_the_form_of_the_topic() -> None:
    asked = KIND.read({"topic": ["old"]}, NOW_MS)
    assert asked == DeleteTopic((SavedTopic("old"),), 30 * DAY_MS, 7 * DAY_MS)
    assert KIND.resolve(asked, "live", SIGHT, NOW_MS) == TASK
    assert KIND.is_repeated(TASK, asked)
    assert next(iter(KIND.notes(TASK))) == (
        "deletes topic old with 2 partitions and all data; 1 configurations and 1 access rules are saved"
    )


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        (replace(SIGHT, uses={"old": TopicUse(read_ms=5)}), "topic old was read in the last 30 d"),
        (replace(SIGHT, uses={"old": TopicUse(written_ms=5)}), "topic old was written in the last 30 d"),
        (replace(SIGHT, uses={"old": TopicUse(groups=("billing",))}), "is read by consumer group billing"),
    ],
)
def test_what_somebody_uses_is_not_deleted_before_the_ticket_or_in_the_hold(facts: Facts, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        KIND.resolve(TASK, "live", facts, NOW_MS)
    ended = KIND.step(TASK, RUNNING, facts, ())
    assert ended.transition is not None
    assert ended.transition[0] is TicketState.FAILED
    assert sentence in ended.transition[1]
    assert not ended.effects


def test_what_is_not_known_is_no_proof_and_is_waited_for_at_the_end_of_the_hold() -> None:
    silent = replace(SIGHT, is_use_known=False, use_gap="broker 2 is silent")
    with pytest.raises(InvalidInput, match="who used the topics is not known: broker 2 is silent"):
        KIND.resolve(TASK, "live", silent, NOW_MS)
    early = replace(RUNNING, now_ms=BEGAN_MS + 1)
    assert KIND.step(TASK, early, silent, ()).sentence.startswith("holds for")
    at_the_end = replace(RUNNING, now_ms=BEGAN_MS + TASK.hold_ms)
    waiting = KIND.step(TASK, at_the_end, silent, ())
    assert (waiting.transition, waiting.effects) == (None, ())
    given_up = KIND.step(TASK, replace(at_the_end, now_ms=BEGAN_MS + 9 * DAY_MS), silent, ())
    assert given_up.transition is not None
    assert given_up.transition[0] is TicketState.FAILED


def test_an_idle_time_of_which_nothing_is_told_yet_proves_nothing() -> None:
    with pytest.raises(InvalidInput, match="of which brokers have told nothing yet"):
        KIND.resolve(TASK, "live", replace(SIGHT, used_until_ms=NOW_MS - 30 * DAY_MS), NOW_MS)


@pytest.mark.parametrize("name", ["", "__consumer_offsets", "a\nb"])
def test_no_internal_or_unnamed_topic(name: str) -> None:
    with pytest.raises(InvalidInput, match="use the name of a topic that is not internal"):
        KIND.read({"topic": [name]}, 0)


@pytest.mark.parametrize(("field", "value"), [("idle_ms", 0), ("idle_ms", 10**15), ("hold_ms", -1)])
def test_times_have_bounds(field: str, value: int) -> None:
    with pytest.raises(InvalidInput, match=f"{field.removesuffix('_ms')} is {value} ms: use"):
        replace(TASK, **{field: value})  # type: ignore[arg-type]


def test_it_is_held_and_then_deleted_by_its_id() -> None:
    early = replace(RUNNING, now_ms=BEGAN_MS + 6 * DAY_MS)
    assert KIND.step(TASK, early, SIGHT, ()).sentence == "holds for 1 d more; nobody uses the topics"
    decided = KIND.step(TASK, RUNNING, SIGHT, ())
    assert decided.effects == (DeleteTopics({"old": TOPIC.id}),)
    assert (decided.transition, decided.deleted) == (None, ("old",))
    assert KIND.step(TASK, RUNNING, GONE, ()).transition == (TicketState.SUCCEEDED, "1 of 1 topics were deleted")


def test_the_proof_reaches_to_the_end_of_the_hold() -> None:
    short = replace(SIGHT, used_until_ms=BEGAN_MS + 7 * DAY_MS - 1)
    waiting = KIND.step(TASK, RUNNING, short, ())
    assert (waiting.transition, waiting.effects) == (None, ())


def test_uses_are_asked_for_since_the_idle_time_and_the_whole_hold() -> None:
    assert KIND.query(TASK, RUNNING).used_since_ms == NOW_MS - 30 * DAY_MS
    held_longer = replace(TASK, idle_ms=DAY_MS)
    assert KIND.query(held_longer, RUNNING).used_since_ms == BEGAN_MS


def test_a_topic_made_anew_by_somebody_else_stays() -> None:
    renewed = replace(SIGHT, topics={"old": replace(TOPIC, id=b"j" * 16)})
    ended = KIND.step(TASK, RUNNING, renewed, ())
    assert ended.effects == ()
    assert ended.sentence == "0 of 1 topics were deleted; old was made anew by somebody else and stays"


def test_rolled_back_it_is_made_anew() -> None:
    decided = KIND.step(TASK, BACK, GONE, ())
    made = NewTopic({0: (1, 2), 1: (2, 1)}, {"retention.ms": "5"})
    assert decided.effects == (CreateTopics({"old": made}),)
    ended = KIND.step(TASK, BACK, SIGHT, ())
    assert ended.transition is not None
    assert ended.transition[0] is TicketState.ROLLED_BACK


def test_others_take_the_place_of_brokers_that_are_gone() -> None:
    decided = KIND.step(TASK, BACK, replace(GONE, brokers=frozenset({2, 3})), ())
    assert decided.effects == (CreateTopics({"old": NewTopic({0: (3, 2), 1: (2, 3)}, {"retention.ms": "5"})}),)


def test_what_somebody_else_deleted_stays_deleted() -> None:
    back = KIND.step(TASK, replace(BACK, deleted=frozenset()), GONE, ())
    assert back.effects == ()
    cancelled = KIND.step(TASK, replace(BACK, state=TicketState.CANCELLING), GONE, ())
    assert cancelled.transition == (TicketState.CANCELLED, "old stay deleted")


def test_a_throttle_is_no_configuration_of_the_topics_own() -> None:
    throttled = {"leader.replication.throttled.replicas": "0:1", "retention.ms": "5"}
    facts = replace(SIGHT, topics={"old": replace(TOPIC, configs=throttled)})
    assert KIND.resolve(TASK, "live", facts, NOW_MS) == TASK


@pytest.mark.parametrize("state", [TicketState.RUNNING, TicketState.ROLLING_BACK])
def test_what_kafka_refuses_for_long_ends_the_ticket(state: TicketState) -> None:
    at = replace(BACK if state is TicketState.ROLLING_BACK else RUNNING, refused_since_ms=NOW_MS - PATIENCE_MS)
    facts = GONE if state is TicketState.ROLLING_BACK else SIGHT
    ended = KIND.next_step(TASK, at, facts, ("topic old: POLICY_VIOLATION",))
    assert ended.transition is not None
    assert ended.transition[0] in (TicketState.FAILED, TicketState.ROLLED_BACK)
    assert "POLICY_VIOLATION" in ended.transition[1]
    patient = replace(at, refused_since_ms=NOW_MS - PATIENCE_MS + 1)
    assert KIND.next_step(TASK, patient, facts, ("topic old: POLICY_VIOLATION",)).transition is None
