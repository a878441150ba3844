"""What a migration's ticket says in the directory once its topics stand as the policy says."""

from __future__ import annotations

from guardian.model.directory import Directory
from guardian.model.federation import IdcPlacement, IdcPolicy, Topic
from guardian.model.plan import Plan
from guardian.model.tasks import MigrateIdc
from guardian.tickets.kinds.migrate_idc import KIND


def test_topics_of_every_replication_factor_that_the_policy_speaks_of_get_it() -> None:
    policy = IdcPolicy("all", (("sh", 2), ("sz", 1)), other_factors=(IdcPlacement((("sz", 1),)),))
    factors = {"three": 3, "two": 2, "one": 1}
    directory = Directory(topics=tuple(Topic("live", name) for name in factors), policies=(policy,))
    plan = Plan("live", "migrate-idc", ())

    [intent] = KIND.directory_intents(plan, MigrateIdc(policy), (), directory, factors, ())

    assert (intent.field, intent.value, intent.names) == ("idc_policy", "all", ("one", "three"))
