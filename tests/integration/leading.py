"""Who leads, once somebody knows: between two leaders nobody does."""

from __future__ import annotations

import time

from guardian.client import GuardianClient

_DEADLINE_S = 60.0


def who_leads(client: GuardianClient) -> str:
    deadline = time.monotonic() + _DEADLINE_S
    while not (leader := client.member().leader):
        assert time.monotonic() < deadline, f"no member knows who leads for {_DEADLINE_S:g} s"
        time.sleep(0.1)
    return leader
