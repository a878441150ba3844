"""Who leads, once somebody knows: between two leaders nobody does."""

from __future__ import annotations

from guardian.client import GuardianClient
from tests.patience import wait_for


def who_leads(client: GuardianClient) -> str:
    return wait_for("a member knows who leads", lambda: client.member().leader)
