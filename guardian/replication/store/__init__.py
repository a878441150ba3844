"""The replicated store as the rest of a member sees it."""
