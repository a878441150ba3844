from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from guardian.lake.rules.chores import Chores, LakeFile, LakeTimes, chores

HOUR_END = 10_000_000
TIMES = LakeTimes(retention_ms=1_000_000, settled_ms=1_000, grace_ms=500, abandoned_ms=2_000)


def test_an_hour_that_is_not_over_is_left_alone() -> None:
    files = {"a": LakeFile(HOUR_END), "b": LakeFile(HOUR_END)}
    assert chores(HOUR_END, files, HOUR_END + 1_000, TIMES) == Chores()
    assert chores(HOUR_END, files, HOUR_END + 1_001, TIMES) == Chores(merge=("a", "b"))


def test_one_file_is_merged_with_nothing() -> None:
    assert chores(HOUR_END, {"a": LakeFile(HOUR_END)}, HOUR_END + 9_000, TIMES) == Chores()


def test_what_was_merged_is_removed_once_nobody_can_have_listed_it_and_is_never_merged_again() -> None:
    merged_at = HOUR_END + 1_500
    files = {"a": LakeFile(0), "b": LakeFile(0), "merged": LakeFile(merged_at, ("a", "b", "gone"))}
    assert chores(HOUR_END, files, merged_at + 500, TIMES) == Chores()
    assert chores(HOUR_END, files, merged_at + 501, TIMES) == Chores(remove=("a", "b"))


def test_a_file_that_comes_late_is_merged_with_the_merged_one() -> None:
    merged_at = HOUR_END + 1_500
    files = {"late": LakeFile(merged_at), "merged": LakeFile(merged_at, ("a",))}
    assert chores(HOUR_END, files, merged_at, TIMES) == Chores(merge=("late", "merged"))


def test_what_a_crash_left_goes_once_it_is_old() -> None:
    files = {".a": LakeFile(HOUR_END), "b": LakeFile(HOUR_END)}
    assert chores(HOUR_END, files, HOUR_END + 2_000, TIMES) == Chores()
    assert chores(HOUR_END, files, HOUR_END + 2_001, TIMES) == Chores(remove=(".a",))


def test_an_hour_beyond_the_retention_goes_as_a_whole() -> None:
    assert chores(HOUR_END, {}, HOUR_END + 1_000_000, TIMES) == Chores()
    assert chores(HOUR_END, {"a": LakeFile(0)}, HOUR_END + 1_000_001, TIMES) == Chores(expired=True)


FILES = st.dictionaries(
    st.sampled_from(["a", "b", "c", ".d", "m1", "m2"]),
    st.builds(LakeFile, st.integers(0, 5_000), st.sets(st.sampled_from(["a", "b", "c", "m1"]), max_size=3)),
)


@given(FILES, st.integers(0, 10_000))
def test_nothing_is_lost_and_nothing_is_merged_while_its_rows_are_in_another_file(
    files: dict[str, LakeFile], now_ms: int
) -> None:
    due = chores(0, files, now_ms, LakeTimes(10**9, 1_000, 500, 2_000))
    replaced = {name for owner, file in files.items() if not owner.startswith(".") for name in file.replaces}
    assert not set(due.merge) & replaced
    for name in due.remove:
        assert name.startswith(".") or name in replaced
