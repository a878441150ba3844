"""What healing decides, on values: no clock and no cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.core.findings import Seen, Watch, failed, looked
from guardian.core.findings import Times as LookTimes
from guardian.core.healing import (
    CALM_MS,
    HELD_UP_MS,
    TRIES,
    Act,
    CureKind,
    Known,
    Phase,
    Standing,
    Tried,
    Trouble,
    covers,
    decide,
    evidence_of,
    idle,
    is_seen,
    line_troubles,
    moved_by,
    trimmed,
    trimmed_again,
    troubles,
    troubles_of,
)
from guardian.core.relieving import ClusterPlaces
from guardian.core.troubles import brokers_down, log_dirs_offline
from guardian.model.actor import Agent
from guardian.model.cluster_state import LogDir
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.finding import Detector, FindingKind, Place, Sighting, Subject
from guardian.model.healing import HealingMode, HealingPolicy
from guardian.model.links import Crosser, Crossing, Direction
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import ANY_LOG_DIR, TopicPartition

POLICY = HealingPolicy(HealingMode.ACT, broker_grace_s=600, log_dir_grace_s=60, rest_s=900, tickets_per_hour=3)
MINUTE = 60_000
NOW = 100 * MINUTE
DAY = 24 * 60 * MINUTE


def down(broker: int, since_ms: int = 0, standing: Standing = Standing.PRESENT) -> Trouble:
    subject = Subject(FindingKind.BROKER_DOWN, "live", f"broker {broker}")
    return Trouble(subject, f"broker {broker} is fenced or gone", since_ms, standing, (broker,))


def broken(broker: int, path: str, since_ms: int = 0) -> Trouble:
    subject = Subject(FindingKind.LOG_DIR_OFFLINE, "live", f"broker {broker}, log dir {path}")
    return Trouble(subject, "it is offline", since_ms, Standing.PRESENT, (broker,), (path,))


def slow(broker: int, *log_dirs: str, disk: str = "sdb", disks: int = 4, since_ms: int = 0) -> Trouble:
    subject = Subject(FindingKind.SLOW_DISK, "live", f"broker {broker}, disk {disk}")
    return Trouble(subject, "await 60 ms", since_ms, Standing.PRESENT, (broker,), log_dirs, disks=disks)


def known(*found: Trouble, brokers: int = 12, tickets: tuple[Ticket, ...] = (), **others: object) -> Known:
    alive = frozenset(range(brokers)) - {broker for each in found for broker in each.brokers}
    return replace(Known("live", brokers, found, tickets, alive=alive), **others)  # type: ignore[arg-type]


def ticket(
    *found: Trouble,
    state: TicketState = TicketState.RUNNING,
    actor: str = Agent.HEALING,
    at_ms: int = NOW,
    number: int = 1,
    policy: HealingPolicy = POLICY,
    brokers: int = 12,
) -> Ticket:
    decision = decide(policy, known(*found, brokers=brokers), NOW)
    assert decision.cure is not None
    history = (TicketTransition(state, at_ms, actor, "so it is"),)
    kind = decision.cure.kind.value
    return Ticket(
        f"t-{number}",
        "live",
        kind,
        state,
        Agent.HEALING,
        "h",
        1,
        at_ms,
        at_ms,
        history,
        decision.cure.key,
        evidence=evidence_of(decision.cure, NOW),
        troubles=troubles_of(decision.cure),
    )


def move(topic: str, original: tuple[int, ...], target: tuple[int, ...]) -> PartitionMove:
    before, after = (tuple(map(ReplicaPlacement, brokers)) for brokers in (original, target))
    return PartitionMove(TopicPartition(topic, 0), before, after)


def test_a_trouble_that_outlasts_its_grace_period_gets_a_plan() -> None:
    decision = decide(POLICY, known(down(3)), 10 * MINUTE)
    assert decision.cure is not None
    assert (decision.cure.kind, decision.cure.dead_brokers, decision.cure.submits) == (
        CureKind.HEAL,
        frozenset({3}),
        True,
    )
    assert [verdict.phase for verdict in decision.verdicts] == [Phase.ACTS]


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


def test_what_waits_in_other_plans_or_is_paused_keeps_nothing_from_healing() -> None:
    plan = Plan("live", "balance", (move("t", (1, 2, 3), (1, 2, 4)),))
    pending = ExecutionTask(1, plan.moves[0])
    copying = ExecutionTask(2, move("u", (1, 2, 3), (1, 2, 4)), TaskState.RUNNING)
    work = Execution("t-9", (pending, copying, replace(copying, number=3, state=TaskState.DONE)))
    waits, moves = pending.move.partition, copying.move.partition
    other = replace(ticket(down(3), number=9), kind="balance")
    assert moved_by(other, work, CureKind.HEAL) == {moves}
    assert moved_by(other, plan, CureKind.HEAL) == frozenset()
    assert moved_by(other, work, CureKind.EMPTY_DISK) == {waits, moves}
    assert moved_by(other, plan, CureKind.EMPTY_DISK) == {waits}
    removes = replace(other, ask=Ask(AskKind.REMOVE, (3,)))
    for first in (ticket(down(3)), removes):
        assert moved_by(first, work, CureKind.HEAL) == {waits, moves}
        assert moved_by(replace(first, state=TicketState.PAUSED), work, CureKind.HEAL) == {moves}
    assert moved_by(ticket(down(3)), plan, CureKind.HEAL) == {waits}


def test_a_second_leader_that_asks_again_asks_with_the_same_key() -> None:
    first, second = (decide(POLICY, known(down(3), down(4)), now).cure for now in (NOW, NOW + 7))
    assert first is not None
    assert second is not None
    assert first.key == second.key
    later = known(down(3), down(4), tickets=(ticket(down(3), state=TicketState.FAILED, at_ms=NOW - DAY),))
    third = decide(POLICY, later, NOW).cure
    assert third is not None
    assert third.key != first.key


def test_a_ticket_covers_the_troubles_that_it_is_for_and_no_others() -> None:
    made = ticket(down(3), broken(4, "/d1"))
    assert covers(made, down(3).subject)
    assert covers(made, broken(4, "/d1").subject)
    assert not covers(made, down(30).subject)
    assert not covers(made, broken(4, "/d").subject)
    assert not covers(made, down(3).subject._replace(cluster="other"))


def test_a_ticket_covers_all_failed_log_dirs_of_a_broker_however_many() -> None:
    paths = [f"/d{number}" for number in range(22)]
    found = [broken(4, path) for path in paths]
    made = ticket(*found)
    assert [each.subject.name for each in found if not covers(made, each.subject)] == []
    assert decide(POLICY, known(*found, tickets=(made,)), NOW).cure is None
    moves = tuple(
        PartitionMove(TopicPartition("t", number), (ReplicaPlacement(4, path),), (ReplicaPlacement(1),))
        for number, path in enumerate(paths)
    )
    anew = Plan("live", "heal", moves)
    assert len(trimmed_again(anew, made).moves) == 22


def test_a_ticket_covers_all_dead_brokers_however_many() -> None:
    found = [down(broker) for broker in range(25)]
    lenient = replace(POLICY, storm_share=0.5)
    made = ticket(*found, policy=lenient, brokers=100)
    assert [each.subject.name for each in found if not covers(made, each.subject)] == []
    assert decide(lenient, known(*found, brokers=100, tickets=(made,)), NOW).cure is None


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


def fills(broker: int) -> Trouble:
    subject = Subject(FindingKind.DISK_FILLS, "live", f"broker {broker}, log dir /d1")
    return Trouble(subject, "it is full in 3.0 days", 0, Standing.PRESENT, (broker,), ("/d1",))


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


def test_after_a_storm_nothing_begins_until_it_was_calm_for_a_while() -> None:
    stormed = known(down(3), stormed_ms=NOW, calm_since_ms=NOW)
    waits = decide(POLICY, stormed, NOW + CALM_MS - 1)
    assert (waits.cure, waits.verdicts[0].phase) == (None, Phase.WAITS)
    assert decide(POLICY, stormed, NOW + CALM_MS).cure is not None
    fresh_leader = known(down(3), calm_since_ms=NOW)
    assert decide(POLICY, fresh_leader, NOW).cure is not None


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


def test_a_slow_disk_without_known_log_dirs_calls_a_person_and_holds_up_nobody() -> None:
    decision = decide(POLICY, known(slow(1), slow(2, "/d1")), NOW)
    assert [verdict.phase for verdict in decision.verdicts] == [Phase.PERSON, Phase.ACTS]
    assert "which of its broker's log dirs are on it" in decision.called[0].evidence
    assert decision.cure is not None
    assert decision.cure.log_dirs == {(2, "/d1")}


def test_what_leaves_a_slow_disk_goes_to_no_other_that_is_slow_or_was_emptied_lately() -> None:
    first, second = slow(1, "/d1", disk="sda"), slow(1, "/d2", disk="sdb", since_ms=NOW - MINUTE)
    together = decide(POLICY, known(first, second), NOW).cure
    assert together is not None
    assert together.log_dirs == {(1, "/d1"), (1, "/d2")}
    emptied = ticket(first, state=TicketState.SUCCEEDED)
    assert emptied.evidence.splitlines()[1] == "empties broker 1, log dir /d1"
    later = decide(POLICY, known(replace(second, since_ms=0), tickets=(emptied,)), NOW + 60 * MINUTE).cure
    assert later is not None
    assert later.log_dirs == {(1, "/d1"), (1, "/d2")}
    other = decide(POLICY, known(slow(2, "/d2"), tickets=(emptied,)), NOW + 60 * MINUTE).cure
    assert other is not None
    assert other.log_dirs == {(2, "/d2")}
    next_day = decide(POLICY, known(replace(second, since_ms=0), tickets=(emptied,)), NOW + DAY).cure
    assert next_day is not None
    assert next_day.log_dirs == {(1, "/d2")}


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


def test_a_cluster_is_seen_when_the_last_looks_at_brokers_and_replicas_succeeded() -> None:
    times = LookTimes(5000, 5000, 10_000)
    brokers, replicas = Place(Detector.BROKERS, "live"), Place(Detector.REPLICAS, "live")
    watch = looked(Watch(), brokers, 1000, [], times)
    assert not is_seen(watch, "live")
    watch = looked(watch, replicas, 2000, [], times)
    assert is_seen(watch, "live")
    watch = failed(watch, replicas, 3000, "away")
    assert not is_seen(watch, "live")
    assert is_seen(looked(watch, replicas, 4000, [], times), "live")


def test_a_plan_keeps_only_the_moves_that_the_cure_is_for() -> None:
    def move(number: int, original: list[tuple[int, str]], target: tuple[int, ...]) -> PartitionMove:
        places = tuple(ReplicaPlacement(broker, path) for broker, path in original)
        return PartitionMove(TopicPartition("t", number), places, tuple(map(ReplicaPlacement, target)))

    moves = (
        move(0, [(1, "/d"), (3, ANY_LOG_DIR)], (1, 2)),  # from the dead broker
        move(1, [(1, "/d"), (5, ANY_LOG_DIR)], (1, 2)),  # from one in its grace period
        move(2, [(4, "/d1"), (1, "/d")], (2, 1)),  # from the broken log dir
        move(3, [(4, "/d2"), (1, "/d")], (2, 1)),  # from a sound one beside it
        move(4, [(4, ANY_LOG_DIR), (1, "/d")], (2, 1)),  # from one that nobody knows
        move(5, [(4, "/d1"), (1, "/d")], (4, 1)),  # inside its broker, which Kafka refuses
        move(6, [(1, "/d"), (3, ANY_LOG_DIR)], (1, 2)),  # that somebody moves already
    )
    cure = decide(POLICY, known(down(3), broken(4, "/d1"), down(5, since_ms=NOW)), NOW).cure
    assert cure is not None
    kept = trimmed(Plan("live", "heal", moves), cure, busy={TopicPartition("t", 6)})
    assert [each.partition.partition for each in kept.moves] == [0, 2, 4]


def test_what_would_take_a_replica_off_a_broker_in_its_grace_period_waits_while_two_others_live() -> None:
    def move(number: int, original: tuple[int, ...], target: tuple[int, ...]) -> PartitionMove:
        places, targets = (tuple(map(ReplicaPlacement, brokers)) for brokers in (original, target))
        return PartitionMove(TopicPartition("t", number), places, targets)

    moves = (
        move(0, (1, 2, 3, 5), (1, 2, 6, 7)),  # two others live
        move(1, (1, 3, 5), (1, 6, 7)),  # only one does
        move(2, (1, 2, 3, 5), (1, 2, 6, 5)),  # the spared one keeps what it has
    )
    cure = decide(POLICY, known(down(3), down(5, since_ms=NOW)), NOW).cure
    assert cure is not None
    kept = trimmed(Plan("live", "heal", moves), cure)
    assert [each.partition.partition for each in kept.moves] == [1, 2]


def test_a_plan_that_is_made_anew_for_a_ticket_keeps_only_what_the_ticket_is_for() -> None:
    found = [
        *brokers_down("live", [1], [], {1: 5, 3: 5}),
        *log_dirs_offline("live", [LogDir(4, "/d: 1", error="broken")], {}),
    ]
    troubled = (
        Trouble(each.subject, each.evidence, 0, Standing.PRESENT, each.brokers, each.log_dirs) for each in found
    )
    made = ticket(*troubled)
    places = {0: (3, ANY_LOG_DIR), 1: (5, ANY_LOG_DIR), 2: (4, "/d: 1"), 3: (4, "/d2")}
    moves = tuple(
        PartitionMove(TopicPartition("t", number), (ReplicaPlacement(*place),), (ReplicaPlacement(1),))
        for number, place in places.items()
    )
    anew = Plan("live", "heal", moves)
    assert [move.partition.partition for move in trimmed_again(anew, made).moves] == [0, 2]
    assert trimmed_again(anew, replace(made, author="ann")) is anew
    assert trimmed_again(anew, replace(made, kind="empty-disk")) is anew


def test_troubles_are_read_from_what_was_seen_with_what_the_last_look_says() -> None:
    times = LookTimes(5000, 5000, 10_000)
    place = Place(Detector.BROKERS, "live")
    sightings = [
        Sighting(down(broker).subject, "away", "guardian durability --cluster live", brokers=(broker,))
        for broker in (1, 2)
    ]
    watch = looked(Watch(), place, 1000, sightings, times)
    watch = looked(watch, place, 7000, sightings, times)
    watch = looked(watch, place, 13_000, sightings[:1], times)
    found = troubles(watch, "live")
    assert [(each.subject.name, each.standing, each.since_ms) for each in found] == [
        ("broker 1", Standing.PRESENT, 1000),
        ("broker 2", Standing.OVER, 1000),
    ]
    assert {each.standing for each in troubles(failed(watch, place, 14_000, "away"), "live")} == {Standing.UNKNOWN}
    assert troubles(watch, "other") == ()
    weak = Seen(place, Sighting(Subject(FindingKind.TOPIC_WEAK, "live", "t"), "", ""), 0, 13_000)
    assert troubles(Watch({weak.sighting.subject: weak}, watch.looks), "live") == ()


def near(crossing: Crossing, cluster: str = "live") -> Watch:
    """A line that is near its limit, as two looks have seen it."""
    subject = Subject(FindingKind.LINE_NEAR_LIMIT, "", "sh to sz")
    crosser = Crosser(Direction("sh", "sz"), crossing, cluster, "orders", 9)
    sighting = Sighting(subject, "sh to sz carried 9 of 10 Gbit/s", "guardian links", crossers=(crosser,))
    watch = Watch()
    for at_ms in (NOW - 70 * MINUTE, NOW):
        watch = looked(watch, Place(Detector.LINKS, ""), at_ms, [sighting], LookTimes(MINUTE, MINUTE, 99 * MINUTE))
    return watch


PLACES = {name: ClusterPlaces({1: "sh", 2: "sz"}) for name in ("live", "other")}


def test_a_line_near_its_limit_is_relieved_by_a_draft_in_the_cluster_that_can() -> None:
    lines = line_troubles(near(Crossing.CONSUME), PLACES, ())
    assert lines.keys() == {"live"}
    cure = decide(POLICY, known(*troubles(Watch(), "live", lines["live"])), NOW).cure
    assert cure is not None
    assert (cure.kind, cure.cluster, cure.submits) == (CureKind.LEADERS, "live", False)
    assert evidence_of(cure, NOW).splitlines() == [
        "line_near_limit sh to sz: sh to sz carried 9 of 10 Gbit/s (for 1.2 h)",
        "leaders of orders go to sz, where clients read over the line now: nothing is copied",
    ]


def test_a_line_stays_with_the_cluster_that_has_a_ticket_for_it() -> None:
    lines = line_troubles(near(Crossing.CONSUME), PLACES, ())
    draft = ticket(*lines["live"], state=TicketState.DRAFT)
    moved = line_troubles(near(Crossing.CONSUME, "other"), PLACES, (draft,))
    assert moved.keys() == {"live"}
    decision = decide(POLICY, known(*moved["live"], tickets=(draft,)), NOW)
    assert (decision.cure, decision.verdicts[0].ticket_id) == (None, "t-1")
    over = replace(draft, state=TicketState.EXPIRED)
    assert line_troubles(near(Crossing.CONSUME, "other"), PLACES, (over,)).keys() == {"other"}


def test_a_line_that_no_plan_relieves_calls_a_person() -> None:
    (trouble,) = line_troubles(near(Crossing.PRODUCE), PLACES, ())["live"]
    decision = decide(POLICY, known(trouble), NOW)
    assert (decision.cure, decision.verdicts[0].phase) == (None, Phase.PERSON)
    assert decision.called[0].subject.name == "line_near_limit sh to sz"
