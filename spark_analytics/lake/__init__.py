"""The metrics lake: Parquet, partitioned by cluster and hour."""
