"""What a member keeps on disk: its log, its vote, and the rules of writing files durably."""
