from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.lake.model.window import Window


@pytest.mark.parametrize(("from_ms", "to_ms"), [(5, 5), (6, 5), (-1, 5)])
def test_a_window_ends_after_it_begins(from_ms: int, to_ms: int) -> None:
    with pytest.raises(InvalidInput, match=f"window is from {from_ms} to {to_ms} ms"):
        Window(from_ms, to_ms)
