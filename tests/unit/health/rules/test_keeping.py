"""What is stored of a watch for the next leader, and what that one makes of it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from guardian.health.model.finding import Detector, FindingKind, Place, Seen, Sighting, Subject
from guardian.health.rules.findings import Watch
from guardian.health.rules.keeping import EVERY_MS, FRESH_MS, Kept, restored, to_keep
from guardian.health.wire.findings import kept_from_proto, kept_to_proto
from guardian.model.event import MAX_KEPT_FINDINGS
from guardian.model.links import Direction
from protos.guardian.v1 import records_pb2

T0 = 1_790_000_000_000
DOWN = Sighting(
    Subject(FindingKind.BROKER_DOWN, "live", "broker 3"), "it is gone", "guardian durability", brokers=(3,), replicas=7
)
SEEN = Seen(Place(Detector.BROKERS, "live"), DOWN, T0, T0 + 5_000, is_raised=True)
LINE = Seen(
    Place(Detector.LINKS, ""),
    Sighting(Subject(FindingKind.LINE_NEAR_LIMIT, "", "a to b"), "full", "guardian links", line=Direction("a", "b")),
    T0,
    T0,
)


def watch(*seen: Seen) -> Watch:
    return Watch({each.sighting.subject: each for each in seen})


def test_only_what_has_changed_is_stored_and_all_of_it_once_a_minute() -> None:
    (live,) = to_keep(watch(SEEN), {}, T0)
    assert (live.cluster, live.seen) == ("live", (SEEN,))
    stored = {"live": live.kept}
    again = replace(SEEN, last_seen_ms=T0 + 30_000, sighting=replace(DOWN, evidence="gone for longer"))
    assert to_keep(watch(again), stored, T0 + EVERY_MS - 1) == []
    assert [each.seen for each in to_keep(watch(again), stored, T0 + EVERY_MS)] == [(again,)]
    for other in (replace(SEEN, is_raised=False), replace(SEEN, since_ms=T0 - 1)):
        assert [each.seen for each in to_keep(watch(other), stored, T0)] == [(other,)]


def test_what_is_over_is_forgotten_once() -> None:
    (gone,) = to_keep(watch(), {"live": Kept((("something",),), T0)}, T0)
    assert (gone.cluster, gone.seen) == ("live", ())
    assert to_keep(watch(), {"live": gone.kept}, T0 + 10 * EVERY_MS) == []


def test_of_too_many_the_gravest_that_are_told_are_stored() -> None:
    many = [
        Seen(SEEN.place, replace(DOWN, subject=Subject(FindingKind.TOPIC_WEAK, "live", f"topic {n}")), T0, T0)
        for n in range(MAX_KEPT_FINDINGS)
    ]
    (kept,) = to_keep(watch(*many, SEEN), {}, T0)
    assert len(kept.seen) == MAX_KEPT_FINDINGS
    assert kept.seen[0] == SEEN


def test_a_new_leader_begins_with_what_is_fresh_and_has_looked_nowhere() -> None:
    now_ms = T0 + FRESH_MS
    found = restored([(T0 + 1, [SEEN]), (T0, [LINE])], now_ms)
    assert found.seen == {DOWN.subject: replace(SEEN, last_seen_ms=now_ms)}
    assert found.looks == {}


@given(
    st.builds(
        Seen,
        st.builds(Place, st.sampled_from(Detector), st.just("live")),
        st.builds(
            Sighting,
            st.builds(Subject, st.sampled_from(FindingKind), st.just("live"), st.text()),
            st.text(),
            st.text(),
            brokers=st.lists(st.integers(0, 2**31 - 1), max_size=3).map(tuple),
            log_dirs=st.lists(st.text(), max_size=3).map(tuple),
            replicas=st.none() | st.integers(0, 9),
            load=st.text(),
            disks=st.integers(0, 9),
        ),
        st.integers(0, T0),
        st.just(T0),
        st.booleans(),
    )
)
def test_what_is_stored_is_read_again(seen: Seen) -> None:
    message = records_pb2.KeptFindings.FromString(kept_to_proto("live", T0, [seen]).SerializeToString())
    assert kept_from_proto(message) == [seen]


def test_a_line_keeps_its_ends_and_what_a_newer_version_knows_is_left_out() -> None:
    message = kept_to_proto("", T0, [LINE])
    assert kept_from_proto(message) == [LINE]
    message.findings[0].kind = 999
    assert kept_from_proto(message) == []
