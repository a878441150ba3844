"""The kinds of tickets: one module for each, which `registry` finds by itself. Pure.

    kind.py        what may differ between kinds, with what holds for most of them
    planned.py     kinds that move replicas, by the plan that a planner or a person made
    requested.py   kinds that send a few requests instead: their options, what they look at, what they do next
    registry.py    every kind by its name: whoever treats kinds differently asks the kind itself

To add one: guardian/tickets/kinds/README.md.
"""
