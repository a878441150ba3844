"""What a member answers about its Raft group."""
