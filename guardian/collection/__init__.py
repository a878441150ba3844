"""Share the brokers out among members, read each in one call and turn its answer into rows."""
