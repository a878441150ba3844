"""A ClickHouse, embedded or a server, and what is asked of it."""
