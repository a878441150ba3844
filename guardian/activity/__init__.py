"""Who did what: the brokers' slices of client activity, kept in ClickHouse, and the questions asked of them.

rows (pure: a batch's slices to columns) -> store (buffer, one writer) -> Database ─┬─ embedded -> worker: chdb
schema (the one table), questions (pure: SQL and parameters)  ──────────────────────┴─ server: ClickHouse by URL
"""
