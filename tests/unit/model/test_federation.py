"""What the federation's nouns refuse: the message names the field, the value and the fix."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from guardian.errors import InvalidInput
from guardian.model.federation import Entry, Exclusion, IdcPlacement, IdcPolicy, Machine, Tenant, Topic, name_of
from guardian.model.topology import Broker

WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: Machine(""), "host is ''"),
    (lambda: Machine("a b"), "host is 'a b'"),
    (lambda: Machine("m", cores=-1), "cores of machine m is -1: use 0 to 100000"),
    (lambda: Machine("m", broker_id=3), "broker_id of machine m is 3 but cluster is empty"),
    (lambda: Machine("m", cluster="live", broker_id=-3), "broker id is -3"),
    (lambda: Machine("m", label="a b"), "label is 'a b'"),
    (lambda: Machine("m", rack="a\nb"), "rack is"),
    (lambda: Tenant(""), "name of the tenant is ''"),
    (lambda: Tenant("a/b"), "name of the tenant is 'a/b'"),
    (lambda: Tenant("t", labels=("a", "a")), "labels of tenant t names one twice"),
    (lambda: Tenant("t", labels=("",)), "labels of tenant t has an empty one"),
    (lambda: Tenant("t", labels=tuple(map(str, range(101)))), "labels of tenant t has 101: use up to 100"),
    (lambda: Tenant("t", description="x" * 1001), "description is"),
    (lambda: Topic("", "t"), "cluster of topic 't' is empty"),
    (lambda: Topic("live", ""), "name of the topic is ''"),
    (lambda: Topic("live", ".."), "name of the topic is '..'"),
    (lambda: Topic("live", "a b"), "name of the topic is 'a b'"),
    (lambda: Topic("live", "x" * 250), "name of the topic is"),
    (lambda: Topic("live", "t", b"short"), "topic_id of topic t is 73686f7274: use the 16 bytes"),
    (lambda: Topic("live", "t", bytes(16)), "none of its reserved ones"),
    (lambda: Topic("live", "t", bytes(15) + b"\x01"), "none of its reserved ones"),
    (lambda: Topic("live", "t", expected_bytes_in_per_s=-1), "expected_bytes_in_per_s of topic t is -1"),
    (lambda: IdcPolicy("p", ()), "replicas of IDC policy p names 0 data centres"),
    (lambda: IdcPolicy("p", (("sh", 0),)), "replicas of IDC policy p has 0 in 'sh'"),
    (lambda: IdcPolicy("p", (("", 1),)), "replicas of IDC policy p has 1 in ''"),
    (lambda: IdcPolicy("p", (("sh", 1), ("sh", 2))), "names a data centre twice"),
    (lambda: IdcPolicy("p", (("sh", 1),), "sz"), "preferred_leader_idc of IDC policy p is 'sz'"),
    (
        lambda: IdcPolicy("p", (("sh", 1),), "", (IdcPlacement((("sz", 0),)),)),
        "other_factors of IDC policy p has 0 in 'sz'",
    ),
    (
        lambda: IdcPolicy("p", (("sh", 2),), "", (IdcPlacement((("sz", 1), ("sh", 1))),)),
        "a replication factor has two placements (got [2, 2]); keep one of each",
    ),
    (lambda: Exclusion("live", 1, "", "w"), "who of the exclusion of broker 1 is empty"),
    (lambda: Exclusion("live", 1, " ", "w"), "who of the exclusion of broker 1 is empty"),
    (lambda: Exclusion("live", 1, "ann", " "), "why of the exclusion of broker 1 is empty"),
    (lambda: Exclusion("", 1, "ann", "w"), "cluster of the exclusion of broker 1 is empty"),
    (lambda: Exclusion("live", -1, "ann", "w"), "broker id is -1"),
    (lambda: Exclusion("live", 1, "ann", "w", -5), "until_ms of the exclusion of broker 1 is -5"),
    (lambda: Broker(1, label="-x"), "label is '-x'"),
]


@pytest.mark.parametrize(("build", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_wrong_field_is_named_with_its_value(build: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        build()
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


def test_order_makes_no_difference_where_none_is_meant() -> None:
    assert Tenant("t", labels=("b", "a")) == Tenant("t", labels=("a", "b"))
    assert IdcPolicy("p", (("sz", 1), ("sh", 2))) == IdcPolicy("p", (("sh", 2), ("sz", 1)))


def test_a_policy_says_for_each_replication_factor_where_its_replicas_live() -> None:
    two, four = IdcPlacement((("sz", 1), ("sh", 1))), IdcPlacement((("sz", 4),))
    policy = IdcPolicy("p", (("sh", 2), ("sz", 1)), "sh", (four, two))
    assert policy == IdcPolicy("p", (("sz", 1), ("sh", 2)), "sh", (two, four))
    assert policy.factors == (3, 2, 4)
    assert policy.of_factor(3) == policy.of_factor(5) == policy
    assert policy.of_factor(2) == IdcPolicy("p", (("sh", 1), ("sz", 1)), "sh")
    assert policy.of_factor(4) == IdcPolicy("p", (("sz", 4),), "")
    assert policy.idcs == {"sh", "sz"}


def test_a_tenant_may_use_its_labels_or_any() -> None:
    assert [Tenant("t", labels=("a",)).may_use(label) for label in ("", "a", "b")] == [True, True, False]
    assert Tenant("t").may_use("b")


def test_entries_are_named_as_people_name_them() -> None:
    named: list[Entry] = [
        Machine("m"),
        Tenant("t"),
        Topic("live", "o"),
        IdcPolicy("p", (("sh", 1),)),
        Exclusion("live", 3, "a", "b"),
    ]
    assert [name_of(entry) for entry in named] == [
        "machine m",
        "tenant t",
        "topic live/o",
        "IDC policy p",
        "exclusion of broker 3 of cluster live",
    ]
