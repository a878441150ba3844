"""A member's configuration: what is wrong is named, with its value and the fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardian import config
from guardian.errors import InvalidInput

GOOD = """
name = "g1"
data = "/tmp/g1"
grpc = "127.0.0.1:9750"
http = "127.0.0.1:9751"
raft = "127.0.0.1:9752"
lake = "/tmp/lake"
[peers]
g2 = "127.0.0.1:9762"
[collect]
interval_s = 2
"""


def load(tmp_path: Path, text: str) -> config.ServerConfig:
    path = tmp_path / "g1.toml"
    path.write_text(text)
    return config.load(path)


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    settings = load(tmp_path, GOOD)
    assert settings.name == "g1"
    assert settings.peers == {"g2": "127.0.0.1:9762"}
    assert settings.collect == config.CollectConfig(interval_s=2.0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "g1"', "", r"name is None: give a non-empty string"),
        ("127.0.0.1:9750", "127.0.0.1", r"grpc is '127.0.0.1': use host:port"),
        ("127.0.0.1:9750", "127.0.0.1:99999", r"grpc is '127.0.0.1:99999': use host:port"),
        ("127.0.0.1:9751", "0.0.0.0:9751", r"http is '0.0.0.0:9751': this version has no TLS .* loopback only"),
        ("interval_s = 2", "interval_s = 0", r"collect.interval_s is 0.0: use seconds"),
        ("interval_s = 2", 'interval_s = "2"', r"collect.interval_s is '2': give a number"),
        ("interval_s = 2", "intervall_s = 2", r"collect.intervall_s is not a setting"),
        ('name = "g1"', 'name = "../g1"', r"name has '../g1': use up to 63 letters"),
        ("g2 =", '"g 2" =', r"peers has 'g 2': use up to 63 letters"),
        ('name = "g1"', 'name = "g2"', r"peers names this member itself, 'g2'"),
        ("127.0.0.1:9762", "10.0.0.2:9762", r"lake is the local path '/tmp/lake', which the member g2 on another host"),
        ("[peers]", "peers = 3\n[other]", r"other is not a setting"),
        ("[collect]", "[collect", r"is not valid TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(InvalidInput, match=message):
        load(tmp_path, GOOD.replace(old, new))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nowhere.toml can't be read: No such file"):
        config.load(tmp_path / "nowhere.toml")


def test_the_embedded_member_tells_clients_in_any_folder_where_its_lake_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert config.embedded(Path("data")).lake == str(tmp_path / "data" / "lake")
