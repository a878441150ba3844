"""The section [protection] of a member's configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardian import config
from guardian.errors import InvalidInput
from guardian.health.rules.disk_limits import DiskLimits
from guardian.protection.rules.protecting import ProtectionSettings

REST = """
name = "g1"
data = "/tmp/g1"
grpc = "127.0.0.1:9750"
http = "127.0.0.1:9751"
raft = "127.0.0.1:9752"
lake = "/tmp/lake"
"""


def load(tmp_path: Path, text: str) -> ProtectionSettings:
    path = tmp_path / "g1.toml"
    path.write_text(f"{REST}{text}")
    return config.load(path).protection


def test_it_observes_and_changes_nothing_unless_told_otherwise(tmp_path: Path) -> None:
    assert load(tmp_path, "").mode == "observe"
    assert not load(tmp_path, "").acts
    assert not load(tmp_path, '[protection]\nmode = "off"').acts


def test_all_of_it_is_read(tmp_path: Path) -> None:
    text = '[protection]\nmode = "act"\nwindow_s = 30\nstep_s = 15\nutilisation = 0.8\nawait_ms = 20\n'
    found = load(tmp_path, f"{text}floor_mb_per_s = 0.005\nblind_s = 60\nlook_s = 2")
    assert found == ProtectionSettings("act", 2, 30, 15, 0.8, 20, 0.005, 60)
    assert (found.acts, found.limits) == (True, DiskLimits(0.8, 20.0, 30_000))
    assert (found.step_ms, found.floor, found.blind_ms) == (15_000, 5000, 60_000)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('mode = "on"', """protection.mode is 'on': use "off", "observe" or "act\""""),
        ("utilisation = 90", "protection.utilisation is 90: use 0.01 to 1"),
        ("window_s = 0", "protection.window_s is 0: use 1 to 3600"),
        ("look_s = 0", "protection.look_s is 0: use more than 0, up to 86400"),
        ("floor_mb_per_s = 0", "protection.floor_mb_per_s is 0: use more than 0, up to 1000000"),
        ('step_s = "x"', "protection.step_s is 'x': give a number"),
        ("limit = 1", "protection.limit is not a setting: use one of"),
    ],
)
def test_what_is_wrong_is_named_with_the_fix(tmp_path: Path, line: str, error: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        load(tmp_path, f"[protection]\n{line}")
    assert error in str(raised.value)
