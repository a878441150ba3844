"""What is replicated: tables in one RocksDB, changed by commands only (see DESIGN, "What is replicated")."""
