"""Tell people and programs what happened: stored, streamed, sent to sinks."""
