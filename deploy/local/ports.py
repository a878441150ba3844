"""Free ports on loopback, from below the range that the system hands out for outgoing connections."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from itertools import chain, islice
from pathlib import Path

from guardian.errors import Unavailable

HOST = "127.0.0.1"
_FIRST, _END = 20_000, 32_000
_LAST_PICKED = Path(tempfile.gettempdir()) / f"guardian-ports-{os.getuid()}"


def is_free(port: int) -> bool:
    """Return whether the port can be bound on loopback now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def pick(count: int) -> list[int]:
    """Ports that are free now, and that no process of this user is given again soon.

    A port is bound seconds after it was picked, and is let go while its server restarts. So all processes of a user
    take theirs in turn, each going on behind the one before it: a port comes up again after 12,000 others.

    Raises Unavailable when fewer are free.
    """
    with _LAST_PICKED.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        picked = list(islice(filter(is_free, _ports_behind(file.read())), count))
        if len(picked) < count:
            raise Unavailable(
                f"of {HOST}'s ports {_FIRST} to {_END - 1} only {len(picked)} are free, {count} are needed"
            )
        file.truncate(0)
        file.write(str(picked[-1]))
    return picked


def pick_pair() -> int:
    """The first of two ports side by side: a simulated fleet has its reporters at one, and speaks Kafka at the next.

    Raises Unavailable as `pick` does.
    """
    first, second = pick(2)
    while second != first + 1:
        first, (second,) = second, pick(1)
    return first


def keep_or_pick(port: int) -> int:
    """The same port when it is free, so that a restarted server is found where it was; another one otherwise."""
    return port if is_free(port) else pick(1)[0]


def _ports_behind(last: str) -> chain[int]:
    known = last.isdecimal() and _FIRST <= int(last) < _END
    first = int(last) + 1 if known else random.SystemRandom().randrange(_FIRST, _END)
    return chain(range(first, _END), range(_FIRST, first))
