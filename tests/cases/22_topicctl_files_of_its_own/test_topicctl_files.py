"""Files as topicctl's own bootstrap writes them and its examples have them.

segmentio/topicctl PR #249, #117, examples/local-cluster.
"""

from __future__ import annotations

from pathlib import Path

from guardian.interop import topicctl_yaml

FILE = Path(__file__).parent / "topics.yaml"


def test_topicctls_own_files_are_read() -> None:
    first, second = topicctl_yaml.read(FILE.read_text(), str(FILE))
    assert first.partitions == 10
    assert dict(first.configs) == {"retention.ms": "17400000"}
    assert dict(second.configs)["cleanup.policy"] == "compact,delete"
    assert any("static-in-rack is not kept" in remark for remark in second.remarks)
