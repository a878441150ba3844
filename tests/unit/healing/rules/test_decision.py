"""What healing decides in a cluster, on values: no clock and no cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.healing.model import HealingMode
from guardian.healing.rules.decision import Act, decide
from guardian.healing.rules.trouble import CureKind, Standing, Trouble
from guardian.healing.rules.verdict import CALM_MS, Phase, remembered_ms
from guardian.health.model.finding import FindingKind, Subject
from guardian.model.actor import Agent
from guardian.model.ticket import TicketState, TicketTransition
from tests.unit.healing.rules.builders import DAY, MINUTE, NOW, POLICY, broken, down, known, slow, ticket


def test_a_trouble_that_outlasts_its_grace_period_gets_a_plan() -> None:
    decision = decide(POLICY, known(down(3)), 10 * MINUTE)
    assert decision.cure is not None
    assert (decision.cure.kind, decision.cure.dead_brokers, decision.cure.submits) == (
        CureKind.HEAL,
        frozenset({3}),
        True,
    )
    assert [verdict.phase for verdict in decision.verdicts] == [Phase.ACTS]


def test_dead_brokers_and_broken_log_dirs_share_a_plan_and_one_in_its_grace_period_is_spared() -> None:
    decision = decide(POLICY, known(down(3), broken(4, "/d1"), down(5, since_ms=NOW)), NOW)
    assert decision.cure is not None
    assert decision.cure.dead_brokers == {3}
    assert decision.cure.log_dirs == {(4, "/d1")}
    assert decision.cure.spared == {5}


def test_slow_disks_are_emptied_one_at_a_time_when_it_is_calm() -> None:
    found = (slow(1, "/d1"), slow(2, "/d1"))
    assert decide(POLICY, known(*found, calm_since_ms=NOW - 1), NOW).cure is None
    cure = decide(POLICY, known(*found, calm_since_ms=NOW - CALM_MS), NOW).cure
    assert cure is not None
    assert (cure.kind, cure.log_dirs) == (CureKind.EMPTY_DISK, frozenset({(1, "/d1")}))


@pytest.mark.parametrize(("count", "is_storm"), [(3, False), (4, True)])
def test_more_than_the_share_of_brokers_at_once_is_a_storm(count: int, is_storm: bool) -> None:
    decision = decide(POLICY, known(*(down(broker, since_ms=NOW) for broker in range(count))), NOW)
    assert bool(decision.storm) is is_storm
    assert [sighting.subject.kind for sighting in decision.called] == [FindingKind.STORM] * is_storm
    if is_storm:
        assert decision.storm.startswith("4 of 12 brokers are in trouble at once (0, 1, 2, 3), more than the 3 that")


def test_a_small_cluster_heals_one_broker_and_not_two() -> None:
    assert decide(POLICY, known(down(1), brokers=3), NOW).cure is not None
    assert decide(POLICY, known(down(1), down(2), brokers=3), NOW).storm


def test_brokers_whose_replicas_are_elsewhere_by_now_make_no_storm_and_need_no_plan() -> None:
    found = tuple(down(broker) for broker in range(4))
    assert decide(POLICY, known(*found), NOW).storm
    healed = replace(found[0], replicas=0)
    decision = decide(POLICY, known(healed, *found[1:]), NOW)
    assert not decision.storm
    assert (decision.verdicts[0].phase, decision.verdicts[1].phase) == (Phase.DONE, Phase.ACTS)
    assert decision.cure is not None
    assert 0 not in decision.cure.dead_brokers
    earlier = ticket(down(0), state=TicketState.SUCCEEDED)  # of another time: it counts no more
    assert decide(POLICY, known(*found, tickets=(earlier,)), NOW).storm


def test_a_storm_stops_what_was_about_to_move_and_what_moves() -> None:
    found = tuple(down(broker) for broker in range(4))
    tickets = tuple(
        ticket(down(broker), state=state, number=broker)
        for broker, state in enumerate((TicketState.APPROVED, TicketState.RUNNING, TicketState.PAUSED))
    )
    acts = decide(POLICY, known(*found, tickets=tickets), NOW).acts
    assert [(act.act, act.ticket.id) for act in acts] == [(Act.WITHDRAW, "t-0"), (Act.PAUSE, "t-1")]
    assert acts[0].reason.startswith("storm: 4 of 12 brokers")


def test_after_a_storm_what_it_paused_goes_on_and_what_a_person_paused_does_not() -> None:
    ours, hers = (ticket(down(3), state=TicketState.PAUSED, actor=actor) for actor in (Agent.HEALING, "ann"))
    calm = NOW - CALM_MS
    resumed = decide(POLICY, known(down(3), tickets=(ours,), calm_since_ms=calm), NOW).acts
    assert [act.act for act in resumed] == [Act.RESUME]
    assert decide(POLICY, known(down(3), tickets=(hers,), calm_since_ms=calm), NOW).acts == ()
    assert decide(POLICY, known(down(3), tickets=(ours,), calm_since_ms=calm + 1), NOW).acts == ()


def test_a_second_leader_that_asks_again_asks_with_the_same_key() -> None:
    first, second = (decide(POLICY, known(down(3), down(4)), now).cure for now in (NOW, NOW + 7))
    assert first is not None
    assert second is not None
    assert first.key == second.key
    later = known(down(3), down(4), tickets=(ticket(down(3), state=TicketState.FAILED, at_ms=NOW - DAY),))
    third = decide(POLICY, later, NOW).cure
    assert third is not None
    assert third.key != first.key


def test_a_key_does_not_come_again_once_its_ticket_is_too_old_to_be_read() -> None:
    first = decide(POLICY, known(down(7)), NOW).cure
    later = decide(POLICY, known(down(7)), NOW + remembered_ms(POLICY)).cure
    assert first is not None
    assert later is not None
    assert first.key != later.key
    assert remembered_ms(replace(POLICY, rest_s=60)) == DAY
    assert remembered_ms(replace(POLICY, rest_s=2 * DAY / 1000)) == 4 * DAY, "a second failure doubles the rest"


def test_what_is_for_evenness_is_proposed_at_most() -> None:
    skewed = Trouble(Subject(FindingKind.SKEW, "live", "brokers"), "broker 1 holds 9 TB", 0, brokers=())
    cure = decide(POLICY, known(skewed), NOW).cure
    assert cure is not None
    assert (cure.kind, cure.submits) == (CureKind.BALANCE, False)
    proposed = decide(replace(POLICY, mode=HealingMode.PROPOSE), known(down(3)), NOW).cure
    assert proposed is not None
    assert not proposed.submits


def test_an_observer_does_nothing_and_calls_for_a_storm_all_the_same() -> None:
    observer = replace(POLICY, mode=HealingMode.OBSERVE)
    decision = decide(observer, known(*(down(broker) for broker in range(6)), tickets=(ticket(down(1)),)), NOW)
    assert (decision.cure, decision.acts) == (None, ())
    assert {verdict.phase for verdict in decision.verdicts} == {Phase.OBSERVED}
    assert decision.called


def test_where_healing_observes_a_storm_stops_what_the_guard_of_exclusions_moves() -> None:
    observer = replace(POLICY, mode=HealingMode.OBSERVE)
    stray = replace(ticket(down(3)), kind="stray-replicas", troubles=())
    six = tuple(down(broker) for broker in range(6))
    acts = decide(observer, known(*six, tickets=(stray, ticket(down(1)))), NOW).acts
    assert [(act.act, act.ticket.kind) for act in acts] == [(Act.PAUSE, "stray-replicas")]
    paused = replace(
        stray, state=TicketState.PAUSED, history=(TicketTransition(TicketState.PAUSED, NOW, Agent.HEALING, ""),)
    )
    for since_ms, resumes in ((NOW - CALM_MS, [Act.RESUME]), (NOW, [])):
        after = decide(observer, known(tickets=(paused,), calm_since_ms=since_ms), NOW).acts
        assert [act.act for act in after] == resumes


def test_a_ticket_whose_brokers_are_back_is_taken_back() -> None:
    calm = NOW - CALM_MS
    for state in (TicketState.DRAFT, TicketState.PENDING, TicketState.APPROVED, TicketState.RUNNING):
        acts = decide(POLICY, known(tickets=(ticket(down(3), state=state),), calm_since_ms=calm), NOW).acts
        assert [act.act for act in acts] == [Act.WITHDRAW], state


def test_a_ticket_is_not_taken_back_because_its_broker_that_is_dead_is_being_removed() -> None:
    running = known(tickets=(ticket(down(3)),), calm_since_ms=NOW - CALM_MS, alive=frozenset({1, 2}))
    assert decide(POLICY, running, NOW).acts == ()
    back = replace(running, alive=frozenset({1, 2, 3}))
    assert [act.act for act in decide(POLICY, back, NOW).acts] == [Act.WITHDRAW]


def test_a_ticket_is_not_taken_back_because_nobody_sees_its_trouble() -> None:
    calm, running = NOW - CALM_MS, (ticket(down(3)),)
    assert decide(POLICY, known(tickets=running, calm_since_ms=calm, is_seen=False), NOW).acts == ()
    assert decide(POLICY, known(tickets=running, calm_since_ms=NOW), NOW).acts == ()  # a new leader
    still = known(down(3, standing=Standing.UNKNOWN), tickets=running, calm_since_ms=calm)
    assert decide(POLICY, still, NOW).acts == ()


def test_a_ticket_for_a_log_dir_goes_on_while_its_broker_is_stopped() -> None:
    calm, running = NOW - CALM_MS, (ticket(broken(4, "/d1")),)
    for standing in (Standing.PRESENT, Standing.UNKNOWN):
        stopped = known(down(4, since_ms=NOW, standing=standing), tickets=running, calm_since_ms=calm)
        assert decide(POLICY, stopped, NOW).acts == ()
    other = known(down(5, since_ms=NOW), tickets=running, calm_since_ms=calm)
    assert [act.act for act in decide(POLICY, other, NOW).acts] == [Act.WITHDRAW]


def test_tickets_of_the_guard_of_exclusions_are_stopped_and_go_on_and_do_not_count() -> None:
    stray = replace(ticket(down(3)), kind="stray-replicas", troubles=())
    storm = decide(POLICY, known(*(down(broker) for broker in range(4)), tickets=(stray,)), NOW)
    assert [act.act for act in storm.acts] == [Act.PAUSE]
    paused = replace(
        stray, state=TicketState.PAUSED, history=(TicketTransition(TicketState.PAUSED, NOW, Agent.HEALING, ""),)
    )
    acts = decide(POLICY, known(tickets=(paused,), calm_since_ms=NOW - CALM_MS), NOW).acts
    assert [act.act for act in acts] == [Act.RESUME]
    many = tuple(replace(stray, id=f"t-{number}", state=TicketState.SUCCEEDED) for number in range(9))
    assert decide(POLICY, known(down(3), tickets=many), NOW).cure is not None


def test_a_disk_that_is_being_emptied_looks_sound_and_is_emptied_all_the_same() -> None:
    for state in (TicketState.DRAFT, TicketState.APPROVED, TicketState.RUNNING):
        emptying = ticket(slow(1, "/d1"), state=state)
        assert decide(POLICY, known(tickets=(emptying,), calm_since_ms=NOW - CALM_MS), NOW).acts == ()


def test_a_disk_whose_emptying_a_storm_paused_is_emptied_afterwards_though_it_looks_sound() -> None:
    paused = ticket(slow(1, "/d1"), state=TicketState.PAUSED)
    acts = decide(POLICY, known(tickets=(paused,), calm_since_ms=NOW - CALM_MS), NOW).acts
    assert [act.act for act in acts] == [Act.RESUME]
