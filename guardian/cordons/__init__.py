"""Keep new replicas off excluded brokers, and answer where a topic may stand."""
