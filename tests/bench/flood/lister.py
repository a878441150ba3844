"""One process that lists tickets: python -m tests.bench.flood.lister list PORT ADDRESSES COUNT SECONDS

As `guardian ticket list --limit 1` does, from so many threads again and again, all from one address: gRPC's clients
can't be told which to use. Prints how many lists came and failed, as a line of JSON.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter

from guardian.client import GuardianClient
from guardian.errors import GuardianError
from tests.bench.progress import say


def main(port: int, count: int, seconds: float) -> Counter[str]:
    """Return what became of the lists."""
    until, seen, lock = time.monotonic() + seconds, Counter[str](), threading.Lock()

    def again_and_again() -> None:
        with GuardianClient([f"127.0.0.1:{port}"]) as client:
            while time.monotonic() < until:
                try:
                    client.ticket_page(size=1)
                    what = "lists"
                except GuardianError as error:
                    what = type(error).__name__
                with lock:
                    seen[what] += 1

    threads = [threading.Thread(target=again_and_again) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen


if __name__ == "__main__":
    own_port, threads, how_long_s = sys.argv[2], sys.argv[4], sys.argv[5]
    say(json.dumps(main(int(own_port), int(threads), float(how_long_s))))
