"""Which members serve: each is asked itself for a linearizable read, so that nobody answers in its place."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import typer

from guardian.cli.exits import DONE, NO, NOT_NOW
from guardian.cli.options import Output
from guardian.cli.printing import echo
from guardian.cli.render import print_json, print_table
from guardian.client import GuardianClient
from guardian.errors import GuardianError

_POLL_S = 0.5


def probe_until(client: GuardianClient, until_all_s: float, output: Output) -> None:
    """Asks until all members serve or the time is up, prints the last answers, and ends the command by its code."""
    began = time.monotonic()
    answers = probe(client)
    while any(answers.values()) and time.monotonic() - began < until_all_s:
        time.sleep(_POLL_S)
        answers = probe(client)
    code, sentence = conclude(answers)
    if output is Output.JSON:
        print_json([{"endpoint": endpoint, "serves": not why, "why": why} for endpoint, why in answers.items()])
    else:
        print_table(
            ("ENDPOINT", "LINEARIZABLE READS"),
            [(endpoint, f"no: {why}" if why else "yes") for endpoint, why in answers.items()],
        )
    echo(sentence, err=True)
    if code != DONE:
        raise typer.Exit(code)


def probe(client: GuardianClient) -> dict[str, str]:
    """Return why each member does not serve, by its endpoint; empty: it does. Those given are asked; of one, all that
    it tells of."""
    endpoints = client.endpoints
    if len(endpoints) == 1:
        endpoints = _told_by(client, endpoints[0]) or endpoints
    with ThreadPoolExecutor(len(endpoints)) as pool:
        return dict(zip(endpoints, pool.map(_refusal_of(client), endpoints), strict=True))


def conclude(answers: Mapping[str, str]) -> tuple[int, str]:
    """Return the exit code, and what to do."""
    silent = [endpoint for endpoint, why in answers.items() if why]
    served = len(answers) - len(silent)
    if not silent:
        return DONE, f"All {served} members serve"
    if served > len(answers) // 2:
        return NO, (
            f"{served} of {len(answers)} members serve, and lose nothing: mend what is between them and "
            f"{_listed(silent)}, which catches up by itself; never build a new group on its side"
        )
    return NOT_NOW, (
        f"{served} of {len(answers)} members serve as seen from here: this may be the side that is cut off, so ask on "
        "the other side before anything else (docs/disaster.md)"
    )


def _refusal_of(client: GuardianClient) -> Callable[[str], str]:
    def refusal(endpoint: str) -> str:
        try:
            client.read_at(endpoint)
        except GuardianError as error:
            return str(error)
        return ""

    return refusal


def _told_by(client: GuardianClient, endpoint: str) -> tuple[str, ...]:
    try:
        return tuple(member.endpoint for member in client.raft_status(endpoint).members if member.endpoint)
    except GuardianError:
        return ()


def _listed(endpoints: Sequence[str]) -> str:
    return " and ".join(endpoints)
