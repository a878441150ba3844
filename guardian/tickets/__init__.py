"""Carry plans through approval: states, acts, previews, progress; one module for each kind."""
