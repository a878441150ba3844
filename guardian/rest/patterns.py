"""Names that a regular expression matches whole, found in a process of its own where it could take for ever.

Python's `re` holds the interpreter while it matches, and some expressions take longer than the universe lasts: a member
has heartbeats to send meanwhile. Plain names and prefixes are matched at once.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable

from guardian.errors import InvalidInput

_PLAIN = re.compile(r"[A-Za-z0-9._|-]*(\.\*)?")
_DEADLINE_S = 5.0
_SHOWN_CHARS = 60
_WORKER = """
import json, re, sys
asked = json.load(sys.stdin)
pattern = re.compile(asked["pattern"])
json.dump([name for name in asked["names"] if pattern.fullmatch(name)], sys.stdout)
"""


def matching(field: str, pattern: str, names: Iterable[str], deadline_s: float = _DEADLINE_S) -> tuple[str, ...]:
    """Return the names that match, in their order; all of them where the pattern is empty. Raises InvalidInput where
    that takes too long.
    """
    candidates = list(names)
    if not pattern:
        return tuple(candidates)
    if _PLAIN.fullmatch(pattern):
        plain = re.compile(pattern)
        return tuple(name for name in candidates if plain.fullmatch(name))
    question = json.dumps({"pattern": pattern, "names": candidates}).encode()
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _WORKER],
            input=question,
            stdout=subprocess.PIPE,
            timeout=deadline_s,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise InvalidInput(
            f"{field} is {pattern[:_SHOWN_CHARS]!r}, which takes more than {deadline_s:g} s to match: use a simpler one"
        ) from None
    except subprocess.CalledProcessError:
        raise InvalidInput(f"{field} is {pattern[:_SHOWN_CHARS]!r}: use a regular expression") from None
    return tuple(json.loads(done.stdout))
