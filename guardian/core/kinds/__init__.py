"""The kinds of tickets: one module for each, which `registry` finds by itself. Pure.

    kind.py        what may differ between kinds, with what holds for most of them
    planned.py     kinds that move replicas, by the plan that a planner or a person made
    requested.py   kinds that send a few requests instead: their options, what they look at, what they do next
    registry.py    every kind by its name: whoever treats kinds differently asks the kind itself

A new kind is a module here (its class, and `KIND`, the one of it), a message of the `oneof` in tasks.proto, and a row
in guardian/ticket-kinds.md.
"""
