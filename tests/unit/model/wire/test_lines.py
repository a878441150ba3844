"""Lines between IDCs come over the wire as the members' file has them."""

from __future__ import annotations

from pathlib import Path

from guardian.model.links import LinkSettings, load_links
from guardian.model.wire.lines import lines_from_proto, lines_to_proto
from protos.guardian.v1 import insight_pb2 as pb

FILE = """
currency = "EUR"
near = 0.5
[networks]
shanghai = ["10.1.0.0/16", "2001:db8:1::/48", "10.1.2.0/24"]
suzhou = ["10.2.0.0/16"]
[[lines]]
between = ["shanghai", "suzhou"]
gbit_per_s = 10.0
price_gb = 0.02
"""


def test_lines_come_back_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "links.toml").write_text(FILE)
    settings = load_links(tmp_path / "links.toml")
    assert len(settings.networks) == 4
    assert lines_from_proto(lines_to_proto(settings, (), ())) == settings


def test_what_an_older_member_does_not_tell_is_the_usual() -> None:
    assert lines_from_proto(pb.LinesReport()) == LinkSettings()
