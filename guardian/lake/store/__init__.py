"""What is kept in the replicated store."""
