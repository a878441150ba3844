"""Between the two forms of a noun: protobuf at the edges (wire and store), frozen dataclasses inside.

Every `x_from_proto` checks what it is given, by building the dataclass, and so raises InvalidInput.
"""
