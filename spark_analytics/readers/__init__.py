"""Models and placements from files: our own, and those of other tools."""
