"""The way out: what `guardian.core` decided is committed, then sent to the brokers."""
