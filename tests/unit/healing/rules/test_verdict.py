"""What is done about one trouble, or why nothing is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.healing.rules.decision import decide
from guardian.healing.rules.trouble import Standing
from guardian.healing.rules.verdict import CALM_MS, HELD_UP_MS, TRIES, Phase, Tried, idle
from guardian.health.model.finding import FindingKind
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.ticket import Ticket, TicketState
from tests.unit.healing.rules.builders import DAY, MINUTE, NOW, POLICY, down, fills, known, move, slow, ticket


def test_within_its_grace_period_it_waits_and_says_for_how_long() -> None:
    decision = decide(POLICY, known(down(3, since_ms=NOW - 4 * MINUTE)), NOW)
    assert decision.cure is None
    assert decision.verdicts[0].phase is Phase.GRACE
    assert decision.verdicts[0].sentence == "waits 6 min of 10 min for it to end by itself"


def test_what_one_look_saw_waits_for_another_one_and_counts_for_a_storm() -> None:
    decision = decide(POLICY, known(replace(down(3), is_raised=False)), NOW)
    assert (decision.cure, decision.verdicts[0].phase) == (None, Phase.GRACE)
    assert decide(POLICY, known(*(replace(down(broker), is_raised=False) for broker in range(4))), NOW).storm


@pytest.mark.parametrize("standing", [Standing.OVER, Standing.UNKNOWN])
def test_what_was_not_seen_just_now_moves_nothing(standing: Standing) -> None:
    assert decide(POLICY, known(down(3, standing=standing)), NOW).cure is None


def test_one_ticket_is_open_at_a_time_for_the_same_trouble() -> None:
    for state in (TicketState.PENDING, TicketState.APPROVED, TicketState.RUNNING, TicketState.CANCELLING):
        decision = decide(POLICY, known(down(3), tickets=(ticket(down(3), state=state),)), NOW)
        assert decision.cure is None, state
        assert decision.verdicts[0].ticket_id == "t-1"
    assert decide(POLICY, known(down(3), down(4), tickets=(ticket(down(3)),)), NOW).cure is not None


def test_a_ticket_that_another_one_holds_up_for_long_calls_a_person() -> None:
    approved = ticket(down(3), state=TicketState.APPROVED)
    held_up = known(down(3), tickets=(approved,), running=("t-9",))
    assert decide(POLICY, held_up, NOW + HELD_UP_MS - 1).verdicts[0].phase is Phase.ACTS
    called = decide(POLICY, held_up, NOW + HELD_UP_MS)
    assert "does not start while t-9 runs on its brokers" in called.called[0].evidence
    assert decide(POLICY, known(down(3), tickets=(approved,)), NOW + HELD_UP_MS).called == ()


def test_a_ticket_of_which_nothing_moves_for_long_calls_a_person() -> None:
    running = ticket(down(3))
    waits = ExecutionTask(1, move("t", (1, 2, 3), (1, 2, 4)), detail="waits for t-9, on the same brokers")
    over = replace(waits, number=2, state=TaskState.DONE, detail="", ended_at_ms=NOW + MINUTE)
    still = idle(running, Execution("t-1", (waits, over)))
    assert still is not None
    assert still.since_ms == NOW + MINUTE
    found = known(down(3), tickets=(running,), idle={"t-1": still})
    assert decide(POLICY, found, NOW + MINUTE + HELD_UP_MS - 1).called == ()
    (called,) = decide(POLICY, found, NOW + MINUTE + HELD_UP_MS).called
    assert called.evidence == "ticket t-1 has moved nothing for 5 min: t-0 waits for t-9, on the same brokers"
    copying = replace(waits, number=3, state=TaskState.RUNNING)
    assert idle(running, Execution("t-1", (waits, copying))) is None
    assert idle(running, Execution("t-1", (over,))) is None
    assert idle(replace(running, state=TicketState.PAUSED), Execution("t-1", (waits,))) is None


def test_what_is_moved_by_others_for_long_calls_a_person_who_stays_called_while_it_is_asked_again() -> None:
    sentence = "1 partitions are being moved by ticket t-9: looks again when they are not"
    tried = {down(3).subject: Tried(NOW + MINUTE, sentence, busy_since_ms=NOW - HELD_UP_MS + 1)}
    waits = decide(POLICY, known(down(3), tried=tried), NOW)
    assert (waits.verdicts[0].phase, waits.cure, waits.called) == (Phase.WAITS, None, ())
    for now_ms, asks in ((NOW + 1, False), (NOW + MINUTE, True)):
        held_up = decide(POLICY, known(down(3), tried=tried), now_ms)
        assert held_up.verdicts[0].phase is Phase.PERSON
        assert "cancel what holds it up, or wait for it" in held_up.called[0].evidence
        assert (held_up.cure is not None) is asks
    line = {fills(3).subject: Tried(NOW + MINUTE, sentence, busy_since_ms=1)}
    assert decide(POLICY, known(fills(3), tried=line), NOW).called == ()  # what is only proposed can wait


def test_what_was_refused_by_a_person_is_left_to_a_person_for_a_day() -> None:
    for state in (TicketState.REJECTED, TicketState.CANCELLED):
        refused = ticket(down(3), state=TicketState.REJECTED, actor="ann")
        refused = replace(refused, state=state)
        decision = decide(POLICY, known(down(3), tickets=(refused,)), NOW + DAY - 1)
        assert (decision.cure, decision.verdicts[0].phase) == (None, Phase.PERSON)
        assert [sighting.subject.kind for sighting in decision.called] == [FindingKind.HEALING_FAILED]
        assert decide(POLICY, known(down(3), tickets=(refused,)), NOW + DAY).cure is not None


def test_what_healing_withdrew_itself_is_no_refusal() -> None:
    withdrawn = ticket(down(3), state=TicketState.REJECTED)
    assert decide(POLICY, known(down(3), tickets=(withdrawn,)), NOW + 1).cure is not None


def test_after_a_ticket_that_failed_it_rests_twice_as_long_each_time_and_then_calls_a_person() -> None:
    tickets: tuple[Ticket, ...] = ()
    for tries in range(1, TRIES):
        tickets += (ticket(down(3), state=TicketState.FAILED, number=tries),)
        rest_ms = 15 * MINUTE * 2 ** (tries - 1)
        resting = decide(POLICY, known(down(3), tickets=tickets), NOW + rest_ms - 1)
        assert (resting.cure, resting.verdicts[0].phase) == (None, Phase.WAITS)
        assert decide(POLICY, known(down(3), tickets=tickets), NOW + max(rest_ms, 61 * MINUTE)).cure is not None
    tickets += (ticket(down(3), state=TicketState.FAILED, number=TRIES),)
    called = decide(POLICY, known(down(3), tickets=tickets), NOW + 10 * 60 * MINUTE)
    assert (called.cure, called.verdicts[0].phase) == (None, Phase.PERSON)
    assert "3 tickets failed within a day, the last one, t-3, because so it is" in called.called[0].evidence


def test_no_more_tickets_are_made_in_an_hour_than_the_policy_has() -> None:
    tickets = tuple(ticket(down(broker), number=broker, at_ms=NOW - broker) for broker in range(3))
    decision = decide(POLICY, known(down(7), tickets=tickets), NOW)
    assert (decision.cure, decision.verdicts[0].phase) == (None, Phase.PERSON)
    assert "3 healing tickets were made within an hour" in decision.called[0].evidence
    braked = decide(POLICY, known(slow(7, "/d1"), tickets=tickets), NOW)
    assert (braked.cure, braked.verdicts[0].phase, braked.called) == (None, Phase.BRAKED, ())
    assert decide(POLICY, known(down(7), tickets=tickets), NOW + 60 * MINUTE).cure is not None


def test_drafts_that_wait_for_a_person_hold_up_no_healing() -> None:
    drafts = tuple(ticket(fills(broker), state=TicketState.DRAFT, number=broker) for broker in range(6))
    assert decide(POLICY, known(down(7), tickets=drafts), NOW).cure is not None
    another = decide(POLICY, known(fills(7), tickets=drafts), NOW)
    assert (another.cure, another.verdicts[0].phase) == (None, Phase.BRAKED)


def test_a_plan_that_came_to_nothing_is_asked_for_again_after_a_rest() -> None:
    for is_failure, phase in ((False, Phase.WAITS), (True, Phase.PERSON)):
        tried = {down(3).subject: Tried(NOW, "no room", is_failure)}
        assert decide(POLICY, known(down(3), tried=tried), NOW - 1).verdicts[0].phase is phase
        assert decide(POLICY, known(down(3), tried=tried), NOW).cure is not None


def test_after_a_storm_nothing_begins_until_it_was_calm_for_a_while() -> None:
    stormed = known(down(3), stormed_ms=NOW, calm_since_ms=NOW)
    waits = decide(POLICY, stormed, NOW + CALM_MS - 1)
    assert (waits.cure, waits.verdicts[0].phase) == (None, Phase.WAITS)
    assert decide(POLICY, stormed, NOW + CALM_MS).cure is not None
    fresh_leader = known(down(3), calm_since_ms=NOW)
    assert decide(POLICY, fresh_leader, NOW).cure is not None


def test_a_slow_disk_without_known_log_dirs_calls_a_person_and_holds_up_nobody() -> None:
    decision = decide(POLICY, known(slow(1), slow(2, "/d1")), NOW)
    assert [verdict.phase for verdict in decision.verdicts] == [Phase.PERSON, Phase.ACTS]
    assert "which of its broker's log dirs are on it" in decision.called[0].evidence
    assert decision.cure is not None
    assert decision.cure.log_dirs == {(2, "/d1")}


def test_more_than_half_of_a_brokers_disks_call_a_person() -> None:
    first, second = slow(1, "/d1", disk="sda", disks=3), slow(1, "/d2", disk="sdb", disks=3)
    decision = decide(POLICY, known(first, second), NOW)
    assert (decision.cure, {verdict.phase for verdict in decision.verdicts}) == (None, {Phase.PERSON})
    assert "2 of the broker's 3 disks are slow, or were emptied as slow within 1 d" in decision.called[0].evidence
    emptied = ticket(first, state=TicketState.SUCCEEDED)
    to_and_fro = decide(POLICY, known(second, tickets=(emptied,)), NOW + 60 * MINUTE)
    assert (to_and_fro.cure, to_and_fro.verdicts[0].phase) == (None, Phase.PERSON)
    assert decide(POLICY, known(slow(1, "/d1", disks=1)), NOW).cure is not None
    assert decide(POLICY, known(slow(1, "/d1", disks=0), slow(1, "/d2", disk="sda", disks=0)), NOW).cure is not None
