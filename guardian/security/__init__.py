"""Decide who somebody is and what he may do, and record it."""
