"""Grafana's dashboards, as data: boards.py says what is on them, build.py writes the JSON beside it."""
