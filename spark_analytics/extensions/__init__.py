"""Goals of other packages: what such a goal is (goal.py), and which are installed (installed.py).

The makers of plans and the checker both ask here, each for its own half: `narrow` and `judge`. To write such a goal:
spark_analytics/goals/README.md.
"""
