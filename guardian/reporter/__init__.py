"""Facts come in: members share the brokers out, pull each one's metrics in one call and write them to the lake.

assignment (whose broker is it) -> collector (calls) -> names, ingest (pure: batch to rows) -> lake_writer (Parquet)
"""
