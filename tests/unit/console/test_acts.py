"""Links from what a page shows to forms: each leads to a form, and fills fields that it has."""

from __future__ import annotations

from typing import cast
from urllib.parse import parse_qsl, urlsplit

import pytest

from guardian.console.acts import (
    Act,
    acts_of_broker,
    acts_of_cluster,
    acts_of_crossing,
    acts_of_finding,
    acts_of_log_dirs,
    acts_of_tenant,
    acts_of_topic,
)
from guardian.planning.pages.asking import FORMS, AskForm, PlanForm
from protos.guardian.v1 import insight_pb2 as pb

KINDS = cast("list[pb.FindingKind]", pb.FindingKind.values())
FINDINGS = [
    act
    for kind in KINDS
    if kind != pb.LINE_NEAR_LIMIT
    for act in acts_of_finding(pb.Finding(kind=kind, cluster="a b", subject="broker 3", brokers=[3]))
]
ACTS = [
    *acts_of_cluster("a b"),
    *acts_of_broker("a b", 3),
    *acts_of_log_dirs("a b", 3, ["/data/a", "/data/b"]),
    *acts_of_topic("a b", "orders"),
    *acts_of_crossing("a b", "orders"),
    *acts_of_tenant(["a b"], "pay"),
    *FINDINGS,
]
# What nobody can guess for a person.
LEFT_TO_TYPE = {"hook", "policy", "label", "partitions", "replication_factor"}


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.where)
def test_a_link_fills_a_form_as_far_as_anybody_can(act: Act) -> None:
    parts = urlsplit(act.where)
    above, _, name = parts.path.rpartition("/ask")
    assert above == "/console/clusters/a%20b"
    typed = dict(parse_qsl(parts.query))
    if not name:
        return
    form = FORMS[name.removeprefix("/")]
    assert typed.keys() <= {field.name for field in form.fields}
    missing = {field.name for field in form.fields if field.is_required} - typed.keys()
    assert missing <= LEFT_TO_TYPE
    rest = {name: "3" if name in ("partitions", "replication_factor") else "x" for name in missing}
    made = form.order({**typed, **rest}) if isinstance(form, PlanForm) else form.ask({**typed, **rest})
    assert made
    assert isinstance(form, PlanForm | AskForm)


def test_findings_that_a_plan_ends_lead_to_it() -> None:
    assert {pb.BROKER_DOWN, pb.SKEW, pb.DISK_FILLS, pb.SLOW_DISK} <= {
        kind for kind in KINDS if acts_of_finding(pb.Finding(kind=kind, cluster="c", brokers=[1]))
    }
    assert acts_of_log_dirs("c", 3, []) == ()


def test_a_line_near_its_limit_leads_to_who_crosses_it() -> None:
    (act,) = acts_of_finding(pb.Finding(kind=pb.LINE_NEAR_LIMIT, subject="sh to sz"))
    assert act.where == "/console/links"
