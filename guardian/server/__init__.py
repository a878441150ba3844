"""The composition root: `app` wires a member together, `loop` drives what only the Raft leader does."""
