"""Writes the OpenAPI document: `python -m guardian.rest.document docs/openapi.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from guardian.rest.api import api_routes
from guardian.rest.openapi import api_document


def text() -> str:
    """Return the document as it is kept in docs/openapi.json."""
    return json.dumps(api_document(api_routes()), indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text())
