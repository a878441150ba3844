"""Which pages the site has: those of docs/, those that live beside their code, and those that are made of it."""

from __future__ import annotations

from pathlib import Path

from deploy.site.reference import PAGES

ROOT = Path(__file__).parents[2]

ELSEWHERE = {
    "guardian/tickets/README.md": "guides/tickets.md",
    "guardian/tickets/kinds/README.md": "guides/ticket-kinds.md",
    "guardian/execution/operations/README.md": "guides/operations.md",
    "guardian/healing/README.md": "guides/healing.md",
    "guardian/protection/README.md": "guides/protection.md",
    "guardian/events/README.md": "guides/events.md",
    "guardian/health/README.md": "guides/insight.md",
    "guardian/activity/README.md": "guides/activity.md",
    "guardian/execution/README.md": "guides/executor.md",
    "guardian/lake/README.md": "guides/lake.md",
    "guardian/tiering/README.md": "guides/tiering.md",
    "spark_analytics/README.md": "guides/planner.md",
    "deploy/broker-plugin/README.md": "guides/broker-plugin.md",
    "deploy/broker-plugin/REPORTER.md": "guides/reporter.md",
    "deploy/broker-plugin/ACTIVITY.md": "guides/plugin-activity.md",
    "deploy/broker-plugin/HDFS.md": "guides/hdfs.md",
    "deploy/broker-plugin/PLACEMENT.md": "guides/placement.md",
    "deploy/prometheus/README.md": "guides/prometheus.md",
    "deploy/grafana/README.md": "guides/grafana.md",
    "deploy/spark/README.md": "guides/spark.md",
    "deploy/systemd/README.md": "guides/systemd.md",
    "deploy/container/README.md": "guides/container.md",
    "deploy/compose/README.md": "guides/compose.md",
    "deploy/helm/README.md": "guides/helm.md",
    "raft/README.md": "design/raft.md",
    "metastore/README.md": "design/metastore.md",
    "tests/bench/README.md": "design/benches.md",
    "tests/integration/faults/README.md": "design/faults.md",
    "tests/linearizability/README.md": "design/linearizability.md",
    "CHANGELOG.md": "changelog.md",
    "README.md": "overview.md",
}
"""Pages by their path in the checkout, and where they are on the site."""


def all_pages(root: Path = ROOT) -> dict[str, str]:
    """Map paths in the checkout to pages of the site; made pages have the paths that they would have in docs/."""
    own = (path.relative_to(root / "docs").as_posix() for path in (root / "docs").rglob("*.md"))
    return {f"docs/{page}": page for page in (*own, *PAGES)} | ELSEWHERE
