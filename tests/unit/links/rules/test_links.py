"""What crosses the lines between IDCs: by hand, against a plain twin, and what must hold whatever comes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.links.rules import links
from guardian.links.rules.links import (
    MINUTE_MS,
    Client,
    ClientActivity,
    ClientMinutes,
    ClientTopic,
    Minutes,
    Moved,
    Replicas,
    TopicCounters,
    Traffic,
)
from guardian.model.links import Crossing, Direction, Line, LinkSettings, load_links

T0 = 1_790_000_040_000 // MINUTE_MS * MINUTE_MS
MINUTES = Minutes(T0, 10)
IDCS = {1: "sh", 2: "sh", 3: "sz", 4: "sz", 5: ""}
OUT, BACK = Direction("sh", "sz"), Direction("sz", "sh")
MB = 1_000_000


def counters(*rows: tuple[int, int, str, int, int, int]) -> TopicCounters:
    """(minute, broker, topic, life, bytes in, bytes out)."""
    names = NAMES
    at, broker, topic, life, taken, given_out = (
        np.array(column, np.int64)
        for column in zip(*((T0 + m * MINUTE_MS, b, names.index(t), w, i, o) for m, b, t, w, i, o in rows), strict=True)
    )
    return TopicCounters(at, broker, topic, life, taken, given_out, names)


def steady(broker: int, topic: str, taken: int, given_out: int = 0) -> list[tuple[int, int, str, int, int, int]]:
    return [(minute, broker, topic, 7, minute * taken, minute * given_out) for minute in range(11)]


NAMES = ["t", "u"]


def replicas(topic: str, *partitions: tuple[tuple[int, ...], int]) -> Replicas:
    """Of each partition its brokers, the leader first, and the messages that it gained."""
    return held_by(
        (broker, topic, number, position == 0, gained)
        for number, (brokers, gained) in enumerate(partitions)
        for position, broker in enumerate(brokers)
    )


def held_by(rows: Iterable[tuple[int, str, int, bool, int]]) -> Replicas:
    columns = zip(*((b, NAMES.index(t), p, leads, gained) for b, t, p, leads, gained in rows), strict=True)
    broker, topic, partition, leads, gained = (np.array(column, np.int64) for column in columns)
    return Replicas(broker, topic, partition, leads.astype(np.bool_), gained)


def replicated(found: Moved, held: Replicas) -> Traffic:
    traffic = Traffic(MINUTES)
    links.add_replication(traffic, "live", found, held, IDCS)
    return traffic


def test_replication_crosses_once_for_each_follower_in_another_idc() -> None:
    found = links.moved(counters(*steady(1, "t", 6 * MB), *steady(3, "t", 2 * MB)), MINUTES)
    held = replicas("t", ((1, 2, 3), 100), ((1, 3, 4), 200), ((3, 4, 1), 50), ((2, 1), 10))
    traffic = replicated(found, held)
    # Broker 1 leads a third of its bytes with one follower in sz, and two thirds with two.
    assert traffic.by_minute[OUT, Crossing.REPLICATE] == pytest.approx([6 * MB * (1 / 3 + 2 * 2 / 3)] * 10)
    assert traffic.by_minute[BACK, Crossing.REPLICATE] == pytest.approx([2 * MB] * 10)
    assert {(each.direction, each.topic, each.bytes) for each in traffic.crossers} == {
        (OUT, "t", 100 * MB),
        (BACK, "t", 20 * MB),
    }


def test_a_broker_without_an_idc_crosses_nothing() -> None:
    found = links.moved(counters(*steady(5, "t", MB), *steady(1, "u", MB)), MINUTES)
    of_both = held_by([(5, "t", 0, True, 1), (1, "t", 0, False, 1), (1, "u", 0, True, 1), (5, "u", 0, False, 1)])
    assert replicated(found, of_both).by_minute == {}


def test_partitions_that_gained_nothing_share_evenly() -> None:
    found = links.moved(counters(*steady(1, "t", 4 * MB)), MINUTES)
    traffic = replicated(found, replicas("t", ((1, 3), 0), ((1, 2), 0)))
    assert traffic.by_minute[OUT, Crossing.REPLICATE] == pytest.approx([2 * MB] * 10)


@pytest.mark.slow
@given(st.data())
def test_replication_is_that_of_a_plain_twin(data: st.DataObject) -> None:
    """Partitions on any brokers, led by one after the other, in any order."""
    brokers = st.permutations([1, 2, 3, 4, 5]).flatmap(lambda order: st.integers(1, 4).map(lambda n: order[:n]))
    layout = data.draw(st.lists(st.tuples(st.sampled_from(NAMES), brokers, st.integers(0, 9)), max_size=8))
    rates = {(b, t): data.draw(st.integers(0, 5)) * MB for b in IDCS for t in NAMES}
    rows = [
        (b, t, n, position == 0, gained) for n, (t, on, gained) in enumerate(layout) for position, b in enumerate(on)
    ]
    if not rows:
        return
    found = links.moved(counters(*(row for (b, t), rate in rates.items() for row in steady(b, t, rate))), MINUTES)
    traffic = replicated(found, held_by(data.draw(st.permutations(rows))))
    twin: dict[Direction, float] = defaultdict(float)
    for topic, on, gained in layout:
        leader = on[0]
        led = [each for t, others, each in layout if (t, others[0]) == (topic, leader)]
        share = gained / sum(led) if sum(led) else 1 / len(led)
        for follower in on[1:]:
            if IDCS[leader] and IDCS[follower] and IDCS[leader] != IDCS[follower]:
                twin[Direction(IDCS[leader], IDCS[follower])] += rates[leader, topic] * 10 * share
    by_direction = {direction: float(amounts.sum()) for (direction, _), amounts in traffic.by_minute.items()}
    assert {d: n for d, n in by_direction.items() if n} == pytest.approx({d: n for d, n in twin.items() if n})


def test_a_restart_and_a_counter_made_anew_are_no_traffic() -> None:
    rows = [(0, 1, "t", 7, 900, 0), (1, 1, "t", 8, 5, 0), (2, 1, "t", 8, 65, 0), (3, 1, "t", 8, 1, 0)]
    found = links.moved(counters(*rows), MINUTES)
    assert found.bytes_in.tolist() == [[0, 60, *[0] * 8]]


@given(st.lists(st.tuples(st.integers(-200_000, 700_000), st.integers(0, 300_000), st.integers(0, 10**9)), max_size=20))
def test_bytes_are_spread_evenly_and_none_is_invented(spans: list[tuple[int, int, int]]) -> None:
    starts = np.array([T0 + begin for begin, _, _ in spans], np.int64)
    ends = starts + np.array([lasts for _, lasts, _ in spans], np.int64)
    amounts = np.array([amount for _, _, amount in spans], np.float64)
    _, minute, shares = MINUTES.spread(starts, ends, amounts)
    twin: dict[int, float] = defaultdict(float)
    for start, end, amount in zip(starts.tolist(), ends.tolist(), amounts.tolist(), strict=True):
        lasts = max(end - start, 1)
        for number in range(MINUTES.count):
            begins = T0 + number * MINUTE_MS
            inside = max(0, min(start + lasts, begins + MINUTE_MS) - max(start, begins))
            twin[number] += amount * inside / lasts
    assert MINUTES.sums(minute, shares) == pytest.approx([twin[number] for number in range(MINUTES.count)])


def minutes_of(crossing: Crossing, broker: str, client: str, amount: int) -> ClientMinutes:
    return ClientMinutes(crossing, broker, client, T0 + MINUTE_MS, T0 + 2 * MINUTE_MS, amount)


def test_producers_cross_towards_the_broker_and_consumers_away_from_it() -> None:
    activity = ClientActivity(
        [
            minutes_of(Crossing.PRODUCE, "sz", "sh", 5 * MB),
            minutes_of(Crossing.CONSUME, "sz", "sh", 7 * MB),
            minutes_of(Crossing.CONSUME, "sz", "sz", 9 * MB),
            minutes_of(Crossing.CONSUME, "sz", "", 3 * MB),
        ],
        [],
        [Client(Crossing.CONSUME, "sz", "sh", "t", "User:a", "app", "10.1.0.1", 7 * MB, 0)],
    )
    traffic = Traffic(MINUTES)
    links.add_clients(traffic, "live", links.moved(counters(*steady(3, "t", 0)), MINUTES), activity, IDCS)
    assert traffic.by_minute[OUT, Crossing.PRODUCE].tolist() == [0, 5 * MB, *[0] * 8]
    assert traffic.by_minute[BACK, Crossing.CONSUME].tolist() == [0, 7 * MB, *[0] * 8]
    assert traffic.unplaced == 3 * MB
    (crosser,) = traffic.crossers
    assert (crosser.direction, crosser.bytes, crosser.is_estimated) == (BACK, 7 * MB, False)
    # Who reads in sz from nowhere known may cross away from there, never towards it.
    assert traffic.most_per_s(BACK) == pytest.approx((7 + 3) * MB / 60)
    assert traffic.most_per_s(OUT) == pytest.approx(5 * MB / 60)


def test_bytes_that_nobody_counted_are_shared_out_by_requests_and_marked() -> None:
    """The topic gives 10 MB a minute from sz; 20 MB of the 100 are known; the rest is 3 parts sh, 1 part sz."""
    found = links.moved(counters(*steady(3, "t", 0, 6 * MB), *steady(4, "t", 0, 4 * MB)), MINUTES)
    activity = ClientActivity(
        [ClientMinutes(Crossing.CONSUME, "sz", "sh", T0, T0 + MINUTE_MS, 20 * MB)],
        [
            ClientTopic(Crossing.CONSUME, "sz", "sh", "t", 20 * MB, 300),
            ClientTopic(Crossing.CONSUME, "sz", "sz", "t", 0, 100),
        ],
        [
            Client(Crossing.CONSUME, "sz", "sh", "t", "User:known", "k", "10.1.0.1", 20 * MB, 0),
            Client(Crossing.CONSUME, "sz", "sh", "t", "User:blind", "b", "10.1.0.2", 0, 300),
        ],
    )
    traffic = Traffic(MINUTES)
    links.add_clients(traffic, "live", found, activity, IDCS)
    (use,) = links.link_uses(traffic, LinkSettings())
    assert (use.bytes, use.estimated_bytes) == (80 * MB, 60 * MB)
    assert use.minute_bytes == (26 * MB, *[6 * MB] * 9)
    assert [(each.principal, each.bytes, each.is_estimated) for each in links.largest(traffic.crossers, BACK, 5)] == [
        ("User:blind", 60 * MB, True),
        ("User:known", 20 * MB, False),
    ]


def test_more_known_bytes_than_the_topic_gave_leave_nothing_to_estimate() -> None:
    found = links.moved(counters(*steady(3, "t", 0, MB)), MINUTES)
    activity = ClientActivity((), [ClientTopic(Crossing.CONSUME, "sz", "sh", "t", 90 * MB, 300)], ())
    traffic = Traffic(MINUTES)
    links.add_clients(traffic, "live", found, activity, IDCS)
    assert traffic.by_minute == {}


def test_a_line_near_its_limit_is_a_finding_with_its_cost_and_who_crosses() -> None:
    rows = [(minute, 1, "t", 7, minute * 6 * MB + (54 * MB if minute > 3 else 0), 0) for minute in range(11)]
    settings = LinkSettings(lines={("sh", "sz"): Line(("sh", "sz"), 10_000_000.0, 0.5)}, near=0.8)
    found = links.moved(counters(*rows), MINUTES)
    held = replicas("t", ((1, 3), 1))
    traffic = replicated(found, held)
    (use,) = links.link_uses(traffic, settings)
    assert (use.peak_at_ms, use.peak_bits_per_s, use.share) == (T0 + 3 * MINUTE_MS, 8_000_000.0, 0.8)
    assert use.cost == pytest.approx(0.5 * 0.114)
    assert links.is_near(use, settings)
    busiest = Traffic(Minutes(use.peak_at_ms, 1))
    links.add_replication(busiest, "live", found.in_minute(3), held, IDCS)
    sentence = links.finding(use.direction, links.load(use, "03:03"), links.largest(busiest.crossers, OUT, 3))
    assert sentence == (
        "sh to sz carried 0.01 of 0.01 Gbit/s (80%) in the minute of 03:03; the most by replication of t of live, "
        "60.0 MB"
    )


def test_what_the_numbers_lack_is_said() -> None:
    traffic = Traffic(MINUTES)
    traffic.unplaced = 5.0 * MB
    traffic.add(OUT, Crossing.PRODUCE, np.ones(10))
    settings = LinkSettings(lines={("a", "b"): Line(("a", "b"))})
    said = list(links.remarks(traffic, settings, [f"live/{n}" for n in range(5)]))
    assert said == [
        "brokers live/0, live/1, live/2 and 2 more have no IDC: what they send and take is not in the numbers, "
        "register them with one",
        "clients moved 5.0 MB from addresses that are in no network: give [networks] in the file that `links` names",
        "no price_gb is given between sh and sz: its cost is left out",
    ]


GOOD = """
currency = "EUR"
near = 0.7
[networks]
sh = ["10.1.0.0/16", "2001:db8:1::/48"]
sz = ["10.2.0.0/16", "10.1.7.0/24"]
[[lines]]
between = ["sz", "sh"]
gbit_per_s = 10
price_gb = 0.02
"""


def test_a_links_file_is_read_with_the_longest_prefixes_first(tmp_path: Path) -> None:
    path = tmp_path / "links.toml"
    path.write_text(GOOD)
    settings = load_links(path)
    assert [(str(network), idc) for network, idc in settings.networks] == [
        ("10.1.7.0/24", "sz"),
        ("10.1.0.0/16", "sh"),
        ("10.2.0.0/16", "sz"),
        ("2001:db8:1::/48", "sh"),
    ]
    assert settings.line(BACK) == settings.line(OUT) == Line(("sh", "sz"), 10e9, 0.02)
    assert (settings.currency, settings.near) == ("EUR", 0.7)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("near = 1.5", "near is 1.5: use more than 0, up to 1"),
        ('near = "much"', "near is 'much': give a number"),
        ("currency = 5", "currency is 5: give a word"),
        ("nets = 1", "nets is not a setting: did you mean networks"),
        ("networks = 5", "networks is 5: write it as a section"),
        ('[networks]\nsh = "10.0.0.0/8"', "networks.sh is '10.0.0.0/8': give a list"),
        (
            '[networks]\nsh = ["10.0.0.1/8"]',
            r"networks.sh has '10.0.0.1/8': use a prefix, .* \(10.0.0.1/8 has host bits",
        ),
        ('[networks]\nsh = ["10.0.0.0/8"]\nsz = ["10.0.0.0/8"]', "networks has 10.0.0.0/8 in sh and in sz"),
        ("lines = 5", "lines is 5: write each as a section"),
        ('[[lines]]\nbetween = ["sh"]', r"lines\[0\].between is \['sh'\]: give two IDCs"),
        ('[[lines]]\nbetween = ["sh", "sh"]', r"lines\[0\].between is \['sh', 'sh'\]: give two IDCs"),
        (
            '[[lines]]\nbetween = ["sh", "sz"]\ngbit_per_s = 0',
            r"lines\[0\].gbit_per_s is 0: use more than 0, finite",
        ),
        ('[[lines]]\nbetween = ["sh", "sz"]\nprice_gb = -1', r"lines\[0\].price_gb is -1: use at least 0, finite"),
        ('[[lines]]\nbetween = ["sh", "sz"]\nprice = 1', r"lines\[0\].price is not a setting: did you mean price_gb"),
        ('[[lines]]\nbetween = ["a", "b"]\n[[lines]]\nbetween = ["b", "a"]', "lines has a and b twice"),
        ("= 5", "is not valid TOML"),
    ],
)
def test_a_wrong_links_file_is_refused_with_the_field_the_value_and_the_fix(
    tmp_path: Path, text: str, complaint: str
) -> None:
    path = tmp_path / "links.toml"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=complaint):
        load_links(path)
    with pytest.raises(InvalidInput, match="can't be read"):
        load_links(tmp_path / "none.toml")
