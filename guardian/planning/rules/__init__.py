"""Decide whose plan is made next."""
