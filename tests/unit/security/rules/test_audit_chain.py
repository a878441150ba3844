"""Lines of an audit file follow each other; whatever is done to one of them shows."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.security.rules.audit_chain import START, check_lines, hash_of, line_of


def lines(count: int) -> list[str]:
    made, previous = [], START
    for number in range(count):
        made.append(line_of({"index": number, "actor": "ann"}, previous))
        previous = hash_of(made[-1])
    return made


def test_a_whole_file_is_good() -> None:
    checked = check_lines(f"{line}\n" for line in lines(5))
    assert (checked.lines, checked.first_previous, checked.last) == (5, START, hash_of(lines(5)[-1]))
    assert check_lines([]).last == START


@pytest.mark.parametrize("position", range(4))
def test_a_changed_line_shows(position: int) -> None:
    changed = lines(5)
    changed[position] = changed[position].replace("ann", "eve")
    with pytest.raises(InvalidInput, match=f"line {position + 2} does not follow line {position + 1}"):
        check_lines(changed)


def test_a_missing_line_and_a_cut_one_show() -> None:
    made = lines(5)
    with pytest.raises(InvalidInput, match="line 3 does not follow line 2"):
        check_lines(made[:2] + made[3:])
    with pytest.raises(InvalidInput, match="line 5 is no line of an audit file"):
        check_lines([*made[:4], made[4][:-5]])
