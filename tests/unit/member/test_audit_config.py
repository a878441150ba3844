"""[audit]: where client activity is kept, and who may not keep it where others can't reach it."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardian.config import ServerConfig, embedded, load
from guardian.errors import InvalidInput

OWN = """
name = "g1"
data = "/d"
grpc = "127.0.0.1:1"
http = "127.0.0.1:2"
raft = "127.0.0.1:3"
lake = "s3://lake"
"""
NEAR = '[peers]\ng2 = "127.0.0.1:4"\n'
FAR = '[peers]\ng2 = "10.0.0.2:4"\n'


def read(folder: Path, text: str) -> ServerConfig:
    file = folder / "g1.toml"
    file.write_text(OWN + text)
    return load(file)


def test_a_group_of_one_keeps_activity_with_its_data(tmp_path: Path) -> None:
    assert read(tmp_path, "").audit_url == "/d/activity"
    assert embedded(tmp_path).audit_url == str(tmp_path / "activity")


def test_a_group_of_several_keeps_none_unless_it_is_told_where(tmp_path: Path) -> None:
    assert read(tmp_path, NEAR).audit_url == ""
    assert read(tmp_path, "join = true\n" + NEAR).audit_url == ""
    assert read(tmp_path, NEAR + '[audit]\nurl = "/shared"\n').audit_url == "/shared"
    assert read(tmp_path, FAR + '[audit]\nurl = "clickhouse://ch1/guardian"\n').audit_url == "clickhouse://ch1/guardian"


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    assert read(tmp_path, '[audit]\nurl = ""\n').audit_url == ""


def test_all_settings_are_read(tmp_path: Path) -> None:
    audit = read(
        tmp_path,
        '[audit]\nurl = "clickhouse://u@ch1/db"\npassword_file = "/p"\nretention_days = 7\nmemory_mb = 900\n',
    ).audit
    assert (audit.password_file, audit.retention_days, audit.memory_mb) == (Path("/p"), 7, 900)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (FAR + '[audit]\nurl = "/shared"\n', r"audit\.url is the local path '/shared', which the member g2"),
        ('[audit]\nurl = "http://ch1/db"\n', r"audit\.url is 'http://ch1/db'"),
        ('[audit]\nurl = "clickhouse://u:secret@ch1/db"\n', r"audit\.url holds a password"),
        ("[audit]\nurl = 3\n", r"audit\.url is 3"),
        ('[audit]\npassword_file = "/p"\n', r"audit\.password_file is given"),
        ("[audit]\nretention_days = 0\n", r"audit\.retention_days is 0"),
        ("[audit]\nretention_days = 1.5\n", r"audit\.retention_days is 1\.5"),
        ("[audit]\nmemory_mb = 10\n", r"audit\.memory_mb is 10"),
        ("[audit]\nuri = 1\n", r"audit\.uri is not a setting"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        read(tmp_path, text)
