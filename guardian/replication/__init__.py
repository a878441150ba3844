"""Keep Guardian's own state alike on all members: the Raft group and the store that it replicates."""
