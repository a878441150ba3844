"""Replication of opaque bytes over a Raft group. Knows no Kafka; `replica` is the one module that imports pysyncobj."""
