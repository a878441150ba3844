"""Commands of the CLI."""
