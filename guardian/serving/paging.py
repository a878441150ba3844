"""Pages of lists: how many rows and bytes one may have, and the token that leads to the next one."""

from __future__ import annotations

import base64
import binascii

from guardian.errors import InvalidInput

MAX_PAGE = 1000
DEFAULT_PAGE = 500
MAX_PAGE_BYTES = 1 << 20


def page_size(asked: int) -> int:
    """Return how many rows a page has at most, where so many are asked for; 0: as many as the server likes."""
    return min(asked or DEFAULT_PAGE, MAX_PAGE)


def encode_token(position: bytes) -> str:
    """Return the token for a position in a list; empty for the end. It names the last row of its page, so it stays good
    whatever is added or dropped meanwhile."""
    return base64.urlsafe_b64encode(position).decode()


def decode_token(token: str) -> bytes:
    """Return the position of a token; empty for the beginning. Raises InvalidInput."""
    try:
        return base64.b64decode(token.encode(), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput(f"page_token is {token[:100]!r}: use the next_page_token of the page before") from None
