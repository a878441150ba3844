"""Measure what crosses the links between data centres, and what it costs."""
