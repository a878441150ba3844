"""Compiles the search on this machine: `python -m spark_analytics.jobs.warming`, for `make setup` and for images."""

from __future__ import annotations

import sys

from guardian.errors import InvalidInput
from spark_analytics.jobs.session import require_analyze_extra


def main() -> int:
    """0 when it is compiled, 2 with one sentence on stderr where the analyze extra is missing."""
    try:
        require_analyze_extra()
    except InvalidInput as error:
        sys.stderr.write(f"{error}\n")
        return 2
    from spark_analytics.planners.warming import warm  # noqa: PLC0415 - needs the extra

    warm()
    return 0


if __name__ == "__main__":
    sys.exit(main())
