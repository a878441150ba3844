"""What may change and how: `handle(command, view, proposal) -> (records, reply)`, one pure module per table.

A handler reads the view, decides, and returns the records to be written; it writes nothing itself. It must decide
alike on every member and at every replay: no clock, no random values, nothing but its arguments. What it refuses it
raises as InvalidInput, NotFound or Conflict, which the state machine turns into the reply's error; nothing is written.
"""
