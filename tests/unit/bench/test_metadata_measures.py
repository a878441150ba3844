from tests.bench.metadata.driver import Load, Writes
from tests.bench.metadata.measures import FailoverFigures, Rounds, best, etcd_loads, our_loads


def _writes(rate: float, p99_ms: float, p50_ms: float = 1.0) -> Writes:
    return Writes(rate, p50_ms, p99_ms, 100, 2.0)


def test_the_best_load_has_the_highest_rate_and_of_equals_the_lowest_p99() -> None:
    slow, quick, quick_too = Load(100, 4, 4), Load(100, 16, 16), Load(100, 16, 4)
    trials = [(slow, _writes(50_000, 1.0)), (quick, _writes(100_000, 40.0)), (quick_too, _writes(97_000, 20.0))]
    assert best(trials) == quick_too
    assert best(trials[:2]) == quick


def test_a_round_that_was_disturbed_does_not_move_the_figures() -> None:
    runs = (_writes(100.0, 5.0, 1.0), _writes(1.0, 500.0, 50.0), _writes(102.0, 6.0, 2.0))
    rounds = Rounds(Load(1, 1, 1), runs, 10.0)
    assert (rounds.rate, rounds.p50_ms, rounds.p99_ms) == (100.0, 2.0, 6.0)


def test_neither_side_has_more_than_sixteen_batches_under_way_and_both_try_all_sixteen() -> None:
    for loads in (our_loads(100), etcd_loads([100, 1000])):
        assert max(load.in_flight for load in loads) == 16
        assert all(load.streams <= load.in_flight for load in loads)
        assert {load.to for load in loads} == {"leader", "members"}


def test_a_lost_or_repeated_write_is_a_fault() -> None:
    assert FailoverFigures((1.0,), 100, 0, 0).fault == ""
    assert "1 were lost" in FailoverFigures((1.0,), 100, 1, 0).fault
    assert "2 stored twice" in FailoverFigures((1.0,), 100, 0, 2).fault


def test_failovers_are_told_by_their_median_and_their_worst() -> None:
    taken = FailoverFigures((0.9, 3.2, 1.0), 100, 0, 0)
    assert (taken.median, taken.worst) == (1.0, 3.2)
