"""Wire one member together; the only place where every part meets."""
