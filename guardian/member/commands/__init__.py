"""The commands that start and describe a member: server, config, docs, support-bundle."""
